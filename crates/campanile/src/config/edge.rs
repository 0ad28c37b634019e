//! `[edge]`: sites that alerts are pushed to as files, and the routes that do it.

use super::check::Check;
use super::route::Route;
use gateway::Secret;
use gateway::edge::{EdgeRoute, site_problems};
use records::Channel;
use settings::section;
use std::path::{Path, PathBuf};

/// Bundles are made below it, in the data folder.
const WORK: &str = "edge";

section! {
    /// `[edge]`
    Edge {
        /// The key that all sites have that have none of their own.
        key_file: Option<PathBuf> = None,
        /// What manifests are signed with; made if it is not there.
        signing_key: PathBuf = PathBuf::from("edge-signing.key"),
        /// The sites.
        site: Vec<EdgeSite> = Vec::new(),
    }
}

section! {
    /// `[[edge.site]]`
    EdgeSite {
        /// As in `edge:NAME`.
        name: String = String::new(),
        /// `host:port`, where its receiver listens.
        address: String = String::new(),
        /// The key it shares with us.
        key_file: Option<PathBuf> = None,
    }
}

impl Edge {
    /// The sites with their keys.
    ///
    /// # Errors
    /// A key that cannot be read: its place in the config, and why.
    pub fn sites(&self, data: &Path) -> Result<Vec<gateway::edge::EdgeSite>, (String, String)> {
        let read = |file: &PathBuf, at: &str| {
            let file = data.join(file);
            let why = |error: std::io::Error| (at.to_owned(), format!("{}: {error}", file.display()));
            std::fs::read_to_string(&file).map(|words| Secret::from(words.trim())).map_err(why)
        };
        let common = self.key_file.as_ref().map(|file| read(file, "edge.key_file")).transpose()?;
        let site = |(n, site): (usize, &EdgeSite)| {
            let own = site.key_file.as_ref();
            let own = own.map(|file| read(file, &format!("edge.site[{n}].key_file"))).transpose()?;
            let (name, address) = (site.name.clone(), site.address.clone());
            Ok(gateway::edge::EdgeSite { name, address, key: own.or_else(|| common.clone()) })
        };
        self.site.iter().enumerate().map(site).collect()
    }
}

impl Route {
    /// What the edge gateway is told; nothing for another channel.
    pub fn edge(&self, data: &Path, edge: &Edge, sites: Vec<gateway::edge::EdgeSite>) -> Option<EdgeRoute> {
        let usual = EdgeRoute::default();
        (self.channel == Some(Channel::Edge)).then(|| EdgeRoute {
            name: self.name.clone(),
            rate: self.rate,
            bandwidth: self.bandwidth.unwrap_or(usual.bandwidth),
            group: self.group,
            interface: self.interface.clone(),
            hops: self.hops.unwrap_or(usual.hops),
            pushes: self.sessions.map_or(usual.pushes, |pushes| pushes as usize),
            validity: self.validity.unwrap_or(usual.validity),
            signing_key: data.join(&edge.signing_key),
            sites,
            work: data.join(WORK),
        })
    }
}

impl Check<'_> {
    /// What `[edge]` means must make sense.
    pub(super) fn edge(&mut self) {
        let config = self.config;
        let routes =
            config.route.iter().enumerate().filter(|(_, route)| route.channel == Some(Channel::Edge));
        let Some(edge) = &config.edge else {
            for (n, _) in routes {
                self.add(&format!("route[{n}].channel"), "edge needs at least one [[edge.site]]");
            }
            return;
        };
        self.check("edge", edge.site.is_empty().then_some("needs at least one [[edge.site]]"));
        let signing_key = self.data.join(&edge.signing_key);
        if signing_key.exists() {
            self.check("edge.signing_key", gateway::edge::read_signing_key(&signing_key).err());
        }
        let sites = match edge.sites(self.data) {
            Ok(sites) => sites,
            Err((at, why)) => return self.add(&at, why),
        };
        for (n, key, reason) in site_problems(&sites) {
            let common = key == "key_file" && edge.site.get(n).is_some_and(|site| site.key_file.is_none());
            match common {
                true => self.add("edge.key_file", reason),
                false => self.add(&format!("edge.site[{n}].{key}"), reason),
            }
        }
    }
}

//! `[edge]`: sites that alerts are pushed to as files, and the routes that do it.

use super::check::Check;
use gateway::Secret;
use gateway::edge::site_problems;
use settings::section;
use std::path::{Path, PathBuf};

section! {
    /// Edge sites: alerts to `edge:NAME` are pushed there by routes of channel edge. At the site
    /// `campanile udp receive --into DIR --unpack --key-file FILE` stores the files. [Push](push.md)
    /// describes them.
    Edge {
        /// File of the key, at least 16 characters, by which sites and this server authenticate each other;
        /// for all sites without a `key_file` of their own. A site without any key must be on this machine.
        #[manual(example = "edge.key")]
        key_file: Option<PathBuf> = None,
        /// File of the key that signs pushed archives: 64 hexadecimal digits, made at the first start. The
        /// log shows its public key; with `--signer` a site accepts archives of this key only.
        signing_key: PathBuf = PathBuf::from("edge-signing.key"),
        /// The sites.
        site: Vec<EdgeSite> = Vec::new(),
    }
}

section! {
    /// An edge site; up to 1024.
    EdgeSite {
        /// Its name, as in `edge:NAME`. Letters, digits, `-`, `_` and `.`, at most 64.
        #[manual(required, example = "north-siren")]
        name: String = String::new(),
        /// `host:port` where the site's receiver listens.
        #[manual(required, example = "192.0.2.7:4810")]
        address: String = String::new(),
        /// File of the key that this site shares with the server.
        #[manual(default = "`key_file` of `[edge]`", example = "north.key")]
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

impl Check<'_> {
    /// What `[edge]` means must make sense.
    pub(super) fn edge(&mut self) {
        let config = self.config;
        // A route without the section was told so.
        let Some(edge) = &config.edge else { return };
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

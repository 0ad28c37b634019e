//! Checks of the config over several keys. Files are looked at.

use super::route::{Route, SIMULATED_ADDRESS};
use super::sections::{CapSender, Config, Http};
use crate::log;
use gateway::registry;
use net::{TlsServer, TlsServerSettings};
use records::ChannelNumber;
use settings::{Place, Problems};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// An attachment must outlive the alert that names it: 40 days, and a day for what is retried at its end.
const ATTACHMENTS_DAYS_MIN: u32 = 41;
/// A hundred years.
const RETENTION_DAYS_MAX: u32 = 36_500;

/// Routes at most: each has three topics.
const ROUTES_MAX: usize = 500;
/// A route's name is at most so many characters.
const ROUTE_NAME_CHARS_MAX: usize = 100;
/// The first try and so many more: attempts are counted in one octet.
const RETRIES_MAX: usize = 50;

/// Said of a secret that cannot sign, without repeating it.
const NO_SECRET: &str = "is not a Standard Webhooks secret: whsec_ and base64 of 24 to 64 octets";

/// Looks at everything.
pub(super) struct Check<'a> {
    pub config: &'a Config,
    pub data: &'a Path,
    pub places: &'a BTreeMap<String, Place>,
    pub environment: &'a BTreeMap<String, String>,
    pub problems: &'a mut Problems,
}

impl Check<'_> {
    /// Adds what it finds.
    pub fn run(&mut self) {
        self.http(&self.config.http);
        self.servers();
        self.smtp();
        let secret = self.config.callback.secret.as_slice();
        let signs = secret.is_empty() || gateway::notice::Signer::new(secret).is_ok();
        self.check("callback.secret", (!signs).then_some(NO_SECRET));
        self.outbound();
        self.timestamp();
        super::map::problems(self.config, self.data).into_iter().for_each(|(key, why)| self.add(key, why));
        self.engine();
        self.rest();
        self.routes();
        self.smpp();
        self.topics();
        self.edge();
        self.diameter();
        self.charging();
        self.platforms();
        self.keywords();
        self.prepared_alerts();
        self.oidc();
        self.approval();
        self.directories();
        self.cap(&self.config.cap.sender);
    }

    /// A problem at a key, or at the nearest table around it where the key is absent.
    pub(super) fn add(&mut self, path: &str, reason: impl Into<String>) {
        let mut around = path;
        let place = loop {
            match (self.places.get(around), around.rfind(['.', '['])) {
                (Some(place), _) => break place.clone(),
                (None, Some(end)) => around = &around[..end],
                (None, None) => break Place::Nowhere,
            }
        };
        self.problems.add(place, path, reason);
    }

    pub(super) fn check(&mut self, path: &str, wrong: Option<impl Into<String>>) {
        if let Some(reason) = wrong {
            self.add(path, reason);
        }
    }

    fn http(&mut self, http: &Http) {
        match (&http.tls_cert, &http.tls_key) {
            (Some(cert), Some(key)) => {
                let files =
                    TlsServerSettings { cert_file: self.data.join(cert), key_file: self.data.join(key) };
                if let Err(error) = TlsServer::new(&files) {
                    let field = if error.field == "tls_key" { "http.tls_key" } else { "http.tls_cert" };
                    self.add(field, error.why);
                }
            }
            (Some(_), None) => self.add("http.tls_cert", "needs tls_key beside it"),
            (None, Some(_)) => self.add("http.tls_key", "needs tls_cert beside it"),
            (None, None) => {}
        }
        let is_url = |url: &str| {
            url.strip_prefix("https://").or(url.strip_prefix("http://")).is_some_and(|rest| !rest.is_empty())
        };
        let url = http.public_url.as_deref().filter(|url| !is_url(url));
        self.check(
            "http.public_url",
            url.map(|url| format!("{url:?} does not begin with https:// or http://")),
        );
        let none = "must be at least 1";
        self.check("http.body_octets_max", (http.body_octets_max == 0).then_some(none));
        self.check("http.attachment_octets_max", (http.attachment_octets_max == 0).then_some(none));
        self.check("http.attachments_total_max", (http.attachments_total_max == 0).then_some(none));
        let short = http.attachments_unnamed_kept.as_secs() < 60;
        self.check("http.attachments_unnamed_kept", short.then_some("must be at least 1m"));
        self.check("http.connections_max", (http.connections_max == 0).then_some(none));
        let per_address = http.connections_per_address_max == 0;
        self.check("http.connections_per_address_max", per_address.then_some(none));
        self.networks("http.proxy_from", &http.proxy_from);
        self.networks("http.trusted_proxies", &http.trusted_proxies);
        self.client_time("http.head_timeout", http.head_timeout);
        self.client_time("http.write_stall", http.write_stall);
        self.check("http.burst", (http.requests_per_s > 0 && http.burst == 0).then_some(none));
    }

    fn engine(&mut self) {
        let engine = &self.config.engine;
        let count = engine.retry_after.len();
        let over = count > RETRIES_MAX;
        self.check(
            "engine.retry_after",
            over.then(|| format!("{count} retries are over the limit of {RETRIES_MAX}")),
        );
        for (n, wait) in engine.retry_after.iter().enumerate() {
            let short = wait.as_secs() == 0;
            self.check(&format!("engine.retry_after[{n}]"), short.then_some("must be at least 1s"));
        }
        self.check(
            "engine.receipt_timeout",
            (engine.receipt_timeout.as_secs() == 0).then_some("must be at least 1s"),
        );
        self.check("engine.endpoints_max", (engine.endpoints_max == 0).then_some("must be at least 1"));
        self.check(
            "engine.carrier_ids",
            (engine.carrier_ids.as_secs() < 60).then_some("must be at least 1m"),
        );
    }

    fn rest(&mut self) {
        let retention = &self.config.retention;
        self.check("retention.days", (retention.days == Some(0)).then_some("must be at least 1"));
        let alone = retention.export_dir.is_some() && retention.days.is_none();
        self.check("retention.export_dir", alone.then_some("has no effect without days"));
        let no_folder = retention.exports > 0 && retention.export_dir.is_none();
        self.check("retention.exports", no_folder.then_some("has no effect without export_dir"));
        let short = (1..ATTACHMENTS_DAYS_MIN).contains(&retention.attachments);
        let words = "must be 0 (never) or at least 41: an alert lasts up to 40 days";
        self.check("retention.attachments", short.then_some(words));
        let ages = [
            ("retention.answers", retention.answers),
            ("retention.audit", retention.audit),
            ("retention.exports", retention.exports),
            ("retention.attachments", retention.attachments),
        ];
        for (key, days) in ages {
            self.check(key, (days > RETENTION_DAYS_MAX).then_some("must be at most 36500 days"));
        }
        let region = self.config.recipients.region.as_deref();
        self.check(
            "recipients.region",
            region.and_then(|region| channels::Defaults::in_region(region).err()),
        );
        self.check("log.filter", log::filter_problem(&self.config.log.filter));
        self.log_environment(log::FILTER_VARIABLE, "log.filter", log::filter_problem);
        self.log_environment(log::FORMAT_VARIABLE, "log.format", log::format_problem);
    }

    /// A variable that stands beside a key of `[log]` and goes over it.
    fn log_environment(&mut self, name: &str, field: &str, problem: fn(&str) -> Option<String>) {
        if let Some(reason) = self.environment.get(name).and_then(|value| problem(value)) {
            self.problems.add(Place::Environment(name.to_owned()), field, reason);
        }
    }

    fn routes(&mut self) {
        let routes = &self.config.route;
        let over = routes.len() > ROUTES_MAX;
        self.check(
            "route",
            over.then(|| format!("{} routes are over the limit of {ROUTES_MAX}", routes.len())),
        );
        let mut names = BTreeSet::new();
        for (n, route) in routes.iter().enumerate() {
            let path = format!("route[{n}]");
            let name = &route.common.name;
            if !name.is_empty() && !names.insert(name.as_str()) {
                self.add(&format!("{path}.name"), format!("{name:?} is the name of another route"));
            }
            self.route(route, &path);
            self.shares(route, &path);
        }
    }

    /// A route shares the limit of another one of the same account, whose own it is.
    fn shares(&mut self, route: &Route, path: &str) {
        let Some(named) = &route.common.shares else { return };
        let own = &route.common;
        let found = self.config.route.iter().map(|route| &route.common).find(|other| other.name == *named);
        let wrong = match found {
            _ if *named == own.name => Some(format!("{named:?} is the route itself: leave shares out")),
            None => Some(format!("there is no route {named:?}")),
            Some(other) if other.shares.is_some() => {
                let first = other.shares.clone().unwrap_or_default();
                Some(format!(
                    "{named:?} shares the limit of {first:?} itself: name the route that has the account"
                ))
            }
            Some(other) if other.channel != own.channel => {
                let other = other.channel.map_or("none", channels::name);
                Some(format!("{named:?} is of channel {other}: only routes of one channel share an account"))
            }
            Some(other) if other.rate != own.rate => Some(format!(
                "{named:?} has rate = {}, this route {}: they are one account, so write the same in both",
                other.rate, own.rate
            )),
            Some(_) => None,
        };
        self.check(&format!("{path}.shares"), wrong);
    }

    fn route(&mut self, route: &Route, path: &str) {
        let common = &route.common;
        let at = |key: &str| format!("{path}.{key}");
        self.check(&at("name"), wrong_name(&common.name));
        // A channel or mode that is wrong was a problem when it was read.
        if common.channel.is_none() && !self.places.contains_key(&at("channel")) {
            self.add(&at("channel"), channel_needed());
        }
        if common.mode.is_none() && !self.places.contains_key(&at("mode")) {
            self.add(&at("mode"), "is needed: live or drill");
        }
        let has_address = self.places.contains_key(&at("address"));
        // Some have no address, or one for each site.
        let has_simulator =
            common.channel.and_then(registry::of).is_none_or(|gateway| gateway.has_simulator());
        match (has_address, common.sim) {
            (true, true) => self.add(&at("sim"), "excludes address: the simulator has its own"),
            (false, false) if route.needs_address() => {
                self.add(
                    &at("address"),
                    if has_simulator { "is needed, or sim = true" } else { "is needed" },
                );
            }
            _ => {}
        }
        let rate = common.rate;
        let wrong = !rate.is_finite() || rate < 0.0;
        self.check(
            &at("rate"),
            wrong.then(|| format!("{rate} is not a rate: messages per second, 0 for unlimited")),
        );
        self.check(&at("weight"), (common.weight == 0).then_some("must be at least 1"));
        self.check(&at("cost"), (common.cost < 0).then_some("must be at least 0"));
        for (n, prefix) in common.prefixes.iter().enumerate() {
            self.check(&format!("{path}.prefixes[{n}]"), wrong_prefix(common.channel, prefix));
        }
        self.gateway(route, path);
    }

    /// The problems that the gateway of the route's channel finds.
    fn gateway(&mut self, route: &Route, path: &str) {
        let Some(gateway) = route.common.channel.and_then(registry::of) else { return };
        // A key of an edge site that cannot be read was a problem of its own.
        let Ok(around) = self.config.surroundings(self.data) else { return };
        let mut looked_at = route.clone();
        let lacks_address = route.common.address.is_none() && route.needs_address();
        if gateway.address().is_some() && (route.common.sim || lacks_address) {
            looked_at.common.address = Some(SIMULATED_ADDRESS.to_owned());
        }
        let found = match looked_at.settings(&around) {
            None => return,
            Some(Ok(settings)) => gateway.problems(&settings),
            Some(Err(problem)) => vec![problem],
        };
        for problem in found {
            // Said already, in the words of the config.
            if !matches!(problem.field, "name" | "rate" | "domain") {
                self.add(&format!("{path}.{}", problem.field), problem.reason);
            }
        }
    }

    fn cap(&mut self, senders: &[CapSender]) {
        let mut known = BTreeSet::new();
        for (n, sender) in senders.iter().enumerate() {
            let path = format!("cap.sender[{n}]");
            if sender.sender.is_empty() {
                self.add(&format!("{path}.sender"), "is needed");
            } else if !known.insert(sender.sender.as_str()) {
                self.add(&format!("{path}.sender"), format!("{:?} is named twice", sender.sender));
            }
            if sender.audience.is_empty() {
                self.add(&format!("{path}.audience"), "is needed: such as [\"area\"] or [\"group:staff\"]");
            }
            for (m, entry) in sender.audience.iter().enumerate() {
                let wrong = doors::http::check_audience(entry, &self.config.address_defaults()).err();
                self.check(&format!("{path}.audience[{m}]"), wrong);
            }
        }
    }
}

fn wrong_name(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("is needed".to_owned());
    }
    if name.len() > ROUTE_NAME_CHARS_MAX {
        return Some(format!("{} characters are over the limit of {ROUTE_NAME_CHARS_MAX}", name.len()));
    }
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    (!plain || name.starts_with('.'))
        .then(|| format!("{name:?} may have letters, digits, -, _ and . (not first) only"))
}

fn channel_needed() -> String {
    let names: Vec<&str> = channels::names().collect();
    match names.split_last() {
        Some((last, others)) => format!("is needed: {} or {last}", others.join(", ")),
        None => "is needed".to_owned(),
    }
}

fn wrong_prefix(channel: Option<ChannelNumber>, prefix: &str) -> Option<String> {
    match channel.and_then(channels::of) {
        Some(channel) => channel.check_prefix(prefix).err(),
        None => prefix.is_empty().then(|| "is empty".to_owned()),
    }
}

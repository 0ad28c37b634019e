//! Keys that sections of doors have in common, of connections, networks and times: handed over and checked.

use super::check::Check;
use super::sections::Smtp;
use doors::smtp::AuthenticatingRelays;
use net::{AllowedIp, Balancers, DoorLimits, TlsServerSettings};
use std::path::Path;
use std::time::Duration;

/// The longest time that a client may be given.
const TIME_MAX: Duration = Duration::from_secs(3_600);

/// Networks of balancers. What is none was a problem when the config was checked.
pub(super) fn balancers(networks: &[String]) -> Balancers {
    Balancers::new(networks.iter().filter_map(|network| network.parse().ok()).collect())
}

/// A door's limits.
pub(super) fn door_limits(max: usize, per_address_max: usize, proxy_from: &[String]) -> DoorLimits {
    DoorLimits { balancers: balancers(proxy_from), ..DoorLimits::new(max, per_address_max) }
}

impl Smtp {
    /// As the door wants it; nothing without a domain.
    pub fn door(&self, data: &Path) -> Option<doors::smtp::SmtpConfig> {
        let tls = self.tls_cert.as_ref().zip(self.tls_key.as_ref());
        let networks = || self.authserv_from.iter().filter_map(|network| network.parse().ok()).collect();
        let relays = |id: &String| AuthenticatingRelays { authserv_id: id.clone(), networks: networks() };
        Some(doors::smtp::SmtpConfig {
            relays: self.authserv_id.as_ref().map(relays),
            tls: tls.map(|(cert, key)| TlsServerSettings {
                cert_file: data.join(cert),
                key_file: data.join(key),
            }),
            limits: door_limits(self.connections_max, self.connections_per_address_max, &self.proxy_from),
            command: self.command_timeout,
            mail: self.mail_timeout,
            write_stall: self.write_stall,
            ..doors::smtp::SmtpConfig::new(self.listen.to_string(), self.domain.clone()?)
        })
    }
}

impl Check<'_> {
    /// Each must be an address or a network.
    pub(super) fn networks(&mut self, key: &str, networks: &[String]) {
        for (n, network) in networks.iter().enumerate() {
            self.check(&format!("{key}[{n}]"), network.parse::<AllowedIp>().err());
        }
    }

    /// A time that a client is given.
    pub(super) fn client_time(&mut self, key: &str, time: Duration) {
        let is_outside = !(Duration::from_secs(1)..=TIME_MAX).contains(&time);
        self.check(key, is_outside.then(|| format!("{} s is outside 1s to 1h", time.as_secs_f64())));
    }

    /// What `[smtp]` means must make sense.
    pub(super) fn smtp(&mut self) {
        let Some(smtp) = &self.config.smtp else { return };
        match smtp.domain.as_deref() {
            None => self.add("smtp.domain", "is needed: replies come to answers+TAG@domain"),
            Some(domain) => {
                let well_formed = domain.split('.').all(|label| {
                    !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
                });
                self.check("smtp.domain", (!well_formed).then(|| format!("{domain:?} is not a domain")));
            }
        }
        for (alone, key, other) in [
            (smtp.tls_cert.is_some() && smtp.tls_key.is_none(), "smtp.tls_cert", "tls_key"),
            (smtp.tls_key.is_some() && smtp.tls_cert.is_none(), "smtp.tls_key", "tls_cert"),
            (
                smtp.authserv_id.is_some() && smtp.authserv_from.is_empty(),
                "smtp.authserv_id",
                "authserv_from",
            ),
            (
                smtp.authserv_id.is_none() && !smtp.authserv_from.is_empty(),
                "smtp.authserv_from",
                "authserv_id",
            ),
        ] {
            self.check(key, alone.then(|| format!("needs {other} beside it")));
        }
        self.networks("smtp.proxy_from", &smtp.proxy_from);
        self.networks("smtp.authserv_from", &smtp.authserv_from);
        let is_id =
            |id: &str| !id.is_empty() && id.bytes().all(|c| c.is_ascii_graphic() && c != b'"' && c != b';');
        let is_wrong = smtp.authserv_id.as_deref().is_some_and(|id| !is_id(id));
        self.check("smtp.authserv_id", is_wrong.then_some("is no id of a server, such as mx.city.example"));
        for (key, time) in [
            ("smtp.command_timeout", smtp.command_timeout),
            ("smtp.mail_timeout", smtp.mail_timeout),
            ("smtp.write_stall", smtp.write_stall),
        ] {
            self.client_time(key, time);
        }
        let Some(door) = smtp.door(self.data) else { return };
        if let Some((key, why)) = door.limits.problem() {
            self.add(&format!("smtp.{key}"), why);
        }
        if let Some(error) = door.tls.as_ref().and_then(|tls| net::TlsServer::new(tls).err()) {
            self.add(&format!("smtp.{}", error.field), error.why);
        }
    }
}

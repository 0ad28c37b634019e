//! Keys of a route of channel `mail`, and its settings made of them.

use super::{Route, RouteKeys};
use crate::config::values::{TlsWords, below};
use gateway::Secret;
use gateway::mail::{MailRoute, Tls};
use records::Mode;
use settings::section;
use std::path::{Path, PathBuf};

section! {
    /// A mail relay, by SMTP.
    MailKeys {
        /// The author: `"alerts@city.example"` or `"City of X <alerts@city.example>"`; the address is ASCII.
        #[manual(required, example = "City of X <alerts@city.example>")]
        from: String = MailRoute::default().from,
        /// Sessions at a time, 1 to 64.
        sessions: usize = MailRoute::default().sessions,
        /// Mails without a response on each session, 1 to 1,000.
        window: usize = MailRoute::default().window,
        /// `"none"`, `"starttls"`, or `"tls"` from the first octet.
        #[manual(example = "starttls")]
        tls: Tls as TlsWords = MailRoute::default().tls,
        /// With `tls`: certificates (PEM) that are trusted beside the public roots.
        #[manual(example = "tls/relay.pem")]
        ca_file: Option<PathBuf> = MailRoute::default().ca_file,
        /// With `tls`: name in the relay's certificate.
        #[manual(default = "the host of `address`", example = "relay.example")]
        server_name: Option<String> = MailRoute::default().server_name,
        /// User name for AUTH; set with `password`.
        #[manual(example = "campanile")]
        username: Option<String> = MailRoute::default().username,
        /// Password of `username`.
        #[manual(example = "secret")]
        password: Option<Secret> = MailRoute::default().password,
        /// Name of this server in EHLO.
        #[manual(default = "the domain of `from`", example = "city.example")]
        hello: Option<String> = MailRoute::default().hello,
    }
}

impl Route {
    /// Settings of the mail gateway; nothing for another channel. `address` is the simulator's, where the route has one,
    /// and `domain` that of the SMTP server for replies and bounces.
    pub fn mail(&self, data: &Path, address: Option<&str>, domain: Option<&str>) -> Option<MailRoute> {
        self.keys::<MailKeys>().map(|keys| keys.route(&self.common, data, address, domain))
    }
}

impl MailKeys {
    fn route(
        &self,
        common: &RouteKeys,
        data: &Path,
        address: Option<&str>,
        domain: Option<&str>,
    ) -> MailRoute {
        MailRoute {
            name: common.name.clone(),
            address: common.peer(address),
            tls: self.tls,
            ca_file: below(data, self.ca_file.as_ref()),
            server_name: self.server_name.clone(),
            username: self.username.clone(),
            password: self.password.clone(),
            from: self.from.clone(),
            sessions: self.sessions,
            window: self.window,
            rate: common.rate,
            domain: domain.map(str::to_owned),
            hello: self.hello.clone(),
            drill: common.mode == Some(Mode::Drill),
            timeouts: MailRoute::default().timeouts,
        }
    }
}

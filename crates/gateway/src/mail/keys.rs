//! Keys of a route of channel `mail`, and its settings made of them.

use super::{MailRoute, TlsMode};
use crate::route_keys::RouteKeys;
use crate::surroundings::Surroundings;
use crate::tls_words::TlsWords;
use records::Mode;
use settings::{Secret, section};
use std::path::PathBuf;

/// The domain of the SMTP door, to whose addresses people reply and mails bounce: `[smtp] domain`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyDomain(pub String);

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
        tls: TlsMode as TlsWords = MailRoute::default().tls,
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

impl MailKeys {
    /// Settings of a route with these keys.
    pub(super) fn route(&self, common: &RouteKeys, around: &Surroundings) -> MailRoute {
        MailRoute {
            name: common.name.clone(),
            address: common.peer(),
            tls: self.tls,
            ca_file: self.ca_file.as_ref().map(|file| around.below(file)),
            server_name: self.server_name.clone(),
            username: self.username.clone(),
            password: self.password.clone(),
            from: self.from.clone(),
            sessions: self.sessions,
            window: self.window,
            rate: common.rate,
            domain: around.get::<ReplyDomain>().map(|domain| domain.0.clone()),
            hello: self.hello.clone(),
            drill: common.mode == Some(Mode::Drill),
            timeouts: MailRoute::default().timeouts,
        }
    }
}

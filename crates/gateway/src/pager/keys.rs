//! Keys of a route of channel `pager`, and its settings made of them.

use super::config::{PagerProtocol, PagerRoute, PagingTransport, Polling, SnppSettings};
use super::text::{PagerCharset, TextShape};
use crate::context::RouteProblem;
use crate::mail::{MailRoute, ReplyDomain, TlsMode};
use crate::route_keys::RouteKeys;
use crate::surroundings::Surroundings;
use crate::tls_words::TlsWords;
use records::Mode;
use settings::{Secret, section, words};
use std::path::PathBuf;
use std::time::Duration;

section! {
    /// A paging carrier, by SNPP or by mail.
    PagerKeys {
        /// `"snpp"` (RFC 1861), or `"smtp"`: mails to the carrier, for addresses with an `@`.
        #[manual(example = "snpp")]
        protocol: PagerProtocol as ProtocolWords = PagerProtocol::Snpp,
        /// Connections at a time, 1 to 64.
        sessions: usize = 2,
        /// Characters of a page, 20 to 900. A longer text loses its greeting first, then its end.
        length: usize = 240,
        /// Characters that the carrier takes: `"ascii"` (other letters are spelled in it), `"latin1"` or
        /// `"utf-8"`.
        #[manual(example = "ascii")]
        charset: PagerCharset as CharsetOfPagerWords = PagerCharset::Ascii,
        /// Login at the SNPP server, or user name for AUTH; set with `password` where there is one.
        #[manual(example = "city")]
        login: Option<String> = None,
        /// Password of `login`.
        #[manual(example = "secret")]
        password: Option<Secret> = None,
        /// `"none"`, or `"tls"` from the first octet; with smtp also `"starttls"`.
        #[manual(example = "tls")]
        tls: TlsMode as TlsWords = TlsMode::None,
        /// With `tls`: certificates (PEM) that are trusted beside the public roots.
        #[manual(example = "tls/pager.pem")]
        ca_file: Option<PathBuf> = None,
        /// With `tls`: name in the carrier's certificate.
        #[manual(default = "the host of `address`", example = "snpp.carrier.example")]
        server_name: Option<String> = None,
        /// With snpp: pages of level 3. Deliveries are confirmed, choices of an alert are answers on the
        /// pager. A pager or a server without level 3 gets the page by level 2.
        two_way: bool = false,
        /// With `two_way`: how often the carrier is asked how pages stand, 1s to 1h.
        #[manual(example = "30s")]
        poll: Duration = Polling::default().every,
        /// With `two_way`: a page is asked for no longer than this, 1m to 7d.
        #[manual(example = "24h")]
        poll_for: Duration = Polling::default().at_most_for,
        /// With `two_way`: pages that are asked for at a time, 1 to 50,000; others wait.
        poll_pages: usize = Polling::default().pages,
        /// With snpp: service level of pages, 0 (priority) to 11. Emergencies have 0 where it is set.
        #[manual(example = 1)]
        level: Option<u8> = None,
        /// With snpp: alternate coverage area.
        #[manual(example = "2")]
        coverage: Option<String> = None,
        /// With snpp: caller's id shown with pages, 1 to 64 visible ASCII characters.
        #[manual(example = "City of X")]
        caller: Option<String> = None,
        /// With smtp: the author, `"alerts@city.example"` or `"City of X <alerts@city.example>"`.
        #[manual(example = "City of X <alerts@city.example>")]
        from: String = String::new(),
        /// With smtp: name of this server in EHLO.
        #[manual(default = "the domain of `from`", example = "city.example")]
        hello: Option<String> = None,
    }
}

words! {
    /// Protocols of a paging carrier.
    ProtocolWords for PagerProtocol {
        /// SNPP.
        Snpp = "snpp",
        /// Mail.
        Smtp = "smtp",
    }
}

words! {
    /// Characters that a pager shows.
    CharsetOfPagerWords for PagerCharset {
        /// 7-bit.
        Ascii = "ascii",
        /// ISO 8859-1.
        Latin1 = "latin1",
        /// All.
        Utf8 = "utf-8",
    }
}

impl PagerKeys {
    /// Settings of a route with these keys.
    pub(super) fn route(
        &self,
        common: &RouteKeys,
        around: &Surroundings,
    ) -> Result<PagerRoute, RouteProblem> {
        let is_smtp = self.protocol == PagerProtocol::Smtp;
        if is_smtp && common.sim {
            let reason = "the simulator speaks SNPP: set protocol = \"snpp\", or run `campanile sim mail` and set its address";
            return Err(RouteProblem { field: "sim", reason: reason.to_owned() });
        }
        if let Some(field) = self.misplaced(is_smtp) {
            let reason =
                format!("has no effect with protocol = \"{}\"", if is_smtp { "smtp" } else { "snpp" });
            return Err(RouteProblem { field, reason });
        }
        let transport = match self.protocol {
            PagerProtocol::Snpp => PagingTransport::Snpp(Box::new(self.snpp(common, around))),
            PagerProtocol::Smtp => PagingTransport::Smtp(Box::new(self.smtp(common, around))),
        };
        Ok(PagerRoute {
            name: common.name.clone(),
            rate: common.rate,
            sessions: self.sessions,
            shape: TextShape { length: self.length, charset: self.charset },
            transport,
        })
    }

    /// A key of the other protocol that is set.
    fn misplaced(&self, is_smtp: bool) -> Option<&'static str> {
        let of_snpp = [
            ("two_way", self.two_way),
            ("level", self.level.is_some()),
            ("coverage", self.coverage.is_some()),
            ("caller", self.caller.is_some()),
        ];
        let of_smtp = [("from", !self.from.is_empty()), ("hello", self.hello.is_some())];
        let others: &[(&'static str, bool)] = if is_smtp { &of_snpp } else { &of_smtp };
        others.iter().find(|(_, is_set)| *is_set).map(|(field, _)| *field)
    }

    fn snpp(&self, common: &RouteKeys, around: &Surroundings) -> SnppSettings {
        let polling = Polling { every: self.poll, at_most_for: self.poll_for, pages: self.poll_pages };
        SnppSettings {
            address: common.peer(),
            tls: self.tls,
            ca_file: self.ca_file.as_ref().map(|file| around.below(file)),
            server_name: self.server_name.clone(),
            login: self.login.clone(),
            password: self.password.clone(),
            two_way: self.two_way.then_some(polling),
            level: self.level,
            coverage: self.coverage.clone(),
            caller: self.caller.clone(),
        }
    }

    fn smtp(&self, common: &RouteKeys, around: &Surroundings) -> MailRoute {
        MailRoute {
            name: common.name.clone(),
            address: common.peer(),
            tls: self.tls,
            ca_file: self.ca_file.as_ref().map(|file| around.below(file)),
            server_name: self.server_name.clone(),
            username: self.login.clone(),
            password: self.password.clone(),
            from: self.from.clone(),
            sessions: self.sessions,
            rate: common.rate,
            domain: around.get::<ReplyDomain>().map(|domain| domain.0.clone()),
            hello: self.hello.clone(),
            drill: common.mode == Some(Mode::Drill),
            ..MailRoute::default()
        }
    }
}

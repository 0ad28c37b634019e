//! Settings of a route of instant messages: its network, its account, and how much is under way.

use crate::context::RouteProblem;
use crate::route_loop::{ChangeScope, RouteSettings};
use reqwest::Url;
use settings::Secret;
use std::path::PathBuf;
use std::time::Duration;

/// Messages without an answer at most.
const WINDOW_MAX: usize = 256;

/// A network of instant messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImProtocol {
    /// Matrix, by its client-server API.
    #[default]
    Matrix,
    /// Telegram, by its bot API, or a server with an API like it.
    Telegram,
}

impl ImProtocol {
    /// The scheme of its addresses, and its word in the config.
    pub fn name(self) -> &'static str {
        match self {
            ImProtocol::Matrix => "matrix",
            ImProtocol::Telegram => "telegram",
        }
    }

    /// The beginning of its addresses, whose routes take no others.
    pub fn prefix(self) -> &'static str {
        match self {
            ImProtocol::Matrix => "matrix:",
            ImProtocol::Telegram => "telegram:",
        }
    }

    /// The network's id keeps a message that is sent again from becoming a second copy.
    pub fn is_repeatable(self) -> bool {
        self == ImProtocol::Matrix
    }

    /// The network reports what a person has seen.
    pub fn has_receipts(self) -> bool {
        self == ImProtocol::Matrix
    }

    /// The key of its account's secret.
    fn token_key(self) -> &'static str {
        match self {
            ImProtocol::Matrix => "access_token",
            ImProtocol::Telegram => "token",
        }
    }

    /// The key of its server's URL.
    fn base_key(self) -> &'static str {
        match self {
            ImProtocol::Matrix => "homeserver",
            ImProtocol::Telegram => "address",
        }
    }
}

/// One `[[route]]` of channel `im`.
#[derive(Debug, Clone, PartialEq)]
pub struct ImRoute {
    /// The route's name.
    pub name: String,
    /// Messages per second; 0 is unlimited.
    pub rate: f64,
    /// Its network; nothing: the key is missing.
    pub protocol: Option<ImProtocol>,
    /// It connects to a simulator, which takes any account.
    pub simulated: bool,
    /// URL of the API.
    pub base: String,
    /// The account's secret.
    pub token: Option<Secret>,
    /// The bot's user name, for links to it.
    pub bot: Option<String>,
    /// PEM certificates trusted beside the world's roots.
    pub ca_file: Option<PathBuf>,
    /// Messages without an answer at most.
    pub window: usize,
    /// An answer that takes longer does not come.
    pub timeout: Duration,
    /// The network holds back an answer without news for so long.
    pub poll: Duration,
}

impl Default for ImRoute {
    fn default() -> ImRoute {
        ImRoute {
            name: String::new(),
            rate: 0.0,
            protocol: None,
            simulated: false,
            base: String::new(),
            token: None,
            bot: None,
            ca_file: None,
            window: 16,
            timeout: Duration::from_secs(30),
            poll: Duration::from_secs(30),
        }
    }
}

impl ImRoute {
    /// Its network.
    pub(super) fn network(&self) -> ImProtocol {
        self.protocol.unwrap_or_default()
    }
}

impl RouteSettings for ImRoute {
    fn name(&self) -> &str {
        &self.name
    }

    fn problems(&self) -> Vec<RouteProblem> {
        let mut problems = Vec::new();
        let mut check = |field: &'static str, wrong: bool, reason: &str| {
            if wrong {
                problems.push(RouteProblem { field, reason: reason.to_owned() });
            }
        };
        check("name", self.name.is_empty(), "is needed");
        check("rate", !self.rate.is_finite() || self.rate < 0.0, &format!("{} is not a rate", self.rate));
        check("protocol", self.protocol.is_none(), "is needed: matrix or telegram");
        let (network, window) = (self.network(), self.window);
        let outside = format!("{window} is not between 1 and {WINDOW_MAX}");
        check("window", !(1..=WINDOW_MAX).contains(&window), &outside);
        let bot = self.bot.as_deref();
        check("bot", bot.is_some_and(|name| !is_user_name(name)), WRONG_BOT);
        if !self.simulated {
            match self.base.is_empty() {
                true => check(network.base_key(), true, "is needed, or sim = true"),
                false => check(network.base_key(), base_url(&self.base).is_err(), WRONG_URL),
            }
            check(network.token_key(), self.token.is_none(), "is needed, or sim = true");
        }
        let (trust, token) = (super::http::trust(self), self.token.as_ref().map(Secret::reveal));
        check("ca_file", trust.is_err(), &trust.err().unwrap_or_default());
        let odd = token.is_some_and(|token| token.is_empty() || !token.bytes().all(|c| c.is_ascii_graphic()));
        check(network.token_key(), odd, "holds characters that no token has");
        problems
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn protocol(&self) -> Option<&'static str> {
        Some(self.protocol.unwrap_or_default().name())
    }

    fn slots(&self) -> u32 {
        self.window as u32
    }

    fn down_after(&self) -> Duration {
        DOWN_AFTER
    }

    fn step_to(&self, to: &ImRoute) -> ChangeScope {
        let bound = |route: &ImRoute| ImRoute { rate: 0.0, window: 0, ..route.clone() };
        if self == to {
            ChangeScope::None
        } else if self.protocol != to.protocol {
            // Another network has other promises for what a crash leaves.
            ChangeScope::Reopen
        } else if bound(self) != bound(to) {
            ChangeScope::Rebind
        } else {
            ChangeScope::InPlace
        }
    }

    fn connect_to(&mut self, simulator: &str) {
        self.base = format!("http://{simulator}");
        self.token.get_or_insert_with(|| Secret::from("1:simulated"));
    }
}

/// A server that is gone for longer has what waits for it tried elsewhere.
const DOWN_AFTER: Duration = Duration::from_secs(30);
/// Said of an address that is no URL.
const WRONG_URL: &str = "is no URL of a server, such as https://matrix.example.org";

/// Characters of the user name of a bot (Telegram, "Usernames").
const USER_NAME_CHARS: std::ops::RangeInclusive<usize> = 5..=32;
/// Said of a user name that none can be.
const WRONG_BOT: &str =
    "is no user name of a bot: 5 to 32 letters, digits and underscores, without @ or t.me/";

fn is_user_name(name: &str) -> bool {
    USER_NAME_CHARS.contains(&name.len()) && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}

/// The URL of an API. One without a scheme is a host whose API is reached by https.
///
/// # Errors
/// It is none.
pub(super) fn base_url(text: &str) -> Result<Url, String> {
    let whole = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let url = Url::parse(&whole).map_err(|error| format!("{error}"))?;
    let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    match matches!(url.scheme(), "http" | "https") && url.has_host() && is_plain {
        true => Ok(url),
        false => Err(WRONG_URL.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> ImRoute {
        ImRoute {
            name: "matrix".to_owned(),
            protocol: Some(ImProtocol::Matrix),
            base: "https://matrix.example.org".to_owned(),
            token: Some(Secret::from("syt_secret")),
            ..ImRoute::default()
        }
    }

    #[test]
    fn each_wrong_key_is_named() {
        assert_eq!(good().problems(), vec![]);
        let telegram =
            ImRoute { protocol: Some(ImProtocol::Telegram), base: "127.0.0.1:8081".to_owned(), ..good() };
        assert_eq!(telegram.problems(), vec![]);
        let named = ImRoute { bot: Some("City_alerts_bot".to_owned()), ..telegram.clone() };
        assert_eq!(named.problems(), vec![]);
        for (field, route) in [
            ("name", ImRoute { name: String::new(), ..good() }),
            ("rate", ImRoute { rate: f64::NAN, ..good() }),
            ("protocol", ImRoute { protocol: None, ..good() }),
            ("window", ImRoute { window: 0, ..good() }),
            ("window", ImRoute { window: WINDOW_MAX + 1, ..good() }),
            ("homeserver", ImRoute { base: String::new(), ..good() }),
            ("homeserver", ImRoute { base: "ftp://x".to_owned(), ..good() }),
            ("homeserver", ImRoute { base: "https://u:p@x".to_owned(), ..good() }),
            ("access_token", ImRoute { token: None, ..good() }),
            ("access_token", ImRoute { token: Some(Secret::from("a b")), ..good() }),
            ("ca_file", ImRoute { ca_file: Some(PathBuf::from("/nowhere.pem")), ..good() }),
            ("token", ImRoute { token: None, ..telegram.clone() }),
            ("address", ImRoute { base: "http://".to_owned(), ..telegram.clone() }),
            ("bot", ImRoute { bot: Some("@city_bot".to_owned()), ..telegram.clone() }),
            ("bot", ImRoute { bot: Some("bot".to_owned()), ..telegram.clone() }),
            ("bot", ImRoute { bot: Some("x".repeat(33)), ..telegram.clone() }),
        ] {
            let fields: Vec<_> = route.problems().into_iter().map(|problem| problem.field).collect();
            assert_eq!(fields, [field], "{route:?}");
        }
        assert!(!format!("{:?}", good()).contains("syt_secret"), "a token is never shown");
    }

    #[test]
    fn a_simulated_route_needs_no_account() {
        let mut route = ImRoute { simulated: true, base: String::new(), token: None, ..good() };
        assert_eq!(route.problems(), vec![]);
        route.connect_to("127.0.0.1:7");
        assert_eq!(route.base, "http://127.0.0.1:7");
        assert_eq!(route.problems(), vec![]);
    }

    #[test]
    fn a_rate_changes_in_place_and_another_account_begins_anew() {
        let route = good();
        for (step, to) in [
            (ChangeScope::None, good()),
            (ChangeScope::InPlace, ImRoute { rate: 5.0, window: 2, ..good() }),
            (ChangeScope::Rebind, ImRoute { token: Some(Secret::from("other")), ..good() }),
            (ChangeScope::Reopen, ImRoute { protocol: Some(ImProtocol::Telegram), ..good() }),
        ] {
            assert_eq!(route.step_to(&to), step, "{to:?}");
        }
    }
}

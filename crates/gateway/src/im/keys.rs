//! Keys of a route of channel `im`, and its settings made of them.

use super::config::{ImProtocol, ImRoute};
use crate::context::RouteProblem;
use crate::route_keys::RouteKeys;
use crate::surroundings::Surroundings;
use settings::{
    AllowedWord, Node, Problems, Schema, Secret, ValueFormat, format_one_of, read_parsed, section,
};
use std::path::PathBuf;

section! {
    /// Instant messages: Matrix, by its client-server API, and Telegram, by its bot API. A route takes the
    /// addresses of its network: `matrix:…` or `telegram:…`.
    ImKeys {
        /// `"matrix"` or `"telegram"`. (`"xmpp"` is not built yet.)
        #[manual(required, example = "matrix")]
        protocol: Option<ImProtocol> as Option<ImProtocolWords> = None,
        /// Matrix: URL of the homeserver's client API.
        #[manual(default = "none; needed for Matrix unless `sim` is true", example = "https://matrix.example.org")]
        homeserver: Option<String> = None,
        /// Matrix: access token of the account that writes, of a login with a device: only then a message
        /// that is sent again leaves no second copy.
        #[manual(default = "none; needed for Matrix unless `sim` is true", example = "syt_YWxlcnRz_secret")]
        access_token: Option<Secret> = None,
        /// Telegram: the bot's token, as BotFather gave it. For another server of the bot API `address` is
        /// its URL.
        #[manual(default = "none; needed for Telegram unless `sim` is true", example = "123456789:secret")]
        token: Option<Secret> = None,
        /// Telegram: the bot's user name, as in `t.me/NAME`. People's own pages then have a link that
        /// connects their chat with the bot.
        #[manual(default = "none: pages have no such link", example = "city_alerts_bot")]
        bot: Option<String> = None,
        /// Certificates (PEM) that are trusted beside the public roots.
        #[manual(example = "tls/matrix.pem")]
        ca_file: Option<PathBuf> = None,
        /// Messages without an answer at a time, 1 to 256.
        window: usize = ImRoute::default().window,
    }
}

/// A network by its name.
#[derive(Debug)]
pub enum ImProtocolWords {}

/// As they are written.
const PROTOCOLS: [(&str, ImProtocol); 2] =
    [("matrix", ImProtocol::Matrix), ("telegram", ImProtocol::Telegram)];

impl ValueFormat for ImProtocolWords {
    type Value = ImProtocol;

    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<ImProtocol> {
        read_parsed(node, path, problems, |text| match PROTOCOLS.iter().find(|(word, _)| *word == text) {
            Some((_, protocol)) => Ok(*protocol),
            None if text == "xmpp" => Err("xmpp is not built yet: matrix and telegram are".to_owned()),
            None => Err(format!("{text:?} is no protocol of channel im: write matrix or telegram")),
        })
    }

    fn write(value: &ImProtocol) -> Option<String> {
        format_one_of(value, &PROTOCOLS)
    }

    fn schema() -> Schema {
        Schema::Words(PROTOCOLS.iter().map(|(word, _)| AllowedWord { word, doc: "" }).collect())
    }
}

/// Where Telegram's own bot API is.
const TELEGRAM_API: &str = "https://api.telegram.org";

impl ImKeys {
    /// Settings of a route with these keys.
    ///
    /// # Errors
    /// A key of the other network.
    pub(super) fn route(&self, common: &RouteKeys, around: &Surroundings) -> Result<ImRoute, RouteProblem> {
        let protocol = self.protocol.unwrap_or_default();
        let stray = match protocol {
            ImProtocol::Matrix if self.token.is_some() => Some("token"),
            ImProtocol::Matrix if self.bot.is_some() => Some("bot"),
            ImProtocol::Matrix if common.address.is_some() && self.homeserver.is_some() && !common.sim => {
                Some("address")
            }
            ImProtocol::Telegram if self.homeserver.is_some() => Some("homeserver"),
            ImProtocol::Telegram if self.access_token.is_some() => Some("access_token"),
            _ => None,
        };
        if let Some(field) = stray {
            let reason = format!("has no effect with protocol = \"{}\"", protocol.name());
            return Err(RouteProblem { field, reason });
        }
        let (base, token) = match protocol {
            ImProtocol::Matrix => (self.homeserver.clone(), self.access_token.clone()),
            ImProtocol::Telegram => {
                (Some(common.address.clone().unwrap_or_else(|| TELEGRAM_API.to_owned())), self.token.clone())
            }
        };
        Ok(ImRoute {
            name: common.name.clone(),
            rate: common.rate,
            protocol: self.protocol,
            simulated: common.sim,
            base: base.unwrap_or_default(),
            token,
            bot: self.bot.clone(),
            ca_file: self.ca_file.as_ref().map(|file| around.below(file)),
            window: self.window,
            ..ImRoute::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn common() -> RouteKeys {
        RouteKeys { name: "im".to_owned(), rate: 5.0, ..RouteKeys::default() }
    }

    fn route(keys: &ImKeys, common: &RouteKeys) -> Result<ImRoute, RouteProblem> {
        keys.route(common, &Surroundings::new(Path::new("/data")))
    }

    #[test]
    fn each_network_has_its_keys() {
        let matrix = ImKeys {
            protocol: Some(ImProtocol::Matrix),
            homeserver: Some("https://m.example".to_owned()),
            access_token: Some(Secret::from("t")),
            ca_file: Some(PathBuf::from("ca.pem")),
            ..ImKeys::default()
        };
        let made = route(&matrix, &common()).unwrap();
        assert_eq!((made.base.as_str(), made.rate, made.simulated), ("https://m.example", 5.0, false));
        assert_eq!(made.ca_file.as_deref(), Some(Path::new("/data/ca.pem")));
        let telegram = ImKeys {
            protocol: Some(ImProtocol::Telegram),
            token: Some(Secret::from("t")),
            ..ImKeys::default()
        };
        assert_eq!(route(&telegram, &common()).unwrap().base, TELEGRAM_API);
        let elsewhere = RouteKeys { address: Some("http://bots.example".to_owned()), ..common() };
        assert_eq!(route(&telegram, &elsewhere).unwrap().base, "http://bots.example");
        for (field, keys, common) in [
            ("token", ImKeys { token: Some(Secret::from("t")), ..matrix.clone() }, common()),
            ("bot", ImKeys { bot: Some("city_bot".to_owned()), ..matrix.clone() }, common()),
            ("address", matrix.clone(), elsewhere),
            ("homeserver", ImKeys { homeserver: Some("x".to_owned()), ..telegram.clone() }, common()),
            ("access_token", ImKeys { access_token: Some(Secret::from("t")), ..telegram.clone() }, common()),
        ] {
            let problem = route(&keys, &common).unwrap_err();
            assert_eq!(problem.field, field);
            assert!(problem.reason.starts_with("has no effect with protocol"), "{problem}");
        }
    }
}

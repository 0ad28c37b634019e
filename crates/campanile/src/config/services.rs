//! `[organisation]`, `[services]`, `[[send]]`: what people may do from their devices, and who replies.

use super::Config;
use super::Route;
use super::platforms::{ActionChoice, Keyword, LaneChoice};
use engine::{ChatBot, PreparedAlert, Service, ServiceRules, ServiceWord};
use gateway::Secret;
use gateway::im::ImKeys;
use gateway::route_keys::ModeWords;
use records::{AlertRequest, AudienceEntry, Lane, Mode, OnUnknown, Priority, Strategy, Terminal, Texts};
use settings::section;
use std::time::Duration;

section! {
    /// Who runs this server, as people know it.
    Organisation {
        /// Its name: replies to service words begin with it.
        #[manual(example = "City of X")]
        name: Option<String> = None,
    }
}

section! {
    /// Services that people use by writing a word from a device: HELP, STATUS, GROUPS, JOIN, LEAVE,
    /// SUBSCRIBE, LANG, QUIET, PAGE. [Services](services.md) describes them.
    Services {
        /// Service words are understood. Otherwise they are messages like any other.
        enabled: bool = true,
    }
}

section! {
    /// An alert that was prepared: whoever may sends it from a device of theirs with SEND, its name and the
    /// PIN; it goes out when the code that is replied comes back.
    Send {
        /// Its name, one word.
        #[manual(required, example = "evac")]
        name: String = String::new(),
        /// At least 4 characters.
        #[manual(required, example = "a PIN of your own")]
        pin: Secret = Secret::default(),
        /// Who may send it: `recipient:ID`, `group:NAME`.
        #[manual(required, example = ["group:duty"])]
        who: Vec<String> = Vec::new(),
        /// Subject line.
        #[manual(example = "All out now")]
        headline: Option<String> = None,
        /// The text.
        #[manual(required, example = "Leave the building by the nearest door.")]
        text: String = String::new(),
        /// Whom it goes to, as in an alert.
        #[manual(required, example = ["group:staff"])]
        audience: Vec<String> = Vec::new(),
        /// `"emergency"`, `"urgent"` or `"routine"`.
        priority: LaneChoice = LaneChoice::Emergency,
        /// `"live"` or `"drill"`.
        mode: Mode as ModeWords = Mode::Live,
        /// How long it is tried.
        tried: Duration = Duration::from_secs(86_400),
    }
}

impl ActionChoice {
    /// The service that a word with this action asks for.
    fn service(self) -> Option<Service> {
        Some(match self {
            ActionChoice::Stop | ActionChoice::Start | ActionChoice::Help => return None,
            ActionChoice::Text | ActionChoice::Url => return None,
            ActionChoice::Status => Service::Status,
            ActionChoice::Groups => Service::Groups,
            ActionChoice::Join => Service::Join,
            ActionChoice::Leave => Service::Leave,
            ActionChoice::Subscribe => Service::Subscribe,
            ActionChoice::Unsubscribe => Service::Unsubscribe,
            ActionChoice::Lang => Service::Lang,
            ActionChoice::Quiet => Service::Quiet,
            ActionChoice::Page => Service::Page,
            ActionChoice::Send => Service::Send,
        })
    }
}

fn service_words(keyword: &Keyword) -> impl Iterator<Item = ServiceWord> {
    let service = keyword.action.and_then(ActionChoice::service);
    let words = service.map(|_| keyword.words.as_slice()).unwrap_or_default();
    words.iter().filter_map(move |words| Some(ServiceWord { service: service?, words: words.clone() }))
}

/// The bot that a route speaks for, where its user name is known.
fn bot(route: &Route) -> Option<ChatBot> {
    let keys = route.own.as_ref()?.get::<ImKeys>()?;
    Some(ChatBot { route: route.common.name.clone(), name: keys.bot.clone()? })
}

impl Config {
    /// What people may do from their devices, as the engine wants it.
    pub(super) fn service_rules(&self) -> ServiceRules {
        ServiceRules {
            enabled: self.services.enabled,
            words: self.keyword.iter().flat_map(service_words).collect(),
            organisation: self.organisation.name.clone().unwrap_or_default(),
            prepared: self.send.iter().map(Send::prepared).collect(),
            bots: self.route.iter().filter_map(bot).collect(),
        }
    }
}

impl Send {
    fn prepared(&self) -> PreparedAlert {
        let entry = |to: &String| AudienceEntry { to: to.clone(), strategy: None, expires: None };
        let lane = self.priority.lane();
        PreparedAlert {
            name: self.name.clone(),
            who: self.who.clone(),
            pin: self.pin.reveal().to_owned(),
            tried_s: u32::try_from(self.tried.as_secs()).unwrap_or(u32::MAX),
            request: AlertRequest {
                headline: self.headline.clone(),
                text: Some(self.text.clone()),
                texts: Texts::default(),
                audience: self.audience.iter().map(entry).collect(),
                exclude: Vec::new(),
                channels: Vec::new(),
                strategy: Strategy::All,
                require_answer: false,
                choices: Vec::new(),
                terminal: Terminal::Accepted,
                not_before: None,
                expires: records::Timestamp::default(),
                priority: match lane {
                    Lane::Emergency => Priority::Emergency,
                    Lane::Urgent => Priority::Urgent,
                    Lane::Routine => Priority::Routine,
                },
                on_unknown: if lane == Lane::Emergency { OnUnknown::Resend } else { OnUnknown::Hold },
                callback: None,
                sender: None,
                mode: self.mode,
                participants_only: false,
                answer_rules: records::AnswerRules::default(),
                follows: None,
                flash: false,
                resources: Vec::new(),
                attachments: Vec::new(),
                area: None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn parsed(text: &str) -> Result<Config, String> {
        let parsed = crate::config::parse(text, "c.toml", Path::new("/data"), &BTreeMap::new());
        parsed.map_err(|error| error.to_string())
    }

    #[test]
    fn services_are_read_with_their_words_and_prepared_alerts() {
        let text = "[organisation]\nname = \"City of X\"\n\
             [[keyword]]\naction = \"join\"\nwords = [\"liity\"]\nlanguage = \"fi\"\n\
             [[send]]\nname = \"evac\"\npin = \"471147\"\nwho = [\"group:duty\"]\ntext = \"Out\"\naudience = [\"group:staff\"]\n";
        let rules = parsed(text).unwrap().keywords().services;
        assert!(rules.enabled);
        assert_eq!(rules.organisation, "City of X");
        assert_eq!(rules.words, [ServiceWord { service: Service::Join, words: "liity".into() }]);
        let prepared = &rules.prepared[0];
        assert_eq!(
            (prepared.name.as_str(), prepared.pin.as_str(), prepared.tried_s),
            ("evac", "471147", 86_400)
        );
        assert_eq!(prepared.request.priority, Priority::Emergency);
        assert!(parsed(text).unwrap().keywords().list.is_empty(), "a service word is no keyword");
        assert!(!format!("{prepared:?}").contains("471147"));
    }

    #[test]
    fn the_user_name_of_a_bot_is_known_to_peoples_pages() {
        let text = "[[route]]\nname = \"telegram\"\nchannel = \"im\"\nprotocol = \"telegram\"\nmode = \"live\"\n\
             token = \"1:secret\"\n";
        assert_eq!(parsed(text).unwrap().keywords().services.bots, []);
        let named = parsed(&format!("{text}bot = \"city_bot\"\n")).unwrap();
        let expected = ChatBot { route: "telegram".into(), name: "city_bot".into() };
        assert_eq!(named.keywords().services.bots, [expected]);
        let error = parsed(&format!("{text}bot = \"@city_bot\"\n")).unwrap_err();
        assert!(error.contains("route[0].bot") && error.contains("without @"), "{error}");
    }

    #[test]
    fn a_prepared_alert_that_cannot_be_sent_is_refused_by_its_key() {
        let whole = "[[send]]\nname = \"evac\"\npin = \"4711\"\nwho = [\"group:duty\"]\ntext = \"Out\"\naudience = [\"all\"]\n";
        assert!(parsed(whole).is_ok());
        for (from, to, field) in [
            ("name = \"evac\"", "name = \"evac now\"", "send[0].name"),
            ("pin = \"4711\"", "pin = \"471\"", "send[0].pin"),
            ("who = [\"group:duty\"]", "who = [\"sms:+46700000001\"]", "send[0].who[0]"),
            ("who = [\"group:duty\"]", "who = []", "send[0].who"),
            ("text = \"Out\"", "text = \"\"", "send[0].text"),
            ("audience = [\"all\"]", "audience = []", "send[0].audience"),
        ] {
            let error = parsed(&whole.replace(from, to)).unwrap_err();
            assert!(error.contains(field), "{to}: {error}");
        }
        let twice = format!("{whole}{whole}");
        assert!(parsed(&twice).unwrap_err().contains("send[1].name"));
    }
}

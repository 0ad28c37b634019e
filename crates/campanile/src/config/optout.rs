//! `[optout]`: how far a person's STOP goes.

use super::Config;
use engine::OptOutRules;
use gateway::sms::SmsKeys;
use settings::{section, words};

section! {
    /// Reach of a person's STOP. [STOP](platforms.md#stop-start-help) describes the words that are one,
    /// beside those of a [keyword](#keyword).
    Optout {
        /// Alerts of priority `emergency` to people who said STOP: `"keep"` (they get nothing) or
        /// `"override"` (they get it, where the law allows that).
        emergency: EmergencyChoice = EmergencyChoice::Keep,
        /// Senders a STOP holds for: `"all"`, or `"sender"`, the number or name it was sent to alone, as
        /// programmes of several senders need it; STOP ALL and its like then hold for all.
        stop: StopChoice = StopChoice::All,
    }
}

words! {
    /// Whether a STOP holds for emergencies.
    EmergencyChoice {
        /// It does.
        Keep = "keep",
        /// It does not.
        Override = "override",
    }
}

words! {
    /// Senders a STOP holds for.
    StopChoice {
        /// All.
        All = "all",
        /// The one it was sent to.
        Sender = "sender",
    }
}

impl Config {
    /// How far a stop goes, as the engine wants it.
    pub(super) fn opt_out_rules(&self) -> OptOutRules {
        let region = self.recipients.region.as_deref();
        let sender = |route: &super::Route| {
            let keys: &SmsKeys = route.own.as_ref()?.get()?;
            Some((route.common.mode?, keys.source.addr.clone()))
        };
        OptOutRules {
            by_sender: self.optout.stop == StopChoice::Sender,
            emergencies_override: self.optout.emergency == EmergencyChoice::Override,
            numbers: region.and_then(|region| channels::Defaults::in_region(region).ok()).unwrap_or_default(),
            senders: self.route.iter().filter_map(sender).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::Mode;
    use std::collections::BTreeMap;
    use std::path::Path;

    #[test]
    fn the_rules_of_stops_are_read_with_the_senders_of_routes_and_the_region() {
        let text = "[optout]\nemergency = \"override\"\nstop = \"sender\"\n[recipients]\nregion = \"SE\"\n\
             [[route]]\nname = \"a\"\nchannel = \"sms\"\nmode = \"live\"\nsim = true\nsource = {ton = 0, npi = 1, addr = \"71700\"}\n";
        let config = crate::config::parse(text, "c.toml", Path::new("/data"), &BTreeMap::new()).unwrap();
        let rules = config.keywords().opt_out;
        assert_eq!((rules.by_sender, rules.emergencies_override), (true, true));
        assert_eq!(rules.senders, [(Mode::Live, "71700".to_owned())]);
        assert_eq!(rules.numbers, channels::Defaults::in_region("SE").unwrap());
        assert_eq!(Config::default().keywords().opt_out, OptOutRules::default());
        let wrong = crate::config::parse(
            "[optout]\nemergency = \"yes\"\n",
            "c.toml",
            Path::new("/"),
            &BTreeMap::new(),
        );
        assert!(wrong.unwrap_err().to_string().contains("optout.emergency"));
    }
}

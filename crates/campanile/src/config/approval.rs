//! `[[approval]]`: which alerts other people have to approve before they are sent.

use super::Config;
use super::check::Check;
use super::platforms::LaneChoice;
use engine::{ApprovalPolicy, ApprovalRule, ApprovalSubject, OriginKind, REMIND_S};
use gateway::route_keys::ModeWords;
use records::{ApprovalNeed, Lane, Mode, Priority};
use settings::{section, words};
use std::time::Duration;

/// Rules at most.
const RULES_MAX: usize = 100;
/// Times between two notices to the same approvers.
const REMIND: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(86_400));
/// Times in which approval is waited for.
const EXPIRES: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(40 * 86_400));

section! {
    /// A rule by which other people have to approve an alert before it is sent; at most 100. A rule holds for
    /// an alert that fits all keys it has, and of all rules that hold the strictest counts in each respect,
    /// whatever their order. [Approval](approval.md) describes what follows.
    Approval {
        /// Spaces: `"live"` or `"drill"`. None: both.
        #[manual(example = "live")]
        mode: Option<Mode> as Option<ModeWords> = None,
        /// Priorities: `"emergency"`, `"urgent"`, `"routine"`. None: all.
        #[manual(example = ["emergency"])]
        priority: Vec<LaneChoice> = Vec::new(),
        /// Alerts to more people than this.
        #[manual(default = "any number", example = 1000)]
        people_over: Option<u64> = None,
        /// Entries of an audience: `all`, `group:NAME`, `area`, `subscribers`, `recipient:ID`,
        /// `CHANNEL:ADDRESS`. The rule holds where the alert names one of them, a group above one, or `all`.
        /// None: any audience.
        #[manual(example = ["group:staff", "all"])]
        audience: Vec<String> = Vec::new(),
        /// Ways in which an alert came: `"console"` (a user who signed in), `"api"` (a token), `"cap"`,
        /// `"hook"`, `"device"` (SEND), `"schedule"`. None: all.
        #[manual(example = ["console", "schedule"])]
        origin: Vec<OriginChoice> = Vec::new(),
        /// What the rule holds for: `"alert"`; `"follow-up"`, an alert that `follows` an earlier one and
        /// reaches others than those who got it: rules for `"alert"` hold for it too; and, which need nobody
        /// unless a rule says so, `"correction"`, a correction or an all-clear, to those alone who got an
        /// earlier alert, `"stop"` and `"pause"`.
        applies_to: Vec<SubjectChoice> = vec![SubjectChoice::Alert],
        /// Other people who have to approve: `"nobody"`, `"one"` or `"two"`.
        #[manual(required, example = "one")]
        needs: Option<NeedChoice> = None,
        /// Who approves or sends to more people than this types their number.
        #[manual(default = "nobody types it", example = 1000)]
        limit: Option<u64> = None,
        /// Time after which approvers are told again, and then the next ones; 10s to 1d.
        remind: Duration = Duration::from_secs(REMIND_S as u64),
        /// Time after which an alert that nobody approved is cancelled; 1m to 40d.
        #[manual(default = "the alert's own end", example = "30m")]
        expires: Option<Duration> = None,
    }
}

words! {
    /// How many others have to approve.
    NeedChoice {
        /// None: a rule that has a `limit` alone.
        Nobody = "nobody",
        /// One.
        One = "one",
        /// Two, who differ from each other too.
        Two = "two",
    }
}

words! {
    /// The way in which an alert came.
    OriginChoice {
        /// A user who signed in.
        Console = "console",
        /// A token.
        Api = "api",
        /// A CAP message.
        Cap = "cap",
        /// A hook of another system.
        Hook = "hook",
        /// A word from a person's device.
        Device = "device",
        /// A schedule.
        Schedule = "schedule",
    }
}

words! {
    /// What a rule holds for.
    SubjectChoice {
        /// An alert.
        Alert = "alert",
        /// An alert that goes on with an earlier one.
        FollowUp = "follow-up",
        /// A correction or an all-clear.
        Correction = "correction",
        /// A stop for good.
        Stop = "stop",
        /// A pause.
        Pause = "pause",
    }
}

impl Approval {
    fn rule(&self) -> ApprovalRule {
        let seconds = |time: Duration| u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        ApprovalRule {
            applies_to: self.applies_to.iter().map(|choice| choice.subject()).collect(),
            mode: self.mode,
            priorities: self.priority.iter().map(|choice| priority(*choice)).collect(),
            people_over: self.people_over,
            audience: self.audience.clone(),
            origins: self.origin.iter().map(|choice| choice.kind()).collect(),
            needs: self.needs.map_or(ApprovalNeed::Nobody, NeedChoice::need),
            type_people_over: self.limit,
            remind_s: seconds(self.remind),
            expires_s: self.expires.map(seconds),
        }
    }
}

fn priority(choice: LaneChoice) -> Priority {
    match choice.lane() {
        Lane::Emergency => Priority::Emergency,
        Lane::Urgent => Priority::Urgent,
        Lane::Routine => Priority::Routine,
    }
}

impl NeedChoice {
    fn need(self) -> ApprovalNeed {
        match self {
            NeedChoice::Nobody => ApprovalNeed::Nobody,
            NeedChoice::One => ApprovalNeed::One,
            NeedChoice::Two => ApprovalNeed::Two,
        }
    }
}

impl OriginChoice {
    fn kind(self) -> OriginKind {
        match self {
            OriginChoice::Console => OriginKind::Console,
            OriginChoice::Api => OriginKind::Api,
            OriginChoice::Cap => OriginKind::Cap,
            OriginChoice::Hook => OriginKind::Hook,
            OriginChoice::Device => OriginKind::Device,
            OriginChoice::Schedule => OriginKind::Schedule,
        }
    }
}

impl SubjectChoice {
    fn subject(self) -> ApprovalSubject {
        match self {
            SubjectChoice::Alert => ApprovalSubject::Alert,
            SubjectChoice::FollowUp => ApprovalSubject::FollowUp,
            SubjectChoice::Correction => ApprovalSubject::Correction,
            SubjectChoice::Stop => ApprovalSubject::Stop,
            SubjectChoice::Pause => ApprovalSubject::Pause,
        }
    }
}

impl Config {
    /// Rules of approval, as the engine wants them.
    pub(super) fn approval_policy(&self) -> ApprovalPolicy {
        ApprovalPolicy { rules: self.approval.iter().map(Approval::rule).collect() }
    }
}

impl Check<'_> {
    pub(super) fn approval(&mut self) {
        let rules = &self.config.approval;
        let over = rules.len() > RULES_MAX;
        self.check(
            "approval",
            over.then(|| format!("{} rules are over the limit of {RULES_MAX}", rules.len())),
        );
        let defaults = self.config.address_defaults();
        for (n, rule) in rules.iter().enumerate() {
            let at = |key: &str| format!("approval[{n}].{key}");
            if rule.needs.is_none() && !self.places.contains_key(&at("needs")) {
                self.add(&at("needs"), "is needed: nobody, one or two");
            }
            let asks_nobody = rule.needs == Some(NeedChoice::Nobody);
            let is_idle = asks_nobody && rule.limit.is_none();
            self.check(
                &at("needs"),
                is_idle.then_some("nobody, without a limit, has no effect: rules only add to each other"),
            );
            for key in ["remind", "expires"] {
                let is_idle = asks_nobody && self.places.contains_key(&at(key));
                self.check(&at(key), is_idle.then_some("has no effect with needs = \"nobody\""));
            }
            self.check(
                &at("applies_to"),
                rule.applies_to.is_empty().then_some("is empty: the rule would hold for nothing"),
            );
            let is_steering =
                |choice: &SubjectChoice| matches!(choice, SubjectChoice::Stop | SubjectChoice::Pause);
            let is_alerts = !rule.applies_to.iter().all(is_steering);
            let is_idle = rule.limit.is_some() && !is_alerts && !rule.applies_to.is_empty();
            self.check(&at("limit"), is_idle.then_some("has no effect on stops and pauses alone"));
            self.check(&at("remind"), outside(rule.remind, REMIND).then_some("must be 10s to 1d"));
            let wrong = rule.expires.is_some_and(|expires| outside(expires, EXPIRES));
            self.check(&at("expires"), wrong.then_some("must be 1m to 40d"));
            for (m, entry) in rule.audience.iter().enumerate() {
                let wrong = doors::http::check_audience(entry, &defaults).err();
                self.check(&at(&format!("audience[{m}]")), wrong);
            }
        }
    }
}

fn outside(time: Duration, (least, most): (Duration, Duration)) -> bool {
    time < least || time > most
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
    fn rules_are_read_with_what_they_ask_for() {
        let text = "[[approval]]\nmode = \"live\"\npriority = [\"emergency\", \"urgent\"]\npeople_over = 1000\n\
             audience = [\"group:staff\"]\norigin = [\"console\", \"cap\"]\napplies_to = [\"alert\", \"stop\"]\n\
             needs = \"two\"\nlimit = 500\nremind = \"1m\"\nexpires = \"30m\"\n[[approval]]\nneeds = \"one\"\n";
        let rules = parsed(text).unwrap().approval_policy().rules;
        let expected = ApprovalRule {
            applies_to: vec![ApprovalSubject::Alert, ApprovalSubject::Stop],
            mode: Some(Mode::Live),
            priorities: vec![Priority::Emergency, Priority::Urgent],
            people_over: Some(1_000),
            audience: vec!["group:staff".to_owned()],
            origins: vec![OriginKind::Console, OriginKind::Cap],
            needs: ApprovalNeed::Two,
            type_people_over: Some(500),
            remind_s: 60,
            expires_s: Some(1_800),
        };
        let plain = ApprovalRule { needs: ApprovalNeed::One, ..ApprovalRule::default() };
        assert_eq!(rules, [expected, plain]);
        assert!(parsed("").unwrap().approval_policy().rules.is_empty(), "nobody unless a rule says so");
    }

    #[test]
    fn a_rule_that_makes_no_sense_is_refused_with_its_line() {
        for (rule, place) in [
            ("mode = \"live\"", "c.toml:1:1: approval[0].needs: is needed"),
            ("needs = \"three\"", "c.toml:2:9: approval[0].needs: \"three\" is none of nobody, one, two"),
            ("needs = \"nobody\"", "c.toml:2:1: approval[0].needs: nobody, without a limit, has no effect"),
            (
                "needs = \"nobody\"\nlimit = 5\nexpires = \"5m\"",
                "c.toml:4:1: approval[0].expires: has no effect",
            ),
            ("needs = \"one\"\napplies_to = []", "c.toml:3:1: approval[0].applies_to: is empty"),
            (
                "needs = \"one\"\napplies_to = [\"stop\"]\nlimit = 5",
                "c.toml:4:1: approval[0].limit: has no effect",
            ),
            ("needs = \"one\"\nremind = \"1s\"", "c.toml:3:1: approval[0].remind: must be 10s to 1d"),
            ("needs = \"one\"\nexpires = \"41d\"", "c.toml:3:1: approval[0].expires: must be 1m to 40d"),
            ("needs = \"one\"\naudience = [\"staff\"]", "approval[0].audience[0]:"),
            (
                "needs = \"one\"\norigin = [\"mail\"]",
                "approval[0].origin[0]: \"mail\" is none of console, api, cap, hook, device, schedule",
            ),
            ("needs = \"one\"\nwhen = \"night\"", "c.toml:3:1: approval[0].when: is unknown"),
        ] {
            let error = parsed(&format!("[[approval]]\n{rule}\n")).unwrap_err();
            assert!(error.contains(place), "{rule}: {error}");
        }
    }
}

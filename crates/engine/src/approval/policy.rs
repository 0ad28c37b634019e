//! ApprovalPolicy says how many other people have to approve an alert, or a stop or pause of one, before it
//! is done. Of all rules that match, the strictest counts: a rule never makes another one milder.

use crate::solve::audience::To;
use records::{Alert, AlertRequest, ApprovalNeed, Mode, Origin, Priority, Timestamp};
use rustc_hash::FxHashSet;

/// Approvers are told again after so long unless a rule says so, in seconds.
pub const REMIND_S: u32 = 120;

/// The rules of `[[approval]]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalPolicy {
    /// In the order of the config.
    pub rules: Vec<ApprovalRule>,
}

/// One rule. An empty list, or nothing, matches anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRule {
    /// What it holds for.
    pub applies_to: Vec<ApprovalSubject>,
    /// Live or drill.
    pub mode: Option<Mode>,
    /// Priorities.
    pub priorities: Vec<Priority>,
    /// Audiences of more people than this.
    pub people_over: Option<u64>,
    /// Audiences that name one of these entries.
    pub audience: Vec<String>,
    /// Ways in which an alert came.
    pub origins: Vec<OriginKind>,
    /// How many others have to approve.
    pub needs: ApprovalNeed,
    /// Above so many people their number is typed.
    pub type_people_over: Option<u64>,
    /// Approvers are told again after so long, in seconds.
    pub remind_s: u32,
    /// A request ends after so long, in seconds; nothing: with the alert.
    pub expires_s: Option<u32>,
}

impl Default for ApprovalRule {
    fn default() -> Self {
        ApprovalRule {
            applies_to: vec![ApprovalSubject::Alert],
            mode: None,
            priorities: Vec::new(),
            people_over: None,
            audience: Vec::new(),
            origins: Vec::new(),
            needs: ApprovalNeed::Nobody,
            type_people_over: None,
            remind_s: REMIND_S,
            expires_s: None,
        }
    }
}

/// What a rule holds for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalSubject {
    /// An alert to people who did not get an earlier one.
    Alert,
    /// Such an alert that goes on with an earlier one: rules for alerts hold for it too.
    FollowUp,
    /// An alert to those alone who got an earlier one: a correction, an all-clear.
    Correction,
    /// Stopping an alert for good.
    Stop,
    /// Pausing it.
    Pause,
}

/// The way in which an alert came, as a rule names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OriginKind {
    /// A user who signed in.
    Console,
    /// A token.
    Api,
    /// A CAP message.
    Cap,
    /// A hook of another system.
    Hook,
    /// A word from a person's device.
    Device,
    /// A schedule.
    Schedule,
}

impl OriginKind {
    /// Of an alert; nothing: the server itself made it, and no rule holds for it.
    pub fn of(origin: &Origin) -> Option<OriginKind> {
        Some(match origin {
            Origin::Console => OriginKind::Console,
            Origin::Api => OriginKind::Api,
            Origin::Cap(_) => OriginKind::Cap,
            Origin::Hook => OriginKind::Hook,
            Origin::Device => OriginKind::Device,
            Origin::Schedule => OriginKind::Schedule,
            Origin::Standing { .. } | Origin::Reply | Origin::Notice | Origin::Test { .. } => return None,
        })
    }
}

/// What the rules that match ask for together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalDemand {
    /// The most that any asks for.
    pub needs: ApprovalNeed,
    /// The least that any has.
    pub type_people_over: Option<u64>,
    /// The least that any has, in seconds.
    pub remind_s: u32,
    /// The least that any has, in seconds.
    pub expires_s: Option<u32>,
}

impl ApprovalDemand {
    const NOTHING: ApprovalDemand = ApprovalDemand {
        needs: ApprovalNeed::Nobody,
        type_people_over: None,
        remind_s: REMIND_S,
        expires_s: None,
    };

    /// When a request made now ends: never after the alert.
    pub fn expires(&self, now: Timestamp, alert_expires: Timestamp) -> Timestamp {
        self.expires_s.map_or(alert_expires, |seconds| now.plus_s(i64::from(seconds)).min(alert_expires))
    }
}

/// Whom an alert reaches, as far as rules ask.
#[derive(Debug, Clone, Copy)]
pub struct ApprovalAudience<'a> {
    /// How many; nothing: it is not known, and rules count as if they were many.
    pub people: Option<u64>,
    /// Groups that the audience names, with those below them.
    pub groups: &'a FxHashSet<String>,
}

impl ApprovalPolicy {
    /// What is asked for an alert before it is sent.
    pub fn of_alert(&self, alert: &Alert, audience: ApprovalAudience<'_>) -> ApprovalDemand {
        let request = &alert.request;
        match (is_correction(request), request.follows) {
            (true, _) => self.of(ApprovalSubject::Correction, alert, audience),
            // To name an earlier alert makes no rule milder.
            (false, Some(_)) => {
                self.of_any(&[ApprovalSubject::Alert, ApprovalSubject::FollowUp], alert, audience)
            }
            (false, None) => self.of(ApprovalSubject::Alert, alert, audience),
        }
    }

    /// What is asked for this.
    pub fn of(
        &self,
        subject: ApprovalSubject,
        alert: &Alert,
        audience: ApprovalAudience<'_>,
    ) -> ApprovalDemand {
        self.of_any(&[subject], alert, audience)
    }

    fn of_any(
        &self,
        subjects: &[ApprovalSubject],
        alert: &Alert,
        audience: ApprovalAudience<'_>,
    ) -> ApprovalDemand {
        let Some(origin) = OriginKind::of(&alert.origin) else { return ApprovalDemand::NOTHING };
        let matching = self.rules.iter().filter(|rule| {
            subjects.iter().any(|subject| rule.applies_to.contains(subject))
                && (rule.origins.is_empty() || rule.origins.contains(&origin))
                && rule.matches(&alert.request, audience)
        });
        let strictest = |before: Option<ApprovalDemand>, rule: &ApprovalRule| {
            let own = rule.demand();
            Some(before.map_or(own, |before| before.with(own)))
        };
        matching.fold(None, strictest).unwrap_or(ApprovalDemand::NOTHING)
    }

    /// Some rule asks for groups: they have to be looked up.
    pub fn names_groups(&self) -> bool {
        self.rules.iter().any(|rule| rule.audience.iter().any(|entry| entry.starts_with("group:")))
    }

    /// Some rule holds for this.
    pub fn holds_for(&self, subject: ApprovalSubject) -> bool {
        self.rules.iter().any(|rule| rule.applies_to.contains(&subject))
    }
}

impl ApprovalRule {
    fn matches(&self, request: &AlertRequest, audience: ApprovalAudience<'_>) -> bool {
        let is_over = |over: u64| audience.people.is_none_or(|people| people > over);
        self.mode.is_none_or(|mode| mode == request.mode)
            && (self.priorities.is_empty() || self.priorities.contains(&request.priority))
            && self.people_over.is_none_or(is_over)
            && (self.audience.is_empty()
                || self.audience.iter().any(|entry| names(request, audience.groups, entry)))
    }

    fn demand(&self) -> ApprovalDemand {
        ApprovalDemand {
            needs: self.needs,
            type_people_over: self.type_people_over,
            remind_s: self.remind_s,
            expires_s: self.expires_s,
        }
    }
}

impl ApprovalDemand {
    /// The stricter of both in each respect. A rule that asks nobody has no say in times.
    fn with(self, other: ApprovalDemand) -> ApprovalDemand {
        let asks = |one: ApprovalDemand| one.needs > ApprovalNeed::Nobody;
        let timed = if asks(self) { self } else { other };
        let (remind_s, expires_s) = match asks(self) && asks(other) {
            true => (self.remind_s.min(other.remind_s), least(self.expires_s, other.expires_s)),
            false => (timed.remind_s, timed.expires_s),
        };
        ApprovalDemand {
            needs: self.needs.max(other.needs),
            type_people_over: least(self.type_people_over, other.type_people_over),
            remind_s,
            expires_s,
        }
    }
}

fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// An alert to those alone who got an earlier one.
fn is_correction(request: &AlertRequest) -> bool {
    let is_received = |to: &str| matches!(to.parse(), Ok(To::Received(_)));
    !request.audience.is_empty() && request.audience.iter().all(|entry| is_received(&entry.to))
}

/// Does an audience name this entry of a rule? `all` names everybody; a group names those below it; what is
/// limited to a channel is named too.
fn names(request: &AlertRequest, groups: &FxHashSet<String>, entry: &str) -> bool {
    let Ok(wanted) = entry.parse::<To>() else { return false };
    request.audience.iter().filter_map(|named| named.to.parse::<To>().ok()).any(|named| {
        match (&named, &wanted) {
            (To::All, _) => true,
            (To::Group(named, _), To::Group(wanted, _)) => named == wanted || groups.contains(wanted),
            (named, wanted) => named == wanted,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use records::AudienceEntry;

    fn alert(change: impl FnOnce(&mut Alert)) -> Alert {
        let mut alert = testing::alert(1, testing::request("Out"));
        change(&mut alert);
        alert
    }

    fn to(entries: &[&str]) -> Vec<AudienceEntry> {
        let entry = |to: &&str| AudienceEntry { to: (*to).to_owned(), strategy: None, expires: None };
        entries.iter().map(entry).collect()
    }

    fn needs(rules: Vec<ApprovalRule>, alert: &Alert, people: Option<u64>) -> ApprovalNeed {
        let groups: FxHashSet<String> = ["company", "staff"].map(str::to_owned).into_iter().collect();
        let audience = ApprovalAudience { people, groups: &groups };
        ApprovalPolicy { rules }.of_alert(alert, audience).needs
    }

    fn one(change: impl FnOnce(&mut ApprovalRule)) -> Vec<ApprovalRule> {
        let mut rule = ApprovalRule { needs: ApprovalNeed::One, ..ApprovalRule::default() };
        change(&mut rule);
        vec![rule]
    }

    /// A rule, an alert, its people, and whether the rule holds for it.
    type Tried = (&'static str, Vec<ApprovalRule>, Alert, Option<u64>, bool);

    fn of(entries: &[&str]) -> Alert {
        alert(|alert| alert.request.audience = to(entries))
    }

    fn following(entries: &[&str]) -> Alert {
        let mut alert = of(entries);
        alert.request.follows = Some(records::AlertId(uuid::Uuid::from_u128(7)));
        alert
    }

    fn from(origin: Origin) -> Alert {
        alert(|alert| alert.origin = origin)
    }

    fn for_audience(entries: &[&str]) -> Vec<ApprovalRule> {
        one(|rule| rule.audience = entries.iter().map(|entry| (*entry).to_owned()).collect())
    }

    fn for_origin(kind: OriginKind) -> Vec<ApprovalRule> {
        one(|rule| rule.origins = vec![kind])
    }

    fn for_subject(subject: ApprovalSubject) -> Vec<ApprovalRule> {
        one(|rule| rule.applies_to = vec![subject])
    }

    const RECEIVED: &str = "alert:00000000-0000-0000-0000-000000000007/received";

    #[rustfmt::skip]
    fn tried() -> Vec<Tried> {
        let (plain, some) = (|| alert(|_| {}), Some(1));
        vec![
            ("any alert", one(|_| {}), plain(), some, true),
            ("another mode", one(|rule| rule.mode = Some(Mode::Drill)), plain(), some, false),
            ("its mode", one(|rule| rule.mode = Some(Mode::Live)), plain(), some, true),
            ("another priority", one(|rule| rule.priorities = vec![Priority::Emergency]), plain(), some, false),
            ("its priority", one(|rule| rule.priorities = vec![Priority::Urgent, Priority::Routine]), plain(), some, true),
            ("as many people", one(|rule| rule.people_over = Some(10)), plain(), Some(10), false),
            ("more people", one(|rule| rule.people_over = Some(10)), plain(), Some(11), true),
            ("nobody knows how many", one(|rule| rule.people_over = Some(10)), plain(), None, true),
            ("another group", for_audience(&["group:night"]), of(&["group:staff"]), some, false),
            ("its group", for_audience(&["group:staff"]), of(&["group:staff"]), some, true),
            ("its group on one channel", for_audience(&["group:staff"]), of(&["group:staff/sms"]), some, true),
            ("a group below the one named", for_audience(&["group:staff"]), of(&["group:company"]), some, true),
            ("everybody", for_audience(&["group:night"]), of(&["all"]), some, true),
            ("one of two entries", for_audience(&["all", "area"]), of(&["recipient:ann", "area"]), some, true),
            ("an address", for_audience(&["all"]), of(&["sms:+46700000001"]), some, false),
            ("another origin", for_origin(OriginKind::Api), from(Origin::Console), some, false),
            ("its origin", for_origin(OriginKind::Console), from(Origin::Console), some, true),
            ("a CAP message", for_origin(OriginKind::Cap), from(Origin::Cap(String::new())), some, true),
            ("a word from a device", for_origin(OriginKind::Device), from(Origin::Device), some, true),
            ("a schedule", for_origin(OriginKind::Schedule), from(Origin::Schedule), some, true),
            ("a hook", for_origin(OriginKind::Hook), from(Origin::Hook), some, true),
            ("a notice to approvers", one(|_| {}), from(Origin::Notice), some, false),
            ("a reply", one(|_| {}), from(Origin::Reply), some, false),
            ("a test of a device", one(|_| {}), from(Origin::Test { route: None }), some, false),
            ("messages of platforms", one(|_| {}), from(Origin::Standing { intake_from: 0 }), some, false),
            ("a correction", one(|_| {}), of(&[RECEIVED]), some, false),
            ("a correction and others", one(|_| {}), of(&[RECEIVED, "group:staff"]), some, true),
            ("a correction where a rule says so", for_subject(ApprovalSubject::Correction), of(&[RECEIVED]), some, true),
            ("an alert where a rule is for corrections", for_subject(ApprovalSubject::Correction), plain(), some, false),
            ("a follow-up", one(|_| {}), following(&["group:staff"]), some, true),
            ("a follow-up where a rule says so", for_subject(ApprovalSubject::FollowUp), following(&["group:staff"]), some, true),
            ("a follow-up where a rule is for corrections", for_subject(ApprovalSubject::Correction), following(&["all"]), some, false),
            ("a correction where a rule is for follow-ups", for_subject(ApprovalSubject::FollowUp), following(&[RECEIVED]), some, false),
            ("an alert where a rule is for follow-ups", for_subject(ApprovalSubject::FollowUp), plain(), some, false),
        ]
    }

    #[test]
    fn a_rule_holds_for_what_it_names_and_for_nothing_else() {
        for (what, rules, alert, people, matches) in tried() {
            let expected = if matches { ApprovalNeed::One } else { ApprovalNeed::Nobody };
            assert_eq!(needs(rules, &alert, people), expected, "{what}");
        }
    }

    #[test]
    fn the_strictest_of_all_rules_that_match_counts_in_each_respect() {
        let rule = |needs, remind_s, expires_s, type_people_over| ApprovalRule {
            needs,
            remind_s,
            expires_s,
            type_people_over,
            ..ApprovalRule::default()
        };
        let (none, groups) = (ApprovalPolicy::default(), FxHashSet::default());
        let audience = ApprovalAudience { people: Some(5), groups: &groups };
        let plain = alert(|_| {});
        assert_eq!(none.of_alert(&plain, audience), ApprovalDemand::NOTHING);
        let mut rules = vec![
            rule(ApprovalNeed::Two, 300, None, None),
            rule(ApprovalNeed::One, 60, Some(900), Some(1_000)),
            rule(ApprovalNeed::Nobody, 5, Some(5), Some(100)),
        ];
        let expected = ApprovalDemand {
            needs: ApprovalNeed::Two,
            type_people_over: Some(100),
            remind_s: 60,
            expires_s: Some(900),
        };
        for _ in 0..rules.len() {
            rules.rotate_left(1);
            let policy = ApprovalPolicy { rules: rules.clone() };
            assert_eq!(policy.of_alert(&plain, audience), expected, "whatever their order");
        }
    }

    #[test]
    fn stops_and_pauses_need_nobody_unless_a_rule_names_them() {
        let (groups, plain) = (FxHashSet::default(), alert(|_| {}));
        let audience = ApprovalAudience { people: None, groups: &groups };
        let of =
            |rules: Vec<ApprovalRule>, subject| ApprovalPolicy { rules }.of(subject, &plain, audience).needs;
        for subject in [ApprovalSubject::Stop, ApprovalSubject::Pause] {
            assert_eq!(of(one(|_| {}), subject), ApprovalNeed::Nobody);
            assert_eq!(of(one(|rule| rule.applies_to = vec![subject]), subject), ApprovalNeed::One);
        }
        assert_eq!(
            of(one(|rule| rule.applies_to = vec![ApprovalSubject::Stop]), ApprovalSubject::Pause),
            ApprovalNeed::Nobody
        );
    }

    #[test]
    fn a_request_never_outlives_its_alert() {
        let demand = |expires_s| ApprovalDemand { expires_s, ..ApprovalDemand::NOTHING };
        let (now, end) = (Timestamp(0), Timestamp(60_000_000));
        for (expires_s, expected) in [(None, 60), (Some(30), 30), (Some(90), 60)] {
            assert_eq!(demand(expires_s).expires(now, end), Timestamp(expected * 1_000_000));
        }
    }
}

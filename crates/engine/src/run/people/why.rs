//! Reasons why a person got an alert, or did not: the entries of the audience that hold them, what held it
//! back, and how each of their devices went.

use super::{AlertPeople, PeoplePage, PersonPlace, blocking};
use crate::api::{EngineError, Parts, PersonOfAlert};
use crate::run::actor::{bus_error, store_error};
use crate::run::audience_source::group_set;
use crate::solve::audience::To;
use crate::solve::{Area, GroupSet, Matcher, strategy_of};
use records::{
    Alert, AlertId, AlertNo, AlertRequest, AudienceEntry, EndpointNo, Outcome, Person, Priority,
    ROSTER_BLOCK_ENDPOINTS, Recipient, RosterEntry, Strategy,
};
use serde::Serialize;
use tokio::runtime::Handle;

/// Entries of an audience that are tried for one person; of a longer one the first.
const ENTRIES_MAX: usize = 2_000;

/// Why a person got an alert, or did not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhyPerson {
    /// Their id.
    pub recipient: String,
    /// They were in the audience when it was worked out.
    pub in_audience: bool,
    /// They are known by now; `matched` and `left_out_by` are of now.
    pub is_known: bool,
    /// Entries of the audience that hold them.
    pub matched: Vec<MatchedEntry>,
    /// Entries of the exclusions that hold them.
    pub left_out_by: Vec<MatchedEntry>,
    /// What else decides.
    pub constraints: WhyConstraints,
    /// Their devices with states, reasons, routes, tries and times; nothing: they are not in it.
    pub person: Option<PersonOfAlert>,
}

/// An entry that holds a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MatchedEntry {
    /// Where it stands: `audience[2]`.
    pub field: String,
    /// As it was written.
    pub entry: String,
    /// Of a group: those of its groups that the person says they belong to.
    pub groups: Vec<String>,
    /// Of a group: it lists the person.
    pub is_listed: bool,
    /// Of a group: one of its rules fits.
    pub by_rule: bool,
}

/// What else decides whether, when and how a person is told.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct WhyConstraints {
    /// Their quiet hours: minutes after midnight from and to, and the zone.
    pub quiet_hours: Option<(u16, u16, String)>,
    /// They are kept: the alert is no emergency.
    pub keeps_quiet_hours: bool,
    /// Only who takes part in exercises is told, and whether they do.
    pub participants_only: bool,
    /// They take part in exercises.
    pub participant: bool,
    /// Channels that the alert may use; empty: all.
    pub channels: Vec<&'static str>,
    /// `all`, `first-reachable` or `escalate`.
    pub strategy: &'static str,
}

impl AlertPeople {
    /// Why a person got an alert, or did not.
    ///
    /// # Errors
    /// No such alert; nobody of this id is known, nor in the alert; what the store says.
    pub async fn why(&self, account: &str, id: AlertId, recipient: &str) -> Result<WhyPerson, EngineError> {
        let alert = self.engine.stored(account, id).await?;
        let store = self.engine.store();
        let known = store.recipient(account, recipient).await.map_err(store_error)?;
        let known = known.map(|(known, _)| known);
        let found = self.found(alert.no, recipient).await?;
        if known.is_none() && found.is_empty() {
            return Err(EngineError::NotFound);
        }
        let person = match found.first() {
            Some((first, entry)) => self.person(account, id, *first, entry, recipient).await?,
            None => None,
        };
        let rule =
            found.iter().find(|(_, entry)| entry.excluded.is_none()).map_or(0, |(_, entry)| entry.rule);
        let constraints = constraints(&alert.request, known.as_ref(), rule);
        let (parts, runtime, is_known) = (self.engine.parts().clone(), Handle::current(), known.is_some());
        let entries = blocking(move || match known {
            Some(known) => entries(&parts, &alert, &known, &runtime),
            None => Ok((Vec::new(), Vec::new())),
        });
        let (matched, left_out_by) = entries.await?;
        Ok(WhyPerson {
            recipient: recipient.to_owned(),
            in_audience: !found.is_empty(),
            is_known,
            matched,
            left_out_by,
            constraints,
            person,
        })
    }

    /// Records an answer for a person: who has a list of them says it. Also of somebody who was left out.
    /// Resolves when it is on disk.
    ///
    /// # Errors
    /// No such alert; nobody of it has this id; the alert asks for no answer; what the bus says.
    pub async fn record_answer(
        &self,
        account: &str,
        id: AlertId,
        recipient: &str,
        (text, by): (&str, &str),
    ) -> Result<(), EngineError> {
        let alert = self.engine.stored(account, id).await?;
        if !alert.request.require_answer {
            return Err(EngineError::WrongState { state: "not asking for one", verb: "record an answer to" });
        }
        let found = self.found(alert.no, recipient).await?;
        let used = found.iter().find(|(_, entry)| entry.excluded.is_none());
        let Some((endpoint, _)) = used.or(found.first()) else { return Err(EngineError::NotFound) };
        let outcome = Outcome::Answer {
            alert: alert.no,
            endpoint: *endpoint,
            text: text.to_owned(),
            via: format!("{RECORDED_BY}{by}"),
            at: self.engine.parts().now(),
        };
        let record = records::encode_outcomes(&[outcome]);
        let outcomes = self.engine.parts().bus.topic(records::OUTCOMES).map_err(bus_error)?;
        outcomes.append(&[&record]).await.map(|_| ()).map_err(bus_error)
    }

    /// The devices of a person in the roster.
    async fn found(
        &self,
        no: AlertNo,
        recipient: &str,
    ) -> Result<Vec<(EndpointNo, RosterEntry)>, EngineError> {
        let (store, recipient) = (self.engine.store(), recipient.to_owned());
        blocking(move || {
            let is_theirs = |entry: &RosterEntry| {
                entry.persons.iter().any(|person: &Person| person.recipient == recipient)
            };
            let (mut found, mut at) = (Vec::new(), EndpointNo(0));
            while let Some(block) = store.roster_block(no, at).map_err(store_error)? {
                let numbered = block.entries.into_iter().zip(block.first.0..);
                let theirs = numbered.filter(|(entry, _)| is_theirs(entry));
                found.extend(theirs.map(|(entry, number)| (EndpointNo(number), entry)));
                at = EndpointNo(block.first.0 + ROSTER_BLOCK_ENDPOINTS as u32);
            }
            Ok(found)
        })
        .await
    }

    /// A person whose first device is this one.
    async fn person(
        &self,
        account: &str,
        id: AlertId,
        first: EndpointNo,
        entry: &RosterEntry,
        recipient: &str,
    ) -> Result<Option<PersonOfAlert>, EngineError> {
        let from = PersonPlace { first, place: 0 };
        let page = PeoplePage { from, limit: entry.persons.len(), ..PeoplePage::default() };
        let (people, _) = self.page(account, id, page).await?;
        Ok(people.into_iter().find(|person| person.recipient.as_deref() == Some(recipient)))
    }
}

/// What the way of an answer begins with that somebody recorded for the person; their name follows.
pub const RECORDED_BY: &str = "recorded by ";

fn constraints(request: &AlertRequest, known: Option<&Recipient>, rule: u32) -> WhyConstraints {
    let quiet = known.and_then(|known| {
        let hours = known.quiet_hours?;
        Some((hours.from, hours.to, known.time_zone.clone().unwrap_or_else(|| "UTC".to_owned())))
    });
    WhyConstraints {
        quiet_hours: quiet,
        keeps_quiet_hours: request.priority != Priority::Emergency,
        participants_only: request.participants_only,
        participant: known.is_some_and(|known| known.participant),
        channels: request.channels.iter().map(|channel| channels::name(*channel)).collect(),
        strategy: match strategy_of(request, rule) {
            Strategy::All => "all",
            Strategy::FirstReachable => "first-reachable",
            Strategy::EscalateAfter { .. } => "escalate",
        },
    }
}

type Matched = (Vec<MatchedEntry>, Vec<MatchedEntry>);

/// The entries of an alert's audience, and of its exclusions, that hold a person now. On the calling thread.
fn entries(
    parts: &Parts,
    alert: &Alert,
    known: &Recipient,
    runtime: &Handle,
) -> Result<Matched, EngineError> {
    let request = &alert.request;
    let wanted = request.audience.iter().map(|entry| entry.to.as_str()).take(ENTRIES_MAX).enumerate();
    let unwanted = request.exclude.iter().map(String::as_str).take(ENTRIES_MAX).enumerate();
    // A matcher of one entry: without the others, which may be a hundred thousand.
    let bare = AlertRequest { audience: Vec::new(), exclude: Vec::new(), ..request.clone() };
    let mut found = (Vec::new(), Vec::new());
    for (place, entry) in wanted {
        let field = format!("audience[{place}]");
        found.0.extend(holding((parts, &alert.account, runtime), &bare, (field, entry), known)?);
    }
    for (place, entry) in unwanted {
        let field = format!("exclude[{place}]");
        found.1.extend(holding((parts, &alert.account, runtime), &bare, (field, entry), known)?);
    }
    Ok(found)
}

fn holding(
    (parts, account, runtime): (&Parts, &str, &Handle),
    bare: &AlertRequest,
    (field, entry): (String, &str),
    known: &Recipient,
) -> Result<Option<MatchedEntry>, EngineError> {
    let Ok(to) = entry.parse::<To>() else { return Ok(None) };
    let mut matched =
        MatchedEntry { field, entry: entry.to_owned(), groups: Vec::new(), is_listed: false, by_rule: false };
    let mut sets = Vec::new();
    match &to {
        To::Address(channel, address) => {
            let key = channels::key(*channel, address);
            let has = |device: &records::Device| {
                device.channel == *channel && channels::key(*channel, &device.address) == key
            };
            return Ok(known.devices.iter().any(has).then_some(matched));
        }
        To::Group(name, _) => {
            let set = group_set(parts, account, name, runtime)?;
            describe(&mut matched, &set, known);
            sets.push(set);
        }
        _ => {}
    }
    let one = AudienceEntry { to: entry.to_owned(), strategy: None, expires: None };
    let one = AlertRequest { audience: vec![one], ..bare.clone() };
    let area = one.area.as_ref().map(Area::new);
    let matcher = Matcher::new(&one, &[to], &[], sets);
    Ok(matcher.of(known, area.as_ref()).is_some().then_some(matched))
}

/// By what a group holds a person.
fn describe(matched: &mut MatchedEntry, set: &GroupSet, known: &Recipient) {
    matched.groups = known.groups.iter().filter(|group| set.names.contains(*group)).cloned().collect();
    matched.is_listed = set.members.contains(&known.id);
    matched.by_rule = set.rules.iter().any(|rule| store::rule::fits(rule, known));
}

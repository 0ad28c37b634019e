//! Evaluation of an audience: solved as the alert would be, with a mark for each person.

use super::request::ReadAudience;
use crate::api::{EngineError, OptOutRules, Parts, Problem};
use crate::dispatch::Wording;
use crate::report::rfc3339;
use crate::run::{AudienceOf, SolveInputs, ToldBefore, store_error};
use crate::solve::audience::To;
use crate::solve::{Marks, Roster, Solver};
use channels::legible;
use records::{AlertRequest, ChannelNumber, DeviceProfile, Reason, Texts, Timestamp};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use tokio::runtime::Handle;

use super::ways::GroupTree;

/// Entries that are counted one by one; of more their number is told.
const ENTRIES_MAX: usize = 1_000;
/// Overlaps that are listed, those of most people first.
const OVERLAPS_MAX: usize = 50;

/// An id that is named by the audience or by the list of a group, as it stands in several sets.
const NAMED_OCTETS_ABOUT: usize = 160;
/// Kinds of devices that are kept.
const PROFILES_MAX: usize = 50;

/// How many people an audience has, and what would become of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct AudienceCount {
    /// People, and addresses that nobody is known behind, each once.
    pub people: u64,
    /// Those to whom something goes.
    pub reached: u64,
    /// How many of those only after their quiet hours.
    pub after_quiet_hours: u64,
    /// By entry of the audience, in its order.
    pub entries: Vec<EntryCount>,
    /// Entries beyond those that are listed.
    pub more_entries: u64,
    /// People whom several entries name.
    pub in_several: u64,
    /// Which entries these are.
    pub overlaps: Vec<AudienceOverlap>,
    /// Devices that are used, by channel; what several people share is one.
    pub devices: BTreeMap<String, u64>,
    /// How many people read which language, as their records say.
    pub languages: BTreeMap<String, u64>,
    /// People to whom nothing goes, by the code of the reason.
    pub left_out: BTreeMap<String, u64>,
    /// Devices that are not used, by the code of the reason.
    pub devices_left_out: BTreeMap<String, u64>,
    /// Entries of the audience, and of its exclusions, that name nobody known; of many the first.
    pub unknown: Vec<String>,
    /// Ids that nobody has, those that groups list among them.
    pub unknown_people: u64,
    /// What is wrong with the audience.
    pub problems: Vec<Problem>,
    /// When it was counted; RFC 3339.
    pub at: String,
}

/// People of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EntryCount {
    /// As it was written.
    pub entry: String,
    /// Whom it names.
    pub people: u64,
    /// Whom no other entry names.
    pub only_here: u64,
}

/// People of several entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AudienceOverlap {
    /// These entries name them, and no other.
    pub entries: Vec<String>,
    /// How many.
    pub people: u64,
}

/// See the module.
pub(super) struct Evaluation {
    pub(super) read: ReadAudience,
    pub(super) inputs: SolveInputs,
    pub(super) wording: Wording,
    pub(super) marks: Marks,
    pub(super) count: AudienceCount,
    /// Kinds of devices that show less than their channel carries, those of most devices first.
    pub(super) profiles: Vec<(ChannelNumber, DeviceProfile)>,
    pub(super) now: Timestamp,
    /// The groups of the entries, read when somebody asks why.
    pub(super) trees: OnceLock<Vec<Option<GroupTree>>>,
}

impl Evaluation {
    /// About the octets that it takes, without stops.
    pub(super) fn octets(&self) -> usize {
        self.marks.octets() + self.inputs.matcher.named_ids().len() * NAMED_OCTETS_ABOUT
    }

    pub(super) fn names_an_alert(&self) -> bool {
        self.read.wanted.iter().any(|to| matches!(to, To::Received(_)))
    }

    /// The text of an entry.
    pub(super) fn entry(&self, place: u32) -> &str {
        self.read.request.audience.get(place as usize).map_or("", |entry| &entry.to)
    }
}

/// Solves an audience. On the calling thread.
pub(super) fn evaluate(
    parts: &Parts,
    rules: &OptOutRules,
    account: &str,
    mut read: ReadAudience,
    now: Timestamp,
    runtime: &Handle,
) -> Result<Evaluation, EngineError> {
    let unknown = unknown_entries(parts, account, &read, runtime)?;
    let audience =
        AudienceOf { account, request: &read.request, wanted: &read.wanted, unwanted: &read.unwanted };
    let inputs = audience.inputs(parts, rules, runtime)?;
    let wording = Wording::new(&without_texts(&read.request)).map_err(EngineError::Unprocessable)?;
    let max = parts.settings.endpoints_max;
    let SolveInputs { matcher, opted_out } = inputs.clone();
    let mut solver = Solver::new(&read.request, matcher, opted_out, &wording, now, max).marking();
    audience.show(parts, &ToldBefore::default(), &mut solver, runtime)?;
    let (mut marks, roster) = (solver.take_marks(), solver.roster);
    marks.shrink();
    if roster.len() > max as usize {
        let reason = format!("names more than {max} endpoints, the limit of [engine] endpoints_max");
        read.problems.push(Problem { field: "audience".into(), reason });
    }
    let count = counted(&read, &marks, &roster, unknown, now);
    let profiles = profiles(&roster);
    Ok(Evaluation { read, inputs, wording, marks, count, profiles, now, trees: OnceLock::new() })
}

fn profiles(roster: &Roster) -> Vec<(ChannelNumber, DeviceProfile)> {
    let mut kinds: Vec<_> = roster.profiles().into_iter().collect();
    kinds.sort_by_key(|(kind, devices)| (std::cmp::Reverse(*devices), *kind));
    kinds.into_iter().map(|(kind, _)| kind).take(PROFILES_MAX).collect()
}

/// What people get has no part in who they are.
fn without_texts(request: &AlertRequest) -> AlertRequest {
    AlertRequest { headline: None, text: None, texts: Texts::default(), ..request.clone() }
}

/// Groups and areas that are not there.
fn unknown_entries(
    parts: &Parts,
    account: &str,
    read: &ReadAudience,
    runtime: &Handle,
) -> Result<Vec<String>, EngineError> {
    let request = &read.request;
    let exists = |name: &str| runtime.block_on(parts.store.group_exists(account, name)).map_err(store_error);
    let texts = request.audience.iter().map(|entry| &entry.to).chain(&request.exclude);
    let mut unknown = Vec::new();
    for (to, text) in read.wanted.iter().chain(&read.unwanted).zip(texts) {
        let is_known = match to {
            To::Group(name, _) => {
                exists(name)? || legible::decomposed(name).map_or(Ok(false), |name| exists(&name))?
            }
            To::NamedArea(id) => request.area.as_ref().is_some_and(|area| area.named(id).is_some()),
            To::Area => request.area.as_ref().is_some_and(|area| !area.is_empty()),
            _ => true,
        };
        if !is_known && !unknown.contains(text) {
            unknown.push(text.clone());
        }
    }
    Ok(unknown)
}

fn counted(
    read: &ReadAudience,
    marks: &Marks,
    roster: &Roster,
    mut unknown: Vec<String>,
    now: Timestamp,
) -> AudienceCount {
    unknown.extend(marks.unknown().iter().map(|id| format!("recipient:{id}")));
    unknown.truncate(crate::solve::UNKNOWN_MAX);
    let mut count = AudienceCount {
        people: marks.all().len() as u64,
        languages: roster.people_by_language(),
        unknown,
        unknown_people: marks.unknown_count(),
        problems: read.problems.clone(),
        at: rfc3339(now),
        ..AudienceCount::default()
    };
    for mark in marks.all() {
        match mark.reason {
            Reason::None => count.reached += 1,
            Reason::QuietHours => {
                count.reached += 1;
                count.after_quiet_hours += 1;
            }
            reason => *count.left_out.entry(code(reason)).or_default() += 1,
        }
    }
    let (used, left_out) = roster.devices();
    count.devices = used.into_iter().map(|(channel, n)| (channels::name(channel).to_owned(), n)).collect();
    count.devices_left_out = left_out.into_iter().map(|(reason, n)| (code(reason), n)).collect();
    count_entries(read, marks, &mut count);
    count
}

fn count_entries(read: &ReadAudience, marks: &Marks, count: &mut AudienceCount) {
    let audience = &read.request.audience;
    let mut entries: Vec<(u64, u64)> = vec![(0, 0); audience.len()];
    let mut overlaps: Vec<(&[u32], u64)> = Vec::new();
    for (places, people) in marks.sets().filter(|(_, people)| *people > 0) {
        for place in places {
            if let Some((all, only)) = entries.get_mut(*place as usize) {
                *all += people;
                *only += if places.len() == 1 { people } else { 0 };
            }
        }
        if places.len() > 1 {
            count.in_several += people;
            overlaps.push((places, people));
        }
    }
    overlaps.sort_by_key(|(places, people)| (std::cmp::Reverse(*people), *places));
    let text = |place: &u32| audience.get(*place as usize).map_or_else(String::new, |entry| entry.to.clone());
    let overlap = |(places, people): &(&[u32], u64)| AudienceOverlap {
        entries: places.iter().map(text).collect(),
        people: *people,
    };
    count.overlaps = overlaps.iter().take(OVERLAPS_MAX).map(overlap).collect();
    count.more_entries = entries.len().saturating_sub(ENTRIES_MAX) as u64;
    let listed = entries.into_iter().zip(audience).take(ENTRIES_MAX);
    count.entries = listed
        .map(|((people, only_here), entry)| EntryCount { entry: entry.to.clone(), people, only_here })
        .collect();
}

/// The stable code of a reason, as reports have it.
pub(super) fn code(reason: Reason) -> String {
    let code = serde_json::to_value(reason).ok();
    code.as_ref().and_then(|code| code.as_str()).unwrap_or_default().to_owned()
}

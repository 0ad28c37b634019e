//! Pages of an audience's people: each with what names them, and the devices that would be used.

use super::AudienceError;
use super::evaluation::{Evaluation, code};
use super::ways::GroupTree;
use crate::api::{EngineError, Parts};
use crate::report::rfc3339;
use crate::run::store_error;
use crate::solve::audience::To;
use crate::solve::{PersonMark, Solver};
use records::{Reason, Recipient, Rule};
use rustc_hash::FxHashMap;
use serde::Serialize;
use tokio::runtime::Handle;

/// Which people.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AudienceFilter {
    /// Whom this entry names, as it stands in the audience.
    pub entry: Option<String>,
    /// What becomes of them: [`Reason::None`] is reached at once.
    pub reason: Option<Reason>,
    /// The place of the first to look at.
    pub from: usize,
    /// How many.
    pub limit: usize,
}

/// A page, and the place at which the next one begins.
pub type AudiencePage = (Vec<AudiencePerson>, Option<usize>);

/// A person of an audience, or an address that nobody is known behind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AudiencePerson {
    /// Their id; nothing of an address.
    pub id: Option<String>,
    /// Their name; of an address as an entry of an audience.
    pub name: String,
    /// The language that they read.
    pub language: Option<String>,
    /// The entries that name them, and how.
    pub entries: Vec<WhyNamed>,
    /// Their devices, in the order in which they are used.
    pub devices: Vec<AudienceDevice>,
    /// The code of the reason why nothing goes to them, or of the wait for the end of their quiet hours.
    pub reason_code: Option<String>,
    /// The same in words.
    pub reason: Option<String>,
}

/// An entry that names somebody.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhyNamed {
    /// As it stands in the audience.
    pub entry: String,
    /// `all`, `area`, `subscribers`, `id`, `address`, `alert`; of a group `person` (by their own record),
    /// `group` (by its list) or `rule`.
    pub by: &'static str,
    /// Groups from the entry's to the one that holds them, nested one in the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// The rule that fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
}

/// A device of somebody in an audience.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AudienceDevice {
    /// How it is reached.
    pub channel: &'static str,
    /// Where.
    pub address: String,
    /// Something goes to it.
    pub used: bool,
    /// Its place in the order of devices that are tried one after the other; 0 where all are used at once.
    pub step: u8,
    /// From when on, if it is quiet now; RFC 3339.
    pub not_before: Option<String>,
    /// The code of the reason why it is not used.
    pub reason_code: Option<String>,
}

/// A page. On the calling thread.
pub(super) fn page(
    parts: &Parts,
    account: &str,
    evaluation: &Evaluation,
    filter: &AudienceFilter,
    runtime: &Handle,
) -> Result<AudiencePage, AudienceError> {
    let (marks, next) = found(evaluation, filter)?;
    let named = |mark: &&&PersonMark| !mark.is_address;
    let ids: Vec<String> =
        marks.iter().filter(named).map(|mark| evaluation.marks.id(mark).to_owned()).collect();
    let people = runtime.block_on(parts.store.recipients_by_ids(account, &ids)).map_err(store_error)?;
    let people: FxHashMap<String, Recipient> =
        people.into_iter().map(|person| (person.id.clone(), person)).collect();
    let trees = trees(parts, account, evaluation, runtime)?;
    let max = parts.settings.endpoints_max;
    let (matcher, opted_out) = (evaluation.inputs.matcher.clone(), evaluation.inputs.opted_out.clone());
    let request = &evaluation.read.request;
    let mut solver = Solver::new(request, matcher, opted_out, &evaluation.wording, evaluation.now, max);
    let view = |mark: &PersonMark| {
        let person = people.get(evaluation.marks.id(mark));
        let devices = person.map_or_else(Vec::new, |person| devices(&mut solver, person));
        view(evaluation, trees, mark, (person, devices))
    };
    Ok((marks.into_iter().map(view).collect(), next))
}

/// The marks of a page, and where the next begins.
fn found<'a>(
    evaluation: &'a Evaluation,
    filter: &AudienceFilter,
) -> Result<(Vec<&'a PersonMark>, Option<usize>), AudienceError> {
    let places = filter.entry.as_ref().map(|sought| places(evaluation, sought));
    if places.as_ref().is_some_and(Vec::is_empty) {
        return Err(AudienceError::UnknownEntry);
    }
    let fits = |mark: &PersonMark| {
        filter.reason.is_none_or(|reason| reason == mark.reason)
            && places.as_ref().is_none_or(|places| {
                evaluation.marks.entries(mark).iter().any(|entry| places.contains(entry))
            })
    };
    let all = evaluation.marks.all().iter().enumerate().skip(filter.from);
    let mut fitting = all.filter(|(_, mark)| fits(mark));
    let page: Vec<&PersonMark> = fitting.by_ref().take(filter.limit).map(|(_, mark)| mark).collect();
    let next = fitting.next().map(|(place, _)| place);
    Ok((page, next))
}

/// The places of an entry in the audience, as it stands there or written in another way.
fn places(evaluation: &Evaluation, sought: &str) -> Vec<u32> {
    let read = sought.parse::<To>().ok();
    let entries = evaluation.read.request.audience.iter().zip(&evaluation.read.wanted).zip(0..);
    let is_it = |entry: &str, to: &To| entry == sought || read.as_ref().is_some_and(|read| read == to);
    entries.filter(|((entry, to), _)| is_it(&entry.to, to)).map(|(_, place)| place).collect()
}

/// The groups of the entries, read once.
fn trees<'a>(
    parts: &Parts,
    account: &str,
    evaluation: &'a Evaluation,
    runtime: &Handle,
) -> Result<&'a [Option<GroupTree>], EngineError> {
    if let Some(trees) = evaluation.trees.get() {
        return Ok(trees);
    }
    let tree = |to: &To| match to {
        To::Group(name, _) => GroupTree::read(parts, account, name, runtime).map(Some),
        _ => Ok(None),
    };
    let trees = evaluation.read.wanted.iter().map(tree).collect::<Result<Vec<_>, _>>()?;
    Ok(evaluation.trees.get_or_init(|| trees))
}

/// The devices of one person, as the solver places them.
fn devices(solver: &mut Solver<'_>, person: &Recipient) -> Vec<AudienceDevice> {
    solver.show(std::slice::from_ref(person));
    let roster = std::mem::take(&mut solver.roster);
    let entries = roster.blocks().flat_map(|block| block.entries);
    let device = |entry: records::RosterEntry| {
        let channel = entry.channel?;
        Some(AudienceDevice {
            channel: channels::name(channel),
            address: channels::shown(channel, &entry.address).into_owned(),
            used: entry.excluded.is_none(),
            step: entry.persons.first().map_or(0, |person| person.step),
            not_before: entry.not_before.map(rfc3339),
            reason_code: entry.excluded.map(code),
        })
    };
    entries.filter_map(device).collect()
}

fn view(
    evaluation: &Evaluation,
    trees: &[Option<GroupTree>],
    mark: &PersonMark,
    (person, devices): (Option<&Recipient>, Vec<AudienceDevice>),
) -> AudiencePerson {
    let id = evaluation.marks.id(mark);
    let why = |place: &u32| why(evaluation, trees, *place, person);
    let is_odd = mark.reason != Reason::None;
    AudiencePerson {
        id: (!mark.is_address).then(|| id.to_owned()),
        name: match person {
            Some(person) => person.name.clone(),
            None if mark.is_address => id.to_owned(),
            None => String::new(),
        },
        language: person.and_then(|person| person.language.clone()),
        entries: evaluation.marks.entries(mark).iter().map(why).collect(),
        devices,
        reason_code: is_odd.then(|| code(mark.reason)),
        reason: is_odd.then(|| mark.reason.words().to_owned()),
    }
}

fn why(
    evaluation: &Evaluation,
    trees: &[Option<GroupTree>],
    place: u32,
    person: Option<&Recipient>,
) -> WhyNamed {
    let entry = evaluation.entry(place).to_owned();
    let named = |by| WhyNamed { entry: entry.clone(), by, path: Vec::new(), rule: None };
    let of_group = || {
        let way = trees.get(place as usize)?.as_ref()?.way(person?)?;
        let path = way.path.into_iter().map(str::to_owned).collect();
        Some(WhyNamed { entry: entry.clone(), by: way.by, path, rule: way.rule.cloned() })
    };
    match evaluation.read.wanted.get(place as usize) {
        Some(To::All) => named("all"),
        Some(To::Area | To::NamedArea(_)) => named("area"),
        Some(To::Subscribers) => named("subscribers"),
        Some(To::Recipient(_)) | None => named("id"),
        Some(To::Address(..)) => named("address"),
        Some(To::Received(_) | To::Earlier(..)) => named("alert"),
        // They left it since they were counted.
        Some(To::Group(..)) => of_group().unwrap_or_else(|| named("person")),
    }
}

//! Pages of the people of an alert, of its deliveries alone: names and addresses are read from the roster
//! afterwards.

use crate::record::delivery_cell::DeliveryCell;
use crate::record::{FoundPerson, LiveAlert, OTHER, PersonPlace, StringTable};
use records::{ChannelNumber, Delivery, DeliveryState, EndpointNo, Reason};

/// People looked through for one slice at most; a slice may be short, the place behind it goes on.
pub const SCANNED_MAX: usize = 200_000;

/// Which people. What is empty does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PeopleFilter {
    /// In this state.
    pub state: Option<DeliveryState>,
    /// With a device that is where it is for this reason.
    pub reason: Option<Reason>,
    /// Who answered.
    pub answer: Option<AnswerFilter>,
    /// With a device of this channel.
    pub channel: Option<ChannelNumber>,
    /// With a device that was last tried by this route.
    pub route: Option<String>,
}

/// Which answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerFilter {
    /// Any.
    Any,
    /// The choice with this key; `other`: none of them.
    Key(String),
}

/// A slice of the people of an alert that is asked for.
#[derive(Debug, Clone)]
pub struct PeopleSlice {
    pub filter: PeopleFilter,
    pub from: PersonPlace,
    pub limit: usize,
}

/// The slice.
#[derive(Debug, Default)]
pub struct FoundPeople {
    pub people: Vec<PersonRow>,
    /// Where the next begins.
    pub next: Option<PersonPlace>,
}

/// A person with the deliveries to their devices.
#[derive(Debug)]
pub struct PersonRow {
    pub person: FoundPerson,
    pub deliveries: Vec<Delivery>,
}

/// A slice of an alert's people.
pub fn slice(live: &LiveAlert, words: &StringTable, wanted: &PeopleSlice) -> FoundPeople {
    let mut found = FoundPeople::default();
    let mut scanned = 0;
    found.next = live.people_from(wanted.from, |person| {
        scanned += 1;
        if fits(live, words, &wanted.filter, &person) {
            found.people.push(row(live, words, person));
        }
        scanned < SCANNED_MAX && found.people.len() < wanted.limit
    });
    found
}

/// A person with the deliveries to their devices.
pub fn row(live: &LiveAlert, words: &StringTable, person: FoundPerson) -> PersonRow {
    let deliveries = person.devices.iter().filter_map(|at| live.delivery(*at, words)).collect();
    PersonRow { person, deliveries }
}

fn fits(live: &LiveAlert, words: &StringTable, filter: &PeopleFilter, person: &FoundPerson) -> bool {
    if filter.state.is_some_and(|state| state != person.state) {
        return false;
    }
    let any = |fits: &dyn Fn(EndpointNo, &DeliveryCell) -> bool| {
        person.devices.iter().any(|at| live.cell(*at).is_some_and(|cell| fits(*at, cell)))
    };
    filter.reason.is_none_or(|reason| any(&|_, cell| cell.reason == reason))
        && filter.channel.is_none_or(|channel| any(&|_, cell| cell.channel() == Some(channel)))
        && filter.route.as_ref().is_none_or(|route| any(&|_, cell| words.route(cell.route) == Some(route)))
        && filter.answer.as_ref().is_none_or(|answer| any(&|_, cell| is_answered(live, cell, answer)))
}

fn is_answered(live: &LiveAlert, cell: &DeliveryCell, wanted: &AnswerFilter) -> bool {
    let Some(answer) = live.answers.of(cell.answer) else { return false };
    match wanted {
        AnswerFilter::Any => true,
        AnswerFilter::Key(key) => answer.key.as_deref().unwrap_or(OTHER) == key,
    }
}

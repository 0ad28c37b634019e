//! Search of people: by words, number, address or id, by group, by what is wrong with their devices.
//!
//! `GET /api/v1/recipients?q=&group=&health=&sort=`. Words are found by the store's index of terms, 10,000
//! people at most, of whom the rest is asked one by one. Without words everybody is looked through, on a
//! thread of its own: 1 to 2 us each.

use super::stops;
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::groups::membership::Membership;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::{Query, cursor};
use axum::Json;
use records::{ChannelNumber, DeliveryState, EndpointNo, Recipient};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use store::import::{ID_OCTETS_MAX, to_json};
use store::{StoreError, search};

/// Characters of a search.
const QUERY_CHARS_MAX: usize = 200;
/// People found by an index, of whom the rest is asked.
const CANDIDATES_MAX: usize = 10_000;
/// People read at a time.
const READ_ROWS: usize = 1_000;
/// The last alerts that are looked through for mail that came back.
const BOUNCED_ALERTS: usize = 20;
/// Deliveries of these that are looked at.
const BOUNCED_MAX: usize = 20_000;

/// What may be wrong with how a person is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PersonHealth {
    /// No device is switched on.
    NoDevice,
    /// Mail came back in one of the last alerts.
    Bounced,
    /// No address was proved to be theirs.
    NotVerified,
    /// They said stop.
    Stopped,
}

const HEALTH: [(&str, Option<PersonHealth>); 4] = [
    ("no_device", Some(PersonHealth::NoDevice)),
    ("bounced", Some(PersonHealth::Bounced)),
    ("not_verified", Some(PersonHealth::NotVerified)),
    ("stopped", Some(PersonHealth::Stopped)),
];

/// The order of what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchOrder {
    Id,
    Name,
}

impl SearchOrder {
    /// Of a person: by name people of one name are in the order of their ids.
    fn key(self, person: &Recipient) -> String {
        match self {
            SearchOrder::Id => person.id.clone(),
            SearchOrder::Name => format!("{}\u{0}{}", search::folded(&person.name), person.id),
        }
    }
}

/// What people are asked, one by one.
struct PersonTest {
    words: Vec<String>,
    /// The search as a telephone number.
    number: Option<String>,
    membership: Option<Membership>,
    health: Option<PersonHealth>,
    stopped: HashSet<(ChannelNumber, String)>,
    bounced: HashSet<String>,
}

impl PersonTest {
    fn fits(&self, person: &Recipient) -> bool {
        let has_number = |number: &String| person.devices.iter().any(|one| one.address.starts_with(number));
        let is_found = search::matches(person, &self.words) || self.number.as_ref().is_some_and(has_number);
        is_found
            && self.membership.as_ref().is_none_or(|group| group.why(person).is_some())
            && self.is_unwell(person)
    }

    fn is_unwell(&self, person: &Recipient) -> bool {
        match self.health {
            None => true,
            Some(PersonHealth::NoDevice) => !person.devices.iter().any(|device| device.enabled),
            Some(PersonHealth::NotVerified) => {
                !person.devices.is_empty() && !person.devices.iter().any(|device| device.verified)
            }
            Some(PersonHealth::Stopped) => person.devices.iter().any(|device| {
                let address =
                    channels::canonical(device.channel, &device.address, &channels::Defaults::default());
                self.stopped.contains(&(device.channel, address.into_owned()))
            }),
            Some(PersonHealth::Bounced) => self.bounced.contains(&person.id),
        }
    }
}

/// A page of what was found, and how many there are in all.
struct FoundPeople {
    order: SearchOrder,
    after: String,
    limit: usize,
    page: BTreeMap<String, Recipient>,
    total: u64,
}

impl FoundPeople {
    fn take(&mut self, person: &Recipient) {
        self.total += 1;
        let key = self.order.key(person);
        let last = self.page.last_key_value().map(|(last, _)| last);
        if key > self.after && (self.page.len() < self.limit || last.is_some_and(|last| key < *last)) {
            self.page.insert(key, person.clone());
            if self.page.len() > self.limit {
                self.page.pop_last();
            }
        }
    }
}

/// Whether a list is a search: it has a total.
pub(super) fn is_search(query: &Query) -> bool {
    ["q", "group", "health", "sort"].iter().any(|name| query.one(name).is_some())
}

pub(super) async fn found(app: &App, caller: &Caller, query: &Query) -> HttpResult<Json<Value>> {
    let wrong = |name: &str, reason: String| HttpProblem::field(ProblemKind::BadQuery, name, reason);
    if query.one("filter").is_some() {
        return Err(wrong("filter", "does not go with q, group, health or sort".to_owned()));
    }
    let text = query.one("q").unwrap_or_default();
    if text.chars().count() > QUERY_CHARS_MAX {
        return Err(wrong("q", format!("has more than {QUERY_CHARS_MAX} characters")));
    }
    let group = query.one("group").filter(|id| !id.is_empty());
    if group.is_some_and(|id| id.len() > ID_OCTETS_MAX) {
        return Err(wrong("group", format!("has more than {ID_OCTETS_MAX} octets")));
    }
    let health = match query.one("health") {
        None => None,
        Some(_) => query.word("health", &HEALTH)?,
    };
    let order = query.word("sort", &[("id", SearchOrder::Id), ("name", SearchOrder::Name)])?;
    let test = test(app, caller.account(), text, (group, health)).await?;
    let (limit, after) = (query.limit()?, query.cursor()?.unwrap_or_default());
    let mut found = FoundPeople { order, after, limit: limit + 1, page: BTreeMap::new(), total: 0 };
    let is_exact = match test.words.is_empty() {
        true => {
            found = looked_through(app, caller.account(), test, found).await?;
            true
        }
        false => by_index(app, caller.account(), &test, &mut found).await?,
    };
    let more = found.page.len() > limit;
    if more {
        found.page.pop_last();
    }
    let next = found.page.last_key_value().filter(|_| more).map(|(key, _)| cursor(key));
    let mut people: Vec<Recipient> = found.page.into_values().collect();
    stops::mark(app, caller.account(), &mut people).await?;
    let items: Vec<Value> = people.iter().map(to_json).collect();
    Ok(Json(json!({"items": items, "next": next, "total": found.total, "total_is_exact": is_exact})))
}

async fn test(
    app: &App,
    account: &str,
    text: &str,
    (group, health): (Option<&str>, Option<PersonHealth>),
) -> HttpResult<PersonTest> {
    let is_number =
        text.chars().any(|c| c.is_ascii_digit()) && text.chars().all(|c| "+0123456789 -()./".contains(c));
    let number =
        is_number.then(|| channels::canonical(channels::SMS, text, &app.defaults.load()).into_owned());
    let membership = match group {
        Some(id) => Some(Membership::of(app, account, id).await?),
        None => None,
    };
    let stopped = match health {
        Some(PersonHealth::Stopped) => app.store.opt_outs(account).await?.into_iter().collect(),
        _ => HashSet::new(),
    };
    let bounced = match health {
        Some(PersonHealth::Bounced) => bounced(app, account).await?,
        _ => HashSet::new(),
    };
    Ok(PersonTest { words: search::words(text), number, membership, health, stopped, bounced })
}

/// People whose mail came back in one of the last alerts.
async fn bounced(app: &App, account: &str) -> HttpResult<HashSet<String>> {
    let (mut people, mut seen) = (HashSet::new(), 0);
    for alert in app.store.alerts_before(account, None, BOUNCED_ALERTS).await? {
        let mut from = Some(EndpointNo(0));
        while let Some(at) = from.filter(|_| seen < BOUNCED_MAX) {
            let failed = Some(DeliveryState::Failed);
            let (page, next) = app.engine.deliveries(account, alert.id, failed, at, READ_ROWS).await?;
            seen += page.len();
            let mails = page.iter().filter(|one| one.channel == Some(channels::name(channels::MAIL)));
            people.extend(mails.flat_map(|one| one.recipients.iter().map(|person| person.id.clone())));
            from = next;
        }
    }
    Ok(people)
}

/// Takes those whom an index finds. False: there may be more.
async fn by_index(app: &App, account: &str, test: &PersonTest, found: &mut FoundPeople) -> HttpResult<bool> {
    let longest = test.words.iter().max_by_key(|word| word.len()).map_or("", String::as_str);
    let mut ids = app.store.people_by_term(account, longest, CANDIDATES_MAX).await?;
    let mut is_exact = ids.len() < CANDIDATES_MAX;
    if let Some(number) = &test.number {
        let more = app.store.people_by_term(account, number, CANDIDATES_MAX).await?;
        is_exact &= more.len() < CANDIDATES_MAX;
        ids.extend(more);
    }
    is_exact &= ids_beginning(app, account, longest, &mut ids).await?;
    ids.sort_unstable();
    ids.dedup();
    for ids in ids.chunks(READ_ROWS) {
        let people = app.store.recipients_by_ids(account, ids).await?;
        people.iter().filter(|person| test.fits(person)).for_each(|person| found.take(person));
    }
    Ok(is_exact)
}

/// Adds ids that begin as a word does, as it is and in capitals. False: there may be more.
async fn ids_beginning(app: &App, account: &str, word: &str, ids: &mut Vec<String>) -> HttpResult<bool> {
    let mut is_exact = true;
    for prefix in [word.to_owned(), word.to_uppercase()] {
        // An id comes after its own beginning, unless it is just that.
        ids.extend(app.store.recipient(account, &prefix).await?.map(|(person, _)| person.id));
        let page = app.store.recipients_after(account, &prefix, READ_ROWS).await?;
        let own = page.iter().take_while(|person| person.id.starts_with(&prefix)).count();
        is_exact &= own < READ_ROWS;
        ids.extend(page.into_iter().take(own).map(|person| person.id));
    }
    Ok(is_exact)
}

/// Looks through everybody.
async fn looked_through(
    app: &App,
    account: &str,
    test: PersonTest,
    mut found: FoundPeople,
) -> HttpResult<FoundPeople> {
    let _place = app.uploads.directory.scans.take(account)?;
    let (store, account) = (Arc::clone(&app.store), account.to_owned());
    let scan = tokio::task::spawn_blocking(move || {
        store.scan_recipients(&account, &mut |slice| {
            slice.iter().filter(|person| test.fits(person)).for_each(|person| found.take(person));
            true
        })?;
        Ok::<_, StoreError>(found)
    });
    Ok(scan.await.map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))??)
}

//! AlertPeople looks at the people of an alert: lists of them, and why one got it or did not.

mod pages;
mod views;
mod why;

pub use pages::{AnswerFilter, FoundPeople, PeopleFilter, PeopleSlice, slice};
pub use why::{MatchedEntry, RECORDED_BY, WhyConstraints, WhyPerson};

use super::actor::store_error;
use super::alerts::Alerts;
use super::command::{ActorCommand, DeliveryPage, Reply};
use super::context::Context;
use super::event_publisher::EventPublisher;
use super::steering::extend;
use super::story::{self, AlertStory};
use super::views::views as deliveries;
use super::{Engine, gone, starting};
use crate::api::{DeliveryView, EngineError, PersonOfAlert};
use crate::plan::Classifier;
use crate::record::{LiveAlert, StringTable};
use records::{Alert, AlertId, AlertNo, EndpointNo, Timestamp};
use std::sync::Arc;
use tokio::sync::oneshot;
use views::RosterReader;

pub use crate::record::PersonPlace;

/// People in one page at most.
const PEOPLE_MAX: usize = 1_000;
/// People read at once for a page that looks for letters.
const SEARCHED_AT_ONCE: usize = 1_000;
/// Slices read for one page at most; a page may be short, its cursor goes on.
const SLICES_MAX: usize = 32;

/// See the module.
#[derive(Clone)]
pub struct AlertPeople {
    engine: Engine,
}

/// What the actor is asked about the people of an alert.
pub enum PeopleQuestion {
    /// Some of them. It answers for alerts in memory.
    Slice { wanted: PeopleSlice, reply: oneshot::Sender<Option<FoundPeople>> },
    /// What happened to the alert. It answers for alerts in memory.
    Story { reply: oneshot::Sender<Option<AlertStory>> },
    /// Let it end later.
    Extend { expires: Timestamp, reply: Reply<Alert> },
    /// Somebody said then that a delivery's call for help is settled.
    Settled { endpoint: EndpointNo, at: Timestamp },
}

impl PeopleQuestion {
    /// Answers it, or does it.
    pub fn answer(self, no: AlertNo, alerts: &mut Alerts, publisher: &mut EventPublisher, context: &Context) {
        match self {
            PeopleQuestion::Slice { wanted, reply } => {
                let live = alerts.live.get(&no);
                let _ = reply.send(live.map(|live| slice(live, &alerts.strings, &wanted)));
            }
            PeopleQuestion::Story { reply } => _ = reply.send(alerts.stories.of(no)),
            PeopleQuestion::Extend { expires, reply } => extend(no, expires, reply, alerts, context),
            PeopleQuestion::Settled { endpoint, at } => {
                if let Some(live) = alerts.live.get_mut(&no) {
                    live.settle_call(endpoint, at);
                    publisher.note_change(no);
                }
            }
        }
    }

    /// It is not known here: what can be read from SQL is read there.
    pub fn send_back(self) {
        match self {
            PeopleQuestion::Slice { reply, .. } => _ = reply.send(None),
            PeopleQuestion::Story { reply } => _ = reply.send(None),
            PeopleQuestion::Extend { reply, .. } => _ = reply.send(Err(gone())),
            PeopleQuestion::Settled { .. } => {}
        }
    }
}

/// A page of people that is asked for.
#[derive(Debug, Clone, Default)]
pub struct PeoplePage {
    /// Which.
    pub filter: PeopleFilter,
    /// With these letters in name, id or address, whatever their case.
    pub letters: Option<String>,
    /// Where it begins.
    pub from: PersonPlace,
    /// How many.
    pub limit: usize,
}

/// Where a page's people are read.
enum PeopleSource {
    /// From the actor.
    Memory,
    /// From the rows of an alert that is over.
    Rows(Arc<(LiveAlert, StringTable)>),
}

impl Engine {
    /// The people of alerts.
    pub fn people(&self) -> AlertPeople {
        AlertPeople { engine: self.clone() }
    }
}

impl AlertPeople {
    /// A page of people, and where the next begins.
    ///
    /// # Errors
    /// No such alert; what the store says.
    pub async fn page(
        &self,
        account: &str,
        id: AlertId,
        page: PeoplePage,
    ) -> Result<(Vec<PersonOfAlert>, Option<PersonPlace>), EngineError> {
        let alert = self.engine.stored(account, id).await?;
        let no = alert.no;
        let limit = page.limit.clamp(1, PEOPLE_MAX);
        // One more than is shown tells whether it is the last page.
        let read_max = limit + 1;
        let letters = page.letters.map(|letters| letters.to_lowercase());
        let mut source = PeopleSource::Memory;
        let (mut people, mut from) = (Vec::new(), Some(page.from));
        for _ in 0..SLICES_MAX {
            let Some(place) = from.filter(|_| people.len() < read_max) else { break };
            let at_once = if letters.is_some() { SEARCHED_AT_ONCE } else { read_max - people.len() };
            let wanted = PeopleSlice { filter: page.filter.clone(), from: place, limit: at_once };
            let found = self.slice(&alert, wanted, &mut source).await?;
            from = found.next;
            let letters = letters.clone();
            let views = self.views(no, found, letters, read_max - people.len()).await?;
            from = views.next.or(from);
            people.extend(views.people);
        }
        if let Some((more, _)) = people.get(limit) {
            from = Some(*more);
            people.truncate(limit);
        }
        Ok((people.into_iter().map(|(_, person)| person).collect(), from))
    }

    async fn asked<T>(
        &self,
        no: AlertNo,
        question: impl FnOnce(oneshot::Sender<T>) -> PeopleQuestion,
    ) -> Result<T, EngineError> {
        self.engine.request(|reply| ActorCommand::People { no, question: question(reply) }).await
    }

    async fn slice(
        &self,
        alert: &Alert,
        wanted: PeopleSlice,
        source: &mut PeopleSource,
    ) -> Result<FoundPeople, EngineError> {
        if let PeopleSource::Memory = source {
            let (no, of) = (alert.no, wanted.clone());
            let found = self.asked(no, |reply| PeopleQuestion::Slice { wanted: of, reply }).await?;
            match found {
                Some(found) => return Ok(found),
                None => *source = PeopleSource::Rows(self.rows(alert.clone()).await?),
            }
        }
        let PeopleSource::Rows(rows) = source else { return Ok(FoundPeople::default()) };
        Ok(slice(&rows.0, &rows.1, &wanted))
    }

    /// One delivery of an alert as it stands; nothing if there is none. Cheap also of an alert that is over.
    ///
    /// # Errors
    /// No such alert; what the store says.
    pub async fn delivery(
        &self,
        account: &str,
        id: AlertId,
        endpoint: EndpointNo,
    ) -> Result<Option<DeliveryView>, EngineError> {
        let no = self.engine.stored(account, id).await?.no;
        let page = DeliveryPage { state: None, from: endpoint, limit: 1 };
        let live = self.engine.request(|reply| ActorCommand::Deliveries { no, page, reply }).await?;
        let store = self.engine.store();
        let mut rows = match live {
            Some(rows) => rows,
            None => store.deliveries_from(no, endpoint, None, 1).await.map_err(store_error)?,
        };
        rows.retain(|row| row.endpoint == endpoint);
        let mut views = blocking(move || deliveries(&*store, no, &rows)).await?;
        Ok(views.pop())
    }

    /// What happened to an alert, and how many people it reached by when.
    ///
    /// # Errors
    /// No such alert; what the store says.
    pub async fn story(&self, account: &str, id: AlertId) -> Result<AlertStory, EngineError> {
        let no = self.engine.stored(account, id).await?.no;
        let live = self.asked(no, |reply| PeopleQuestion::Story { reply }).await?;
        match live {
            Some(story) => Ok(story),
            None => {
                let read = story::read(&*self.engine.store(), account, no).await;
                Ok(read.map_err(EngineError::Internal)?.unwrap_or_default())
            }
        }
    }

    /// Lets an alert end later; resolves when that is on disk.
    ///
    /// # Errors
    /// No such alert; it is over, or ends later already; what the store says.
    pub async fn extend(&self, account: &str, id: AlertId, expires: Timestamp) -> Result<Alert, EngineError> {
        let no = self.engine.stored(account, id).await?.no;
        self.asked(no, |reply| PeopleQuestion::Extend { expires, reply }).await?
    }

    /// Somebody said at `at` that the call for help of a delivery is settled: reports no longer count it.
    ///
    /// # Errors
    /// No such alert; the engine is closing.
    pub async fn settle(
        &self,
        account: &str,
        id: AlertId,
        endpoint: EndpointNo,
        at: Timestamp,
    ) -> Result<(), EngineError> {
        let no = self.engine.stored(account, id).await?.no;
        let question = PeopleQuestion::Settled { endpoint, at };
        self.engine.send(ActorCommand::People { no, question }).await
    }

    /// An alert that is not in memory, read from its rows.
    async fn rows(&self, alert: Alert) -> Result<Arc<(LiveAlert, StringTable)>, EngineError> {
        let parts = self.engine.parts().clone();
        blocking(move || {
            let (mut words, now) = (StringTable::default(), (parts.clock)());
            let live = starting::load(&parts, &Classifier::new(Vec::new()), &mut words, alert, now)?;
            Ok(Arc::new((live, words)))
        })
        .await
    }

    /// Names and addresses of the people found, of those that have the letters, `limit` at most.
    async fn views(
        &self,
        no: AlertNo,
        found: FoundPeople,
        letters: Option<String>,
        limit: usize,
    ) -> Result<Views, EngineError> {
        let store = self.engine.store();
        blocking(move || {
            let mut roster = RosterReader::new(&*store, no);
            let mut views = Views::default();
            for row in found.people {
                if views.people.len() == limit {
                    views.next = Some(row.person.at);
                    break;
                }
                let at = row.person.at;
                let view = views::view(&mut roster, row)?;
                if letters.as_ref().is_none_or(|letters| views::has_letters(&view, letters)) {
                    views.people.push((at, view));
                }
            }
            Ok(views)
        })
        .await
    }
}

/// People with their names.
#[derive(Default)]
struct Views {
    people: Vec<(PersonPlace, PersonOfAlert)>,
    /// Where the next page begins, if there is no room for all of them.
    next: Option<PersonPlace>,
}

/// Reads of the store's blocking interfaces, on a thread that may wait.
async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, EngineError> {
    tokio::task::spawn_blocking(read).await.map_err(|error| EngineError::Internal(error.to_string()))?
}

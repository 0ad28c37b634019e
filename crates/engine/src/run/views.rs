//! Looks at alerts: those in memory through the actor, others read from SQL for the occasion.

use super::actor::store_error;
use super::command::{ActorCommand, DeliveryPage, Look, Question};
use super::{Engine, starting};
use crate::api::{AnswerGiven, AnswerView, DeliveryView, EngineError, Problem, RecipientView, Report};
use crate::dispatch::{TextCache, without_values};
use crate::plan::Classifier;
use crate::record::StringTable;
use crate::report::{self, reason_in_words, rfc3339};
use channels::drill::Mark;
use records::{
    Alert, AlertId, AlertNo, Answer, Delivery, DeliveryState, EndpointNo, Mode, ROSTER_BLOCK_ENDPOINTS,
    RosterBlock, RosterEntry, Timestamp,
};
use std::sync::Arc;

/// Deliveries in one page at most.
pub const PAGE_MAX: usize = 10_000;
/// Answers that are told at once to somebody who missed them.
pub const ANSWERS_MAX: usize = 10_000;

impl Engine {
    /// The alert, with its state of now.
    pub async fn alert(&self, account: &str, id: AlertId) -> Result<Alert, EngineError> {
        let stored = self.stored(account, id).await?;
        Ok(self.look(stored.no).await?.map_or(stored, |look| look.alert))
    }

    /// How far it has got.
    pub async fn report(&self, account: &str, id: AlertId) -> Result<Arc<Report>, EngineError> {
        let stored = self.stored(account, id).await?;
        match self.look(stored.no).await? {
            Some(look) => Ok(look.report),
            None => self.cold_report(stored).await,
        }
    }

    async fn look(&self, no: AlertNo) -> Result<Option<Look>, EngineError> {
        self.request(|reply| ActorCommand::Look { no, reply }).await
    }

    async fn cold_report(&self, alert: Alert) -> Result<Arc<Report>, EngineError> {
        let parts = self.inner.parts.clone();
        let routes = self.inner.routes.load_full();
        let read = move || {
            let now = (parts.clock)();
            let mut words = StringTable::default();
            let classifier = Classifier::new(routes.to_vec());
            let live = starting::load(&parts, &classifier, &mut words, alert, now)?;
            let view = |name: &str| {
                routes
                    .iter()
                    .find(|route| route.name == name)
                    .map(|route| report::RouteView::new(route, None))
            };
            Ok(Arc::new(report::report(&live, &words, now, None, view)))
        };
        tokio::task::spawn_blocking(read).await.map_err(|error| EngineError::Internal(error.to_string()))?
    }

    /// A page of deliveries from endpoint `from` on, and where the next begins.
    pub async fn deliveries(
        &self,
        account: &str,
        id: AlertId,
        state: Option<DeliveryState>,
        from: EndpointNo,
        limit: usize,
    ) -> Result<(Vec<DeliveryView>, Option<EndpointNo>), EngineError> {
        let no = self.stored(account, id).await?.no;
        let limit = limit.clamp(1, PAGE_MAX);
        let page = DeliveryPage { state, from, limit };
        let live = self.request(|reply| ActorCommand::Deliveries { no, page, reply }).await?;
        let parts = self.inner.parts.clone();
        let rows = match live {
            Some(rows) => rows,
            None => self.cold_deliveries(no, page).await?,
        };
        let next =
            if rows.len() < limit { None } else { rows.last().map(|row| EndpointNo(row.endpoint.0 + 1)) };
        let read = move || views(&*parts.store, no, &rows);
        let views = tokio::task::spawn_blocking(read)
            .await
            .map_err(|error| EngineError::Internal(error.to_string()))??;
        Ok((views, next))
    }

    /// From SQL: rows that are absent are as the roster made them.
    async fn cold_deliveries(&self, no: AlertNo, page: DeliveryPage) -> Result<Vec<Delivery>, EngineError> {
        let alert = self
            .inner
            .parts
            .store
            .alert_by_no(no)
            .await
            .map_err(store_error)?
            .ok_or(EngineError::NotFound)?;
        let parts = self.inner.parts.clone();
        let read = move || {
            let now = (parts.clock)();
            let mut words = StringTable::default();
            let live = starting::load(&parts, &Classifier::new(Vec::new()), &mut words, alert, now)?;
            let from = live.each().skip(page.from.0 as usize);
            let fitting =
                from.filter(|(_, cell)| page.state.is_none_or(|state| state == cell.state)).take(page.limit);
            Ok(fitting.filter_map(|(endpoint, _)| live.delivery(endpoint, &words)).collect())
        };
        tokio::task::spawn_blocking(read).await.map_err(|error| EngineError::Internal(error.to_string()))?
    }

    /// The answers given at `since` or later, each the last one of its delivery, in the order of their times;
    /// of more than [`ANSWERS_MAX`] the newest.
    pub async fn answers_since(
        &self,
        account: &str,
        id: AlertId,
        since: Timestamp,
    ) -> Result<Vec<(EndpointNo, Answer)>, EngineError> {
        let no = self.stored(account, id).await?.no;
        let (mut from, mut found) = (EndpointNo(0), Vec::new());
        loop {
            let page = DeliveryPage { state: Some(DeliveryState::Answered), from, limit: PAGE_MAX };
            let rows = match self.request(|reply| ActorCommand::Deliveries { no, page, reply }).await? {
                Some(rows) => rows,
                None => self.cold_deliveries(no, page).await?,
            };
            let next = rows.last().map(|row| EndpointNo(row.endpoint.0 + 1));
            let is_over = rows.len() < PAGE_MAX;
            let answers = rows.into_iter().filter_map(|row| Some((row.endpoint, row.answer?)));
            found.extend(answers.filter(|(_, answer)| answer.at >= since));
            if found.len() > 2 * ANSWERS_MAX || is_over {
                found.sort_by_key(|(endpoint, answer)| (answer.at, *endpoint));
                found.drain(..found.len().saturating_sub(ANSWERS_MAX));
            }
            match next {
                Some(next) if !is_over => from = next,
                _ => return Ok(found),
            }
        }
    }

    /// What the answer page of a delivery shows.
    pub async fn question(&self, alert: AlertNo, endpoint: EndpointNo) -> Result<Question, EngineError> {
        let stored = self
            .inner
            .parts
            .store
            .alert_by_no(alert)
            .await
            .map_err(store_error)?
            .ok_or(EngineError::NotFound)?;
        let page = DeliveryPage { state: None, from: endpoint, limit: 1 };
        let rows = match self.request(|reply| ActorCommand::Deliveries { no: alert, page, reply }).await? {
            Some(rows) => rows,
            None => {
                self.inner.parts.store.deliveries_from(alert, endpoint, None, 1).await.map_err(store_error)?
            }
        };
        let parts = self.inner.parts.clone();
        let read = move || parts.store.roster_block(alert, endpoint);
        let block = tokio::task::spawn_blocking(read)
            .await
            .map_err(|error| EngineError::Internal(error.to_string()))?;
        let block = block.map_err(store_error)?.ok_or(EngineError::NotFound)?;
        let entry = entry_of(&block, endpoint).ok_or(EngineError::NotFound)?;
        let answered = rows.into_iter().find(|row| row.endpoint == endpoint).and_then(|row| row.answer);
        let now = (self.inner.parts.clock)();
        let open = stored.request.require_answer
            && now < stored.request.expires
            && stored.state != records::AlertState::Cancelled;
        Ok(question(&self.inner.parts.texts, &stored, entry, answered, open))
    }

    /// An answer by API: whose it is stands in the body, as a recipient's id or an address.
    pub async fn answer_by_address(
        &self,
        account: &str,
        id: AlertId,
        who: &str,
        text: &str,
    ) -> Result<(), EngineError> {
        let alert = self.stored(account, id).await?;
        let parts = self.inner.parts.clone();
        let (no, who) = (alert.no, who.to_owned());
        let search = move || find_endpoint(&*parts.store, no, &who);
        let found = tokio::task::spawn_blocking(search)
            .await
            .map_err(|error| EngineError::Internal(error.to_string()))??;
        let Some(endpoint) = found else {
            let reason = "nobody of this alert has this id or address".to_owned();
            return Err(EngineError::Unprocessable(vec![Problem { field: "from".into(), reason }]));
        };
        self.answer(AnswerGiven { alert: no, endpoint, text: text.to_owned(), via: "api".into() }).await
    }
}

fn find_endpoint(
    store: &dyn store::Store,
    no: AlertNo,
    who: &str,
) -> Result<Option<EndpointNo>, EngineError> {
    let mut at = EndpointNo(0);
    while let Some(block) = store.roster_block(no, at).map_err(store_error)? {
        let is_theirs = |entry: &RosterEntry| {
            let named = entry
                .channel
                .is_some_and(|channel| who == format!("{}:{}", channels::name(channel), entry.address));
            entry.excluded.is_none()
                && (named
                    || entry.address == who
                    || entry.persons.iter().any(|person| person.recipient == who))
        };
        if let Some(place) = block.entries.iter().position(is_theirs) {
            return Ok(Some(EndpointNo(block.first.0 + place as u32)));
        }
        at = EndpointNo(block.first.0 + ROSTER_BLOCK_ENDPOINTS as u32);
    }
    Ok(None)
}

pub fn views(
    store: &dyn store::Store,
    no: AlertNo,
    rows: &[Delivery],
) -> Result<Vec<DeliveryView>, EngineError> {
    let mut block: Option<RosterBlock> = None;
    let mut out = Vec::with_capacity(rows.len());
    for row in rows {
        if block.as_ref().and_then(|block| entry_of(block, row.endpoint)).is_none() {
            block = store.roster_block(no, row.endpoint).map_err(store_error)?;
        }
        // The roster of a message stream grows in its order: the next may come while this is read, and a page
        // has no gaps.
        let Some(entry) = block.as_ref().and_then(|block| entry_of(block, row.endpoint)) else { break };
        out.push(view(row, entry));
    }
    Ok(out)
}

fn entry_of(block: &RosterBlock, endpoint: EndpointNo) -> Option<&RosterEntry> {
    block.entries.get(endpoint.0.checked_sub(block.first.0)? as usize)
}

/// The address as reports show it: without what is a secret in it.
pub fn shown_address(entry: &RosterEntry) -> String {
    let shown = entry.channel.map(|channel| channels::shown(channel, &entry.address).into_owned());
    shown.unwrap_or_else(|| entry.address.clone())
}

/// A delivery as people read it.
pub fn view(row: &Delivery, entry: &RosterEntry) -> DeliveryView {
    let person =
        |person: &records::Person| RecipientView { id: person.recipient.clone(), name: person.name.clone() };
    DeliveryView {
        endpoint: row.endpoint.0,
        channel: entry.channel.map(channels::name),
        address: shown_address(entry),
        recipients: entry.persons.iter().map(person).filter(|person| !person.id.is_empty()).collect(),
        state: row.state,
        reason_code: row.reason,
        reason: reason_in_words(row),
        route: row.route.clone(),
        attempts: row.attempts,
        submitted: row.submitted.map(rfc3339),
        accepted: row.accepted.map(rfc3339),
        delivered: row.delivered.map(rfc3339),
        answer: row.answer.as_ref().map(|answer| AnswerView {
            key: answer.key.clone(),
            text: answer.text.clone(),
            via: answer.via.clone(),
            at: rfc3339(answer.at),
        }),
    }
}

fn question(
    texts: &TextCache,
    alert: &Alert,
    entry: &RosterEntry,
    answered: Option<records::Answer>,
    open: bool,
) -> Question {
    let request = &alert.request;
    let own = entry.language.as_ref().and_then(|language| request.texts.languages.get_key_value(language));
    let texts_of_language = own.map_or(&request.texts.default, |(_, texts)| texts);
    let headline = texts_of_language.headline.as_ref().or(request.headline.as_ref());
    let mark = || entry.language.as_deref().and_then(Mark::of).unwrap_or_default();
    Question {
        headline: without_values(headline.map_or("", String::as_str)),
        text: rendered(texts, alert, entry).unwrap_or_default(),
        choices: request.choices.clone(),
        answered,
        open,
        drill: (request.mode == Mode::Drill).then(|| mark().word()),
        language: own.map(|(language, _)| language.clone()),
    }
}

fn rendered(texts: &TextCache, alert: &Alert, entry: &RosterEntry) -> Option<String> {
    let wording = texts.of(alert);
    // A person without any device is shown the alert as by the first channel that has a text.
    let all = channels::numbers();
    let channel = entry.channel.or_else(|| all.into_iter().find(|one| wording.sample(*one).is_some()))?;
    wording.shown(channel, entry.language.as_deref(), &entry.values)
}

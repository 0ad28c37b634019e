//! HelpCases notes answers at which a person should look, each as a document: who needs help, and what people
//! say in their own words to a drill. It owns how many words of a drill were noted.

use super::actor::store_error;
use super::alerts::Alerts;
use super::context::Context;
use super::{ActorCommand, Engine, views};
use crate::api::{DeliveryView, EngineError};
use crate::run::command::DeliveryPage;
use records::{AlertId, AlertNo, EndpointNo, HelpCase, HelpReason};
use rustc_hash::FxHashMap;
use std::time::Duration;
use store::{DocumentKind, Expected, NewDocument};

/// Words of one drill that are noted; more are in its report alone. Whoever needs help is always noted.
const WORDS_MAX: u32 = 1_000;
/// Drills whose words are counted at a time.
const DRILLS_MAX: usize = 1_024;
/// A note is kept for so long, in seconds: as long as an alert may last, and a day.
const KEPT_S: i64 = 41 * 86_400;
/// A note that cannot be written is tried so often …
const TRIES: u32 = 5;
/// … with so much between.
const PAUSE: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Default)]
pub struct HelpCases {
    words: FxHashMap<AlertNo, u32>,
}

impl HelpCases {
    /// Somebody has answered. After a crash the same answer may come again, and is noted once.
    pub fn note(&mut self, no: AlertNo, endpoint: EndpointNo, alerts: &Alerts, context: &Context) {
        let Some(alert) = alerts.live.get(&no).map(|live| &live.alert) else { return };
        let request = &alert.request;
        if request.needs_help.is_empty() && request.mode == records::Mode::Live {
            return;
        }
        let answer = alerts.delivery(no, endpoint).and_then(|delivery| delivery.answer);
        let reason = answer.and_then(|answer| HelpReason::of(request, answer.key.as_deref()));
        match reason {
            Some(HelpReason::NeedsHelp) => {}
            Some(HelpReason::Words) if self.has_room(no) => {}
            Some(HelpReason::Words) | None => return,
        }
        let (store, account, now) = (context.parts.store.clone(), alert.account.clone(), context.now());
        let document = document(no, HelpCase { alert: alert.id, endpoint }, now.plus_s(KEPT_S));
        context.spawn_logged(async move {
            let mut failed = String::new();
            for _ in 0..TRIES {
                let (kind, document) = (DocumentKind::HelpCase, document.clone());
                match store.put_document(&account, kind, document, Expected::Any, now).await {
                    Ok(_) => return Ok(()),
                    Err(error) => failed = error.to_string(),
                }
                tokio::time::sleep(PAUSE).await;
            }
            Err(format!("that somebody needs help, delivery {} of alert {}: {failed}", endpoint.0, no.0))
        });
    }

    fn has_room(&mut self, no: AlertNo) -> bool {
        if self.words.len() >= DRILLS_MAX && !self.words.contains_key(&no) {
            self.words.clear();
        }
        let count = self.words.entry(no).or_default();
        *count += 1;
        *count <= WORDS_MAX
    }
}

/// Its id sorts the newest alert first.
fn document(no: AlertNo, case: HelpCase, due: records::Timestamp) -> NewDocument {
    let id = format!("{:016x}-{:08x}", u64::MAX - no.0, case.endpoint.0);
    let body = serde_json::json!(case).to_string();
    NewDocument { id, lookup: None, due: Some(due), body }
}

impl Engine {
    /// One delivery of an alert as it stands; nothing if there is none. Cheap also of an alert that is over.
    pub async fn delivery(
        &self,
        account: &str,
        id: AlertId,
        endpoint: EndpointNo,
    ) -> Result<Option<DeliveryView>, EngineError> {
        let no = self.stored(account, id).await?.no;
        let page = DeliveryPage { state: None, from: endpoint, limit: 1 };
        let live = self.request(|reply| ActorCommand::Deliveries { no, page, reply }).await?;
        let parts = self.inner.parts.clone();
        let mut rows = match live {
            Some(rows) => rows,
            None => parts.store.deliveries_from(no, endpoint, None, 1).await.map_err(store_error)?,
        };
        rows.retain(|row| row.endpoint == endpoint);
        let read = move || views::views(&*parts.store, no, &rows);
        let views = tokio::task::spawn_blocking(read).await;
        let mut views = views.map_err(|error| EngineError::Internal(error.to_string()))??;
        Ok(views.pop())
    }
}

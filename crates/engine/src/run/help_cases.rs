//! HelpCases notes answers at which a person should look, each as a document: who needs help, and what people
//! say in their own words to a drill. It owns how many words of a drill were noted.

use super::alerts::Alerts;
use super::context::Context;
use super::starting::wait_for;
use crate::record::LiveAlert;
use records::{AlertNo, EndpointNo, HelpCase, HelpReason, Timestamp};
use rustc_hash::FxHashMap;
use std::time::Duration;
use store::{DocumentKind, DocumentWritten, Expected, NewDocument, Store, StoreError};

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
/// Cases read at once.
const CASES_AT_ONCE: usize = 500;

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
        if request.answer_rules.needs_help.is_empty() && request.mode == records::Mode::Live {
            return;
        }
        let answer = alerts.delivery(no, endpoint).and_then(|delivery| delivery.answer);
        let Some(answer) = answer else { return };
        let (reason, at) = (HelpReason::of(request, answer.key.as_deref()), answer.at);
        match reason {
            Some(HelpReason::NeedsHelp) => {}
            Some(HelpReason::Words) if self.has_room(no) => {}
            Some(HelpReason::Words) | None => return,
        }
        let (store, account) = (context.parts.store.clone(), alert.account.clone());
        let (case, now) = (HelpCase::new(alert.id, endpoint), context.now());
        context.spawn_logged(async move {
            let mut failed = String::new();
            for _ in 0..TRIES {
                match put(&*store, &account, no, &case, (at, now)).await {
                    Ok(true) => return Ok(()),
                    // Another was faster; it is looked at once more.
                    Ok(false) => {}
                    Err(error) => failed = error,
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

/// Notes a case, or opens it again if it was settled before `at`. False: it was changed at the same moment.
async fn put(
    store: &dyn Store,
    account: &str,
    no: AlertNo,
    new: &HelpCase,
    (at, now): (Timestamp, Timestamp),
) -> Result<bool, String> {
    let (kind, id) = (DocumentKind::HelpCase, document_id(no, new.endpoint));
    let found = store.document(account, kind, &id).await.map_err(|error| error.to_string())?;
    let (case, expected) = match found {
        None => (new.clone(), Expected::Absent),
        Some(found) => {
            let mut case: HelpCase = serde_json::from_str(&found.body).map_err(|error| error.to_string())?;
            if !case.reopen(at) {
                return Ok(true);
            }
            (case, Expected::Version(found.version))
        }
    };
    let body = serde_json::json!(case).to_string();
    let document = NewDocument { id, lookup: None, due: Some(now.plus_s(KEPT_S)), body };
    let written = store.put_document(account, kind, document, expected, now).await;
    let written = written.map_err(|error| error.to_string())?;
    Ok(matches!(written, DocumentWritten::Done(_)))
}

/// Sorts the newest alert first.
fn document_id(no: AlertNo, endpoint: EndpointNo) -> String {
    format!("{}{:08x}", prefix(no), endpoint.0)
}

/// What the ids of an alert's cases begin with.
fn prefix(no: AlertNo) -> String {
    format!("{:016x}-", u64::MAX - no.0)
}

/// The cases of an alert, in order of their deliveries.
async fn cases(store: &dyn Store, account: &str, no: AlertNo) -> Result<Vec<HelpCase>, StoreError> {
    let (prefix, mut cases) = (prefix(no), Vec::new());
    let mut after = prefix.clone();
    loop {
        let found = store.documents_after(account, DocumentKind::HelpCase, &after, CASES_AT_ONCE).await?;
        let is_last = found.len() < CASES_AT_ONCE;
        for document in found {
            if !document.id.starts_with(&prefix) {
                return Ok(cases);
            }
            after = document.id;
            match serde_json::from_str(&document.body) {
                Ok(case) => cases.push(case),
                Err(error) => tracing::error!(case = after, %error, "a help case cannot be read"),
            }
        }
        if is_last {
            return Ok(cases);
        }
    }
}

/// Reads which calls for help of an alert are settled. On the calling thread.
pub fn read_settled(live: &mut LiveAlert, store: &dyn Store) {
    if live.alert.request.answer_rules.needs_help.is_empty() {
        return;
    }
    match wait_for(cases(store, &live.alert.account, live.alert.no)) {
        Ok(cases) => {
            for case in cases {
                if let Some(resolved) = case.resolved {
                    live.settle_call(case.endpoint, resolved.at);
                }
            }
        }
        Err(error) => {
            tracing::warn!(alert = live.alert.no.0, %error, "which help cases are settled cannot be read")
        }
    }
}

/// Takes out what people wrote about those behind these deliveries.
pub async fn forget_words(
    store: &dyn Store,
    account: &str,
    no: AlertNo,
    endpoints: &[EndpointNo],
    now: Timestamp,
) -> Result<(), StoreError> {
    for endpoint in endpoints {
        let (kind, id) = (DocumentKind::HelpCase, document_id(no, *endpoint));
        let Some(found) = store.document(account, kind, &id).await? else { continue };
        let Ok(mut case) = serde_json::from_str::<HelpCase>(&found.body) else { continue };
        case.forget_words();
        let document =
            NewDocument { id, lookup: None, due: found.due, body: serde_json::json!(case).to_string() };
        store.put_document(account, kind, document, Expected::Any, now).await?;
    }
    Ok(())
}

//! A returned alert opens its draft again.

use crate::http::app::App;
use crate::http::drafts::submission;
use crate::http::problem::HttpResult;
use records::Alert;

/// Opens the draft again that this alert was submitted from; it is cancelled by then, with who returned it
/// and why in its approval. Called again it changes nothing more: who returns an alert a second time makes
/// good what a crash between the two left undone. Without a draft there is nothing to open.
pub(super) async fn reopen(app: &App, alert: &Alert, reason: &str) -> HttpResult<()> {
    let ended = alert.approval.as_deref().and_then(|approval| approval.ended_by.as_ref());
    let by = ended.and_then(|ended| ended.by.as_ref()).map_or("", |person| person.name.as_str());
    submission::reopen(&app.store, &alert.account, alert.id, reason, by, app.now()).await?;
    Ok(())
}

//! Documents that clients write under versions: drafts, templates, areas, schedules. Each is read with its
//! version, written if that is still the current one, and listed page by page.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::{Query, cursor};
use axum::{Extension, Json};
use records::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use store::{
    DOCUMENT_OCTETS_MAX, Document, DocumentKind, DocumentWritten, Expected, NewDocument, SharedStore,
};

/// Characters of an id that a client chooses.
pub(crate) const ID_CHARS_MAX: usize = 64;
/// Documents read at once for a page: each may have a mebibyte.
const DOCUMENTS_AT_ONCE: usize = 16;

/// A document, as it stands.
#[derive(Debug, Clone)]
pub(crate) struct Versioned<T> {
    pub id: String,
    pub version: u64,
    pub changed: Timestamp,
    pub body: T,
}

/// Reads a stored document.
pub(crate) fn opened<T: DeserializeOwned>(document: Document) -> HttpResult<Versioned<T>> {
    let Document { id, version, changed, body, .. } = document;
    let body = serde_json::from_str(&body).map_err(|error| {
        HttpProblem::new(ProblemKind::Internal, format!("the document {id:?} cannot be read: {error}"))
    })?;
    Ok(Versioned { id, version, changed, body })
}

/// One document, if there is one.
pub(crate) async fn find<T: DeserializeOwned>(
    store: &SharedStore,
    account: &str,
    kind: DocumentKind,
    id: &str,
) -> HttpResult<Option<Versioned<T>>> {
    store.document(account, kind, id).await?.map(opened).transpose()
}

/// A document to be written, if it is not too large.
pub(crate) fn written_out<T: Serialize>(id: &str, body: &T) -> HttpResult<NewDocument> {
    let body = serde_json::to_string(body)
        .map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))?;
    if body.len() > DOCUMENT_OCTETS_MAX {
        let detail = format!(
            "it would have {} octets as it is stored; at most {DOCUMENT_OCTETS_MAX} are kept: name groups instead \
             of single addresses, or shorten the texts",
            body.len()
        );
        return Err(HttpProblem::new(ProblemKind::TooLarge, detail));
    }
    Ok(NewDocument { id: id.to_owned(), lookup: None, due: None, body })
}

/// What became of a write.
pub(crate) enum WriteResult {
    /// It is written, in this version.
    Done(u64),
    /// Another process was faster.
    Changed,
}

/// Writes a document if what stands is as expected.
pub(crate) async fn put(
    app: &App,
    account: &str,
    kind: DocumentKind,
    document: NewDocument,
    expected: Expected,
) -> HttpResult<WriteResult> {
    match app.store.put_document(account, kind, document, expected, app.now()).await? {
        DocumentWritten::Done(version) => Ok(WriteResult::Done(version)),
        DocumentWritten::Conflict(_) => Ok(WriteResult::Changed),
        DocumentWritten::LookupTaken => {
            Err(HttpProblem::new(ProblemKind::Internal, "another document has this lookup"))
        }
    }
}

/// The version of a write that no other may have come before.
pub(crate) fn done(result: WriteResult) -> HttpResult<u64> {
    match result {
        WriteResult::Done(version) => Ok(version),
        WriteResult::Changed => Err(HttpProblem::new(
            ProblemKind::VersionChanged,
            "it was changed at the same moment: read it again, and repeat your change",
        )),
    }
}

/// Refuses one more where there are so many.
pub(crate) async fn check_count(
    app: &App,
    account: &str,
    kind: DocumentKind,
    (max, about): (u64, &str),
) -> HttpResult<()> {
    if app.store.count_documents(account, kind).await? >= max {
        let detail = format!("the account has {max} {about}, which is the limit: delete some first");
        return Err(HttpProblem::new(ProblemKind::QuotaReached, detail));
    }
    Ok(())
}

/// A page of the documents for which `shown` gives something.
pub(crate) async fn page<T: DeserializeOwned>(
    store: &SharedStore,
    account: &str,
    kind: DocumentKind,
    query: &Query,
    mut shown: impl FnMut(Versioned<T>) -> Option<Value>,
) -> HttpResult<Json<Value>> {
    let limit = query.limit()?;
    let mut after = query.cursor()?.unwrap_or_default();
    let mut items = Vec::new();
    loop {
        let slice = store.documents_after(account, kind, &after, DOCUMENTS_AT_ONCE).await?;
        let is_last = slice.len() < DOCUMENTS_AT_ONCE;
        for document in slice {
            after.clone_from(&document.id);
            items.extend(shown(opened(document)?));
            if items.len() == limit {
                return Ok(Json(json!({"items": items, "next": cursor(&after)})));
            }
        }
        if is_last {
            return Ok(Json(json!({"items": items, "next": null})));
        }
    }
}

/// Whether an id stands in paths and behind the colon of an audience's entry as it is.
pub(crate) fn check_id(id: &str) -> Result<(), String> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !id.is_empty() && id.chars().count() <= ID_CHARS_MAX && id.chars().all(fits) {
        return Ok(());
    }
    Err(format!("must be 1 to {ID_CHARS_MAX} letters, digits, hyphens, underscores and points"))
}

/// An id that nobody chose; later ones are greater.
pub(crate) fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// The caller, id and verb of `POST …/{id}:verb`; the router has no syntax for text behind a capture.
pub(crate) fn id_and_verb<'p>(
    caller: Option<Extension<Caller>>,
    id_and_verb: &'p str,
    verbs: &[&str],
) -> HttpResult<(Caller, &'p str, &'p str)> {
    let refused = |detail: String| HttpProblem::new(ProblemKind::UnknownPath, detail);
    let found = id_and_verb.rsplit_once(':').filter(|(_, verb)| verbs.contains(verb));
    let Some((id, verb)) = found else {
        let forms: Vec<String> = verbs.iter().map(|verb| format!("{{id}}:{verb}")).collect();
        return Err(refused(format!("POST needs a verb behind the id: {}", forms.join(" or "))));
    };
    // A request without a caller has a path that is in no row of the table.
    let Some(Extension(caller)) = caller else {
        return Err(refused("the colon before the verb must not be encoded".to_owned()));
    };
    Ok((caller, id, verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_nothing_that_a_path_or_an_audience_would_read_otherwise() {
        for (id, is_right) in [
            ("harbour", true),
            ("Hamn-2_b.1", true),
            ("hafenstraße", true),
            ("", false),
            ("a b", false),
            ("a/b", false),
            ("a:b", false),
            ("a\n", false),
        ] {
            assert_eq!(check_id(id).is_ok(), is_right, "{id:?}");
        }
        assert!(check_id(&"å".repeat(ID_CHARS_MAX)).is_ok());
        assert!(check_id(&"å".repeat(ID_CHARS_MAX + 1)).is_err());
    }
}

//! Attachments: files that alerts carry, uploaded before the alert or contained in a CAP message. A file is
//! the account's and the token's that uploaded it; [`super::uploads`] bounds them.
//!
//! `POST /api/v1/attachments` · `GET /api/v1/attachments/{id}`.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::cap::incoming::Oddity;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::body::{self, broken};
use crate::http::request::fields::Object;
use crate::http::request::json::JsonNode;
use crate::http::request::query::{Captured, Query};
use crate::http::uploads::{Upload, WHOLE_FILE_MAX};
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use records::{AlertRequest, Attachment};
use serde_json::json;
use std::collections::BTreeSet;
use std::io;
use store::media::Stored;
use tokio::io::{AsyncBufReadExt, AsyncReadExt};

/// Attachments of one alert.
pub(crate) const ATTACHMENTS_MAX: usize = 32;
/// Octets of an attachment's name: with its folder it fits into a tar header.
pub(crate) const NAME_OCTETS_MAX: usize = 80;
/// Characters of a media type.
pub(crate) const TYPE_CHARS_MAX: usize = 100;
/// The media type of a file without one.
const TYPE_DEFAULT: &str = "application/octet-stream";
/// Hexadecimal digits of an id.
const ID_CHARS: usize = 64;
/// Octets of one piece of a file that is given back.
const PIECE_OCTETS: usize = 64 << 10;
/// Issuers pad, or do not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// A file that is looked for is kept for so long at least, seconds: until its alert is accepted.
const HELD_S: i64 = 600;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/v1/attachments", post(upload)).route("/api/v1/attachments/{id}", get(show))
}

/// Takes a file; it is noted before it has its name.
async fn upload(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    Query::read(&uri, &[])?;
    let declared = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    // The length of what is encoded says nothing.
    let octets = declared.filter(|_| !headers.contains_key(CONTENT_ENCODING));
    let upload = Upload::begin(&app, &caller, octets).await?;
    let mut reader = body::open(&headers, body)?;
    let taken = tokio::time::timeout(WHOLE_FILE_MAX, take(upload, &mut reader)).await;
    let upload = taken.map_err(|_| {
        let detail = format!("the file did not arrive within {} s", WHOLE_FILE_MAX.as_secs());
        HttpProblem::new(ProblemKind::TooSlow, detail)
    })??;
    let act = app.act(&caller, "attachment.upload", &upload.id(), &format!("{} octets", upload.size()));
    let stored = app.noted(act, upload.finish()).await?;
    let at = format!("/api/v1/attachments/{}", stored.id);
    let view = json!({"id": stored.id, "size": stored.size});
    Ok((StatusCode::CREATED, [(LOCATION, at)], Json(view)).into_response())
}

async fn take<'a>(mut upload: Upload<'a>, reader: &mut body::BodyReader) -> HttpResult<Upload<'a>> {
    loop {
        let piece = reader.fill_buf().await.map_err(|error| broken(&error))?;
        let length = piece.len();
        if length == 0 && upload.size() == 0 {
            let detail = "the body is empty; the content of a file is needed";
            return Err(HttpProblem::new(ProblemKind::MalformedBody, detail));
        }
        if length == 0 {
            return Ok(upload);
        }
        upload.write(piece).await?;
        reader.consume(length);
    }
}

fn not_read(error: &io::Error) -> HttpProblem {
    HttpProblem::new(ProblemKind::Internal, format!("attachments cannot be read: {error}"))
}

/// Gives a file back to who uploaded it, or to another of its account.
async fn show(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Response> {
    // The words are the same for what another account has: its hash gives nothing away.
    let gone = || {
        HttpProblem::new(ProblemKind::NotFound, "there is no attachment with this id; it may have expired")
    };
    let path = app.uploads.media.path(&id).ok_or_else(gone)?;
    if held(&app, &caller, vec![id]).await?.contains(&None) {
        return Err(gone());
    }
    let file = match tokio::fs::File::open(path).await {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(gone()),
        Err(error) => return Err(not_read(&error)),
    };
    let size = file.metadata().await.map_err(|error| not_read(&error))?.len();
    let pieces = futures_util::stream::try_unfold(file, |mut file| async move {
        let mut piece = Vec::with_capacity(PIECE_OCTETS);
        (&mut file).take(PIECE_OCTETS as u64).read_to_end(&mut piece).await?;
        Ok::<_, io::Error>((!piece.is_empty()).then_some((piece, file)))
    });
    let headers = [(CONTENT_TYPE, TYPE_DEFAULT.to_owned()), (CONTENT_LENGTH, size.to_string())];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// The attachments that an alert's body names; their sizes are not known yet.
pub(crate) fn named(object: &mut Object, fields: &mut Fields) -> Vec<Attachment> {
    let items = object.list("attachments", ATTACHMENTS_MAX, fields).unwrap_or_default();
    let mut names = BTreeSet::new();
    let mut attachments = Vec::new();
    for (index, node) in items.into_iter().enumerate() {
        let at = format!("attachments[{index}]");
        let Some(one) = read(node, &at, fields) else { continue };
        if !names.insert(one.name.clone()) {
            fields.push(format!("{at}.name"), format!("{:?} is the name of another one", one.name));
        }
        attachments.push(one);
    }
    attachments
}

fn read(node: JsonNode, at: &str, fields: &mut Fields) -> Option<Attachment> {
    const KNOWN: [&str; 3] = ["id", "name", "type"];
    let mut object = Object::open(node, at, &KNOWN, fields)?;
    let (id, name) =
        (object.needed_text("id", ID_CHARS, fields), object.needed_text("name", NAME_OCTETS_MAX, fields));
    let media_type = object.text("type", TYPE_CHARS_MAX, fields).unwrap_or_else(|| TYPE_DEFAULT.to_owned());
    if name.as_deref().is_some_and(|name| !is_plain(name)) {
        let reason = format!(
            "is not a plain file name of at most {NAME_OCTETS_MAX} octets: no / or \\, no dot first, no spaces around"
        );
        fields.push(format!("{at}.name"), reason);
    }
    if !is_media_type(&media_type) {
        fields.push(format!("{at}.type"), format!("{media_type:?} is not a media type, such as audio/wav"));
    }
    Some(Attachment { name: name?, media_type, size: 0, blake3: id? })
}

/// A name that is a file's in any folder.
fn is_plain(name: &str) -> bool {
    let odd = |c: char| c.is_control() || matches!(c, '/' | '\\');
    let fits = (1..=NAME_OCTETS_MAX).contains(&name.len());
    fits && !name.starts_with('.') && !name.chars().any(odd) && name.trim() == name
}

/// RFC 6838, 4.2, without parameters.
fn is_media_type(text: &str) -> bool {
    let fits = |octet: u8| octet.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&octet);
    let token = |part: &str| !part.is_empty() && part.bytes().all(fits);
    text.split_once('/').is_some_and(|(kind, rest)| token(kind) && token(rest))
}

/// Octets of those files that the caller may name; each is kept until its alert is accepted.
async fn held(app: &App, caller: &Caller, ids: Vec<String>) -> HttpResult<Vec<Option<u64>>> {
    let until = app.now().plus_s(HELD_S);
    Ok(app.store.hold_attachments(caller.account(), caller.only_token(), ids, until).await?)
}

/// Checks that the attachments of a request are the caller's.
pub(crate) async fn check(app: &App, caller: &Caller, mut request: AlertRequest) -> HttpResult<AlertRequest> {
    if request.attachments.is_empty() {
        return Ok(request);
    }
    let ids: Vec<String> = request.attachments.iter().map(|one| one.blake3.clone()).collect();
    let mut sizes = held(app, caller, ids.clone()).await?;
    let media = app.uploads.media.clone();
    let looked = tokio::task::spawn_blocking(move || {
        for (id, size) in ids.iter().zip(&mut sizes) {
            *size = if size.is_some() { media.size(id)? } else { None };
        }
        Ok(sizes)
    });
    let sizes = looked.await.unwrap_or_else(|error| Err(io::Error::other(error)));
    let mut fields = Fields::default();
    let named = request.attachments.iter_mut().zip(sizes.map_err(|error| not_read(&error))?);
    for (index, (one, size)) in named.enumerate() {
        match size {
            Some(size) => one.size = size,
            None => fields.push(
                format!("attachments[{index}].id"),
                "names no stored attachment: POST the file to /api/v1/attachments first",
            ),
        }
    }
    if fields.is_empty() { Ok(request) } else { Err(HttpProblem::fields(ProblemKind::InvalidFields, fields)) }
}

/// Stores the files that a CAP message contains (`derefUri`). The message is worth more than they are: one
/// that finds no room is left out.
pub(crate) async fn of_cap(
    app: &App,
    caller: &Caller,
    alert: &cap::Alert,
    oddities: &mut Vec<Oddity>,
) -> HttpResult<Vec<Attachment>> {
    let mut attachments: Vec<Attachment> = Vec::new();
    for (at, info) in alert.infos.iter().enumerate() {
        for (number, resource) in info.resources.iter().enumerate() {
            let Some(content) = &resource.deref_uri else { continue };
            let path = format!("alert/info[{}]/resource[{}]/derefUri", at + 1, number + 1);
            let mut odd = |rule, words: &str| oddities.push(Oddity::new(&path, rule, words));
            let content: String = content.chars().filter(|c| !c.is_whitespace()).collect();
            let Ok(octets) = BASE64.decode(content) else {
                odd("unused", "is not base64, so it is not attached");
                continue;
            };
            let stored = match store(app, caller, &octets).await {
                Ok(stored) => stored,
                Err(problem) if problem.status() == StatusCode::INSUFFICIENT_STORAGE => {
                    odd("unused", &format!("is not attached: {}", problem.detail()));
                    continue;
                }
                Err(problem) => return Err(problem),
            };
            // The same siren's tone stands in the info of every language.
            if attachments.iter().any(|one| one.blake3 == stored.id) {
                continue;
            }
            if attachments.len() == ATTACHMENTS_MAX {
                odd("cut", "is over the number of files that an alert can carry");
                continue;
            }
            let name = cap_name(resource, attachments.len() + 1, &attachments);
            let known = is_media_type(&resource.mime_type);
            let media_type = if known { resource.mime_type.clone() } else { TYPE_DEFAULT.to_owned() };
            attachments.push(Attachment { name, media_type, size: stored.size, blake3: stored.id });
        }
    }
    Ok(attachments)
}

async fn store(app: &App, caller: &Caller, octets: &[u8]) -> HttpResult<Stored> {
    let mut upload = Upload::begin(app, caller, Some(octets.len() as u64)).await?;
    upload.write(octets).await?;
    upload.finish().await
}

/// The name of a file of a CAP message: the end of its URI, or else its number.
fn cap_name(resource: &cap::Resource, number: usize, taken: &[Attachment]) -> String {
    let end = resource.uri.as_deref().and_then(|uri| uri.split(['?', '#']).next()?.rsplit('/').next());
    let free = |name: &&str| is_plain(name) && !taken.iter().any(|one| one.name == **name);
    end.filter(free).map_or_else(|| format!("resource-{number}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_files_in_any_folder() {
        for good in ["tone.wav", "Lied \u{f6}.mp3", &"x".repeat(80)] {
            assert!(is_plain(good), "{good:?}");
        }
        for bad in ["", ".x", "..", "a/b", "a\\b", " a", "a ", "a\n", &"x".repeat(81)] {
            assert!(!is_plain(bad), "{bad:?}");
        }
        for (text, expected) in
            [("audio/wav", true), ("a/b+c", true), ("wav", false), ("a/", false), ("a/b; c", false)]
        {
            assert_eq!(is_media_type(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_file_of_a_cap_message_is_called_as_its_uri_ends_or_after_its_place() {
        let name = |uri: Option<&str>, taken: &[Attachment]| {
            let resource = cap::Resource { uri: uri.map(str::to_owned), ..resource() };
            cap_name(&resource, 2, taken)
        };
        assert_eq!(name(Some("https://x.example/a/tone.wav?x=/y"), &[]), "tone.wav");
        assert_eq!(name(Some("tone.wav"), &[]), "tone.wav");
        let taken =
            Attachment { name: "tone.wav".into(), media_type: String::new(), size: 0, blake3: String::new() };
        assert_eq!(name(Some("tone.wav"), &[taken]), "resource-2");
        assert_eq!(name(Some("https://x.example/"), &[]), "resource-2");
        assert_eq!(name(None, &[]), "resource-2");
    }

    fn resource() -> cap::Resource {
        cap::Resource {
            description: "a tone".into(),
            mime_type: "audio/wav".into(),
            size: None,
            uri: None,
            deref_uri: None,
            digest: None,
        }
    }
}

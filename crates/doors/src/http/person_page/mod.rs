//! Page of one person, to which a signed link leads: how alerts reach them, and what is known of them. It
//! works without scripts; each act is a POST, and the page that follows says what was done.
//!
//! `GET`, `POST /p/{token}`; [`token`] makes and reads the links, [`acts`] does what forms ask for, [`view`]
//! fills the templates in.

mod acts;
#[cfg(test)]
mod tests;
mod token;
mod view;
mod words;

use self::acts::ActResult;
use self::token::PageToken;
use self::view::POLICY;
use self::words::PageWords;
use crate::http::answer_page::links::same;
use crate::http::answer_page::{form, form_pairs};
use crate::http::app::App;
use crate::http::auth::RequestOrigin;
use crate::http::forward;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::Captured;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION,
    REFERRER_POLICY, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use engine::{EngineError, OwnPage, PageView};
use records::{Account, Timestamp};
use std::net::IpAddr;
use view::{Fault, Notice};

/// Links of other processes may be from so far in the future, by their clocks.
const AHEAD_S: i64 = 300;
/// Octets of what a mail asked for.
const WORD_OCTETS_MAX: usize = 1_024;
const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/p/{token}", get(show).post(act))
}

/// Whether a path's last segment is the token of a page that this server made, for any person and time.
pub(crate) fn is_token(app: &App, path: &str) -> bool {
    app.links.read_page(path.rsplit('/').next().unwrap_or_default()).is_some()
}

/// Somebody at their page.
pub(super) struct PageVisit<'a> {
    app: &'a App,
    token: &'a str,
    page: PageToken,
    /// The address of their browser.
    from: String,
    /// The languages that their browser prefers.
    accepted: &'a str,
}

impl<'a> PageVisit<'a> {
    fn own(&'a self) -> OwnPage<'a> {
        OwnPage::of(&self.app.engine, &self.page.account, &self.page.recipient, self.from.clone())
    }

    /// What the forms of this page repeat.
    fn form(&self) -> String {
        self.app.links.page_form(self.token)
    }

    /// In the person's language.
    fn words(&self, view: &PageView) -> PageWords {
        PageWords::of(view.person.language.as_deref(), self.accepted)
    }
}

async fn show(
    State(app): State<App>,
    token: Result<Captured, HttpProblem>,
    uri: Uri,
    request: Request,
) -> Response {
    let (accepted, client) = (accepted(request.headers()), client(&app, &request));
    let token = token.map(|Captured(token)| token).unwrap_or_default();
    let shown = async {
        let Some(visit) = visit(&app, &token, client, &accepted).await? else {
            return Ok(wrong_link(&accepted));
        };
        let view = visit.own().view().await?;
        let word = mailed_word(&visit, &uri).await?;
        let notice = Notice { done: asked(&uri, "done"), word: &word, fault: None };
        let rendered = match asked(&uri, "step") {
            "erase" => view::erase_page(&visit, &view, None),
            _ => view::page(&visit, &view, &notice),
        };
        Ok(html(StatusCode::OK, rendered))
    };
    shown.await.unwrap_or_else(|problem| failed(&problem, &accepted))
}

async fn act(State(app): State<App>, token: Result<Captured, HttpProblem>, request: Request) -> Response {
    let (accepted, client) = (accepted(request.headers()), client(&app, &request));
    let token = token.map(|Captured(token)| token).unwrap_or_default();
    let (parts, body) = request.into_parts();
    let acted = async {
        let Some(visit) = visit(&app, &token, client, &accepted).await? else {
            return Ok(wrong_link(&accepted));
        };
        let fields = form(&app, &parts.headers, body).await?;
        acted(&visit, &fields).await
    };
    acted.await.unwrap_or_else(|problem| failed(&problem, &accepted))
}

async fn acted(visit: &PageVisit<'_>, fields: &[(String, String)]) -> HttpResult<Response> {
    let field =
        |name: &str| fields.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.trim());
    let _held = visit.app.hold(&visit.page.account, &visit.page.recipient).await;
    let view = visit.own().view().await?;
    let result = match same(visit.form().as_bytes(), field("form").as_bytes()) {
        true => acts::done(visit, &view, field).await?,
        false => ActResult::fault(StatusCode::FORBIDDEN, Fault::at("fault.form", "top")),
    };
    Ok(match result {
        ActResult::Done(what) => done(what),
        ActResult::Erased => {
            html(StatusCode::OK, view::note(visit.words(&view), "erased.title", "erased.text"))
        }
        ActResult::Export(json) => export(json),
        ActResult::Fault(status, fault) => {
            let is_erasing = field("act") == "erase" && status == StatusCode::UNPROCESSABLE_ENTITY;
            let view = visit.own().view().await?;
            let rendered = match is_erasing {
                true => view::erase_page(visit, &view, Some(&fault)),
                false => view::page(visit, &view, &Notice { fault: Some(&fault), ..Notice::default() }),
            };
            html(status, rendered)
        }
    })
}

/// Whoever holds this token, if it leads to the page of somebody who is there. A token that we did not make
/// takes the same way to the store as any other.
async fn visit<'a>(
    app: &'a App,
    token: &'a str,
    client: IpAddr,
    accepted: &'a str,
) -> HttpResult<Option<PageVisit<'a>>> {
    let look = async {
        let read = app.links.read_page(token);
        let is_ours = read.is_some();
        let nobody = || PageToken {
            account: Account::DEFAULT.to_owned(),
            recipient: String::new(),
            made: Timestamp(0),
        };
        let page = read.unwrap_or_else(nobody);
        let now = app.now();
        let is_in_time = now < page.until() && page.made <= now.plus_s(AHEAD_S);
        let own = OwnPage::of(&app.engine, &page.account, &page.recipient, String::new());
        let is_good = own.is_link_good(page.made).await?;
        Ok::<_, EngineError>((is_ours && is_in_time && is_good).then_some(page))
    };
    let found = app.auth.guessing.judge_token(("page", client), token.as_bytes(), look).await?;
    Ok(found.map(|page| PageVisit { app, token, page, from: client.to_string(), accepted }))
}

fn accepted(headers: &HeaderMap) -> String {
    headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

/// The address of a browser, as this process knows it, or as the one says that passed the request on.
fn client(app: &App, request: &Request) -> IpAddr {
    let passed_on = forward::vouched(app, request.headers()).ok().flatten();
    let client = passed_on.and_then(|visitor| visitor.from);
    client.unwrap_or_else(|| RequestOrigin::of(request.extensions()).client)
}

/// What a mail asked for, by the link in its reply; empty where a page cannot do it.
async fn mailed_word(visit: &PageVisit<'_>, uri: &Uri) -> HttpResult<String> {
    let pairs = form_pairs(uri.query().unwrap_or_default().as_bytes()).unwrap_or_default();
    let found = pairs.into_iter().find(|(name, _)| name == "word").map(|(_, word)| word);
    let Some(word) = found.filter(|word| word.len() <= WORD_OCTETS_MAX) else { return Ok(String::new()) };
    Ok(if visit.own().act_of(&word).await?.is_some() { word } else { String::new() })
}

/// A word of the query.
fn asked<'u>(uri: &'u Uri, name: &str) -> &'u str {
    let pairs = uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(known, _)| *known == name).map(|(_, value)| value).next().unwrap_or_default()
}

/// To the same page, which says what was done.
fn done(what: &str) -> Response {
    guarded((StatusCode::SEE_OTHER, [(LOCATION, format!("?done={what}"))]).into_response())
}

fn export(json: Vec<u8>) -> Response {
    let headers =
        [(CONTENT_TYPE, "application/json"), (CONTENT_DISPOSITION, "attachment; filename=\"about-me.json\"")];
    guarded((headers, json).into_response())
}

fn wrong_link(accepted: &str) -> Response {
    let words = PageWords::of(None, accepted);
    html(StatusCode::NOT_FOUND, view::note(words, "wrong.title", "wrong.text"))
}

fn failed(problem: &HttpProblem, accepted: &str) -> Response {
    // Erased a moment ago.
    if problem.status() == StatusCode::NOT_FOUND {
        return wrong_link(accepted);
    }
    if problem.status().is_server_error() {
        tracing::error!(detail = problem.detail(), "a person's page failed");
    }
    let words = PageWords::of(None, accepted);
    html(problem.status(), view::note(words, "failed.title", "failed.text"))
}

fn html(status: StatusCode, rendered: askama::Result<String>) -> Response {
    match rendered {
        Ok(text) => guarded((status, Html(text)).into_response()),
        Err(error) => HttpProblem::new(ProblemKind::Internal, error.to_string()).into_response(),
    }
}

/// With the headers of every answer of these pages.
fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&POLICY) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(X_ROBOTS_TAG, HeaderValue::from_static("noindex, nofollow"));
    response
}

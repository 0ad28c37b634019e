//! Answer page: the page behind the link in a message. Looking records nothing (scanners of mail open every
//! link); only its form does.
//!
//! `GET`, `POST /a/{token}`; [`links`] makes and reads the tokens.

pub(crate) mod links;
#[cfg(test)]
mod tests;

use crate::http::alerts::ANSWER_CHARS_MAX;
use crate::http::app::App;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::body;
use crate::http::request::query::Captured;
use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use engine::{AnswerGiven, EngineError, Question};
use records::{AlertNo, Choice, EndpointNo};

/// Octets of a form: the longest answer, every character percent-encoded at its longest, and its name.
const FORM_OCTETS_MAX: usize = ANSWER_CHARS_MAX * 12 + 100;
/// Nothing is loaded, no script runs, the form goes to this server.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
pub(crate) fn routes() -> Router<App> {
    Router::new().route("/a/{token}", get(show).post(record))
}

async fn show(State(app): State<App>, Captured(token): Captured) -> Response {
    let Some((alert, endpoint)) = app.links.read(&token) else { return wrong_link() };
    match app.engine.question(alert, endpoint).await {
        Ok(question) => page(StatusCode::OK, &question, false),
        Err(error) => failed(error),
    }
}

async fn record(
    State(app): State<App>,
    Captured(token): Captured,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let Some((alert, endpoint)) = app.links.read(&token) else { return wrong_link() };
    match answered(&app, alert, endpoint, &headers, body).await {
        Ok(response) => response,
        Err(problem) => plain(problem.status(), WORDS[0].1.failed, problem.detail()),
    }
}

async fn answered(
    app: &App,
    alert: AlertNo,
    endpoint: EndpointNo,
    headers: &HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let fields = form(app, headers, body).await?;
    let text =
        fields.iter().find(|(name, _)| name == "answer").map(|(_, value)| value.trim()).unwrap_or_default();
    let question = app.engine.question(alert, endpoint).await?;
    if !question.open {
        return Ok(page(StatusCode::GONE, &question, false));
    }
    if text.is_empty() || text.chars().count() > ANSWER_CHARS_MAX {
        return Ok(page(StatusCode::UNPROCESSABLE_ENTITY, &question, false));
    }
    let given = AnswerGiven { alert, endpoint, text: text.to_owned(), via: "link".to_owned() };
    app.engine.answer(given).await?;
    let mut after = question;
    after.answered = Some(records::Answer {
        key: None,
        text: label(&after.choices, text).to_owned(),
        via: "link".to_owned(),
        at: app.now(),
    });
    Ok(page(StatusCode::OK, &after, true))
}

/// Reads a form of a browser.
pub(crate) async fn form(app: &App, headers: &HeaderMap, body: Body) -> HttpResult<Vec<(String, String)>> {
    body::media_type(headers, &["application/x-www-form-urlencoded"])?;
    let bytes = app.bodies.whole(headers, body, FORM_OCTETS_MAX).await?;
    form_pairs(&bytes)
}

/// The fields of a form, decoded.
pub(crate) fn form_pairs(bytes: &[u8]) -> HttpResult<Vec<(String, String)>> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| HttpProblem::new(ProblemKind::MalformedBody, "the form is not UTF-8"))?;
    let uri = format!("/?{text}")
        .parse()
        .map_err(|_| HttpProblem::new(ProblemKind::MalformedBody, "the form is not one"))?;
    let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&uri);
    pairs
        .map(|pairs| pairs.0)
        .map_err(|error| HttpProblem::new(ProblemKind::MalformedBody, error.to_string()))
}

fn label<'a>(choices: &'a [Choice], text: &'a str) -> &'a str {
    choices.iter().find(|choice| choice.key == text).map_or(text, |choice| &choice.label)
}

#[derive(Template)]
#[template(path = "answer.html")]
struct AnswerPage<'a> {
    language: &'a str,
    direction: &'static str,
    title: &'a str,
    drill: Option<&'static str>,
    headline: &'a str,
    text: &'a str,
    notice: &'a str,
    said: Option<&'a str>,
    form: bool,
    choices: &'a [Choice],
    words: &'static PageTexts,
}

fn page(status: StatusCode, question: &Question, thanks: bool) -> Response {
    let language = question
        .language
        .as_deref()
        .filter(|tag| crate::http::alerts::texts::is_language(tag))
        .unwrap_or("en");
    let words = words_of(language);
    let said = question.answered.as_ref().map(|answer| label(&question.choices, &answer.text));
    let notice = match (thanks, said.is_some(), question.open) {
        (true, _, _) => words.thanks,
        (false, true, _) => words.already,
        (false, false, true) => "",
        (false, false, false) => words.over,
    };
    let title = if question.headline.is_empty() { words.answer } else { &question.headline };
    let page = AnswerPage {
        language,
        direction: direction(language),
        title,
        drill: question.drill,
        headline: &question.headline,
        text: &question.text,
        notice,
        said,
        form: question.open && !thanks,
        choices: &question.choices,
        words,
    };
    html(status, page.render())
}

fn failed(error: EngineError) -> Response {
    if error == EngineError::NotFound {
        return wrong_link();
    }
    let problem = HttpProblem::from(error);
    tracing::error!(detail = problem.detail(), "an answer page could not be shown");
    plain(problem.status(), WORDS[0].1.failed, "")
}

fn wrong_link() -> Response {
    plain(StatusCode::NOT_FOUND, WORDS[0].1.wrong_link, "")
}

/// A page without a question.
fn plain(status: StatusCode, title: &str, text: &str) -> Response {
    let words = &WORDS[0].1;
    let page = AnswerPage {
        language: "en",
        direction: "ltr",
        title,
        drill: None,
        headline: title,
        text,
        notice: "",
        said: None,
        form: false,
        choices: &[],
        words,
    };
    html(status, page.render())
}

fn html(status: StatusCode, rendered: askama::Result<String>) -> Response {
    match rendered {
        Ok(text) => {
            let headers = [
                (CONTENT_SECURITY_POLICY, POLICY),
                (REFERRER_POLICY, "no-referrer"),
                (CACHE_CONTROL, "no-store"),
            ];
            (status, headers, Html(text)).into_response()
        }
        Err(error) => HttpProblem::new(ProblemKind::Internal, error.to_string()).into_response(),
    }
}

/// The page's own texts; those of the alert are in the alert's language.
struct PageTexts {
    answer: &'static str,
    send: &'static str,
    thanks: &'static str,
    already: &'static str,
    change: &'static str,
    over: &'static str,
    wrong_link: &'static str,
    failed: &'static str,
}

fn words_of(language: &str) -> &'static PageTexts {
    let primary = language.split('-').next().unwrap_or_default();
    let found = WORDS.iter().find(|(tag, _)| tag.eq_ignore_ascii_case(primary));
    &found.unwrap_or(&WORDS[0]).1
}

pub(crate) fn direction(language: &str) -> &'static str {
    match language.split('-').next().unwrap_or_default() {
        "ar" | "fa" | "he" | "ur" | "yi" | "ps" => "rtl",
        _ => "ltr",
    }
}

const WORDS: [(&str, PageTexts); 5] = [
    (
        "en",
        PageTexts {
            answer: "Your answer",
            send: "Send",
            thanks: "Thank you. Your answer was received.",
            already: "You have answered.",
            change: "Change the answer",
            over: "This can no longer be answered.",
            wrong_link: "This link leads nowhere.",
            failed: "This did not work. Please try again.",
        },
    ),
    (
        "sv",
        PageTexts {
            answer: "Ditt svar",
            send: "Skicka",
            thanks: "Tack. Ditt svar är mottaget.",
            already: "Du har svarat.",
            change: "Ändra svaret",
            over: "Det går inte längre att svara.",
            wrong_link: "Länken leder ingenstans.",
            failed: "Det fungerade inte. Försök igen.",
        },
    ),
    (
        "de",
        PageTexts {
            answer: "Ihre Antwort",
            send: "Senden",
            thanks: "Danke. Ihre Antwort ist angekommen.",
            already: "Sie haben geantwortet.",
            change: "Antwort ändern",
            over: "Eine Antwort ist nicht mehr möglich.",
            wrong_link: "Dieser Link führt nirgendwohin.",
            failed: "Das hat nicht geklappt. Bitte versuchen Sie es noch einmal.",
        },
    ),
    (
        "fr",
        PageTexts {
            answer: "Votre réponse",
            send: "Envoyer",
            thanks: "Merci. Votre réponse est enregistrée.",
            already: "Vous avez répondu.",
            change: "Modifier la réponse",
            over: "Il n’est plus possible de répondre.",
            wrong_link: "Ce lien ne mène nulle part.",
            failed: "Cela n’a pas fonctionné. Veuillez réessayer.",
        },
    ),
    (
        "es",
        PageTexts {
            answer: "Su respuesta",
            send: "Enviar",
            thanks: "Gracias. Su respuesta se ha recibido.",
            already: "Usted ya respondió.",
            change: "Cambiar la respuesta",
            over: "Ya no es posible responder.",
            wrong_link: "Este enlace no lleva a ninguna parte.",
            failed: "No ha funcionado. Inténtelo de nuevo.",
        },
    ),
];

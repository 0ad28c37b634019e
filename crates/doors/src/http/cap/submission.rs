//! Submission of CAP documents: each alert in one is told, or the document is refused.

use super::cancel::{self, Cancelled};
use super::ending::{came_too_late, end_all};
use super::incoming::{CapIntent, Oddity, PartIntent, intent, seconds};
use super::{CAP_XML, audience, ending};
use crate::http::alerts::idempotency_key;
use crate::http::app::App;
use crate::http::approvals::deciders;
use crate::http::attachments;
use crate::http::auth::{Caller, hash};
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::body::{self, media_type};
use crate::http::request::query::Query;
use crate::http::scope;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use cap::{MsgType, ParsedAlert};
use engine::{Draft, EngineError};
use records::{AlertId, Origin, Timestamp};
use serde_json::{Value, json};
use store::{CapTold, IdempotencyKey, KeyOwner};

/// `POST /api/v1/cap`.
pub(super) async fn submit(
    State(app): State<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response> {
    let query = Query::read(&uri, &["audience", "mode"])?;
    let wait_solved = query.word("mode", &[("async", false), ("sync", true)])?;
    media_type(&headers, &[CAP_XML, "application/xml", "text/xml"])?;
    let charset = charset(&headers);
    let octets = app.bodies.whole(&headers, body, cap::DOCUMENT_OCTETS_MAX).await?;
    let read = move || {
        let readings = cap::read_all_as(&octets, charset.as_deref())?;
        Ok((readings, cap::utf8_text(&octets, charset.as_deref())?))
    };
    let (readings, text) = body::off_thread(usize::MAX, read).await?.map_err(unreadable)?;
    let key = idempotency_key(&headers, || text.clone())?;
    let mut submission =
        CapSubmission { app: &app, caller: &caller, wait_solved, key, told: Vec::new(), is_created: false };
    let messages = submission.prepared(readings, text, &query).await?;
    let is_several = messages.len() > 1;
    let mut problems = Vec::new();
    for (place, message) in messages.into_iter().enumerate() {
        let mut oddities = message.oddities.clone();
        submission.carry_out(message, &mut oddities).await?;
        problems.extend(oddities.into_iter().map(|oddity| match is_several {
            true => Oddity { path: placed(&oddity.path, place), ..oddity },
            false => oddity,
        }));
    }
    Ok(submission.response(problems))
}

/// The `charset` of the Content-Type.
fn charset(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
    let mut parameters = value.split(';').skip(1).map(str::trim);
    parameters
        .find_map(|one| one.strip_prefix("charset="))
        .map(|charset| charset.trim_matches('"').to_owned())
}

fn unreadable(refusal: cap::ReadError) -> HttpProblem {
    let mut fields = Fields::default();
    fields.push("alert", refusal.to_string());
    let kind = match refusal.code() {
        "too-large" => ProblemKind::TooLarge,
        _ => ProblemKind::MalformedBody,
    };
    HttpProblem::fields(kind, fields).with_members(json!({"rule": refusal.code()}))
}

fn oddity(problem: &cap::CapProblem) -> Oddity {
    Oddity::new(&problem.path, problem.rule.code(), problem.message.clone())
}

/// A path in one of several alerts: `alert[2]/info[1]`.
fn placed(path: &str, place: usize) -> String {
    match path.strip_prefix("alert") {
        Some(rest) => format!("alert[{}]{rest}", place + 1),
        None => path.to_owned(),
    }
}

/// One message of a document, ready to be carried out.
struct EnvelopedAlert {
    alert: cap::Alert,
    /// As it is kept.
    text: String,
    audience: Vec<String>,
    meant: Meant,
    oddities: Vec<Oddity>,
}

enum Meant {
    Tell(CapIntent),
    Cancel,
    /// Over, or ended by a later message that came before it.
    Nothing,
}

/// What became of a message, or of a part of it.
struct Told {
    id: Option<AlertId>,
    state: &'static str,
    endpoints: Option<u32>,
    identifier: String,
    /// An alert came of it, and not only the end of others.
    is_alert: bool,
    fresh: bool,
}

struct CapSubmission<'a> {
    app: &'a App,
    caller: &'a Caller,
    wait_solved: bool,
    key: Option<IdempotencyKey>,
    told: Vec<Told>,
    /// A message became an alert by its own words.
    is_created: bool,
}

impl CapSubmission<'_> {
    /// Everything that can be refused of a document is refused here, before any of it is told.
    async fn prepared(
        &self,
        readings: Vec<ParsedAlert>,
        text: String,
        query: &Query,
    ) -> HttpResult<Vec<EnvelopedAlert>> {
        let is_several = readings.len() > 1;
        let mut messages = Vec::with_capacity(readings.len());
        for (place, reading) in readings.into_iter().enumerate() {
            let kept = if is_several { self.alone(&reading, &text) } else { text.clone() };
            let prepared = self.message(reading, kept, query, is_several).await;
            messages.push(
                prepared.map_err(|problem| if is_several { of_place(problem, place) } else { problem })?,
            );
        }
        if is_several && messages.iter().all(|message| matches!(message.meant, Meant::Nothing)) {
            let reason = "and all others are over, or were ended by later messages: nothing is told";
            return Err(HttpProblem::field(ProblemKind::InvalidFields, "alert[1]", reason));
        }
        Ok(messages)
    }

    /// A message of an envelope by itself.
    fn alone(&self, reading: &ParsedAlert, text: &str) -> String {
        written(&reading.alert, self.app.now()).unwrap_or_else(|| text.to_owned())
    }

    async fn message(
        &self,
        reading: ParsedAlert,
        text: String,
        query: &Query,
        is_several: bool,
    ) -> HttpResult<EnvelopedAlert> {
        let (app, caller, alert) = (self.app, self.caller, reading.alert);
        let mut oddities: Vec<Oddity> = reading.problems.iter().map(oddity).collect();
        if alert.msg_type == Some(MsgType::Cancel) {
            super::incoming::mode(alert.status, &mut Vec::new())?;
            return Ok(EnvelopedAlert { alert, text, audience: Vec::new(), meant: Meant::Cancel, oddities });
        }
        let whom = audience(app, query, &alert)?;
        let audience = whom.entries.clone();
        if came_too_late(app, caller, &alert).await? {
            let message = "was ended by a later message that came before it: nobody is told";
            oddities.push(Oddity::new("alert/identifier", "superseded", message));
            return Ok(EnvelopedAlert { alert, text, audience, meant: Meant::Nothing, oddities });
        }
        let meant = match intent(&alert, &whom, app.now()) {
            Ok(meant) => meant,
            // Some of an envelope are always over.
            Err(problem) if is_several && is_over(&alert, app.now()) => {
                oddities.push(Oddity::new("alert/info/expires", "expired", problem.detail()));
                return Ok(EnvelopedAlert { alert, text, audience, meant: Meant::Nothing, oddities });
            }
            Err(problem) => return Err(problem),
        };
        oddities.extend(meant.oddities.iter().cloned());
        for part in &meant.parts {
            if let Some(user) = &caller.user {
                user.check_space(part.request.mode)?;
                scope::check(app, caller, &part.request).await?;
            }
            app.engine.would_take(caller.account(), &part.request, &Origin::Cap(String::new())).await?;
        }
        self.has_same_content(&alert, &text).await?;
        Ok(EnvelopedAlert { alert, text, audience, meant: Meant::Tell(meant), oddities })
    }

    /// (sender, identifier, sent) is a message's identity (section 3.2.1): one with other content is another
    /// message under a wrong name.
    async fn has_same_content(&self, alert: &cap::Alert, text: &str) -> HttpResult<()> {
        let content = self.content(alert, text);
        match self.known(alert).await?.iter().any(|known| known.content != content) {
            true => Err(taken()),
            false => Ok(()),
        }
    }

    /// To whom this message was told.
    async fn known(&self, alert: &cap::Alert) -> HttpResult<Vec<CapTold>> {
        let (store, account) = (&self.app.store, self.caller.account());
        let mut known = store.cap_told(account, &alert.sender, &alert.identifier).await?;
        known.retain(|one| one.sent == sent_text(alert) && one.until > self.app.now());
        Ok(known)
    }

    /// What it says, whatever its spaces, order and encoding.
    fn content(&self, alert: &cap::Alert, text: &str) -> String {
        hex(written(alert, Timestamp(0)).as_deref().unwrap_or(text))
    }

    async fn carry_out(&mut self, message: EnvelopedAlert, oddities: &mut Vec<Oddity>) -> HttpResult<()> {
        match &message.meant {
            Meant::Nothing => self.note_nothing(&message, "cancelled"),
            Meant::Cancel => self.cancel(&message, oddities).await?,
            Meant::Tell(meant) => self.tell(&message, meant, oddities).await?,
        }
        Ok(())
    }

    fn note_nothing(&mut self, message: &EnvelopedAlert, state: &'static str) {
        let identifier = message.alert.identifier.clone();
        self.told.push(Told { id: None, state, endpoints: None, identifier, is_alert: false, fresh: true });
    }

    async fn tell(
        &mut self,
        message: &EnvelopedAlert,
        meant: &CapIntent,
        oddities: &mut Vec<Oddity>,
    ) -> HttpResult<()> {
        let mut nobody = None;
        let before = self.told.len();
        for part in &meant.parts {
            match self.tell_part(message, part, oddities).await {
                Ok(()) => self.is_created = true,
                // Nobody is in this area, and somebody may be in another.
                Err(Refusal::Nobody(problem)) => {
                    let path =
                        format!("alert/info[{}]/area", part.infos.first().map_or(1, |place| place + 1));
                    oddities.push(Oddity::new(&path, "nobody", problem.detail()));
                    nobody = Some(problem);
                }
                Err(Refusal::Other(problem)) => return Err(problem),
            }
        }
        // Only now: had the new word been refused, the old one had better stand.
        let ended = end_all(self.app, self.caller, &message.alert, &meant.ends, oddities).await?;
        match nobody {
            Some(problem) if self.told.len() == before && self.told.is_empty() && ended.is_empty() => {
                Err(problem)
            }
            Some(_) if self.told.len() == before => {
                self.note_nothing(message, "done");
                Ok(())
            }
            _ if meant.parts.is_empty() => {
                let message_ = "is in the past: the message only ends those it refers to";
                oddities.push(Oddity::new("alert/info/expires", "expired", message_));
                self.note_ended(message, &ended);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn tell_part(
        &mut self,
        message: &EnvelopedAlert,
        part: &PartIntent,
        oddities: &mut Vec<Oddity>,
    ) -> Result<(), Refusal> {
        let (app, caller, alert) = (self.app, self.caller, &message.alert);
        let whom = whom(&message.audience, &part.key);
        let known = self.known(alert).await?;
        let told = known.iter().find(|known| known.told == whom).map(|known| known.alert);
        let before = match told {
            None if known.is_empty() => self.told_by_older_version(message).await?,
            told => told,
        };
        if let Some(id) = before {
            self.note_before(alert, id).await?;
            return Ok(());
        }
        let mut request = part.request.clone();
        let infos = part.infos.iter().filter_map(|&place| alert.infos.get(place).cloned()).collect();
        let shown = cap::Alert { infos, ..alert.clone() };
        request.attachments = attachments::of_cap(app, caller, &shown, oddities).await?;
        let draft = Draft {
            account: caller.account().to_owned(),
            token: caller.token.id.clone(),
            authors: deciders::authors(caller),
            request,
            origin: Origin::Cap(message.text.clone()),
            key: Some(
                self.key.take().unwrap_or_else(|| own_key(alert, &whom, &self.content(alert, &message.text))),
            ),
            wait_solved: self.wait_solved,
            note: Some(app.act(caller, "alert.submit", "", "a CAP message")),
        };
        let submitted = app.engine.submit(draft).await.map_err(refusal)?;
        // Also when it came before: the server may have stopped between the two.
        self.remember(message, &whom, part.until, &submitted.alert).await?;
        self.told.push(Told {
            id: Some(submitted.alert.id),
            state: submitted.alert.state.name(),
            endpoints: submitted.endpoints,
            identifier: alert.identifier.clone(),
            is_alert: true,
            fresh: submitted.fresh,
        });
        Ok(())
    }

    /// Remembers which message an alert came from, for those that refer to it and for the next time it comes.
    async fn remember(
        &self,
        message: &EnvelopedAlert,
        whom: &str,
        until: Timestamp,
        ours: &records::Alert,
    ) -> HttpResult<()> {
        let (app, caller, alert) = (self.app, self.caller, &message.alert);
        let sent = sent_text(alert);
        let told = CapTold {
            sender: alert.sender.clone(),
            identifier: alert.identifier.clone(),
            sent: sent.clone(),
            told: whom.to_owned(),
            alert: ours.id,
            content: self.content(alert, &message.text),
            until,
        };
        let tied = async {
            app.store.tie_cap(ours.no, caller.account(), &alert.sender, &alert.identifier, &sent).await?;
            app.store.note_cap_told(caller.account(), told, app.now()).await
        };
        if let Err(error) = tied.await {
            tracing::error!(%error, alert = %ours.id, "an alert is not tied to its CAP message; an update of it will not stop it");
        }
        // An end that came while it was submitted found no alert to stop.
        if alert.msg_type != Some(MsgType::Cancel) && came_too_late(app, caller, alert).await? {
            ending::cancel(app, caller, ours).await?;
        }
        Ok(())
    }

    /// The alert of this message and audience, where a version told it that noted no identities.
    async fn told_by_older_version(&self, message: &EnvelopedAlert) -> HttpResult<Option<AlertId>> {
        let (store, account, alert) = (&self.app.store, self.caller.account(), &message.alert);
        let same =
            store.alerts_of_cap(account, &alert.sender, &alert.identifier).await?.into_iter().find(|ours| {
                let audience: Vec<&str> =
                    ours.request.audience.iter().map(|entry| entry.to.as_str()).collect();
                let sent = ending::message(ours).and_then(|one| one.sent);
                seconds(sent) == seconds(alert.sent) && audience == message.audience
            });
        Ok(same.map(|ours| ours.id))
    }

    /// The same message came before, to the same people.
    async fn note_before(&mut self, alert: &cap::Alert, id: AlertId) -> HttpResult<()> {
        let report = self.app.engine.report(self.caller.account(), id).await;
        let (state, endpoints) = match report {
            Ok(report) => {
                let solved = !matches!(report.state, "accepted" | "solving");
                let counted = (report.counts.endpoints - report.counts.excluded) as u32;
                (report.state, solved.then_some(counted))
            }
            // The record of it is gone.
            Err(EngineError::NotFound) => ("done", None),
            Err(error) => return Err(error.into()),
        };
        self.told.push(Told {
            id: Some(id),
            state,
            endpoints,
            identifier: alert.identifier.clone(),
            is_alert: true,
            fresh: false,
        });
        Ok(())
    }

    async fn cancel(&mut self, message: &EnvelopedAlert, oddities: &mut Vec<Oddity>) -> HttpResult<()> {
        let Cancelled { ended, all_clear } =
            cancel::cancel(self.app, self.caller, &message.alert, oddities).await?;
        let is_silent = message.alert.infos.is_empty();
        if is_silent || all_clear.is_none() {
            self.note_ended(message, &ended);
        }
        let Some(part) = all_clear else { return Ok(()) };
        match self.tell_part(message, &part, oddities).await {
            Ok(()) => self.is_created |= !is_silent,
            Err(Refusal::Nobody(problem)) => {
                oddities.push(Oddity::new("alert", "nobody", problem.detail()));
                if !is_silent {
                    self.note_ended(message, &ended);
                }
            }
            Err(Refusal::Other(problem)) => return Err(problem),
        }
        Ok(())
    }

    /// A message without words of its own is answered with the alert it ended.
    fn note_ended(&mut self, message: &EnvelopedAlert, ended: &[records::Alert]) {
        let identifier = message.alert.identifier.clone();
        let first = ended.first();
        self.told.push(Told {
            id: first.map(|alert| alert.id),
            state: first.map_or("", |alert| alert.state.name()),
            endpoints: None,
            identifier,
            is_alert: false,
            fresh: true,
        });
    }

    fn response(&self, problems: Vec<Oddity>) -> Response {
        let first = self.told.first();
        let alerts: Vec<Value> = self.told.iter().map(Told::view).collect();
        let mut view = first.map_or_else(|| json!({"id": null, "state": null}), Told::view);
        if let Value::Object(members) = &mut view {
            members.remove("identifier"); // it is the message's own, which the client has
        }
        view["problems"] = json!(problems);
        if self.told.len() > 1 {
            view["alerts"] = alerts.into();
            let counted: Option<u32> =
                self.told.iter().filter(|one| one.is_alert).map(|one| one.endpoints).sum();
            if let Some(endpoints) = counted {
                view["endpoints"] = endpoints.into();
            }
        }
        let status = match (self.is_created, self.wait_solved) {
            (false, _) => StatusCode::OK,
            (true, true) => StatusCode::CREATED,
            (true, false) => StatusCode::ACCEPTED,
        };
        let mut response = (status, Json(view)).into_response();
        let headers = response.headers_mut();
        let at = self.told.iter().find(|one| one.is_alert && self.is_created).and_then(|one| one.id);
        if let Some(place) = at.and_then(|id| HeaderValue::from_str(&format!("/api/v1/alerts/{id}")).ok()) {
            headers.insert(LOCATION, place);
        }
        let mut made = self.told.iter().filter(|one| one.is_alert).peekable();
        if made.peek().is_some() && made.all(|one| !one.fresh) {
            headers.insert(crate::http::alerts::REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }
}

impl Told {
    fn view(&self) -> Value {
        let state = Some(self.state).filter(|state| !state.is_empty());
        let mut view =
            json!({"id": self.id.map(|id| id.to_string()), "state": state, "identifier": self.identifier});
        if let Some(endpoints) = self.endpoints {
            view["endpoints"] = endpoints.into();
        }
        view
    }
}

/// Why a part was not told.
enum Refusal {
    /// Nobody is to be told.
    Nobody(HttpProblem),
    Other(HttpProblem),
}

impl From<HttpProblem> for Refusal {
    fn from(problem: HttpProblem) -> Refusal {
        Refusal::Other(problem)
    }
}

fn refusal(error: EngineError) -> Refusal {
    match error {
        EngineError::KeyTaken => Refusal::Other(taken()),
        // Everything else about a request was checked before.
        EngineError::Unprocessable(_) => Refusal::Nobody(error.into()),
        other => Refusal::Other(other.into()),
    }
}

fn taken() -> HttpProblem {
    HttpProblem::field(
        ProblemKind::KeyTaken,
        "alert/identifier",
        "came before with this sender and time, and with other content (or the Idempotency-Key did)",
    )
}

/// A refusal of one of several alerts names which.
fn of_place(problem: HttpProblem, place: usize) -> HttpProblem {
    problem.with_paths(|path| placed(path, place))
}

fn is_over(alert: &cap::Alert, now: Timestamp) -> bool {
    let is_over = |info: &cap::Info| info.expires.is_some_and(|end| Timestamp(end.utc_micros()) <= now);
    !alert.infos.is_empty() && alert.infos.iter().all(is_over)
}

fn sent_text(alert: &cap::Alert) -> String {
    let utc = alert.sent.and_then(|sent| cap::Timestamp::new(sent.utc_micros(), 0));
    utc.map(|sent| sent.to_string()).unwrap_or_default()
}

/// The message in the standard's form.
fn written(alert: &cap::Alert, received: Timestamp) -> Option<String> {
    let octets = cap::write_mended(alert, cap::Timestamp::new(received.0, 0)?).ok()?;
    String::from_utf8(octets).ok()
}

fn whom(audience: &[String], part: &str) -> String {
    let mut audience = audience.to_vec();
    audience.sort_unstable();
    audience.dedup();
    hex(&format!("{}\n\n{part}", audience.join("\n")))
}

/// A message is sent again by networks that repeat: its identity is its key, for each audience.
fn own_key(alert: &cap::Alert, whom: &str, content: &str) -> IdempotencyKey {
    let identity = format!("{}\n{}\n{}\n{whom}", alert.sender, alert.identifier, sent_text(alert));
    IdempotencyKey { key: format!("cap {}", hex(&identity)), body_hash: hash(content), of: KeyOwner::Account }
}

fn hex(text: &str) -> String {
    hash(text).iter().map(|octet| format!("{octet:02x}")).collect()
}

//! Talk with a person: LOGIN, CODE, LOGOUT, and what is typed in a session.

use super::LoginProof;
use super::codes::{CODE_HOLDS, is_code};
use super::logins::{Logins, login_id};
use super::session::{PersonSession, QueuedBlock};
use crate::topic::TopicToken;
use crate::topic::batch::TopicConnection;
use crate::topic::door::TopicDoorState;
use crate::topic::machine::TopicRequest;
use channels::is_invisible;
use records::Role;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

const LOGIN_FIRST: &str = "Type LOGIN and your id first.";
const LOGGED_OUT: &str = "Logged out.";
const CONFIRMED: &str = "Confirmed.";
const NOTHING_TO_CONFIRM: &str = "No alert waits to be confirmed.";
const RECEIVED: &str = "Received.";
const NOT_KEPT: &str = "Not received: the server cannot keep it now. Type it again.";
const TOO_FAST: &str = "Not received: that is more than 60 lines in a minute. Wait, and type it again.";

impl TopicConnection {
    /// Carries out a request of a person.
    pub(in crate::topic) async fn talk(&mut self, door: &TopicDoorState, request: TopicRequest) {
        let Some(logins) = door.logins.clone() else { return self.machine.reply(b"") };
        match request {
            TopicRequest::Login { id, secret } => self.login(door, &logins, &id, secret.as_ref()).await,
            TopicRequest::Code { code } => {
                let code = self.word(&code);
                match self.asked_id.clone() {
                    Some(id) => self.try_code(door, &logins, id, code).await,
                    None => self.machine.reply(LOGIN_FIRST.as_bytes()),
                }
            }
            TopicRequest::Logout => {
                self.end_session();
                self.machine.reply(LOGGED_OUT.as_bytes());
            }
            TopicRequest::Enter => self.typed(&logins, None).await,
            TopicRequest::Said { text } => {
                let text = self.word(&text);
                self.typed(&logins, Some(text)).await;
            }
            _ => {}
        }
    }

    async fn login(
        &mut self,
        door: &TopicDoorState,
        logins: &Arc<Logins>,
        id: &Range<usize>,
        secret: Option<&Range<usize>>,
    ) {
        let secret = secret.map(|secret| self.word(secret));
        let id = match login_id(&self.word(id)) {
            Ok(id) => id,
            Err(words) => return self.machine.reply(words.as_bytes()),
        };
        // Somebody who guesses takes no place from others while that waits.
        self.set_reading(true);
        match secret {
            None => {
                let asking = Arc::clone(logins).ask(id.clone(), self.client);
                self.asked_id = Some(id);
                let reply = door.on_runtime(asking).await;
                self.machine.await_code(Instant::now() + CODE_HOLDS);
                self.machine.reply(reply.unwrap_or_default().as_bytes());
            }
            Some(code) if is_code(&code) => self.try_code(door, logins, id, code).await,
            Some(token) => self.try_token(door, logins, id, token).await,
        }
    }

    async fn try_code(&mut self, door: &TopicDoorState, logins: &Arc<Logins>, id: String, code: String) {
        self.set_reading(true);
        let judging = Arc::clone(logins).is_right(id.clone(), code, self.client);
        match door.on_runtime(judging).await {
            Some(true) => self.open_session(logins, &id, None, LoginProof::Code),
            _ => self.refuse_login(&format!("That code does not fit. Type LOGIN {id} for another one.")),
        }
    }

    /// A token may log in under any id: displays and desks have no other device.
    async fn try_token(&mut self, door: &TopicDoorState, logins: &Arc<Logins>, id: String, token: String) {
        let found = door.token(token, self.client).await;
        match found.filter(|found| matches!(found.role, Role::Admin | Role::Operator)) {
            Some(token) => self.open_session(logins, &id, Some(Arc::new(token)), LoginProof::Token),
            None => {
                self.refuse_login(&format!("That is no token of an operator: {id} is not logged in."));
            }
        }
    }

    fn refuse_login(&mut self, words: &str) {
        self.machine.reply(words.as_bytes());
        self.note_wrong();
    }

    fn open_session(
        &mut self,
        logins: &Arc<Logins>,
        id: &str,
        token: Option<Arc<TopicToken>>,
        by: LoginProof,
    ) {
        self.end_session();
        let (mut session, writer) = PersonSession::new(id, token, Instant::now());
        let Some(entry) = logins.deps.register.open(id, writer) else {
            let words = format!("{id} has as many open sessions as one id may have. Log out of another one.");
            return self.machine.reply(words.as_bytes());
        };
        session.enter(entry);
        self.session = Some(session);
        self.machine.authenticated();
        self.machine.set_logged_in(true);
        let welcome = format!(
            "Welcome, {id}. Alerts appear here: type the answer, or ENTER to confirm. HELP lists words, LOGOUT ends this."
        );
        self.machine.reply(welcome.as_bytes());
        logins.note(id, self.client, by);
    }

    /// Shows a block: it counts as written when the socket has taken it.
    pub(in crate::topic) fn show(&mut self, queued: QueuedBlock) {
        if let Some(session) = &mut self.session {
            self.machine.show(queued.lines());
            session.note_written(queued);
        }
    }

    /// The socket has taken all output.
    pub(in crate::topic) fn note_taken(&mut self) {
        if let Some(session) = &mut self.session {
            session.note_taken();
        }
    }

    fn end_session(&mut self) {
        if self.session.take().is_some() {
            self.machine.set_logged_in(false);
        }
    }

    /// A line of a person: it confirms what they were shown, and says something if it is not empty.
    async fn typed(&mut self, logins: &Arc<Logins>, text: Option<String>) {
        let Some(session) = &mut self.session else { return self.machine.reply(LOGIN_FIRST.as_bytes()) };
        if !session.may_type(Instant::now()) {
            return self.machine.reply(TOO_FAST.as_bytes());
        }
        let confirmed = session.confirmed();
        if confirmed.is_empty() && text.is_none() {
            return self.machine.reply(NOTHING_TO_CONFIRM.as_bytes());
        }
        let words = if text.is_some() { RECEIVED } else { CONFIRMED };
        match logins.outcomes.append(session, &confirmed, text).await {
            Ok(()) => self.machine.reply(words.as_bytes()),
            Err(error) => {
                session.put_back(confirmed);
                tracing::error!(%error, "what a person typed cannot be kept; they are told");
                self.machine.reply(NOT_KEPT.as_bytes());
            }
        }
    }

    /// What a person typed, without what cannot be seen.
    fn word(&self, place: &Range<usize>) -> String {
        let text = String::from_utf8_lossy(self.machine.text(place));
        text.chars().filter(|c| !c.is_control() && !is_invisible(*c)).collect()
    }
}

//! A charging server asks by itself, on the connection by which it is asked: what is answered, and what
//! follows. What all processes are to hear, and whichever comes after them, is on the bus before it is
//! answered.

use super::request::{About, RequestStage, is_good};
use super::sessions::{FollowUp, Open, ServerRequest, Update};
use super::{External, Inner};
use crate::message_charging::ChargeId;
use crate::message_charging::record_lease::RecordLease;
use crate::server::{Back, Reply, SessionHolder};
use diameter::check::{Fault, Origin, check};
use diameter::dictionary::{application, avp, command};
use diameter::message::Message;
use diameter::peer::NoAnswer;
use diameter::result_code;
use std::sync::{Arc, Weak};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot, watch};

/// Sessions that are to end because a server wants it, and that nobody has looked at yet; beyond, the server
/// is told to ask again.
const ABORTS_MAX: usize = 4_096;

/// A session that a server wants ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Abort {
    pub(super) id: ChargeId,
    /// A process before this one may have told the server that it ends.
    pub(super) is_again: bool,
}

/// Where sessions that a server wants ended go to.
pub(super) struct Aborts {
    pub(super) to: mpsc::Sender<Abort>,
    pub(super) leads: watch::Receiver<bool>,
}

/// What all processes are told before it is answered.
struct AsrRarNotice {
    of: (ChargeId, ServerRequest),
    is_told: oneshot::Receiver<()>,
}

/// What hears servers; the node that has it goes on without us.
struct AsrRarListener(Weak<Inner>);

impl SessionHolder for AsrRarListener {
    fn asked(&self, server: &str, request: &Message<'_>, back: &Back) -> bool {
        let wish = match request.header.command {
            command::RE_AUTH => ServerRequest::ReAuthorize,
            command::ABORT_SESSION => ServerRequest::Abort,
            _ => return false,
        };
        let Some(inner) = self.0.upgrade() else { return false };
        External(inner).asked(server, wish, request, back);
        true
    }
}

impl External {
    /// From now on a session that a server wants ended is told here.
    pub(super) fn hear_aborts(&self, leads: watch::Receiver<bool>) -> mpsc::Receiver<Abort> {
        let (to, aborts) = mpsc::channel(ABORTS_MAX);
        // Settling is started once.
        let _ = self.0.aborts.set(Aborts { to, leads });
        aborts
    }

    /// Answers a Re-Auth-Request or an Abort-Session-Request, and does what follows.
    fn asked(&self, server: &str, wish: ServerRequest, request: &Message<'_>, back: &Back) {
        let settings = &self.0.settings;
        let origin = Origin { host: &settings.origin_host, realm: &settings.origin_realm };
        let answer = |fault: Fault| {
            let mut octets = Vec::new();
            fault.answer(request, &origin, None, &mut octets);
            octets
        };
        match self.check_asked(request).map(|session| self.do_asked(server, wish, session)) {
            Err(fault) => back.answer(answer(fault)),
            Ok((code, None)) => back.answer(answer(Fault::new(code))),
            Ok((code, Some(told))) => {
                let (agreed, back) = (answer(Fault::new(code)), back.clone());
                // It asks again.
                let not_now = answer(Fault::new(result_code::UNABLE_TO_COMPLY));
                let (external, server) = (self.clone(), server.to_owned());
                tokio::spawn(async move {
                    let AsrRarNotice { of, is_told } = told;
                    if is_told.await.is_err() {
                        external.sessions().not_told(of);
                        return back.answer(not_now);
                    }
                    back.answer(agreed);
                    let deed = external.sessions().answered(of, &server, Instant::now());
                    external.carry_out(of.0, deed);
                });
            }
        }
    }

    /// It keeps its grammar, and is for the client that we are: its Session-Id.
    fn check_asked<'a>(&self, request: &Message<'a>) -> Result<&'a str, Fault> {
        if request.header.application != application::CREDIT_CONTROL {
            return Err(Fault::new(result_code::APPLICATION_UNSUPPORTED));
        }
        let found = check(request)?;
        let host = self.0.settings.origin_host.as_bytes();
        if found.find(avp::DESTINATION_HOST).is_some_and(|to| !to.data.eq_ignore_ascii_case(host)) {
            return Err(Fault::new(result_code::UNABLE_TO_DELIVER));
        }
        let session = found.find(avp::SESSION_ID).ok_or(Fault::missing(avp::SESSION_ID))?;
        session.utf8().map_err(|_| Fault::of(result_code::INVALID_AVP_VALUE, request, &session))
    }

    /// The Result-Code, and what that waits for.
    fn do_asked(&self, server: &str, wish: ServerRequest, session: &str) -> (u32, Option<AsrRarNotice>) {
        // Another house's, or an event's, which is over with its answer.
        let Some(id) = self.message_of(session) else { return (result_code::UNKNOWN_SESSION_ID, None) };
        let (code, deed) = self.sessions().asked((id, wish), server, self.means(), Instant::now());
        tracing::debug!(alert = %id.alert, endpoint = id.endpoint.0, server, ?wish, code, "a charging server asks about a message's session");
        match deed {
            FollowUp::Tell => {
                (code, Some(AsrRarNotice { of: (id, wish), is_told: self.tell((id, wish), server) }))
            }
            deed => {
                self.carry_out(id, deed);
                (code, None)
            }
        }
    }

    /// What is to be done here.
    pub(super) fn carry_out(&self, id: ChargeId, deed: FollowUp) {
        match deed {
            FollowUp::Update(update) => self.begin_update(id, update),
            FollowUp::End => self.abort(Abort { id, is_again: false }),
            FollowUp::Nothing | FollowUp::Tell => {}
        }
    }

    /// Hands a session that is to end to who ends it. Whoever leads later looks at all that are.
    pub(super) fn abort(&self, abort: Abort) {
        if let Some(aborts) = self.0.aborts.get().filter(|aborts| *aborts.leads.borrow()) {
            // Where there is no room any more the server asks again.
            let _ = aborts.to.try_send(abort);
        }
    }

    /// Ends a session that was granted and is not used; `open` is known of it where nothing is remembered.
    pub(super) fn begin_end(&self, id: ChargeId, open: Open) {
        let (external, open) = (self.clone(), self.sessions().end(&id).unwrap_or(open));
        tokio::spawn(async move {
            if external.end_of(id, 0, Some(open), (&RecordLease::always(), false)).await {
                external.sessions().forget(&id);
            }
        });
    }

    /// Sends the UPDATE_REQUEST that a server wants. The message is on its way, whatever is answered: what it
    /// costs is told by its end.
    pub(super) fn begin_update(&self, id: ChargeId, update: Update) {
        let external = self.clone();
        tokio::spawn(async move { external.update(id, update).await });
    }

    async fn update(&self, id: ChargeId, mut update: Update) {
        let Some(server) = self.servers().into_iter().find(|server| *server.host == *update.host) else {
            return;
        };
        *update.last += 1;
        let about = About { id, account: &update.account, phone: "", is_sms: true };
        let what = RequestStage::Update { parts: update.parts, number: *update.last };
        let end_to_end = self.end_to_end();
        let octets = self.write(about, what, (&server, end_to_end, false));
        match server.ask(octets, end_to_end, self.0.settings.tx).await {
            Reply::Answer(octets) if is_good(&octets) => {}
            Reply::Unanswered(NoAnswer::NotSent) => *update.last -= 1,
            reply => {
                tracing::debug!(alert = %id.alert, ?reply, "credit that a server wanted asked for again is not granted")
            }
        }
    }
}

/// What is to be told of servers' own requests.
pub(super) fn ear(inner: &Arc<Inner>) -> Box<dyn SessionHolder> {
    Box::new(AsrRarListener(Arc::downgrade(inner)))
}

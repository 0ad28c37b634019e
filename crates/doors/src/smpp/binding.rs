//! Decision on a bind.

use super::activity::SessionEntry;
use super::clients::{BoundClient, SessionPermit, nobody_has_password};
use super::connection::SmppConnection;
use super::deliver_sm::DeliverStyle;
use crate::guessing::{Attempt, GuessVerdict, WAIT_MAX};
use metrics::Gauge;
use records::Timestamp;
use smpp::Status;
use smpp::pdu::{Bind, BindMode, Version};
use smpp::session::Session;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;

/// To every wrong bind: clients take it for a matter of their settings, and do not try again at once.
const WRONG: Status = Status::RINVPASWD;

/// The answer to a bind.
pub(super) struct BindVerdict {
    /// Or the status of the refusal.
    pub(super) accepted: Result<AcceptedBind, Status>,
    /// Not before this, so that guessing passwords is slow.
    pub(super) due: Instant,
}

/// A bind that is accepted.
pub(super) struct AcceptedBind {
    client: Arc<BoundClient>,
    permit: SessionPermit,
    mode: BindMode,
}

/// A session that is bound.
pub(super) struct BoundSession {
    pub(super) client: Arc<BoundClient>,
    _permit: SessionPermit,
    pub(super) mode: BindMode,
    /// The version of the session.
    pub(super) version: Version,
    /// Message ids have 8 digits.
    pub(super) short_ids: bool,
    pub(super) style: DeliverStyle,
    pub(super) ended: watch::Receiver<bool>,
    sessions: Gauge,
    pub(super) entry: SessionEntry,
}

impl AcceptedBind {
    /// The session has taken it.
    pub(super) fn begin(self, session: &Session, peer: SocketAddr, since: Timestamp) -> BoundSession {
        let AcceptedBind { client, permit, mode } = self;
        let settings = &client.settings;
        let version = session.version().min(settings.version);
        tracing::info!(client = settings.system_id, %peer, ?mode, %version, "bound");
        let sessions = client.meter.sessions(mode);
        sessions.increment(1.0);
        let style = DeliverStyle { charset: settings.charset, tlvs: version.has_tlvs(), long: settings.long };
        let (ended, short_ids) = (client.ended(), !version.has_tlvs());
        let entry = client.activity.enter((peer, mode, version), since);
        BoundSession { client, _permit: permit, mode, version, short_ids, style, ended, sessions, entry }
    }
}

impl Drop for BoundSession {
    fn drop(&mut self) {
        self.sessions.decrement(1.0);
    }
}

impl SmppConnection {
    /// Whether a bind is accepted. An unknown name, a wrong password, and the right one from a wrong network
    /// are the same to the client: in status, in time, and as a guess. The log has the cause.
    pub(super) fn judge(&self, bind: &Bind<'_>, now: Instant) -> BindVerdict {
        let (ip, guessing) = (self.peer.ip(), &self.door.gatekeeper.guessing);
        let client = self.door.clients.find(bind.system_id);
        let is_known = client.as_ref().is_some_and(|client| client.known.holds(ip));
        let attempt = Attempt { door: "smpp", name: bind.system_id, ip, is_known };
        // From there alone: elsewhere it would let everybody try as many as they like.
        let was_right = is_known && guessing.was_right(bind.system_id, bind.password);
        let verdict = if was_right { GuessVerdict::Now } else { guessing.begin(attempt, now) };
        let due = match verdict {
            GuessVerdict::Now => now,
            GuessVerdict::After(wait) => now + wait,
            GuessVerdict::Refused => {
                guessing.note_failed(attempt, now);
                return BindVerdict { accepted: Err(WRONG), due: now + WAIT_MAX };
            }
        };
        let named = client.as_ref().map(|client| Arc::clone(&client.activity));
        let note_refused = |status: Status, why: &'static str| {
            if let Some(activity) = &named {
                activity.note_refused("bind", (status, why), now);
            }
        };
        let proven = proven(client, bind.password, ip);
        guessing.settle((attempt, bind.password), was_right, proven.is_ok(), now);
        let client = match proven {
            Ok(client) => client,
            Err(why) => {
                let system_id = String::from_utf8_lossy(bind.system_id);
                // The budget of guesses bounds these lines.
                tracing::info!(peer = %self.peer, ?system_id, why, "a bind is refused");
                note_refused(WRONG, why);
                return BindVerdict { accepted: Err(WRONG), due };
            }
        };
        client.known.note(ip);
        // Without a permit it is as often bound as it may be.
        let permit = client.permit().ok_or(Status::RALYBND);
        if let Err(status) = &permit {
            note_refused(*status, "it is bound as often as its connections allow");
        }
        BindVerdict { accepted: permit.map(|permit| AcceptedBind { client, permit, mode: bind.mode }), due }
    }
}

/// The client, if this is its password and it may come from there; else why not. Takes as long for a name
/// that nobody has.
fn proven(
    client: Option<Arc<BoundClient>>,
    password: &[u8],
    ip: IpAddr,
) -> Result<Arc<BoundClient>, &'static str> {
    let is_right = match &client {
        Some(client) => client.has_password(password),
        None => nobody_has_password(password),
    };
    let client = client.ok_or("no client has this system_id")?;
    if !is_right {
        return Err("the password is wrong");
    }
    let allowed = &client.settings.allowed_ips;
    if !allowed.is_empty() && !allowed.iter().any(|allowed| allowed.holds(ip)) {
        return Err("the address is in none of allowed_ips");
    }
    Ok(client)
}

//! Decision on a bind.

use super::bind_throttle::WAIT_MAX;
use super::clients::{BoundClient, SessionPermit};
use super::connection::SmppConnection;
use super::deliver_sm::DeliverStyle;
use metrics::Gauge;
use smpp::Status;
use smpp::pdu::{Bind, BindMode, Version};
use smpp::session::Session;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The answer to a bind.
pub(super) enum BindVerdict {
    Accept(AcceptedBind),
    /// Not before `due`, so that guessing passwords is slow.
    Refuse {
        status: Status,
        due: Instant,
    },
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
}

impl AcceptedBind {
    /// The session has taken it.
    pub(super) fn begin(self, session: &Session, peer: SocketAddr) -> BoundSession {
        let AcceptedBind { client, permit, mode } = self;
        let settings = &client.settings;
        let version = session.version().min(settings.version);
        tracing::info!(client = settings.system_id, %peer, ?mode, %version, "bound");
        let sessions = client.meter.sessions(mode);
        sessions.increment(1.0);
        let style = DeliverStyle { charset: settings.charset, tlvs: version.has_tlvs(), long: settings.long };
        let (ended, short_ids) = (client.ended(), !version.has_tlvs());
        BoundSession { client, _permit: permit, mode, version, short_ids, style, ended, sessions }
    }
}

impl Drop for BoundSession {
    fn drop(&mut self) {
        self.sessions.decrement(1.0);
    }
}

impl SmppConnection {
    /// Whether a bind is accepted. A wrong name or password, or the right one from the wrong place, is
    /// answered late.
    pub(super) fn judge(&self, bind: &Bind<'_>, now: Instant) -> BindVerdict {
        let ip = self.peer.ip();
        let refuse = |status: Status, wait: Duration| {
            // A client that goes on guessing does not fill the log.
            if wait < WAIT_MAX {
                let system_id = String::from_utf8_lossy(bind.system_id);
                tracing::info!(peer = %self.peer, ?system_id, %status, "a bind is refused");
            }
            BindVerdict::Refuse { status, due: now + wait }
        };
        let wrong = |status: Status| refuse(status, self.door.guard.refuse(ip, now));
        let Some(client) = self.door.clients.find(bind.system_id) else {
            return wrong(Status::RINVSYSID);
        };
        if !client.has_password(bind.password) {
            return wrong(Status::RINVPASWD);
        }
        let allowed = &client.settings.allowed_ips;
        if !allowed.is_empty() && !allowed.iter().any(|allowed| allowed.holds(ip)) {
            return wrong(Status::RBINDFAIL);
        }
        match client.permit() {
            Some(permit) => BindVerdict::Accept(AcceptedBind { client, permit, mode: bind.mode }),
            // As often bound as it may be.
            None => refuse(Status::RALYBND, Duration::ZERO),
        }
    }
}

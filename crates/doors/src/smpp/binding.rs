//! Decision on a bind.

use super::bind_throttle::WAIT_MAX;
use super::clients::{BoundClient, SessionPermit};
use super::connection::SmppConnection;
use super::deliver_sm::Style;
use metrics::Gauge;
use smpp::Status;
use smpp::pdu::{Bind, BindMode, Version};
use smpp::session::Session;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// What a bind is answered.
pub(super) enum BindVerdict {
    Accept(Accepted),
    /// Not before `due`: who guesses passwords waits.
    Refuse {
        status: Status,
        due: Instant,
    },
}

/// A bind that is accepted.
pub(super) struct Accepted {
    client: Arc<BoundClient>,
    permit: SessionPermit,
    mode: BindMode,
}

/// A session that is bound.
pub(super) struct Bound {
    pub(super) client: Arc<BoundClient>,
    _seat: SessionPermit,
    pub(super) mode: BindMode,
    /// What is spoken.
    pub(super) version: Version,
    /// Message ids have 8 digits.
    pub(super) short_ids: bool,
    pub(super) style: Style,
    pub(super) ended: watch::Receiver<bool>,
    sessions: Gauge,
}

impl Accepted {
    /// The session has taken it.
    pub(super) fn begin(self, session: &Session, peer: SocketAddr) -> Bound {
        let Accepted { client, permit, mode } = self;
        let settings = &client.settings;
        let version = session.version().min(settings.version);
        tracing::info!(client = settings.system_id, %peer, ?mode, %version, "bound");
        let sessions = client.meter.sessions(mode);
        sessions.increment(1.0);
        let style = Style { charset: settings.charset, tlvs: version.has_tlvs(), long: settings.long };
        let (ended, short_ids) = (client.ended(), !version.has_tlvs());
        Bound { client, _seat: permit, mode, version, short_ids, style, ended, sessions }
    }
}

impl Drop for Bound {
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
            // Whoever goes on guessing does not fill the log.
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
        if !client.knows(bind.password) {
            return wrong(Status::RINVPASWD);
        }
        let allowed = &client.settings.allowed_ips;
        if !allowed.is_empty() && !allowed.iter().any(|allowed| allowed.holds(ip)) {
            return wrong(Status::RBINDFAIL);
        }
        match client.sit() {
            Some(permit) => BindVerdict::Accept(Accepted { client, permit, mode: bind.mode }),
            // As often bound as it may be.
            None => refuse(Status::RALYBND, Duration::ZERO),
        }
    }
}

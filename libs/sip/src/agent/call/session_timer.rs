//! Session timers (RFC 4028): who refreshes, when, and when a session counts as dead.

use crate::limits::SESSION_INTERVAL_MIN;
use crate::message::{HeaderName, Refresher, SessionExpires, SipMessage};
use std::time::{Duration, Instant};

/// BYE goes out this long before the session expires at the latest (RFC 4028 section 10).
const MARGIN_MAX: Duration = Duration::from_secs(32);

/// The timer of a session that has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agent) struct SessionTimer {
    pub interval: Duration,
    pub we_refresh: bool,
    /// The peer agreed on it. One that did not is not hung up on for refusing a refresh.
    pub is_agreed: bool,
    /// The session counts as dead.
    pub expires_at: Instant,
    /// Our refresh goes out.
    pub refresh_at: Option<Instant>,
}

impl SessionTimer {
    fn new(interval: Duration, we_refresh: bool, now: Instant) -> SessionTimer {
        // A shorter one, which RFC 4028 forbids, would have us refresh without a pause.
        let interval = interval.max(SESSION_INTERVAL_MIN);
        let refresh_at = we_refresh.then(|| now + interval / 2);
        let expires_at = now + interval.saturating_sub(MARGIN_MAX.min(interval / 3));
        SessionTimer { interval, we_refresh, is_agreed: true, expires_at, refresh_at }
    }

    /// The client's view of a 2xx to INVITE or UPDATE (section 7.2): without Session-Expires the peer does
    /// not know session timers; then we refresh by the interval that we asked for.
    pub(in crate::agent) fn of_client(
        response: &SipMessage<'_>,
        asked: Option<Duration>,
        now: Instant,
    ) -> Option<SessionTimer> {
        match response.session_expires() {
            Some(SessionExpires { interval, refresher }) if !interval.is_zero() => {
                Some(SessionTimer::new(interval, refresher != Some(Refresher::Uas), now))
            }
            _ => asked
                .map(|interval| SessionTimer { is_agreed: false, ..SessionTimer::new(interval, true, now) }),
        }
    }

    /// The server's view of INVITE or UPDATE (section 9), and the header fields of its 2xx. A client that
    /// does not know session timers leaves the refreshing to us.
    pub(in crate::agent) fn of_server(
        request: &SipMessage<'_>,
        asked: Option<Duration>,
        now: Instant,
    ) -> (Option<SessionTimer>, Vec<(HeaderName, String)>) {
        let knows_timers = request.lists(HeaderName::Supported, "timer");
        let wanted = request.session_expires().filter(|wanted| !wanted.interval.is_zero());
        // The interval may be made shorter, never longer nor shorter than the client's Min-SE.
        let shortest =
            request.seconds(HeaderName::MinSe).map_or(Duration::ZERO, |s| Duration::from_secs(s.into()));
        let interval = match (wanted.map(|wanted| wanted.interval), asked) {
            (Some(wanted), Some(asked)) => Some(wanted.min(asked.max(shortest))),
            (Some(wanted), None) => Some(wanted),
            (None, Some(asked)) => Some(asked.max(shortest)),
            (None, None) => None,
        };
        let Some(interval) = interval else { return (None, Vec::new()) };
        let client_refreshes = match wanted.and_then(|wanted| wanted.refresher) {
            Some(refresher) => refresher == Refresher::Uac && knows_timers,
            None => knows_timers,
        };
        let refresher = if client_refreshes { Refresher::Uac } else { Refresher::Uas };
        let value = SessionExpires { interval, refresher: Some(refresher) };
        let mut fields = vec![(HeaderName::SessionExpires, value.to_string())];
        if client_refreshes {
            fields.push((HeaderName::Require, "timer".to_owned()));
        }
        (Some(SessionTimer::new(interval, !client_refreshes, now)), fields)
    }

    pub(in crate::agent) fn poll_timeout(&self) -> Instant {
        self.refresh_at.map_or(self.expires_at, |at| at.min(self.expires_at))
    }
}

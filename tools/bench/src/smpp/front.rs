//! The server's session code alone: the production session machine behind a socket, answering at once,
//! without a house behind.

use net::{ConnectionPlace, Cores, Link, Listener, ListenerLimits, Stream, Worker, drive};
use smpp::Status;
use smpp::session::{Config, Event, Role, Session, WINDOW_MAX};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Connections at a time.
const CONNECTIONS_MAX: usize = 4_000;
/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 16;

/// Listens, and serves until the returned task is dropped.
///
/// # Errors
/// No port.
pub(super) async fn start(cores: Cores) -> std::io::Result<(SocketAddr, tokio::task::JoinHandle<()>)> {
    let listener = Listener::bind("127.0.0.1:0", ListenerLimits::of(CONNECTIONS_MAX)).await?;
    let address = listener.address()?;
    let serve = async move {
        let ids = Arc::new(AtomicU64::new(0));
        let each = move |stream, _, place: ConnectionPlace| {
            place.set_busy();
            let ids = Arc::clone(&ids);
            serve_one(stream, ids, place)
        };
        listener.serve(&cores, None, each).await;
    };
    Ok((address, tokio::spawn(serve)))
}

async fn serve_one(stream: Stream, ids: Arc<AtomicU64>, _place: ConnectionPlace) {
    let config = Config { peer_window: WINDOW_MAX, ..Config::default() };
    let mut session = Session::new(Role::Smsc, config, Instant::now());
    // However it ends: what matters is told by who was not answered.
    let mut clerk = Clerk { bind: false, waiting: Vec::new(), ids };
    let _ = drive(&mut Link::new(stream), &mut session, &mut clerk).await;
}

/// Lets everybody in and accepts everything.
struct Clerk {
    bind: bool,
    waiting: Vec<u32>,
    /// Of all sessions: an id is given once.
    ids: Arc<AtomicU64>,
}

impl Worker<Session> for Clerk {
    fn handle(&mut self, event: Event<'_>, _: Instant) {
        match event {
            Event::Bind { .. } => self.bind = true,
            Event::Submit { sequence, .. } => self.waiting.push(sequence),
            _ => {}
        }
    }

    fn fill(&mut self, session: &mut Session, now: Instant, _: bool) {
        // What fails here fails because the session is over.
        if std::mem::take(&mut self.bind) {
            let _ = session.accept_bind(b"front", now);
        }
        let first = self.ids.fetch_add(self.waiting.len() as u64, Ordering::Relaxed);
        for (sequence, number) in self.waiting.drain(..).zip(first..) {
            let mut id = [0; ID_DIGITS];
            for (place, digit) in id.iter_mut().rev().enumerate() {
                *digit = b"0123456789ABCDEF"[(number >> (4 * place)) as usize & 15];
            }
            let _ = session.respond(sequence, Status::ROK, &id, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Amount;
    use super::super::generator::{Load, run};
    use super::*;

    #[tokio::test]
    async fn a_generator_is_answered_for_each_message_with_an_id_of_its_own() {
        let (address, _task) = start(Cores::from_handles(Vec::new())).await.unwrap();
        let load = Load {
            address: address.to_string(),
            system_id: "bench".to_owned(),
            password: "bench".to_owned(),
            connections: 3,
            window: 10,
            amount: Amount::Of(500),
            echoes: false,
        };
        let mut seen = tokio::task::spawn_blocking(move || run(&load, || ())).await.unwrap().unwrap();
        assert_eq!((seen.sums.count, seen.refused, seen.mismatches), (500, 0, 0));
        assert_eq!(seen.repeated_ids(), 0);
    }
}

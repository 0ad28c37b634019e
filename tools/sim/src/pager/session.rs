//! One connection: reads what there is, answers it, writes.

use super::tag_book::SendVerdict;
use super::{CarrierTerminal, PagingShared};
use snpp::server::{SnppServer, SnppServerEvent, SnppServerOptions};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Read in one go.
const READ_OCTETS: usize = 16 * 1024;

pub(super) async fn serve(
    shared: Arc<PagingShared>,
    number: u64,
    stream: TcpStream,
    mut stop: watch::Receiver<u64>,
) {
    let _ = stream.set_nodelay(true);
    shared.connections.fetch_add(1, Ordering::Relaxed);
    shared.sessions.fetch_add(1, Ordering::Relaxed);
    tokio::select! {
        biased;
        _ = stop.changed() => {}
        result = talk(&shared, stream) => {
            if let Err(error) = result {
                tracing::debug!(number, %error, "a client's connection broke");
            }
        }
    }
    shared.sessions.fetch_sub(1, Ordering::Relaxed);
}

async fn talk(shared: &Arc<PagingShared>, mut stream: TcpStream) -> io::Result<()> {
    let options = shared.options();
    let limits = SnppServerOptions {
        greeting: "Campanile's paging simulator: SNPP Gateway Ready".to_owned(),
        level: options.level,
        needs_login: options.login.is_some(),
        ..SnppServerOptions::default()
    };
    let mut server = SnppServer::new(limits, CarrierTerminal(Arc::clone(shared)), Instant::now());
    let (mut input, mut out) = (vec![0; READ_OCTETS], Vec::new());
    loop {
        server.poll_transmit(&mut out);
        stream.write_all(&out).await?;
        out.clear();
        if server.is_finished() {
            return stream.shutdown().await;
        }
        if let Some(SnppServerEvent::Send(page)) = server.poll_event() {
            let options = shared.options();
            let (verdict, latency) = {
                let mut book = shared.book();
                let verdict = book.take(&page, &options, shared.clock.now_us());
                (verdict, options.latency.at(book.draw()))
            };
            let SendVerdict::Answer(answer) = verdict else { return Ok(()) };
            if !latency.is_zero() {
                tokio::time::sleep(latency).await;
            }
            server.finish_send(Instant::now(), answer);
            continue;
        }
        let due = server.poll_timeout().unwrap_or_else(Instant::now);
        tokio::select! {
            read = stream.read(&mut input) => match read? {
                0 => return Ok(()),
                length => server.handle_input(Instant::now(), &input[..length]),
            },
            () = tokio::time::sleep_until(due.into()) => server.handle_timeout(Instant::now()),
        }
    }
}

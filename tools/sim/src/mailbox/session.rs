//! One connection: reads all there is, answers all of it, writes once.

use super::Shared;
use super::dialogue::{Dialogue, DialogueStep};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Read in one go.
const READ_OCTETS: usize = 64 * 1024;

pub(super) async fn serve(
    shared: Arc<Shared>,
    number: u64,
    stream: TcpStream,
    mut stop: watch::Receiver<u64>,
) {
    let _ = stream.set_nodelay(true);
    let open = shared.sessions.fetch_add(1, Ordering::Relaxed);
    shared.ledger.count_connection();
    let limit = u64::from(shared.scene().options.connections_max);
    let is_too_many = limit > 0 && open >= limit;
    tokio::select! {
        biased;
        _ = stop.changed() => {}
        result = talk(&shared, number, stream, is_too_many) => {
            if let Err(error) = result {
                tracing::debug!(%error, "a client's connection broke");
            }
        }
    }
    shared.sessions.fetch_sub(1, Ordering::Relaxed);
}

async fn talk(shared: &Arc<Shared>, number: u64, mut stream: TcpStream, is_too_many: bool) -> io::Result<()> {
    let mut dialogue = Dialogue::new(Arc::clone(shared), number);
    let mut out = Vec::new();
    let step = dialogue.greet(is_too_many, &mut out);
    stream.write_all(&out).await?;
    if step == DialogueStep::Close {
        return stream.shutdown().await;
    }
    let DialogueStep::StartTls = go_on(&mut dialogue, &mut stream).await? else { return Ok(()) };
    let Some(acceptor) = &shared.tls else { return Ok(()) };
    let mut stream = acceptor.accept(stream).await?;
    shared.ledger.count_tls();
    dialogue.turned_to_tls();
    go_on(&mut dialogue, &mut stream).await?;
    Ok(())
}

/// Talks until the connection ends or turns to TLS. What came in plain behind STARTTLS is thrown away, for
/// anyone could have put it there (RFC 3207 §6).
async fn go_on(
    dialogue: &mut Dialogue,
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
) -> io::Result<DialogueStep> {
    let (mut input, mut out) = (Vec::new(), Vec::new());
    let mut has_more = false;
    loop {
        if !has_more {
            input.reserve(READ_OCTETS);
            if stream.read_buf(&mut input).await? == 0 {
                return Ok(DialogueStep::Close);
            }
        }
        let (taken, step) = dialogue.handle(&input, &mut out);
        input.drain(..taken);
        if step == DialogueStep::Cut {
            return Ok(step);
        }
        stream.write_all(&out).await?;
        stream.flush().await?;
        out.clear();
        has_more = matches!(step, DialogueStep::Wait(_));
        match step {
            DialogueStep::Read => {}
            DialogueStep::Wait(latency) => {
                tokio::time::sleep(latency).await;
                dialogue.resume(&mut out);
            }
            DialogueStep::Close => {
                stream.shutdown().await?;
                return Ok(DialogueStep::Close);
            }
            DialogueStep::StartTls | DialogueStep::Cut => return Ok(step),
        }
    }
}

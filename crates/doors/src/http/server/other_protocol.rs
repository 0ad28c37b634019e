//! Clients of the other protocol: who speaks TLS to a plain door, or plain HTTP to one with TLS, is told so
//! in its own.

use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// A record of a handshake and the major version of every TLS (RFC 8446, 5.1).
const TLS_BEGINNING: [u8; 2] = [22, 3];
/// A fatal alert, `protocol_version` (RFC 8446, 6): a client says then what its server does not speak.
const TLS_ALERT: [u8; 7] = [21, 3, 1, 0, 2, 2, 70];
/// The log has one line in so long about such clients.
const LOGGED_EVERY: Duration = Duration::from_secs(60);
const TEXT: &str = "This door speaks TLS: use https:// in place of http://.\n";

static LOGGED: Mutex<Option<Instant>> = Mutex::new(None);

/// A connection that begins so is of a TLS client.
pub(super) fn is_tls(beginning: &[u8]) -> bool {
    beginning.starts_with(&TLS_BEGINNING)
}

/// Tells a TLS client that this is no TLS.
pub(super) async fn refuse_tls(mut stream: TcpStream, client: SocketAddr) -> io::Result<()> {
    if is_due(Instant::now()) {
        tracing::warn!(
            %client,
            "a client speaks TLS to the HTTP door, which is plain: use http:// there, or set [http] tls_cert and tls_key"
        );
    }
    end(&mut stream, &TLS_ALERT).await
}

fn is_due(now: Instant) -> bool {
    let mut logged = LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_due = logged.is_none_or(|before| now.saturating_duration_since(before) >= LOGGED_EVERY);
    if is_due {
        *logged = Some(now);
    }
    is_due
}

/// Waits for the first octet: methods of HTTP begin with a letter, a handshake does not.
pub(super) async fn is_plain(stream: &TcpStream, wait: Duration) -> io::Result<bool> {
    let mut first = [0];
    let octets = tokio::time::timeout(wait, stream.peek(&mut first)).await.map_err(io::Error::from)??;
    Ok(octets == 1 && first[0].is_ascii_uppercase())
}

/// Tells a client of plain HTTP that this is TLS.
pub(super) async fn refuse_plain(mut stream: TcpStream) -> io::Result<()> {
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{TEXT}",
        TEXT.len()
    );
    end(&mut stream, answer.as_bytes()).await
}

/// What the client has sent is taken first: octets that nobody read would reset the connection, and the
/// answer with it.
async fn end(stream: &mut TcpStream, answer: &[u8]) -> io::Result<()> {
    let mut unread = [0; 16 * 1024];
    let _ = stream.try_read(&mut unread);
    stream.write_all(answer).await?;
    stream.shutdown().await
}

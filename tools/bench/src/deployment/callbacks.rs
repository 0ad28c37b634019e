use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Longest callback that is read.
const OCTETS_MAX: usize = 1 << 20;

/// An observer: takes every callback and counts it.
pub(crate) struct Callbacks {
    address: SocketAddr,
    count: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Callbacks {
    /// Listens on a free port.
    ///
    /// # Errors
    /// There is none.
    pub(crate) async fn start() -> Result<Callbacks, String> {
        let listener =
            TcpListener::bind("127.0.0.1:0").await.map_err(|error| format!("no observer: {error}"))?;
        let address = listener.local_addr().map_err(|error| format!("no observer: {error}"))?;
        let count = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&count);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(take(stream, Arc::clone(&counted)));
            }
        });
        Ok(Callbacks { address, count, task })
    }

    /// Where callbacks go.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/report", self.address)
    }

    /// How many came.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers requests on a connection until it ends.
async fn take(mut stream: TcpStream, count: Arc<AtomicU64>) {
    let mut input = Vec::new();
    loop {
        while let Some(end) = request_end(&input) {
            input.drain(..end);
            count.fetch_add(1, Ordering::Relaxed);
            if stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.is_err() {
                return;
            }
        }
        let read = stream.read_buf(&mut input).await;
        if input.len() > OCTETS_MAX || !read.is_ok_and(|octets| octets > 0) {
            return;
        }
    }
}

/// Where a whole request ends: head and as much body as its Content-Length says.
fn request_end(input: &[u8]) -> Option<usize> {
    let head = input.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&input[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let end = head.checked_add(length.unwrap_or(0))?;
    (input.len() >= end).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_callback_is_answered_and_counted() {
        let callbacks = Callbacks::start().await.unwrap();
        let client = crate::deployment::http_client().unwrap();
        for _ in 0..3 {
            let reply = client.post(callbacks.url()).body("{\"state\": \"done\"}").send().await.unwrap();
            assert_eq!(reply.status(), 204);
        }
        assert_eq!(callbacks.count(), 3);
    }

    #[test]
    fn a_request_ends_where_its_length_says() {
        assert_eq!(request_end(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcd"), Some(41));
        assert_eq!(request_end(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab"), None);
        assert_eq!(request_end(b"GET / HTTP/1.1\r\n\r\n"), Some(18));
        assert_eq!(request_end(b"POST / HTTP/1.1\r\n"), None);
    }
}

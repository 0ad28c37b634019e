//! HTTP/1.1 listener for JSON calls: connections stay open, answers may be held back, all can be cut.

use crate::behaviour::ClosingListener;
use serde_json::Value;
use std::future::Future;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Octets of a request's head at most.
const HEAD_OCTETS_MAX: usize = 32 * 1024;
/// Octets of a body at most.
const BODY_OCTETS_MAX: usize = 16 << 20;
/// Octets read at a time.
const INPUT_OCTETS: usize = 8 * 1024;

/// A call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ApiRequest {
    pub(super) method: String,
    /// Segments of the path, decoded.
    pub(super) path: Vec<String>,
    /// Names and values of the query, decoded.
    pub(super) query: Vec<(String, String)>,
    /// What stands behind `Authorization: Bearer`.
    pub(super) bearer: Option<String>,
    /// Null where there is none.
    pub(super) body: Value,
}

impl ApiRequest {
    /// A value of the query.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Its answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ApiReply {
    pub(super) status: u16,
    pub(super) body: Value,
}

/// What answers calls.
pub(super) trait JsonApi: Send + Sync + 'static {
    /// The answer, however late.
    fn answer(&self, request: ApiRequest) -> impl Future<Output = ApiReply> + Send;
}

/// Accepts connections for ever. All that are open are cut whenever `cut` changes.
pub(super) async fn serve<A: JsonApi>(mut listener: ClosingListener, api: Arc<A>, cut: watch::Sender<u64>) {
    loop {
        let mut stream = listener.accept().await;
        let (api, mut cut) = (Arc::clone(&api), cut.subscribe());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            tokio::select! {
                _ = converse(&mut stream, &*api) => {}
                _ = cut.changed() => {}
            }
        });
    }
}

async fn converse<A: JsonApi>(stream: &mut TcpStream, api: &A) -> io::Result<()> {
    let mut input = Vec::new();
    loop {
        let Some(request) = read_request(stream, &mut input).await? else { return Ok(()) };
        let reply = api.answer(request).await;
        let body = reply.body.to_string();
        let head = format!(
            "HTTP/1.1 {} -\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            reply.status,
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await?;
    }
}

/// The next request; nothing at the end of the connection, or where what came is none.
async fn read_request(stream: &mut TcpStream, input: &mut Vec<u8>) -> io::Result<Option<ApiRequest>> {
    let end = loop {
        if let Some(at) = input.windows(4).position(|end| end == b"\r\n\r\n") {
            break at + 4;
        }
        if input.len() > HEAD_OCTETS_MAX || !read_more(stream, input).await? {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&input[..end]).into_owned();
    let length = field(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    if length > BODY_OCTETS_MAX {
        return Ok(None);
    }
    while input.len() < end + length {
        if !read_more(stream, input).await? {
            return Ok(None);
        }
    }
    let body = serde_json::from_slice(&input[end..end + length]).unwrap_or_default();
    input.drain(..end + length);
    Ok(Some(request_of(&head, body)))
}

async fn read_more(stream: &mut TcpStream, input: &mut Vec<u8>) -> io::Result<bool> {
    let mut octets = [0; INPUT_OCTETS];
    let count = stream.read(&mut octets).await?;
    input.extend_from_slice(&octets[..count]);
    Ok(count > 0)
}

fn request_of(head: &str, body: Value) -> ApiRequest {
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let bearer = field(head, "authorization").and_then(|value| value.strip_prefix("Bearer "));
    ApiRequest {
        method: method.to_owned(),
        path: path.split('/').filter(|segment| !segment.is_empty()).map(segment).collect(),
        query: pairs.map(|(name, value)| (crate::page::decoded(name), crate::page::decoded(value))).collect(),
        bearer: bearer.map(str::to_owned),
        body,
    }
}

/// A segment of a path, in which a plus is a plus.
fn segment(text: &str) -> String {
    crate::page::decoded(&text.replace('+', "%2B"))
}

fn field<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    fields.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_by_its_parts() {
        let head = "PUT /a/%21r%2F+x/send?since=s1%262&x=a+b HTTP/1.1\r\nHost: h\r\nauthorization: Bearer t0k\r\n\r\n";
        let request = request_of(head, Value::Null);
        assert_eq!((request.method.as_str(), request.bearer.as_deref()), ("PUT", Some("t0k")));
        assert_eq!(request.path, ["a", "!r/+x", "send"]);
        assert_eq!((request.parameter("since"), request.parameter("x")), (Some("s1&2"), Some("a b")));
        assert_eq!(request.parameter("y"), None);
        assert_eq!(request_of("", Value::Null), ApiRequest::default());
    }
}

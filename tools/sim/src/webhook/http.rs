//! Requests as they come over a connection that is kept open: HTTP/1.1, bodies with a length.

use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Longest head of a request.
const HEAD_OCTETS_MAX: usize = 32 * 1024;
/// Longest body of a request.
const BODY_OCTETS_MAX: usize = 1024 * 1024;

/// One request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HookRequest {
    /// Lines of the head, the request line first.
    head: String,
    pub(super) body: Vec<u8>,
}

impl HookRequest {
    pub(super) fn method(&self) -> &str {
        self.head.split(' ').next().unwrap_or_default()
    }

    pub(super) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    /// A header's value; empty if it is not there.
    pub(super) fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .next()
            .unwrap_or_default()
    }
}

/// Reads the next request; nothing at the connection's end. `rest` is what came behind the one before.
pub(super) async fn next_request(
    stream: &mut (impl AsyncRead + Unpin),
    rest: &mut Vec<u8>,
) -> io::Result<Option<HookRequest>> {
    let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let end = loop {
        if let Some(at) = rest.windows(4).position(|octets| octets == b"\r\n\r\n") {
            break at + 4;
        }
        if rest.len() > HEAD_OCTETS_MAX {
            return Err(invalid("the head of a request is too long"));
        }
        if stream.read_buf(rest).await? == 0 {
            return Ok(None);
        }
    };
    let head: Vec<u8> = rest.drain(..end).collect();
    let head = String::from_utf8(head).map_err(|_| invalid("the head of a request is not UTF-8"))?;
    let mut request = HookRequest { head, body: Vec::new() };
    let length = match request.header("content-length") {
        "" => 0,
        length => length.parse().map_err(|_| invalid("a length is no number"))?,
    };
    if length > BODY_OCTETS_MAX {
        return Err(invalid("the body of a request is too long"));
    }
    while rest.len() < length {
        if stream.read_buf(rest).await? == 0 {
            return Ok(None);
        }
    }
    request.body = rest.drain(..length).collect();
    Ok(Some(request))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(octets: &[u8]) -> io::Result<Vec<HookRequest>> {
        let (mut stream, mut rest, mut requests) = (octets, Vec::new(), Vec::new());
        while let Some(request) = next_request(&mut stream, &mut rest).await? {
            requests.push(request);
        }
        Ok(requests)
    }

    #[tokio::test]
    async fn requests_are_told_apart_by_their_lengths() {
        let octets = b"POST /a HTTP/1.1\r\nWebhook-Id: x\r\ncontent-length: 2\r\n\r\nokGET /b HTTP/1.1\r\n\r\nPOST /c HT";
        let requests = all(octets).await.unwrap();
        let heads: Vec<_> = requests.iter().map(|request| (request.method(), request.path())).collect();
        assert_eq!(heads, [("POST", "/a"), ("GET", "/b")]);
        assert_eq!((requests[0].header("webhook-id"), &requests[0].body[..]), ("x", &b"ok"[..]));
        assert_eq!(requests[1].header("webhook-id"), "");
    }

    #[tokio::test]
    async fn what_is_too_long_or_no_request_ends_the_connection() {
        let long = vec![b'x'; HEAD_OCTETS_MAX + 1];
        let body = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", BODY_OCTETS_MAX + 1);
        for octets in
            [&long[..], body.as_bytes(), b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"\xff\r\n\r\n"]
        {
            assert!(all(octets).await.is_err());
        }
    }
}

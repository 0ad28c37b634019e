//! The small web page each simulator has, with the same as JSON: HTTP/1.1, one request a connection.

use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Longest head of a request.
const REQUEST_OCTETS_MAX: usize = 8 * 1024;
/// Longest time one request may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a page answers.
pub(crate) trait Page: Send + Sync + 'static {
    fn answer(&self, request: &Request<'_>) -> Answer;
}

/// A request's first line.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    query: &'a str,
}

impl Request<'_> {
    /// A parameter of the query, decoded.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| decoded(value))
    }
}

pub(crate) struct Answer {
    status: &'static str,
    kind: &'static str,
    body: Vec<u8>,
}

impl Answer {
    pub(crate) fn html(text: String) -> Self {
        Answer { status: "200 OK", kind: "text/html; charset=utf-8", body: text.into_bytes() }
    }

    pub(crate) fn not_found() -> Self {
        Answer { status: "404 Not Found", kind: "text/plain", body: b"not found\n".to_vec() }
    }
}

pub(crate) fn json(value: &impl Serialize) -> Answer {
    // Numbers, strings and lists of them: nothing that JSON lacks.
    let mut body = serde_json::to_vec(value).unwrap_or_default();
    body.push(b'\n');
    Answer { status: "200 OK", kind: "application/json", body }
}

/// A whole page: a line of facts and a table.
pub(crate) fn document(title: &str, facts: &str, head: &str, rows: &str) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=2><title>{title}</title>\
         <style>body{{font:15px system-ui;margin:2em}}td,th{{text-align:left;padding:.2em .8em .2em 0;\
         border-bottom:1px solid #ddd;vertical-align:top}}</style>\
         <h1>{title}</h1><p>{facts}<p><a href=/stats>stats</a> · <a href=/messages>messages</a>\
         <table><tr>{head}\n{rows}</table>"
    )
}

/// Text made safe between tags.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Answers for ever.
pub(crate) async fn serve(listener: TcpListener, page: Arc<impl Page>) {
    loop {
        let stream = crate::smsc::accepted(&listener).await;
        let page = Arc::clone(&page);
        tokio::spawn(async move {
            let _ = tokio::time::timeout(PATIENCE, serve_one(stream, &*page)).await;
        });
    }
}

async fn serve_one(mut stream: TcpStream, page: &impl Page) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > REQUEST_OCTETS_MAX || stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let text = String::from_utf8_lossy(&head);
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let Answer { status, kind, body } = page.answer(&Request { method, path, query });
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body).await?;
    stream.shutdown().await
}

/// `%XX` and `+`.
fn decoded(text: &str) -> String {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let escaped = hex.filter(|_| *first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        rest = if escaped.is_some() { &after[2..] } else { after };
        octets.push(escaped.unwrap_or(if *first == b'+' { b' ' } else { *first }));
    }
    String::from_utf8_lossy(&octets).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let request = Request { method: "GET", path: "/", query: "to=%2B46701&text=a+b%C3%A5%zz&x" };
        assert_eq!(request.parameter("to").as_deref(), Some("+46701"));
        assert_eq!(request.parameter("text").as_deref(), Some("a bå%zz"));
        assert_eq!(request.parameter("x"), None);
    }

    #[test]
    fn markup_in_messages_stays_text() {
        assert_eq!(escaped("<b>&</b>"), "&lt;b&gt;&amp;&lt;/b&gt;");
    }
}

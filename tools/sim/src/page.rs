//! The small web page each simulator has, with the same as JSON: HTTP/1.1, one request a connection.

use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Longest head of a request.
const REQUEST_OCTETS_MAX: usize = 8 * 1024;
/// Longest body of a request.
const BODY_OCTETS_MAX: usize = 1024 * 1024;
/// Longest time one request may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a page answers.
pub(crate) trait Page: Send + Sync + 'static {
    fn answer(&self, request: &PageRequest<'_>) -> PageAnswer;
}

/// A request.
#[derive(Default)]
pub(crate) struct PageRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    query: &'a str,
    /// It comes from a form of the page: the answer is a page too.
    pub(crate) is_form: bool,
    pub(crate) body: &'a str,
}

impl PageRequest<'_> {
    /// A parameter of the query, or of a form, decoded.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let form = if self.is_form { self.body } else { "" };
        let mut pairs = self.query.split('&').chain(form.split('&')).filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| decoded(value))
    }
}

pub(crate) struct PageAnswer {
    status: &'static str,
    kind: &'static str,
    body: Vec<u8>,
}

impl PageAnswer {
    pub(crate) fn html(text: String) -> Self {
        PageAnswer { status: "200 OK", kind: "text/html; charset=utf-8", body: text.into_bytes() }
    }

    pub(crate) fn text(kind: &'static str, text: String) -> Self {
        PageAnswer { status: "200 OK", kind, body: text.into_bytes() }
    }

    pub(crate) fn not_found() -> Self {
        PageAnswer { status: "404 Not Found", kind: "text/plain", body: b"not found\n".to_vec() }
    }

    /// The same with another status.
    pub(crate) fn with_status(self, status: &'static str) -> Self {
        PageAnswer { status, ..self }
    }
}

pub(crate) fn json(value: &impl Serialize) -> PageAnswer {
    // Numbers, strings and lists of them: nothing that JSON lacks.
    let mut body = serde_json::to_vec(value).unwrap_or_default();
    body.push(b'\n');
    PageAnswer { status: "200 OK", kind: "application/json", body }
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
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
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
    let end = head.windows(4).position(|end| end == b"\r\n\r\n").map_or(head.len(), |at| at + 4);
    let mut body = head.split_off(end);
    let text = String::from_utf8_lossy(&head);
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let length = header(&text, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let PageAnswer { status, kind, body } = if length > BODY_OCTETS_MAX {
        PageAnswer::not_found().with_status("413 Content Too Large")
    } else if !is_of_this_page(&text) {
        PageAnswer::not_found().with_status("403 Forbidden")
    } else {
        while body.len() < length {
            if stream.read_buf(&mut body).await? == 0 {
                return Ok(());
            }
        }
        let body = String::from_utf8_lossy(&body);
        let kind = header(&text, "content-type").unwrap_or_default();
        let is_form = kind.starts_with("application/x-www-form-urlencoded");
        page.answer(&PageRequest { method, path, query, is_form, body: &body })
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body).await?;
    stream.shutdown().await
}

/// A field of a request's head.
fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    fields.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// A page of somebody else, open in the same browser, must not steer this one.
fn is_of_this_page(head: &str) -> bool {
    let host = header(head, "host").unwrap_or_default();
    header(head, "origin").is_none_or(|origin| origin.strip_prefix("http://") == Some(host))
}

/// `%XX` and `+`.
pub(crate) fn decoded(text: &str) -> String {
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
        let query = "to=%2B46701&text=a+b%C3%A5%zz&x";
        let request = PageRequest { method: "GET", path: "/", query, body: "y=1", ..PageRequest::default() };
        assert_eq!(request.parameter("to").as_deref(), Some("+46701"));
        assert_eq!(request.parameter("text").as_deref(), Some("a bå%zz"));
        assert_eq!(request.parameter("x"), None);
        assert_eq!(request.parameter("y"), None);
        assert_eq!(PageRequest { is_form: true, ..request }.parameter("y").as_deref(), Some("1"));
    }

    #[test]
    fn markup_in_messages_stays_text() {
        assert_eq!(escaped("<b>&</b>"), "&lt;b&gt;&amp;&lt;/b&gt;");
    }

    #[test]
    fn a_page_of_somebody_else_is_told_by_its_origin() {
        for (head, expected) in [
            ("POST / HTTP/1.1\r\nHost: 127.0.0.1:81\r\n", true),
            ("POST / HTTP/1.1\r\nHost: 127.0.0.1:81\r\norigin: http://127.0.0.1:81\r\n", true),
            ("POST / HTTP/1.1\r\nHost: 127.0.0.1:81\r\nOrigin: http://127.0.0.1:82\r\n", false),
            ("POST / HTTP/1.1\r\nHost: 127.0.0.1:81\r\nOrigin: null\r\n", false),
        ] {
            assert_eq!(is_of_this_page(head), expected, "{head}");
        }
    }
}

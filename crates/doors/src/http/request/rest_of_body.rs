//! Rest of a request's body is read and dropped, or the answer closes the connection: a connection that is
//! closed over unread octets resets, and the client may never see the refusal (RFC 9112, 9.6).

use crate::http::request::body;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::{CONNECTION, EXPECT};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

/// A layer around all handlers, so that none has to read the rest of a body that it refuses.
pub(crate) async fn read_away(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let waits = request.headers().contains_key(EXPECT);
    let left: Left = Arc::default();
    let slot = Arc::clone(&left);
    let request = request.map(|body| Body::new(Watched { body: Some(body), touched: false, left: slot }));
    let mut response = next.run(request).await;
    let rest = left.lock().unwrap_or_else(PoisonError::into_inner).take();
    let whole = match rest {
        None => true,
        // A client that waits for `100 Continue` has sent nothing, and will send nothing.
        Some(rest) if waits && !rest.touched => false,
        Some(rest) => body::read_to_end(rest.body).await,
    };
    if !whole {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

type Left = Arc<Mutex<Option<Rest>>>;

/// The unread rest of a body.
struct Rest {
    body: Body,
    /// Somebody began to read it.
    touched: bool,
}

/// A body that hands over its unread rest when its reader drops it.
struct Watched {
    body: Option<Body>,
    touched: bool,
    left: Left,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        this.touched = true;
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            // Nothing is left; after an error the connection ends by itself.
            this.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) else { return };
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Rest { body, touched: self.touched });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::http::HeaderMap;
    use axum::middleware::from_fn;
    use axum::routing::post;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    async fn refusing() -> TcpStream {
        let router = Router::new()
            .route("/", post(|_: HeaderMap| async { axum::http::StatusCode::FORBIDDEN }))
            .layer(from_fn(read_away));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        TcpStream::connect(address).await.unwrap()
    }

    async fn answer(stream: &mut TcpStream) -> String {
        let mut octets = Vec::new();
        while !octets.ends_with(b"\r\n\r\n") {
            octets.push(stream.read_u8().await.unwrap());
        }
        String::from_utf8(octets).unwrap().to_ascii_lowercase()
    }

    #[tokio::test]
    async fn a_body_nobody_read_is_read_away_and_the_connection_goes_on() {
        let mut stream = refusing().await;
        for _ in 0..3 {
            let body = vec![b'x'; 3 << 20];
            let head = format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(&body).await.unwrap();
            let answer = answer(&mut stream).await;
            assert!(answer.starts_with("http/1.1 403") && !answer.contains("connection: close"), "{answer}");
        }
    }

    #[tokio::test]
    async fn who_waits_to_send_is_told_that_the_connection_ends() {
        let mut stream = refusing().await;
        let head = b"POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n";
        stream.write_all(head).await.unwrap();
        let answer = answer(&mut stream).await;
        assert!(answer.starts_with("http/1.1 403") && answer.contains("connection: close"), "{answer}");
        assert_eq!(stream.read(&mut [0; 9]).await.unwrap(), 0);
    }
}

//! Watched stream and bodies note what a connection does: it reads or not, and its request is here or not.

use crate::activity::Activity;
use axum::body::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// A stream that ends with an error once its peer has taken nothing for too long.
pub(super) struct WatchedStream<S> {
    stream: S,
    activity: Arc<Activity>,
    /// The end of the peer's patience, while it takes nothing.
    stall: Option<Pin<Box<Sleep>>>,
}

impl<S> WatchedStream<S> {
    pub(super) fn new(stream: S, activity: Arc<Activity>) -> WatchedStream<S> {
        WatchedStream { stream, activity, stall: None }
    }

    fn watch<T>(&mut self, written: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.stall.take().is_some() {
                self.activity.set_stalled(false);
            }
            return written;
        }
        self.activity.set_stalled(true);
        let stall_max = self.activity.times().write_stall;
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + stall_max)));
        ready!(stall.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read what it is sent")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, octets);
        self.watch(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.watch(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.watch(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Tells the connection's activity of an event when it is dropped.
struct OnDrop(Arc<Activity>, fn(&Activity));

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.1(&self.0);
    }
}

/// A body that notes its end: of a request, that it is here whole, or that the handler wants no more of it;
/// of a response, that it is written.
pub(super) struct WatchedBody<B> {
    body: B,
    at_end: Option<OnDrop>,
}

impl<B: Body> WatchedBody<B> {
    /// The body of a request.
    pub(super) fn of_request(body: B, activity: Arc<Activity>) -> WatchedBody<B> {
        let at_end = OnDrop(activity, Activity::begin_request);
        let at_end = (!body.is_end_stream()).then_some(at_end);
        WatchedBody { body, at_end }
    }

    /// The body of a response.
    pub(super) fn of_response(body: B, activity: Arc<Activity>) -> WatchedBody<B> {
        WatchedBody { body, at_end: Some(OnDrop(activity, Activity::end_request)) }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for WatchedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) || self.body.is_end_stream() {
            self.at_end = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

//! Body of a request that notes when it was handed to a connection: what is written then, and what never was.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

/// Whether a request was written, and who is told of it.
pub(crate) struct WriteMark {
    is_written: AtomicBool,
    tell: Box<dyn Fn() + Send + Sync>,
}

impl WriteMark {
    /// `tell` is called once, as the request is handed to a connection.
    pub(crate) fn new(tell: impl Fn() + Send + Sync + 'static) -> Arc<WriteMark> {
        Arc::new(WriteMark { is_written: AtomicBool::new(false), tell: Box::new(tell) })
    }

    /// It is written now.
    pub(crate) fn set(&self) {
        if !self.is_written.swap(true, Ordering::Relaxed) {
            (self.tell)();
        }
    }

    /// Octets of it may have left.
    pub(crate) fn is_set(&self) -> bool {
        self.is_written.load(Ordering::Relaxed)
    }
}

/// The body of one request. Its length is known, so it is sent in one piece.
pub(crate) struct ObservedBody {
    octets: Option<Bytes>,
    mark: Arc<WriteMark>,
}

impl ObservedBody {
    /// An empty one is not asked for: it counts as written at once.
    pub(crate) fn new(octets: Vec<u8>, mark: &Arc<WriteMark>) -> ObservedBody {
        if octets.is_empty() {
            mark.set();
        }
        let octets = (!octets.is_empty()).then(|| Bytes::from(octets));
        ObservedBody { octets, mark: Arc::clone(mark) }
    }
}

impl Body for ObservedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.mark.set();
        Poll::Ready(self.octets.take().map(|octets| Ok(Frame::data(octets))))
    }

    fn is_end_stream(&self) -> bool {
        self.octets.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.octets.as_ref().map_or(0, |octets| octets.len() as u64))
    }
}

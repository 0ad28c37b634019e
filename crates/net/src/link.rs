//! One connection's octets: what is read goes into the machine at once, what is being written waits here.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{Machine, Stream};

/// Read in one go, before what was read is handled.
const INPUT_OCTETS_MAX: usize = 256 * 1024;
/// An output buffer that grew over this is given back once it is empty.
const OUTPUT_OCTETS_KEPT: usize = 256 * 1024;

thread_local! {
    /// Read through by all connections of a thread, one at a time: an idle connection has no buffer.
    static INPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A stream, and the octets that are being written to it.
#[derive(Debug)]
pub struct Link {
    stream: Stream,
    output: Vec<u8>,
    /// Octets of `output` that the system has.
    sent: usize,
    peer_closed: bool,
}

/// What [`Link::progress`] did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkProgress {
    /// Octets came, and the machine has them.
    pub read: bool,
    /// All that waited was written.
    pub emptied: bool,
    /// The peer will send nothing more.
    pub closed: bool,
}

impl Link {
    /// Takes a stream over.
    pub fn new(stream: Stream) -> Link {
        Link { stream, output: Vec::new(), sent: 0, peer_closed: false }
    }

    /// The stream, for who wants to know its peer.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The stream, for who goes on with it otherwise (STARTTLS). What waits is not written any more.
    pub fn into_stream(self) -> Stream {
        self.stream
    }

    /// Nothing waits to be written.
    pub fn is_empty(&self) -> bool {
        self.output.is_empty()
    }

    /// Takes what the machine has to say. Only while nothing waits: so the rest stays with the machine, which
    /// knows what was never sent.
    pub fn fill<M: Machine>(&mut self, machine: &mut M) {
        if self.output.is_empty() {
            machine.poll_transmit(&mut self.output);
        }
    }

    /// Writes what waits; ready when nothing does any more.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.output.is_empty() {
            return Poll::Ready(Ok(()));
        }
        while self.sent < self.output.len() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.output[self.sent..]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += written;
        }
        // TLS records may still wait inside.
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.sent = 0;
        self.output.clear();
        self.output.shrink_to(OUTPUT_OCTETS_KEPT);
        Poll::Ready(Ok(()))
    }

    /// Waits until octets came in (the machine has them then), the peer closed, or all that waited was
    /// written. Reads only if `reading`. Safe to drop.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn progress<M: Machine>(&mut self, machine: &mut M, reading: bool) -> io::Result<LinkProgress> {
        poll_fn(|cx| {
            let mut progress = LinkProgress::default();
            if !self.output.is_empty() {
                match self.poll_write(cx) {
                    Poll::Ready(result) => {
                        result?;
                        progress.emptied = true;
                    }
                    Poll::Pending => {}
                }
            }
            if reading && !self.peer_closed {
                progress.read = self.poll_read(cx, machine)?;
            }
            progress.closed = self.peer_closed;
            if progress == LinkProgress::default() { Poll::Pending } else { Poll::Ready(Ok(progress)) }
        })
        .await
    }

    /// Says goodbye (TLS close_notify, FIN). What waits is not written any more.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn close(&mut self) -> io::Result<()> {
        poll_fn(|cx| Pin::new(&mut self.stream).poll_shutdown(cx)).await
    }

    /// Reads all there is, up to a limit, into the machine. True: something came.
    fn poll_read<M: Machine>(&mut self, cx: &mut Context<'_>, machine: &mut M) -> io::Result<bool> {
        let mut buffer = INPUT.take();
        buffer.resize(INPUT_OCTETS_MAX, 0);
        let result = self.read_into(cx, &mut ReadBuf::new(&mut buffer), machine);
        INPUT.set(buffer);
        result
    }

    fn read_into<M: Machine>(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
        machine: &mut M,
    ) -> io::Result<bool> {
        // TLS hands out a record at a time: read on until nothing comes.
        while buffer.remaining() > 0 && !self.peer_closed {
            let before = buffer.filled().len();
            match Pin::new(&mut self.stream).poll_read(cx, buffer) {
                Poll::Pending => break,
                Poll::Ready(Err(error)) if before == 0 => return Err(error),
                // What came before the error is handled first; the error comes again with the next read.
                Poll::Ready(Err(_)) => break,
                Poll::Ready(Ok(())) => self.peer_closed = buffer.filled().len() == before,
            }
        }
        if buffer.filled().is_empty() {
            return Ok(false);
        }
        machine.handle_input(Instant::now(), buffer.filled());
        Ok(true)
    }
}

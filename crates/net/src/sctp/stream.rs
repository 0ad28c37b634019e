//! One association.

use super::{MessageFraming, local, remote};
use crate::socket::{SendInfo, outbound_streams, send_message};
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// One SCTP association, read as a stream of octets and written a message at a time.
///
/// It is no `TcpStream` over the same descriptor: that takes a read which did not fill its buffer for a sign
/// that nothing is left, and here each read gives one user message at most.
#[derive(Debug)]
pub struct SctpStream {
    socket: AsyncFd<OwnedFd>,
    messages: MessageFraming,
    /// Streams that the peer takes; 0: not asked yet.
    streams: u16,
}

impl SctpStream {
    pub(crate) fn new(socket: AsyncFd<OwnedFd>, messages: MessageFraming) -> SctpStream {
        SctpStream { socket, messages, streams: 0 }
    }

    /// Where it is bound: the first of the places.
    ///
    /// # Errors
    /// When the association is gone.
    pub fn local(&self) -> io::Result<SocketAddr> {
        local(self.socket.as_fd())
    }

    /// Who is at the other end: the first of the places.
    ///
    /// # Errors
    /// When the association is gone.
    pub fn peer(&self) -> io::Result<SocketAddr> {
        remote(self.socket.as_fd())
    }

    /// Sends messages until the system takes no more; how many octets it took.
    fn send(&self, socket: &OwnedFd, octets: &[u8], streams: u16) -> io::Result<usize> {
        let MessageFraming { length, stream, payload_protocol } = self.messages;
        let mut sent = 0;
        while sent < octets.len() {
            let (message, is_last) = first(&octets[sent..], length);
            // More is coming: small messages share packets although SCTP_NODELAY is on.
            let more = if is_last { 0 } else { libc::MSG_MORE };
            let info = SendInfo { stream: stream(message, streams).min(streams - 1), payload_protocol };
            match send_message(socket.as_fd(), message, &info, libc::MSG_NOSIGNAL | more) {
                Ok(taken) => sent += taken,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && sent > 0 => break,
                Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                    return Err(too_long(message.len()));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Streams that the peer takes, at least 1. Known once the association is there.
    fn streams(&mut self) -> u16 {
        if self.streams == 0 {
            self.streams = outbound_streams(self.socket.get_ref().as_fd()).unwrap_or(1).max(1);
        }
        self.streams
    }
}

/// The first message of an output, and whether it is the last too.
fn first(octets: &[u8], length: fn(&[u8]) -> usize) -> (&[u8], bool) {
    match length(octets) {
        length if (1..octets.len()).contains(&length) => (&octets[..length], false),
        _ => (octets, true),
    }
}

fn too_long(octets: usize) -> io::Error {
    let why =
        format!("a message of {octets} octets does not fit in the socket's buffer: raise net.core.wmem_max");
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

impl AsyncRead for SctpStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.socket.poll_read_ready(cx))?;
            let into = buf.initialize_unfilled();
            let Ok(read) = ready.try_io(|socket| Ok(recv(socket, into, RecvFlags::empty())?)) else {
                continue;
            };
            let (_, octets) = read?;
            buf.advance(octets);
            return Poll::Ready(Ok(()));
        }
    }
}

impl AsyncWrite for SctpStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let streams = self.streams();
        loop {
            let mut ready = ready!(self.socket.poll_write_ready(cx))?;
            if let Ok(sent) = ready.try_io(|socket| self.send(socket.get_ref(), buf, streams)) {
                return Poll::Ready(sent);
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// An association has no half that is closed: what was sent is delivered, then both ends are (RFC 9260,
    /// section 9.2).
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(shutdown(&self.socket, Shutdown::Write)?))
    }
}

#[cfg(test)]
mod tests {
    use super::first;

    #[test]
    fn output_is_cut_at_the_bounds_of_messages() {
        let length = |octets: &[u8]| usize::from(octets[0]);
        assert_eq!(first(&[3, 0, 0, 2, 0], length), (&[3, 0, 0][..], false));
        assert_eq!(first(&[2, 0], length), (&[2, 0][..], true));
        // What claims to be more than there is, or nothing, goes as it is: its sender has said so.
        assert_eq!(first(&[9, 0], length), (&[9, 0][..], true));
        assert_eq!(first(&[0, 0], length), (&[0, 0][..], true));
    }
}

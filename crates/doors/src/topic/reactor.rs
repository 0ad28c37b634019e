//! Reactor for many connections: those of a core share its thread.

use super::TopicToken;
use super::batch::TopicConnection;
use super::door::TopicDoorState;
use super::machine::Conversation;
use super::people::{PersonSession, QueuedBlock};
use super::threads::{self, LAST_READS, LAST_WORDS, READ_OCTETS, TAKES_WITHIN};
use net::Stream;
use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::{sleep_until, timeout};

/// Without any deadline it is still looked so often.
const LOOK_EVERY: Duration = Duration::from_secs(3_600);

thread_local! {
    /// One buffer for a core's thread, not one for a connection.
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Hands a plain connection to a core.
pub(super) fn start(door: &Arc<TopicDoorState>, stream: std::net::TcpStream, connection: TopicConnection) {
    let at = Arc::clone(door);
    door.cores.spawn_on(door.cores.next(), async move {
        let stream = stream
            .set_nonblocking(true)
            .and_then(|()| tokio::net::TcpStream::from_std(stream))
            .and_then(Stream::plain);
        match stream {
            Ok(stream) => run(&at, stream, connection).await,
            Err(error) => tracing::debug!(%error, "a connection of the topic door broke"),
        }
    });
}

/// One connection, until either side ends it, or a thread of its own is free.
pub(super) async fn run(door: &Arc<TopicDoorState>, mut stream: Stream, mut connection: TopicConnection) {
    match converse(door, &mut stream, &mut connection).await {
        Ok(ReactorEnd::Gone) => {}
        Ok(ReactorEnd::Finished) => hang_up(&mut stream).await,
        Ok(ReactorEnd::Quiet) => {
            if let Stream::Plain(tcp) = stream
                && let Ok(tcp) = tcp.into_std()
            {
                threads::start(door, tcp, connection);
            }
        }
        Err(error) => tracing::debug!(%error, "a connection of the topic door broke"),
    }
}

enum ReactorEnd {
    /// The client or the door closed.
    Gone,
    /// We do.
    Finished,
    /// There are few connections: this one gets a thread.
    Quiet,
}

async fn converse(
    door: &Arc<TopicDoorState>,
    stream: &mut Stream,
    connection: &mut TopicConnection,
) -> io::Result<ReactorEnd> {
    let mut stopping = door.stopping();
    let mut stopped = pin!(stopping.wait_for(|stop| *stop));
    let mut timer = pin!(sleep_until(due(&connection.machine).into()));
    loop {
        let token = connection.token().cloned();
        tokio::select! {
            biased;
            () = revoked(token.as_deref()) => return Ok(ReactorEnd::Gone),
            read = poll_fn(|cx| read(stream, cx, &mut connection.machine)) => {
                if read? == 0 {
                    return Ok(ReactorEnd::Gone);
                }
            }
            // It is set anew only when it fires: most requests come long before.
            () = &mut timer => {
                connection.machine.handle_timeout(Instant::now());
                if connection.machine.is_finished() {
                    return Ok(ReactorEnd::Gone);
                }
                timer.as_mut().reset(due(&connection.machine).into());
                continue;
            }
            queued = next_block(connection.session.as_mut()) => connection.show(queued),
            _ = &mut stopped => return Ok(ReactorEnd::Gone),
            () = connection.place.sent_out() => return Ok(ReactorEnd::Gone),
        }
        loop {
            connection.turn(door).await;
            if connection.machine.poll_transmit().is_empty() {
                break;
            }
            write(stream, connection, door.config.write_stall).await?;
        }
        connection.note_taken();
        if connection.machine.is_finished() {
            return Ok(ReactorEnd::Finished);
        }
        if due(&connection.machine) < timer.deadline().into_std() {
            timer.as_mut().reset(due(&connection.machine).into());
        }
        if matches!(stream, Stream::Plain(_)) && door.is_quiet() && connection.session.is_none() {
            return Ok(ReactorEnd::Quiet);
        }
    }
}

/// The next block for a person who is logged in.
async fn next_block(session: Option<&mut PersonSession>) -> QueuedBlock {
    match session {
        Some(session) => session.next_block().await,
        None => std::future::pending().await,
    }
}

/// Resolves when the token is revoked by which the client is here.
async fn revoked(token: Option<&TopicToken>) {
    match token {
        Some(token) => token.hold.ended().await,
        None => std::future::pending().await,
    }
}

fn due(machine: &Conversation) -> Instant {
    machine.poll_timeout().unwrap_or_else(|| Instant::now() + LOOK_EVERY)
}

/// Reads what there is into the machine; 0 at the end.
fn read(stream: &mut Stream, cx: &mut Context<'_>, machine: &mut Conversation) -> Poll<io::Result<usize>> {
    INPUT.with_borrow_mut(|buffer| {
        buffer.resize(READ_OCTETS, 0);
        let mut octets = ReadBuf::new(buffer);
        match Pin::new(stream).poll_read(cx, &mut octets) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) => {
                let read = octets.filled().len();
                if read > 0 {
                    machine.handle_input(Instant::now(), octets.filled());
                }
                Poll::Ready(Ok(read))
            }
        }
    })
}

/// Writes all that waits. A client that does not read for too long has gone, and one that does not read makes
/// room.
async fn write(stream: &mut Stream, connection: &mut TopicConnection, stall: Duration) -> io::Result<()> {
    let machine = &mut connection.machine;
    // Nearly always the system takes all at once, and no timer is needed.
    let mut at_once = Ok(());
    poll_fn(|cx| {
        if let Poll::Ready(result) = poll_write_all(stream, cx, machine) {
            at_once = result;
        }
        Poll::Ready(())
    })
    .await;
    at_once?;
    if machine.poll_transmit().is_empty() {
        return Ok(());
    }
    // A fresh socket says only after a moment that it takes octets: that is no client who does not read.
    if let Ok(written) = timeout(TAKES_WITHIN, write_slowly(stream, machine, stall)).await {
        return written;
    }
    connection.place.set_waiting();
    let written = tokio::select! {
        written = write_slowly(stream, machine, stall) => written,
        () = connection.place.sent_out() => Err(io::Error::other("it made room for another one of its network")),
    };
    connection.set_reading(true);
    written
}

async fn write_slowly(stream: &mut Stream, machine: &mut Conversation, stall: Duration) -> io::Result<()> {
    loop {
        let before = machine.poll_transmit().len();
        let some = poll_fn(|cx| match poll_write_all(stream, cx, machine) {
            Poll::Pending if machine.poll_transmit().len() < before => Poll::Ready(Ok(())),
            other => other,
        });
        match timeout(stall, some).await {
            Ok(result) => result?,
            Err(_) => return Err(io::ErrorKind::TimedOut.into()),
        }
        if machine.poll_transmit().is_empty() {
            return Ok(());
        }
    }
}

fn poll_write_all(
    stream: &mut Stream,
    cx: &mut Context<'_>,
    machine: &mut Conversation,
) -> Poll<io::Result<()>> {
    while !machine.poll_transmit().is_empty() {
        match Pin::new(&mut *stream).poll_write(cx, machine.poll_transmit()) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            Poll::Ready(Ok(written)) => machine.handle_sent(written),
        }
    }
    // Records of TLS may wait inside; those go out with the next write, or now.
    match Pin::new(stream).poll_flush(cx) {
        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        _ => Poll::Ready(Ok(())),
    }
}

/// Closes in order, so that the last reply arrives.
async fn hang_up(stream: &mut Stream) {
    let mut rest = [0; 4096];
    // A client that is gone already needs no closing.
    let _ = timeout(LAST_WORDS, async {
        stream.shutdown().await?;
        for _ in 0..LAST_READS {
            if stream.read(&mut rest).await? == 0 {
                break;
            }
        }
        Ok::<(), io::Error>(())
    })
    .await;
}

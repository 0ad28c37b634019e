//! Threads for few connections: each reads, answers and writes by itself. The system wakes it where its
//! client ran, and nothing is handed over: with two connections three times the rate of a reactor.

use super::TopicToken;
use super::batch::TopicConnection;
use super::door::TopicDoorState;
use super::reactor;
use net::ConnectionPlace;
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// One read takes so many octets at most.
pub(super) const READ_OCTETS: usize = 64 * 1024;
/// After our last reply the client's input is still read for so long: a reset would discard the reply.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(1);
/// And so many reads at most.
pub(super) const LAST_READS: usize = 16;

/// A client that has not taken what it is sent after so long is one that does not read.
pub(super) const TAKES_WITHIN: Duration = Duration::from_millis(100);

/// Handle of the door on a thread's connection while the thread waits for its client.
pub(super) struct ThreadHandle {
    stream: TcpStream,
    place: Arc<ConnectionPlace>,
    /// Milliseconds after the door opened, when the client has been silent for too long; 0: never.
    due_ms: AtomicU64,
    /// The token by which the client is here.
    token: Mutex<Option<Arc<TopicToken>>>,
}

impl ThreadHandle {
    /// Wakes the thread: nothing more comes.
    pub(super) fn close(&self) {
        // It may be gone already.
        let _ = self.stream.shutdown(Shutdown::Read);
    }

    /// Closes it if its client has been silent for too long, its token was revoked, or it has to make room.
    pub(super) fn look(&self, now_ms: u64) {
        let due = self.due_ms.load(Ordering::Relaxed);
        let is_revoked = self.token().as_ref().is_some_and(|token| token.hold.is_ended());
        if is_revoked || (due != 0 && due <= now_ms) || self.place.is_sent_out() {
            let _ = self.stream.shutdown(Shutdown::Both);
        }
    }

    /// Notes the token, if it is another one.
    fn note(&self, token: Option<&Arc<TopicToken>>) {
        let Some(token) = token else { return };
        let mut noted = self.token();
        if noted.as_ref().is_none_or(|noted| !Arc::ptr_eq(noted, token)) {
            *noted = Some(Arc::clone(token));
        }
    }

    fn token(&self) -> MutexGuard<'_, Option<Arc<TopicToken>>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives a connection a thread; without one it goes to a reactor.
pub(super) fn start(door: &Arc<TopicDoorState>, stream: TcpStream, connection: TopicConnection) {
    let ready = stream
        .set_nonblocking(false)
        .and_then(|()| stream.set_write_timeout(Some(door.config.write_stall.min(TAKES_WITHIN))))
        .and_then(|()| stream.try_clone());
    let Ok(twin) = ready else { return };
    let handle = Arc::new(ThreadHandle {
        stream,
        place: Arc::clone(&connection.place),
        due_ms: AtomicU64::new(door.due_ms(connection.machine.poll_timeout())),
        token: Mutex::new(connection.token().cloned()),
    });
    let number = door.add_handle(&handle);
    // The connection comes back if no thread can be made.
    let parked = Arc::new(Mutex::new(Some((twin, connection))));
    let (theirs, at) = (Arc::clone(&parked), Arc::clone(door));
    let spawned = std::thread::Builder::new().name("topic".to_owned()).spawn(move || {
        let taken = theirs.lock().ok().and_then(|mut parked| parked.take());
        let Some((stream, mut connection)) = taken else { return };
        let end = run(&at, &stream, &handle, &mut connection);
        at.remove_handle(number);
        match end {
            Ok(ThreadEnd::ToReactor) => {
                drop(handle);
                reactor::start(&at, stream, connection);
            }
            Ok(ThreadEnd::Finished) => hang_up(&stream),
            Ok(ThreadEnd::Gone) => {}
            Err(error) => tracing::debug!(%error, "a connection of the topic door broke"),
        }
    });
    if let Err(error) = spawned {
        tracing::warn!(%error, "no thread for a connection: a reactor serves it");
        door.remove_handle(number);
        let left = parked.lock().ok().and_then(|mut parked| parked.take());
        if let Some((stream, connection)) = left {
            reactor::start(door, stream, connection);
        }
    }
}

enum ThreadEnd {
    /// The client closed.
    Gone,
    /// We do.
    Finished,
    /// There are too many connections for threads, or its client logged in: alerts are written into the
    /// session of a person while nothing comes from them.
    ToReactor,
}

fn run(
    door: &TopicDoorState,
    mut stream: &TcpStream,
    handle: &ThreadHandle,
    connection: &mut TopicConnection,
) -> io::Result<ThreadEnd> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut buffer = vec![0; READ_OCTETS];
    loop {
        let read = match stream.read(&mut buffer) {
            Ok(0) => return Ok(ThreadEnd::Gone),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        connection.machine.handle_input(Instant::now(), &buffer[..read]);
        loop {
            wait(&waker, connection.turn(door));
            let output = connection.machine.poll_transmit();
            if output.is_empty() {
                break;
            }
            write(stream, connection, output, door.config.write_stall)?;
            let written = output.len();
            connection.machine.handle_sent(written);
        }
        if connection.machine.is_finished() {
            return Ok(ThreadEnd::Finished);
        }
        if door.is_crowded() || connection.session.is_some() {
            return Ok(ThreadEnd::ToReactor);
        }
        handle.note(connection.token());
        handle.due_ms.store(door.due_ms(connection.machine.poll_timeout()), Ordering::Relaxed);
    }
}

/// Writes all of the output. A client that does not take it for a moment keeps no place of its own until it
/// does, and one that takes nothing for `stall` is given up.
fn write(
    mut stream: &TcpStream,
    connection: &TopicConnection,
    mut output: &[u8],
    stall: Duration,
) -> io::Result<()> {
    let mut stalled = None;
    while !output.is_empty() {
        match stream.write(output) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                output = &output[written..];
                if stalled.take().is_some() {
                    connection.set_reading(true);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                connection.set_reading(false);
                let since = *stalled.get_or_insert_with(Instant::now);
                if since.elapsed() >= stall.saturating_sub(TAKES_WITHIN) {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Closes in order, so that the last reply arrives.
fn hang_up(mut stream: &TcpStream) {
    if stream.shutdown(Shutdown::Write).is_err() || stream.set_read_timeout(Some(LAST_WORDS)).is_err() {
        return;
    }
    let mut rest = [0; 4096];
    for _ in 0..LAST_READS {
        match stream.read(&mut rest) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits on this thread.
fn wait<F: Future>(waker: &Waker, future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

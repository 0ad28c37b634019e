//! The loop of one connection.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep_until};

use crate::{Link, Machine};

/// How long the last words may take once machine or worker have finished.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Without any deadline the loop still looks around this often.
const IDLE: Duration = Duration::from_secs(60);

/// What is done with a connection's events, and what is put into it. All of it is called by the connection's
/// own task, inline.
pub trait Worker<M: Machine>: Send {
    /// The machine says something. What is to be done about it is put into the machine by `fill`.
    fn handle(&mut self, event: M::Event<'_>, now: Instant);
    /// Put in what there is to send; called once a turn. While not `writable` the system does not take what
    /// was put in before: put in answers, so that both sides cannot wait for each other, but nothing new. The
    /// machine's output grows then, until it wants no more input.
    fn fill(&mut self, machine: &mut M, now: Instant, writable: bool);
    /// All that was put in so far has been taken by the system; `now` was read after the write.
    fn wrote(&mut self, _now: Instant) {}
    /// When `fill` wants to be called at the latest.
    fn deadline(&self) -> Option<Instant> {
        None
    }
    /// Resolves when something came from elsewhere that `fill` should look at. Dropped and called again at
    /// every turn: it must not lose a signal by that (`Notify::notified` after a `notify_one` does not).
    fn woken(&mut self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
    /// Octets of the peer are wanted; while not, they wait in the system's buffers and slow the peer down.
    fn wants_input(&self) -> bool {
        true
    }
    /// Nothing more to do: the connection ends once what waits is written.
    fn is_finished(&self) -> bool {
        false
    }
}

/// Why [`drive`] returned.
#[derive(Debug)]
pub enum DriveEnd {
    /// The machine or the worker had finished, and the last words were written.
    Finished,
    /// The peer closed the connection.
    PeerClosed,
    /// The connection broke.
    Broken(io::Error),
}

/// Drives a machine over a connection until one of them ends: reads all there is, feeds the machine, hands
/// its events to the worker, asks the worker what to send, and writes once. When it returns, the machine has
/// been told of the end of the connection, and the worker of all its events.
pub async fn drive<M, W>(link: &mut Link, machine: &mut M, worker: &mut W) -> DriveEnd
where
    M: Machine + Send,
    W: Worker<M>,
{
    let end = match run(link, machine, worker).await {
        Ok(end) => end,
        Err(error) => DriveEnd::Broken(error),
    };
    hang_up(machine, worker);
    end
}

/// Tells the machine of the end of the connection, and the worker of the events that follow: for who drops a
/// [`drive`] that has not returned. [`drive`] itself does this.
pub fn hang_up<M: Machine, W: Worker<M>>(machine: &mut M, worker: &mut W) {
    let now = Instant::now();
    machine.handle_eof(now);
    hand_out(machine, worker, now);
}

async fn run<M, W>(link: &mut Link, machine: &mut M, worker: &mut W) -> io::Result<DriveEnd>
where
    M: Machine + Send,
    W: Worker<M>,
{
    let timer = sleep_until((Instant::now() + IDLE).into());
    tokio::pin!(timer);
    loop {
        turn(link, machine, worker).await?;
        if machine.is_finished() || worker.is_finished() {
            return last_words(link, machine).await;
        }
        arm(timer.as_mut(), machine.poll_timeout(), worker.deadline());
        let reading = machine.wants_input() && worker.wants_input();
        tokio::select! {
            biased;
            progress = link.progress(machine, reading) => {
                let progress = progress?;
                if progress.emptied {
                    worker.wrote(Instant::now());
                }
                if progress.closed {
                    // It may still read what answers its last words.
                    let _ = turn(link, machine, worker).await;
                    return Ok(DriveEnd::PeerClosed);
                }
            }
            () = worker.woken() => {}
            () = &mut timer => {}
        }
    }
}

/// Timeouts, events, filling, and one write of what the system takes at once.
async fn turn<M, W>(link: &mut Link, machine: &mut M, worker: &mut W) -> io::Result<()>
where
    M: Machine,
    W: Worker<M>,
{
    let now = Instant::now();
    if machine.poll_timeout().is_some_and(|due| due <= now) {
        machine.handle_timeout(now);
    }
    hand_out(machine, worker, now);
    let writable = link.is_empty();
    worker.fill(machine, now, writable);
    if !writable {
        return Ok(());
    }
    // A machine may hand its output out in pieces, so that what is urgent overtakes the rest: it is asked
    // again until nothing is left.
    loop {
        link.fill(machine);
        if link.is_empty() || !poll_fn(|cx| now_or_never(link.poll_write(cx))).await? {
            return Ok(());
        }
        worker.wrote(Instant::now());
    }
}

fn hand_out<M: Machine, W: Worker<M>>(machine: &mut M, worker: &mut W, now: Instant) {
    while let Some(event) = machine.poll_event() {
        worker.handle(event, now);
    }
}

/// Whether it is done already; later is asked later.
fn now_or_never(poll: Poll<io::Result<()>>) -> Poll<io::Result<bool>> {
    match poll {
        Poll::Ready(result) => Poll::Ready(result.map(|()| true)),
        Poll::Pending => Poll::Ready(Ok(false)),
    }
}

async fn last_words<M: Machine>(link: &mut Link, machine: &mut M) -> io::Result<DriveEnd> {
    let written = tokio::time::timeout(LAST_WORDS, async {
        loop {
            poll_fn(|cx| link.poll_write(cx)).await?;
            link.fill(machine);
            if link.is_empty() {
                return link.close().await;
            }
        }
    });
    match written.await {
        Ok(Err(error)) => Err(error),
        Ok(Ok(())) | Err(_) => Ok(DriveEnd::Finished),
    }
}

/// The timer is set anew only when it changes: that is dearer than looking.
fn arm(timer: Pin<&mut Sleep>, machine: Option<Instant>, worker: Option<Instant>) {
    let due = match (machine, worker) {
        (Some(machine), Some(worker)) => Some(machine.min(worker)),
        (one, other) => one.or(other),
    };
    match due {
        Some(due) if timer.deadline() != due.into() || timer.is_elapsed() => timer.reset(due.into()),
        None if timer.is_elapsed() => timer.reset((Instant::now() + IDLE).into()),
        _ => {}
    }
}

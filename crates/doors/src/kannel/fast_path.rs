//! Fast path: a connection that carries nothing but requests for [`super::PATH`] over plain HTTP/1.1 is
//! served by one task on a runtime of one core, without a task, a router or a layer for each request. A
//! connection with any other request goes on to the HTTP server, with the octets already read.

use super::queue::MessageQueue;
use super::reply::ReplyWriter;
use super::{GuessTurn, Headers, PATH, PendingAnswer, SendSms, SendSmsRequest, Taken};
use crate::activity::Activity;
use crate::http::is_host;
use bytes::{Buf, BytesMut};
use net::Cores;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// A connection that sends nothing for so long is closed, unless it has begun a request.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// Octets of a request on the fast path, head and body; longer ones take the general path.
const REQUEST_OCTETS_MAX: usize = 60 << 10;
/// Headers of such a request.
const HEADERS_MAX: usize = 32;
/// Octets of a connection's buffer to begin with.
const BUFFER_OCTETS: usize = 4 << 10;

/// One lane for each core, made when the first connection needs one.
pub(crate) struct FastPath {
    sendsms: Arc<SendSms>,
    started: OnceLock<Option<Started>>,
}

struct Started {
    cores: Cores,
    queues: Queues,
}

/// One for each core; the first for all where a disk is waited for.
#[derive(Clone)]
struct Queues(Arc<[MessageQueue]>);

impl Queues {
    fn of(&self, core: usize) -> &MessageQueue {
        &self.0[if self.0[0].is_slow() { 0 } else { core }]
    }
}

/// A connection that the HTTP server goes on with, and the octets read and not answered.
pub(crate) type GoesOn = (std::net::TcpStream, BytesMut);

impl FastPath {
    pub(crate) fn new(sendsms: Arc<SendSms>) -> FastPath {
        FastPath { sendsms, started: OnceLock::new() }
    }

    fn started(&self) -> Option<&Started> {
        let start = || match Cores::one_per_core() {
            Ok(cores) => {
                let queue = |core| {
                    let _inside = cores.handle(core).enter();
                    MessageQueue::start(self.sendsms.intake.clone())
                };
                let queues = Queues((0..cores.count()).map(queue).collect());
                Some(Started { cores, queues })
            }
            Err(error) => {
                tracing::warn!(%error, "no runtimes for platforms' requests: the general path serves them");
                None
            }
        };
        self.started.get_or_init(start).as_ref()
    }

    /// Serves a connection as long as its requests fit the fast path. Nothing: it is over.
    pub(crate) async fn drive(
        &self,
        stream: TcpStream,
        client: SocketAddr,
        activity: Arc<Activity>,
        stopping: watch::Receiver<bool>,
    ) -> io::Result<Option<GoesOn>> {
        let stream = stream.into_std()?;
        let Some(started) = self.started() else { return Ok(Some((stream, BytesMut::new()))) };
        let core = started.cores.next();
        let (sendsms, queues) = (self.sendsms.clone(), started.queues.clone());
        let served = started.cores.spawn_on(core, async move {
            let connection = FastPathConnection {
                stream: TcpStream::from_std(stream)?,
                unread: BytesMut::with_capacity(BUFFER_OCTETS),
                sendsms,
                queues,
                core,
                from: client.ip(),
                activity,
                turn: GuessTurn::First,
            };
            connection.serve(stopping).await
        });
        served.await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

/// Whether a connection that begins so belongs here.
pub(crate) fn is_for_fast_path(beginning: &[u8]) -> bool {
    let target = beginning.strip_prefix(b"GET ").or_else(|| beginning.strip_prefix(b"POST "));
    target.is_some_and(|target| target.starts_with(PATH.as_bytes()))
}

/// Octets that [`is_for_fast_path`] looks at.
pub(crate) const BEGINNING_OCTETS: usize = "POST ".len() + PATH.len();

struct FastPathConnection {
    stream: TcpStream,
    unread: BytesMut,
    sendsms: Arc<SendSms>,
    queues: Queues,
    core: usize,
    from: IpAddr,
    activity: Arc<Activity>,
    /// What the request at the front waited for.
    turn: GuessTurn,
}

/// The front of the buffer.
enum Front {
    /// Not all of a request.
    Part,
    /// A request for another path, or none at all.
    Other,
    /// A request that is answered after so long, in its turn.
    Waits(Duration, GuessTurn),
    /// A request, read and put into the queue.
    Taken(TakenRequest),
}

struct TakenRequest {
    step: PendingAnswer,
    octets: usize,
    is_post: bool,
    closes: bool,
}

impl FastPathConnection {
    async fn serve(mut self, mut stopping: watch::Receiver<bool>) -> io::Result<Option<GoesOn>> {
        let mut stopped = pin!(stopping.wait_for(|stop| *stop));
        let request_max = self.activity.times().head;
        let mut look = pin!(sleep_until(Instant::now() + request_max.min(IDLE_MAX)));
        let mut reply = ReplyWriter::default();
        let mut last = Instant::now();
        // When the request began of which a part is here.
        let mut begun = None;
        loop {
            match self.front() {
                Front::Other => return Ok(Some((self.stream.into_std()?, self.unread))),
                Front::Waits(wait, turn) => {
                    tokio::select! {
                        () = sleep(wait) => self.turn = turn,
                        () = self.activity.place().sent_out() => return Ok(None),
                        _ = stopped.as_mut() => return Ok(None),
                    }
                }
                Front::Taken(taken) => {
                    self.activity.begin_request();
                    let answer = taken.step.answer().await;
                    self.unread.advance(taken.octets);
                    self.turn = GuessTurn::First;
                    begun = None;
                    let octets = reply.write(answer, taken.closes, self.sendsms.now());
                    write(&mut self.stream, octets, &self.activity).await?;
                    self.activity.end_request();
                    let now = Instant::now();
                    self.sendsms.meters.note(taken.is_post, answer.status, now - last);
                    last = now;
                    if taken.closes {
                        self.stream.shutdown().await?;
                        return Ok(None);
                    }
                }
                Front::Part => {
                    begun = (!self.unread.is_empty()).then(|| begun.unwrap_or(last));
                    self.unread.reserve(BUFFER_OCTETS);
                    tokio::select! {
                        biased;
                        read = self.stream.read_buf(&mut self.unread) => match read? {
                            0 => return Ok(None),
                            _ => last = Instant::now(),
                        },
                        () = self.activity.place().sent_out() => return Ok(None),
                        () = look.as_mut() => {
                            let (now, due) = (Instant::now(), begun.map_or(last + IDLE_MAX, |begun| begun + request_max));
                            if now >= due {
                                return Ok(None);
                            }
                            look.as_mut().reset(due.min(now + request_max));
                        }
                        _ = stopped.as_mut() => return Ok(None),
                    }
                }
            }
        }
    }

    fn front(&self) -> Front {
        front(&self.unread, &self.sendsms, self.queues.of(self.core), (self.from, self.turn))
    }
}

/// Writes an answer. It nearly always fits into the system's buffer; a client that does not read waits until
/// it has to make room, or for as long as clients may.
async fn write(stream: &mut TcpStream, octets: &[u8], activity: &Activity) -> io::Result<()> {
    let written = match stream.try_write(octets) {
        Ok(written) if written == octets.len() => return Ok(()),
        Ok(written) => written,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
        Err(error) => return Err(error),
    };
    activity.set_stalled(true);
    tokio::select! {
        written = timeout(activity.times().write_stall, stream.write_all(&octets[written..])) => written.map_err(io::Error::from)??,
        () = activity.place().sent_out() => return Err(io::Error::other("it made room for another one of its network")),
    }
    activity.set_stalled(false);
    Ok(())
}

impl Headers for [httparse::Header<'_>] {
    fn each<'h>(&'h self, take: &mut dyn FnMut(&'h str, &'h [u8])) {
        for header in self {
            take(header.name, header.value);
        }
    }
}

fn front(unread: &[u8], sendsms: &SendSms, queue: &MessageQueue, (from, turn): (IpAddr, GuessTurn)) -> Front {
    if unread.is_empty() {
        return Front::Part;
    }
    let part = || if unread.len() < REQUEST_OCTETS_MAX { Front::Part } else { Front::Other };
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let head = match request.parse(unread) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) => return part(),
        Err(_) => return Front::Other,
    };
    let (Some(method), Some(target), Some(1)) = (request.method, request.path, request.version) else {
        return Front::Other;
    };
    let is_post = method == "POST";
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if path != PATH || !(is_post || method == "GET") {
        return Front::Other;
    }
    let Some(framing) = Framing::of(request.headers) else { return Front::Other };
    let octets = head + framing.body_octets;
    if octets > REQUEST_OCTETS_MAX {
        return Front::Other;
    }
    let Some(body) = unread.get(head..octets) else { return Front::Part };
    let request = SendSmsRequest { is_post, query: query.as_bytes(), headers: &*request.headers, body, from };
    match sendsms.take(&request, queue, turn) {
        Taken::Waits(wait, turn) => Front::Waits(wait, turn),
        Taken::Answer(step) => Front::Taken(TakenRequest { step, octets, is_post, closes: framing.closes }),
    }
}

/// Length of a request's body, whether its Host is valid, and whether the connection ends with it.
struct Framing {
    body_octets: usize,
    closes: bool,
}

impl Framing {
    /// Nothing if a header requires more than the fast path does.
    fn of(headers: &[httparse::Header<'_>]) -> Option<Framing> {
        let (mut body_octets, mut closes, mut has_host) = (None, false, false);
        for header in headers {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            match header.name.len() {
                14 if is("content-length") => {
                    let digits = header.value.iter().all(u8::is_ascii_digit);
                    let value = std::str::from_utf8(header.value).ok().filter(|_| digits)?;
                    if body_octets.replace(value.parse().ok()?).is_some() {
                        return None;
                    }
                }
                10 if is("connection") => match header.value {
                    b"close" => closes = true,
                    value if value.eq_ignore_ascii_case(b"keep-alive") => {}
                    _ => return None,
                },
                // Another one, or one that is none, is refused there.
                4 if is("host") => {
                    if has_host || !is_host(header.value) {
                        return None;
                    }
                    has_host = true;
                }
                17 if is("transfer-encoding") => return None,
                16 if is("content-encoding") => return None,
                6 if is("expect") => return None,
                7 if is("upgrade") => return None,
                _ => {}
            }
        }
        has_host.then_some(Framing { body_octets: body_octets.unwrap_or(0), closes })
    }
}

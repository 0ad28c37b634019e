//! The client: the production session machine over a socket, driven as the gateways drive it.

use super::Amount;
use super::generator::GeneratorResult;
use super::record::{NumberedMessage, SOURCE};
use net::{Cores, Link, Worker, connect, drive};
use smpp::Status;
use smpp::pdu::{Address, Bind, BindMode, SubmitSm};
use smpp::session::{Config, Event, Reason, Role, Session};
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

/// Connecting and binding take at most so long.
const CONNECT_MAX: Duration = Duration::from_secs(30);

/// How the client is run.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub(super) address: String,
    pub(super) system_id: String,
    pub(super) password: String,
    pub(super) connections: usize,
    /// Of each connection.
    pub(super) window: usize,
    /// Over all connections.
    pub(super) amount: Amount,
    /// Ids are the messages' own: the server is our bare sink.
    pub(super) echoes: bool,
    /// A time stamp just before every submission is kept.
    pub(super) stamps: bool,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) seen: GeneratorResult,
    /// Just before every submission, of each connection.
    pub(super) stamps: Vec<Vec<Instant>>,
}

/// Binds all connections, then submits over them. `begun` is called between the two.
///
/// # Errors
/// A connection that does not come up, or ends before all is answered.
pub(super) async fn run(load: &Load, begun: impl FnOnce()) -> Result<Run, String> {
    let cores = Cores::one_per_core().map_err(|error| format!("no threads for connections: {error}"))?;
    let (start, started) = watch::channel(None);
    let (tell, mut told) = mpsc::channel(1);
    let clients = (0..load.connections).map(|place| {
        let client = SubmitWorker::new(load, place as u64, started.clone(), tell.clone());
        cores.spawn_on(place, client.run(load.clone()))
    });
    let clients: Vec<_> = clients.collect();
    drop(tell);
    // Nothing is ever said: each drops its end once it is bound, or has failed, whose words are found below.
    let _ = tokio::time::timeout(CONNECT_MAX, told.recv()).await;
    begun();
    start.send_replace(Some(Instant::now()));
    let (mut seen, mut stamps) = (GeneratorResult::new(), Vec::new());
    for client in clients {
        let (one, own) = client.await.map_err(|error| error.to_string())??;
        seen.merge(one);
        stamps.push(own);
    }
    tokio::task::spawn_blocking(move || drop(cores)).await.map_err(|error| error.to_string())?;
    Ok(Run { seen, stamps })
}

/// One connection's worker.
struct SubmitWorker {
    start: watch::Receiver<Option<Instant>>,
    begin: Option<Instant>,
    tell: Option<mpsc::Sender<()>>,
    time: Option<Duration>,
    bound: bool,
    next: u64,
    end: u64,
    in_flight: u64,
    echoes: bool,
    words: NumberedMessage,
    stamps: Option<Vec<Instant>>,
    seen: GeneratorResult,
    trouble: Option<String>,
    over: bool,
}

impl SubmitWorker {
    fn new(
        load: &Load,
        place: u64,
        start: watch::Receiver<Option<Instant>>,
        tell: mpsc::Sender<()>,
    ) -> SubmitWorker {
        let (next, end) = load.amount.numbers(place, load.connections as u64);
        SubmitWorker {
            start,
            begin: None,
            tell: Some(tell),
            time: load.amount.time(),
            bound: false,
            next,
            end,
            in_flight: 0,
            echoes: load.echoes,
            words: NumberedMessage::new(next),
            stamps: load.stamps.then(Vec::new),
            seen: GeneratorResult::new(),
            trouble: None,
            over: false,
        }
    }

    async fn run(mut self, load: Load) -> Result<(GeneratorResult, Vec<Instant>), String> {
        let describe = |why: String| format!("the SMSC at {}: {why}", load.address);
        let stream = connect(&load.address, None, CONNECT_MAX).await.map_err(|error| error.to_string())?;
        let now = Instant::now();
        let mut session = Session::new(Role::Esme, Config { window: load.window, ..Config::default() }, now);
        let bind = Bind {
            mode: BindMode::Transceiver,
            system_id: load.system_id.as_bytes(),
            password: load.password.as_bytes(),
            ..Bind::default()
        };
        session.bind(&bind, now).map_err(|error| describe(error.to_string()))?;
        let end = drive(&mut Link::new(stream), &mut session, &mut self).await;
        match self.trouble {
            Some(trouble) => Err(describe(trouble)),
            None if !self.over => Err(describe(format!("the session ended too early: {end:?}"))),
            None => Ok((self.seen, self.stamps.unwrap_or_default())),
        }
    }

    fn submit(&mut self, session: &mut Session, now: Instant) {
        let free = (session.free_slots() as u64).min(self.end - self.next);
        for _ in 0..free {
            self.words.say(self.next);
            let submit = SubmitSm {
                source: Address::alphanumeric(SOURCE.as_bytes()),
                destination: Address::international(&self.words.address),
                short_message: &self.words.text,
                ..SubmitSm::default()
            };
            if let Some(stamps) = &mut self.stamps {
                stamps.push(Instant::now());
            }
            if let Err(error) = session.submit(&submit, self.next, now) {
                self.trouble = Some(format!("a submission was not taken: {error}"));
                return;
            }
            self.next += 1;
            self.in_flight += 1;
        }
    }

    fn is_sent(&self, now: Instant) -> bool {
        let is_late = |begin: Instant| self.time.is_some_and(|time| now >= begin + time);
        self.next == self.end || self.begin.is_some_and(is_late)
    }
}

impl Worker<Session> for SubmitWorker {
    fn handle(&mut self, event: Event<'_>, now: Instant) {
        match event {
            Event::Bound { .. } => {
                self.bound = true;
                self.tell = None;
            }
            Event::Response(response) => {
                self.in_flight -= 1;
                self.seen.times.add(response.waited.as_nanos() as u64);
                if response.status != Status::ROK {
                    self.seen.refused += 1;
                    return;
                }
                self.words.say(response.token);
                let is_own = !self.echoes || response.message_id == self.words.id();
                if response.message_id.is_empty() || !is_own {
                    self.seen.mismatches += 1;
                    return;
                }
                self.seen.sums.add(response.token);
                if let (0, Some(begin)) = (self.in_flight, self.begin) {
                    self.seen.took = now.saturating_duration_since(begin);
                }
            }
            Event::BindRefused { status } => self.trouble = Some(format!("the bind was refused: {status}")),
            Event::Unanswered(unanswered) => {
                self.trouble = Some(format!("a submission was not answered: {:?}", unanswered.fate));
            }
            Event::Closed(reason) if reason != Reason::Unbound => {
                self.trouble.get_or_insert_with(|| format!("the session ended: {reason}"));
            }
            _ => {}
        }
    }

    fn fill(&mut self, session: &mut Session, now: Instant, writable: bool) {
        if self.begin.is_none() {
            self.begin = *self.start.borrow_and_update();
        }
        if !self.bound || self.begin.is_none() || self.over {
            return;
        }
        if !self.is_sent(now) {
            if writable {
                self.submit(session, now);
            }
        } else if self.in_flight == 0 {
            self.over = true;
            session.unbind(now);
        }
    }

    fn woken(&mut self) -> impl Future<Output = ()> + Send {
        let waits = self.begin.is_none();
        let mut start = self.start.clone();
        async move {
            if !waits || start.wait_for(Option::is_some).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.begin
            .zip(self.time)
            .map(|(begin, time)| begin + time)
            .filter(|_| self.in_flight == 0 && !self.over)
    }

    fn is_finished(&self) -> bool {
        self.trouble.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::sink::Sink;
    use super::*;

    fn load(sink: &Sink, connections: usize, window: usize, amount: Amount) -> Load {
        Load {
            address: sink.address().to_string(),
            system_id: "bench".to_owned(),
            password: "bench".to_owned(),
            connections,
            window,
            amount,
            echoes: true,
            stamps: true,
        }
    }

    #[tokio::test]
    async fn all_messages_are_answered_with_their_own_ids_and_stamped() {
        let sink = Sink::start().unwrap();
        let run = run(&load(&sink, 2, 5, Amount::Of(301)), || ()).await.unwrap();
        assert_eq!((run.seen.sums.count, run.seen.refused, run.seen.mismatches), (301, 0, 0));
        assert_eq!(run.seen.sums.differs(&sink.totals().sums), 0);
        assert_eq!(run.stamps.iter().map(Vec::len).sum::<usize>(), 301);
        assert!(run.stamps.iter().all(|stamps| stamps.is_sorted()));
        assert!(run.seen.took > Duration::ZERO);
    }

    #[tokio::test]
    async fn a_run_by_time_ends_with_everything_answered() {
        let sink = Sink::start().unwrap();
        let amount = Amount::For(Duration::from_millis(50));
        let run = run(&load(&sink, 1, 1, amount), || ()).await.unwrap();
        assert!(run.seen.sums.count > 0 && run.seen.took >= Duration::from_millis(40), "{:?}", run.seen.took);
        assert_eq!(run.seen.sums.differs(&sink.totals().sums), 0);
    }

    #[tokio::test]
    async fn nobody_there_is_told() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let sink = Sink::start().unwrap();
        let load = Load { address: address.clone(), ..load(&sink, 1, 1, Amount::Of(1)) };
        let error = run(&load, || ()).await.unwrap_err();
        assert!(error.contains(&address), "{error}");
    }
}

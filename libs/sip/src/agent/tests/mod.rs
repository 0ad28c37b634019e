//! User agents on a virtual wire: stories of single calls by hand, and storms from a seed.

mod calls;
mod challenges;
mod offers;
mod others;
mod raw;
mod storm;
mod timers;

use super::*;
use crate::message::{HeaderName, PartyAddress, SipMessage};
use crate::uri::{HostPort, Uri};
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

/// A generator of numbers for tests.
pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// So many times of 100.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What the wire does to datagrams.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Weather {
    pub seed: u64,
    /// Of 100 datagrams.
    pub lost: u64,
    pub repeated: u64,
    /// Each is delayed by up to so many milliseconds, so that they overtake each other.
    pub delay_ms: u64,
}

/// Agents by their address, and datagrams on their way.
pub(super) struct Wire {
    pub agents: Vec<UserAgent>,
    pub now: Instant,
    pub events: Vec<Vec<AgentEvent>>,
    /// First lines of all that was sent: sender and line.
    pub log: Vec<(usize, String)>,
    /// The whole messages, as the log.
    pub sent: Vec<String>,
    weather: Weather,
    random: Random,
    by_address: HashMap<SocketAddr, usize>,
    on_their_way: BTreeMap<(Instant, u64), (usize, SipFlow, Vec<u8>)>,
    count: u64,
    /// Messages whose first line begins so are lost: how many still.
    pub drops: Vec<(usize, &'static str, usize)>,
}

pub(super) fn address(index: usize) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1 + index as u8], 5060))
}

pub(super) fn config(index: usize) -> UserAgentConfig {
    let here = HostPort::new(&address(index).ip().to_string(), Some(5060)).unwrap();
    let addresses = SipAddresses { udp: Some(here.clone()), tcp: Some(here.clone()), tls: Some(here) };
    let mut config = UserAgentConfig::new([index as u8 + 1; 32], addresses);
    config.contact_user = format!("agent{index}");
    config
}

pub(super) fn flow(index: usize) -> SipFlow {
    SipFlow { transport: SipTransport::Udp, remote: address(index) }
}

pub(super) fn uri(text: &str) -> Uri {
    Uri::parse(text).unwrap()
}

/// A call to the agent with this index.
pub(super) fn order(to: usize) -> OutgoingCall {
    let from = PartyAddress::named("Town Hall", uri("sip:alerts@192.0.2.1")).unwrap();
    let mut order = OutgoingCall::new(flow(to), uri(&format!("sip:person@{}", address(to).ip())), from);
    order.body = body("offer");
    order
}

/// A description that says a word.
pub(super) fn body(word: &str) -> Option<SipBody> {
    let text = format!("v=0\r\no={word} 1 1 IN IP4 192.0.2.9\r\ns=-\r\nt=0 0\r\n");
    Some(SipBody::new("application/sdp", text.into_bytes()).unwrap())
}

pub(super) fn word(body: &Option<SipBody>) -> String {
    body.as_ref().map(|body| body.sdp().unwrap().origin.username).unwrap_or_default()
}

impl Wire {
    pub(super) fn new(agents: usize) -> Wire {
        Wire::with(agents, Weather::default(), |_, _| {})
    }

    pub(super) fn with(
        agents: usize,
        weather: Weather,
        change: impl Fn(usize, &mut UserAgentConfig),
    ) -> Wire {
        let now = Instant::now();
        let agent = |index| {
            let mut config = config(index);
            change(index, &mut config);
            UserAgent::new(config, now)
        };
        Wire {
            agents: (0..agents).map(agent).collect(),
            now,
            events: vec![Vec::new(); agents],
            log: Vec::new(),
            sent: Vec::new(),
            random: Random(weather.seed),
            weather,
            by_address: (0..agents).map(|index| (address(index), index)).collect(),
            on_their_way: BTreeMap::new(),
            count: 0,
            drops: Vec::new(),
        }
    }

    fn collect(&mut self) {
        for index in 0..self.agents.len() {
            while let Some(transmit) = self.agents[index].poll_transmit() {
                let text = String::from_utf8_lossy(&transmit.octets).into_owned();
                let line = text.lines().next().unwrap_or_default().to_owned();
                let dropped = self
                    .drops
                    .iter_mut()
                    .find(|(from, begin, left)| *from == index && *left > 0 && line.starts_with(begin));
                let is_dropped = dropped.map(|(.., left)| *left -= 1).is_some();
                self.log.push((index, line));
                self.sent.push(text);
                if is_dropped || self.random.chance(self.weather.lost) {
                    continue;
                }
                let copies = 1 + u64::from(self.random.chance(self.weather.repeated));
                for _ in 0..copies {
                    let delay = self.random.below(self.weather.delay_ms + 1);
                    self.count += 1;
                    let key = (self.now + Duration::from_millis(delay), self.count);
                    self.on_their_way.insert(key, (index, transmit.flow, transmit.octets.to_vec()));
                }
            }
            while let Some(event) = self.agents[index].poll_event() {
                self.events[index].push(event);
            }
        }
    }

    /// Moves to the next thing that happens, at most to `until`: whether there is one.
    pub(super) fn step(&mut self, until: Instant) -> bool {
        self.collect();
        let arrival = self.on_their_way.keys().next().map(|(at, _)| *at);
        let timeout = self.agents.iter().filter_map(UserAgent::poll_timeout).min();
        let Some(next) = arrival.into_iter().chain(timeout).min().filter(|at| *at <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        self.now = self.now.max(next);
        if arrival.is_some_and(|at| at <= self.now) {
            let (_, (from, flow, octets)) = self.on_their_way.pop_first().unwrap();
            if let Some(&to) = self.by_address.get(&flow.remote) {
                let source = SipFlow { transport: flow.transport, remote: address(from) };
                self.agents[to].receive(source, &octets, self.now);
            }
        } else {
            for agent in &mut self.agents {
                agent.handle_timeout(self.now);
            }
        }
        self.collect();
        true
    }

    /// Lets everything arrive that is on its way now.
    pub(super) fn settle(&mut self) {
        self.pass_ms(0);
    }

    pub(super) fn pass_ms(&mut self, ms: u64) {
        let until = self.now + Duration::from_millis(ms);
        let mut left = 100_000;
        while self.step(until) {
            left -= 1;
            assert!(left > 0, "{:?}: the agents never rest", self.weather);
        }
    }

    pub(super) fn pass(&mut self, seconds: u64) {
        self.pass_ms(seconds * 1_000);
    }

    pub(super) fn invite(&mut self, order: OutgoingCall) -> CallHandle {
        let call = self.agents[0].invite(order, self.now).unwrap();
        self.settle();
        call
    }

    /// The newest call that came to an agent.
    pub(super) fn incoming(&self, index: usize) -> (CallHandle, IncomingInvite) {
        let found = self.events[index].iter().rev().find_map(|event| match event {
            AgentEvent::IncomingCall { call, invite } => Some((*call, (**invite).clone())),
            _ => None,
        });
        found.expect("a call came in")
    }

    /// The events of an agent's calls since the last time.
    pub(super) fn take_calls(&mut self, index: usize) -> Vec<CallEvent> {
        self.collect();
        let events = std::mem::take(&mut self.events[index]);
        let of_call = |event| match event {
            AgentEvent::Call { event, .. } => Some(event),
            _ => None,
        };
        events.into_iter().filter_map(of_call).collect()
    }

    /// A call from agent 0 that agent 1 has answered.
    pub(super) fn talking(&mut self) -> (CallHandle, CallHandle) {
        let ours = self.invite(order(1));
        let (theirs, invite) = self.incoming(1);
        assert_eq!(word(&invite.body), "offer");
        self.agents[1].answer(theirs, SipResponse::new(200).with_body(body("answer")), self.now).unwrap();
        self.settle();
        let events = self.take_calls(0);
        let answered = CallEvent::Answered { body: body("answer"), wants_answer: false };
        assert_eq!(events.last(), Some(&answered), "{events:?}");
        assert_eq!(self.take_calls(1), [CallEvent::Acknowledged { body: None }]);
        (ours, theirs)
    }

    /// How often an agent sent a line with this beginning.
    pub(super) fn count(&self, index: usize, begin: &str) -> usize {
        self.log.iter().filter(|(from, line)| *from == index && line.starts_with(begin)).count()
    }

    /// The last message of an agent with this beginning.
    pub(super) fn last(&self, index: usize, begin: &str) -> &str {
        let mut found = self.log.iter().zip(&self.sent).rev();
        found.find(|((from, line), _)| *from == index && line.starts_with(begin)).expect(begin).1
    }

    /// No transaction is left after their times.
    pub(super) fn assert_empty(&mut self) {
        self.pass(70);
        for (index, agent) in self.agents.iter().enumerate() {
            assert_eq!((agent.calls(), agent.transactions()), (0, 0), "agent {index}, {:?}", self.weather);
            assert_eq!(agent.poll_timeout(), None, "agent {index}");
        }
    }
}

/// The value of a header field in a message that was sent.
pub(super) fn header(message: &str, name: HeaderName) -> Option<String> {
    let message = SipMessage::parse(message.as_bytes()).unwrap();
    message.value(name).map(str::to_owned)
}

pub(super) fn refusal(events: &[CallEvent]) -> SipRefusal {
    match events.last() {
        Some(CallEvent::Refused(refusal)) => refusal.clone(),
        other => panic!("not refused: {other:?}"),
    }
}

pub(super) fn ended(events: &[CallEvent]) -> EndedBy {
    match events.last() {
        Some(CallEvent::Ended { by, .. }) => *by,
        other => panic!("not ended: {other:?}"),
    }
}

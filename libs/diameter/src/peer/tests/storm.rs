//! Two nodes that both connect to each other, in bad weather, from a seed: octets arrive in pieces and late,
//! connections are refused, reset and half closed. Whatever happens, each request has one fate; and when the
//! weather clears, both nodes are open on one and the same connection.

use super::pair::{LOCAL, Seen, config, write_answer};
use crate::dictionary::command;
use crate::header::CommandFlags;
use crate::peer::states::Link;
use crate::peer::{
    ALREADY_CONNECTED, Answers, Cause, Connection, ConnectionConfig, Event, Incoming, Order, Outgoing, Peer,
    Random, Start,
};
use crate::write::Writer;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One node's end of a connection.
struct End {
    connection: Option<Connection>,
    /// What is on its way to this end, and when it arrives; nothing is the other's end of file.
    inbox: VecDeque<(Instant, Option<Vec<u8>>)>,
    is_closed: bool,
    /// Requests of the other to answer.
    requests: Vec<u32>,
}

impl End {
    fn new(connection: Option<Connection>) -> End {
        End { connection, inbox: VecDeque::new(), is_closed: false, requests: Vec::new() }
    }
}

struct Node {
    config: Arc<ConnectionConfig>,
    peer: Peer,
    /// When an attempt to connect comes to its end.
    connecting: Option<Instant>,
    tokens: u64,
    fates: BTreeMap<u64, u32>,
}

struct VirtualWire {
    seed: u64,
    random: Random,
    now: Instant,
    nodes: [Node; 2],
    /// Each connection: the end of who began it, and whose that is.
    links: BTreeMap<Link, ([End; 2], usize)>,
    next_link: u64,
    is_bad: bool,
}

impl VirtualWire {
    fn new(seed: u64) -> VirtualWire {
        let mut random = Random::new(seed);
        let mut node = |ours: &str, theirs: &str| {
            let mut config = config(ours);
            config.tc = Duration::from_secs(3);
            config.tw = Duration::from_secs(6);
            let config = Arc::new(config);
            let peer = Peer::new(config.clone(), theirs, random.next_u64());
            Node { config, peer, connecting: None, tokens: 0, fates: BTreeMap::new() }
        };
        let nodes = [node("a.example", "b.example"), node("B.example", "A.example")];
        let (now, links) = (Instant::now(), BTreeMap::new());
        VirtualWire { seed, random, now, nodes, links, next_link: 0, is_bad: true }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn orders(&mut self, side: usize) {
        while let Some(order) = self.nodes[side].peer.poll_order() {
            match order {
                Order::Connect => {
                    let wait = Duration::from_millis(self.below(80));
                    self.nodes[side].connecting = Some(self.now + wait);
                }
                Order::GiveUpConnecting => self.nodes[side].connecting = None,
                Order::Begin(link) => {
                    let seed = self.random.next_u64();
                    let node = &self.nodes[side];
                    let watchdog = Some(node.peer.watchdog().clone());
                    let start = Start { local: LOCAL, is_secured: false, watchdog, seed };
                    let host = if side == 0 { "b.example" } else { "a.example" };
                    let connection = Connection::connecting(node.config.clone(), start, Some(host), self.now);
                    self.end(link, side).connection = Some(connection);
                }
                Order::Accept(link) => self.with(link, side, |connection, now| connection.accept(now)),
                Order::Refuse(link) => self.with(link, side, |connection, now| {
                    let (code, text) = ALREADY_CONNECTED;
                    connection.refuse(code, text, now);
                }),
                Order::Abort(link) => {
                    self.with(link, side, |connection, now| connection.abort(now));
                    if self.end(link, side).connection.is_none() {
                        self.close(link, side);
                    }
                }
                Order::Disconnect(link, cause) => {
                    self.with(link, side, |connection, now| connection.disconnect(cause, now));
                }
                Order::Restarted { .. } => panic!("{}: nobody restarted", self.seed),
            }
        }
    }

    /// A side's end of a connection.
    fn end(&mut self, link: Link, side: usize) -> &mut End {
        let (ends, begun_by) = self.links.get_mut(&link).expect("the link is there");
        &mut ends[usize::from(*begun_by != side)]
    }

    fn with(&mut self, link: Link, side: usize, act: impl FnOnce(&mut Connection, Instant)) {
        let now = self.now;
        if let Some(connection) = &mut self.end(link, side).connection {
            act(connection, now);
        }
    }

    /// This side closes: the other will see it.
    fn close(&mut self, link: Link, side: usize) {
        let at = self.now + Duration::from_millis(self.below(40));
        if !std::mem::replace(&mut self.end(link, side).is_closed, true) {
            let inbox = &mut self.end(link, 1 - side).inbox;
            let at = inbox.back().map_or(at, |(last, _)| at.max(*last));
            inbox.push_back((at, None));
        }
    }

    fn attempts(&mut self) {
        for side in 0..2 {
            if self.nodes[side].connecting.is_some_and(|at| at <= self.now) {
                self.nodes[side].connecting = None;
                if self.is_bad && self.below(4) == 0 {
                    self.nodes[side].peer.not_connected(self.now);
                    continue;
                }
                self.next_link += 1;
                let link = Link(self.next_link);
                let seed = self.random.next_u64();
                let start = Start { local: LOCAL, is_secured: false, watchdog: None, seed };
                let other = self.nodes[1 - side].config.clone();
                let listening = Connection::listening(other, start, self.now);
                self.links.insert(link, ([End::new(None), End::new(Some(listening))], side));
                self.nodes[side].peer.connected(link, self.now);
            }
        }
    }

    /// What arrived, what is due, what happened, at one end.
    fn run_end(&mut self, link: Link, side: usize) {
        let now = self.now;
        let end = self.end(link, side);
        let Some(mut connection) = end.connection.take() else {
            return;
        };
        let mut seen = Vec::new();
        while let Some((_, piece)) = end.inbox.pop_front_if(|(at, _)| *at <= now) {
            match piece {
                Some(piece) => {
                    connection.handle_input(
                        &piece,
                        now,
                        &mut |incoming, _: &mut Answers<'_>| match incoming {
                            Incoming::Request(message) => end.requests.push(message.header.hop_by_hop),
                            Incoming::Answer { pending, .. } => seen.push(Seen::Answer(pending.token)),
                        },
                    );
                }
                None => connection.handle_eof(now),
            }
        }
        connection.handle_timeout(now);
        seen.extend(std::iter::from_fn(|| connection.poll_event()).map(Seen::Event));
        for seen in seen {
            self.tell(link, side, seen, &connection);
        }
        self.work(link, side, &mut connection);
        self.transmit(link, side, &mut connection);
        if connection.is_over() {
            self.close(link, side);
        } else {
            self.end(link, side).connection = Some(connection);
        }
    }

    fn tell(&mut self, link: Link, side: usize, seen: Seen, connection: &Connection) {
        let (seed, now, node) = (self.seed, self.now, &mut self.nodes[side]);
        match seen {
            Seen::Answer(token) => *node.fates.entry(token).or_default() += 1,
            Seen::Event(Event::Unanswered(unanswered)) => {
                *node.fates.entry(unanswered.token).or_default() += 1;
            }
            Seen::Event(Event::Asked(capabilities)) => node.peer.asked(link, &capabilities, now),
            Seen::Event(Event::Opened(capabilities)) => node.peer.opened(link, &capabilities, now),
            Seen::Event(Event::Leaving(_)) => node.peer.leaving(link, now),
            Seen::Event(Event::Ended(end)) => {
                assert_eq!((connection.in_flight(), connection.owed()), (0, 0), "{seed}");
                node.peer.ended(link, end, connection.watchdog(), now);
            }
            Seen::Event(Event::Suspended | Event::Resumed) => {}
            Seen::Event(Event::Restarted { .. }) | Seen::Request(..) => panic!("{seed}: {seen:?}"),
        }
    }

    /// Asks now and then, and answers most of what was asked.
    fn work(&mut self, link: Link, side: usize, connection: &mut Connection) {
        let now = self.now;
        for hop_by_hop in std::mem::take(&mut self.end(link, side).requests) {
            if !self.is_bad || self.below(10) > 0 {
                let _ = connection.answer(1, now, |out| write_answer(out, hop_by_hop));
            }
        }
        if connection.is_usable() && self.below(3) == 0 {
            let node = &mut self.nodes[side];
            let (token, code) = (node.tokens, command::CREDIT_CONTROL);
            let timeout = Duration::from_secs(2);
            let outgoing = Outgoing { token, command: code, timeout, end_to_end: token as u32 };
            let asked = connection.request(outgoing, now, |out, hop_by_hop| {
                Writer::request(out, code, 4, CommandFlags(0), hop_by_hop, token as u32).finish();
            });
            node.tokens += u64::from(asked.is_ok());
        }
    }

    fn transmit(&mut self, link: Link, side: usize, connection: &mut Connection) {
        let mut out = Vec::new();
        while connection.poll_transmit(&mut out) > 0 {}
        let mut rest = &out[..];
        while !rest.is_empty() && !self.end(link, side).is_closed {
            let size = if self.below(4) == 0 { 1 } else { 1 + self.below(rest.len() as u64) as usize };
            let at = self.now + Duration::from_millis(self.below(30));
            let inbox = &mut self.end(link, 1 - side).inbox;
            let at = inbox.back().map_or(at, |(last, _)| at.max(*last));
            inbox.push_back((at, Some(rest[..size].to_vec())));
            rest = &rest[size..];
        }
    }

    fn step(&mut self) {
        self.now += Duration::from_millis(if self.is_bad { 10 } else { 100 });
        self.attempts();
        for side in 0..2 {
            self.nodes[side].peer.handle_timeout(self.now);
            self.orders(side);
            for link in self.links.keys().copied().collect::<Vec<_>>() {
                self.run_end(link, side);
            }
            self.orders(side);
        }
        if self.is_bad && self.below(60) == 0 {
            self.reset_one();
        }
        if self.is_bad && self.below(150) == 0 {
            self.stop_or_start();
        }
        self.links.retain(|_, (ends, _)| !ends.iter().all(|end| end.is_closed && end.connection.is_none()));
        assert!(self.links.len() < 20, "{}: connections pile up", self.seed);
    }

    /// A node is told to disconnect, or to connect again.
    fn stop_or_start(&mut self) {
        let (side, now) = (self.below(2) as usize, self.now);
        match self.below(3) {
            0 => self.nodes[side].peer.start(now),
            1 => self.nodes[side].peer.stop(Cause::REBOOTING, now),
            _ => self.nodes[side].peer.stop(Cause::BUSY, now),
        }
    }

    /// A connection is reset: what is on its way is lost for both.
    fn reset_one(&mut self) {
        let links: Vec<_> = self.links.keys().copied().collect();
        if links.is_empty() {
            return;
        }
        let link = links[self.below(links.len() as u64) as usize];
        for side in 0..2 {
            let at = self.now;
            self.end(link, side).inbox = VecDeque::from([(at, None)]);
        }
    }
}

fn play(seed: u64) -> (u64, u64) {
    let mut world = VirtualWire::new(seed);
    let now = world.now;
    world.nodes[0].peer.start(now);
    if !seed.is_multiple_of(3) {
        world.nodes[1].peer.start(now);
    }
    (0..800).for_each(|_| world.step());
    world.is_bad = false;
    // Once all disconnections are over, who was told to stop, or heard BUSY, is told to start.
    (0..300).for_each(|_| world.step());
    let now = world.now;
    world.nodes[0].peer.start(now);
    // Longer than a probing takes, which is two intervals of the watchdog, and what may have to go wrong
    // before it.
    (0..600).for_each(|_| world.step());
    let open = [0, 1].map(|side| world.nodes[side].peer.state().open());
    assert!(open[0].is_some() && open[0] == open[1], "seed {seed}: {open:?}");
    let link = open[0].unwrap();
    for side in 0..2 {
        assert!(world.end(link, side).connection.as_ref().unwrap().is_usable(), "seed {seed}");
    }
    for side in 0..2 {
        // All requests but those under way have exactly one fate.
        let in_flight = world.end(link, side).connection.as_ref().unwrap().in_flight();
        let node = &world.nodes[side];
        assert!(node.fates.values().all(|fates| *fates == 1), "seed {seed}: {:?}", node.fates);
        assert_eq!(node.fates.len() + in_flight, node.tokens as usize, "seed {seed}");
    }
    (world.next_link, world.nodes[0].tokens)
}

#[test]
fn when_the_weather_clears_both_nodes_are_open_on_one_connection_and_every_request_has_one_fate() {
    let (mut links, mut tokens) = (0, 0);
    for seed in cases::seeds(200) {
        let (more_links, more_tokens) = play(seed);
        links += more_links;
        tokens += more_tokens;
    }
    assert!(links > 300 && tokens > 10_000, "the weather was bad: {links} connections, {tokens} requests");
}

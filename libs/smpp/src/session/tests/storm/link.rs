//! One connection: octets arrive in order, in random pieces, after a random delay.

use super::*;
use std::collections::VecDeque;

/// One direction: pieces and when they arrive.
#[derive(Default)]
struct Direction(VecDeque<(Instant, Vec<u8>)>);

impl Direction {
    fn send(&mut self, bytes: &[u8], now: Instant, random: &mut Random) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(1 + random.below(rest.len().min(200)));
            let at = now + Duration::from_millis(random.below(40) as u64);
            let at = self.0.back().map_or(at, |(last, _)| at.max(*last));
            self.0.push_back((at, piece.to_vec()));
            rest = after;
        }
    }

    fn arrived(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.0.front().filter(|(at, _)| *at <= now)?;
        self.0.pop_front().map(|(_, piece)| piece)
    }
}

/// Both machines, and what lies between them.
pub(super) struct Link {
    pub(super) esme: Session,
    pub(super) smsc: Session,
    up: Direction,
    down: Direction,
}

impl Link {
    pub(super) fn connect(now: Instant) -> Link {
        let mut esme = Session::new(Role::Esme, config(), now);
        esme.bind(&Bind { system_id: b"alice", ..Bind::default() }, now).unwrap();
        let smsc = Session::new(Role::Smsc, config(), now);
        Link { esme, smsc, up: Direction::default(), down: Direction::default() }
    }

    pub(super) fn timers(&mut self, now: Instant) {
        for session in [&mut self.esme, &mut self.smsc] {
            if session.poll_timeout().is_some_and(|at| at <= now) {
                session.handle_timeout(now);
            }
        }
    }

    pub(super) fn arrive_up(&mut self, now: Instant) {
        while let Some(piece) = self.up.arrived(now) {
            self.smsc.handle_input(&piece, now);
        }
    }

    pub(super) fn arrive_down(&mut self, now: Instant) {
        while let Some(piece) = self.down.arrived(now) {
            self.esme.handle_input(&piece, now);
        }
    }

    /// Puts both sides' output on the wire, answers to messages now and then twice or not at all; how many
    /// PDUs that was.
    pub(super) fn transmit(&mut self, now: Instant, weather: Weather, random: &mut Random) -> usize {
        let mut pdus = 0;
        for (session, direction) in [(&mut self.esme, &mut self.up), (&mut self.smsc, &mut self.down)] {
            let bytes = output(session);
            let mut rest = &bytes[..];
            while let Ok(Split::Pdu(pdu)) = frame::split(rest, usize::MAX) {
                let command = Header::parse(pdu).unwrap().command;
                let is_answer = matches!(
                    command,
                    Command::SUBMIT_SM_RESP | Command::DELIVER_SM_RESP | Command::QUERY_SM_RESP
                );
                let copies = match is_answer {
                    true if random.chance(weather.lost) => 0,
                    true if random.chance(weather.repeated) => 2,
                    _ => 1,
                };
                (0..copies).for_each(|_| direction.send(pdu, now, random));
                rest = &rest[pdu.len()..];
                pdus += 1;
            }
        }
        pdus
    }

    pub(super) fn is_over(&self) -> bool {
        self.esme.state() == SessionState::Closed || self.smsc.state() == SessionState::Closed
    }

    /// The connection is reset. What is on the wire may arrive before a side sees that, in part.
    pub(super) fn hang_up(&mut self, now: Instant, random: &mut Random) {
        for (session, direction) in [(&mut self.smsc, &mut self.up), (&mut self.esme, &mut self.down)] {
            let pieces = direction.0.len();
            for (_, piece) in direction.0.drain(..).take(random.below(pieces + 1)) {
                session.handle_input(&piece, now);
            }
            session.handle_eof(now);
        }
    }
}

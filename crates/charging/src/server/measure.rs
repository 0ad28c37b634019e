//! A connection, its request dispatcher and one shard, driven by hand without sockets, threads and files: to
//! measure the cost of a request.

use super::answer::Identity;
use super::request_dispatcher::RequestDispatcher;
use super::{ServerConfig, machine};
use diameter::peer::{Connection, Event, Start};
use ledger::shard::{Past, Shard};
use ledger::{Config, HashKey, Ledger, block};
use std::sync::Arc;
use std::time::Instant;

const KEY: HashKey = HashKey([1, 2]);
const LOCAL: [u8; 4] = [127, 0, 0, 1];

/// Blocks that were logged before, by their positions: in tests all, and none where costs are measured.
#[derive(Default)]
struct LoggedBlocks(Vec<(u64, Vec<u8>)>);

impl Past for LoggedBlocks {
    fn read(&self, position: u64, into: &mut Vec<u8>) -> bool {
        into.clear();
        let block = self.0.iter().rev().find(|(begin, _)| *begin <= position);
        let octets = block.and_then(|(begin, octets)| octets.get((position - begin) as usize..));
        into.extend_from_slice(octets.unwrap_or_default());
        !into.is_empty()
    }
}

/// A server of one connection.
pub struct Bench {
    connection: Connection,
    dispatcher: RequestDispatcher,
    ledger: Ledger,
    shard: Shard,
    block: Vec<u8>,
    past: LoggedBlocks,
    position: u64,
    now: Instant,
}

impl Bench {
    /// A server whose only peer, of this name, is let in.
    pub fn open(server: &ServerConfig, peer: &str, config: Config) -> Bench {
        let now = Instant::now();
        let start = |seed| Start { local: LOCAL.into(), is_secured: false, watchdog: None, seed };
        let (mut connection, ledger) =
            (Connection::listening(Arc::new(machine(server)), start(1), now), Ledger::by_hand(KEY));
        let client = machine(&ServerConfig { origin_host: peer.to_owned(), ..server.clone() });
        let mut wire = Vec::new();
        Connection::connecting(Arc::new(client), start(2), None, now).poll_transmit(&mut wire);
        connection.handle_input(&wire, now, &mut |_, _| {});
        while let Some(event) = connection.poll_event() {
            if let Event::Asked(_) = event {
                connection.accept(now);
            }
        }
        wire.clear();
        connection.poll_transmit(&mut wire);
        let identity =
            Arc::new(Identity::new(&server.origin_host, &server.origin_realm, &server.final_units));
        Bench {
            dispatcher: RequestDispatcher::new(ledger.clone(), identity, server.strictness, Arc::default()),
            connection,
            ledger,
            shard: Shard::new(KEY, Arc::new(config)),
            block: Vec::new(),
            past: LoggedBlocks::default(),
            position: 4_096,
            now,
        }
    }

    /// Reads requests, and hands them to the shard.
    #[inline(never)]
    pub fn receive(&mut self, input: &[u8]) {
        let Bench { connection, dispatcher, now, .. } = self;
        connection.handle_input(input, *now, &mut |incoming, answers| dispatcher.take(incoming, answers));
        dispatcher.submit(connection, *now);
    }

    /// Applies what was handed to the shard, in one block of the log. How many octets that has.
    #[inline(never)]
    pub fn apply(&mut self, now_us: u64) -> usize {
        block::begin(&mut self.block);
        self.shard.begin_block(self.position, now_us);
        for (mut batch, to) in self.ledger.submitted() {
            batch.apply(&mut self.shard, now_us, &mut self.block, &self.past);
            to.answered(0, batch);
        }
        block::seal(&mut self.block, self.position, self.position, now_us);
        #[cfg(test)]
        self.past.0.push((self.position, self.block.clone()));
        self.position += self.block.len() as u64;
        self.block.len()
    }

    /// Writes the answers.
    #[inline(never)]
    pub fn answer(&mut self) {
        self.dispatcher.answer(&mut self.connection, self.now);
    }

    /// Of an account: its balance, what is reserved of it, and what was used.
    #[cfg(test)]
    pub(super) fn money(&self, kind: ledger::KeyKind, octets: &[u8]) -> Option<(i64, i64, i64)> {
        let number = self.shard.find(&ledger::PackedKey::new(KEY, kind, octets))?;
        let account = self.shard.account_of(number)?;
        Some((account.posted, account.pending, account.used))
    }

    /// Takes the output for the wire.
    #[inline(never)]
    pub fn transmit(&mut self, output: &mut Vec<u8>) {
        self.connection.poll_transmit(output);
    }
}

//! Pipeline of transactions on an open session: as many in flight as the server's extensions allow.
//!
//! - Without PIPELINING one command at a time.
//! - With PIPELINING (RFC 2920) `MAIL`, `RCPT` and `DATA` go in one group, of which `DATA` is the last; the message
//!   itself is the first of the next group, so one write has a message's content and the next one's envelope. One
//!   message is written per round trip.
//! - With PIPELINING and CHUNKING (RFC 3030), and a window above one, nothing has to wait: `MAIL`, `RCPT`, `BDAT … LAST`
//!   and its octets, then `RSET`, since a server's state after a refused `BDAT` is not defined. As many messages are
//!   under way as the window has places.

use super::Failure;
use super::Timeouts;
use super::outbox::Outbox;
use super::transaction::{Transaction, Verdict};
use crate::content::END_OF_DATA;
use crate::extensions::Extensions;
use crate::reply::{Class, Reply, SERVICE_CLOSING};
use std::collections::VecDeque;
use std::time::Duration;

/// With `DATA`: one message whose end is written, and one envelope behind it.
const DATA_WINDOW: usize = 2;

/// Order of commands and replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Lockstep,
    Groups,
    Chunks,
}

/// A command whose reply is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    Mail,
    Rcpt,
    Data,
    /// The end of data after `DATA`.
    Content,
    Bdat,
    Rset,
}

/// A transaction under way.
#[derive(Debug)]
struct InFlight {
    number: u64,
    transaction: Transaction,
    /// The place behind its end in the octets of the connection, once that is queued.
    end: Option<u64>,
    /// Its verdict was given; replies to what was sent of it are still awaited.
    settled: bool,
}

/// All transactions of a session.
#[derive(Debug)]
pub struct Pipeline {
    style: Style,
    window: usize,
    extensions: Extensions,
    awaited: VecDeque<(Command, u64)>,
    flights: VecDeque<InFlight>,
    next_number: u64,
    /// The last transaction was refused half way: the server may still hold its envelope.
    reset_first: bool,
    /// An envelope is written whose message is not.
    envelope_open: bool,
    /// Verdicts not yet fetched.
    pub verdicts: VecDeque<(u64, Verdict)>,
}

impl Pipeline {
    /// For a server with these extensions; at most `window` transactions under way.
    pub fn new(extensions: Extensions, window: usize) -> Pipeline {
        let style = match (extensions.pipelining, extensions.chunking) {
            (false, _) => Style::Lockstep,
            (true, true) if window > 1 => Style::Chunks,
            (true, _) => Style::Groups,
        };
        let window = match style {
            Style::Lockstep => 1,
            Style::Groups => window.clamp(1, DATA_WINDOW),
            Style::Chunks => window,
        };
        Pipeline {
            style,
            window,
            extensions,
            awaited: VecDeque::new(),
            flights: VecDeque::new(),
            next_number: 0,
            reset_first: false,
            envelope_open: false,
            verdicts: VecDeque::new(),
        }
    }

    /// How many transactions may be handed over now: what is handed over is begun at once.
    pub fn room(&self, out: &Outbox) -> usize {
        let may_begin = match self.style {
            Style::Lockstep => self.awaited.is_empty() && self.flights.is_empty(),
            Style::Groups => !self.envelope_open,
            Style::Chunks => true,
        };
        if !may_begin || !out.has_room() {
            return 0;
        }
        let unsettled = self.flights.iter().filter(|flight| !flight.settled).count();
        let free = self.window.saturating_sub(unsettled);
        if self.style == Style::Chunks { free } else { free.min(1) }
    }

    /// Nothing is under way and no reply is awaited.
    pub fn is_idle(&self) -> bool {
        self.flights.is_empty() && self.awaited.is_empty()
    }

    /// Which command the next reply belongs to, and how long it may take; nothing if none is awaited.
    pub fn awaits(&self, timeouts: &Timeouts) -> Option<(&'static str, Duration)> {
        self.awaited.front().map(|(command, _)| (command.name(), command.timeout(timeouts)))
    }

    /// Takes a transaction and writes what may be written of it. There must be room.
    pub fn submit(&mut self, transaction: Transaction, out: &mut Outbox) {
        match transaction.local_refusal(&self.extensions) {
            Some(verdict) => self.verdicts.push_back((transaction.id, verdict)),
            None => self.begin(transaction, out),
        }
    }

    fn begin(&mut self, transaction: Transaction, out: &mut Outbox) {
        let number = self.next_number;
        self.next_number += 1;
        let reset = std::mem::take(&mut self.reset_first);
        if reset {
            out.push(b"RSET\r\n");
            self.awaited.push_back((Command::Rset, number));
        }
        let extensions = self.extensions;
        out.push_with(|octets| {
            // Without pipelining MAIL waits for RSET's reply.
            if !(reset && self.style == Style::Lockstep) {
                transaction.push_mail(octets, &extensions);
                self.awaited.push_back((Command::Mail, number));
            }
            if self.style != Style::Lockstep {
                transaction.push_rcpt(octets, &extensions);
                self.awaited.push_back((Command::Rcpt, number));
            }
        });
        let mut flight = InFlight { number, transaction, end: None, settled: false };
        match self.style {
            Style::Lockstep => self.envelope_open = true,
            Style::Groups => {
                out.push(b"DATA\r\n");
                self.awaited.push_back((Command::Data, number));
                self.envelope_open = true;
            }
            Style::Chunks => {
                out.push_with(|octets| flight.transaction.push_chunk(octets));
                flight.end = Some(out.end());
                out.push(b"RSET\r\n");
                self.awaited.extend([(Command::Bdat, number), (Command::Rset, number)]);
            }
        }
        self.flights.push_back(flight);
    }

    /// Takes the next reply. An error ends the connection; call [`Pipeline::lost`] then.
    pub fn handle(&mut self, reply: &Reply, out: &mut Outbox) -> Result<(), Failure> {
        let Some((command, number)) = self.awaited.pop_front() else {
            // A server that closes on its own account says so unasked (RFC 5321 §3.8).
            return match reply.code {
                SERVICE_CLOSING => Err(Failure::refused("an idle connection", reply)),
                _ => Err(Failure::unexpected("nothing that was asked", reply)),
            };
        };
        let Some(at) = self.flights.iter().position(|flight| flight.number == number) else {
            // A settled flight's last reply was RSET's or its content's; it left with it.
            return Err(Failure::unexpected(command.name(), reply));
        };
        if reply.code == SERVICE_CLOSING {
            return self.handle_closing(command, at, reply);
        }
        match (command, reply.class()) {
            (Command::Rset, Class::Completion) => self.handle_reset(at, out),
            (Command::Rset, _) => return Err(Failure::unexpected("RSET", reply)),
            (Command::Data, Class::Intermediate) => self.write_content(at, out),
            (Command::Mail, Class::Completion) => self.step(at, Command::Rcpt, out),
            (Command::Rcpt, Class::Completion) => self.step(at, Command::Data, out),
            (Command::Content | Command::Bdat, Class::Completion) => {
                self.settle(at, Verdict::accepted(reply));
                self.finish(command, at);
            }
            (_, Class::Transient | Class::Permanent) => {
                self.settle(at, Verdict::refused(reply));
                self.after_refusal(command, at);
            }
            (_, _) => return Err(Failure::unexpected(command.name(), reply)),
        }
        Ok(())
    }

    /// The server closes the channel with this reply, so nothing behind it was carried out (RFC 5321 §3.8). Before
    /// `RCPT` it says nothing of the recipient.
    fn handle_closing(&mut self, command: Command, at: usize, reply: &Reply) -> Result<(), Failure> {
        if !matches!(command, Command::Mail | Command::Rset) {
            self.settle(at, Verdict::refused(reply));
        }
        Err(Failure::refused(command.name(), reply))
    }

    /// In lockstep: the next command of the same transaction.
    fn step(&mut self, at: usize, command: Command, out: &mut Outbox) {
        if self.style != Style::Lockstep {
            return;
        }
        let (flight, extensions) = (&self.flights[at], &self.extensions);
        match command {
            Command::Mail => out.push_with(|octets| flight.transaction.push_mail(octets, extensions)),
            Command::Rcpt => out.push_with(|octets| flight.transaction.push_rcpt(octets, extensions)),
            _ => out.push(b"DATA\r\n"),
        }
        self.awaited.push_back((command, flight.number));
    }

    fn handle_reset(&mut self, at: usize, out: &mut Outbox) {
        match self.style {
            Style::Lockstep => self.step(at, Command::Mail, out),
            Style::Groups => {}
            Style::Chunks => {
                self.flights.remove(at);
            }
        }
    }

    /// The server is ready for the message. If the recipient was refused, an empty one is owed (RFC 2920 §3.1).
    fn write_content(&mut self, at: usize, out: &mut Outbox) {
        let flight = &mut self.flights[at];
        if flight.settled {
            out.push(END_OF_DATA);
        } else {
            out.push_with(|octets| flight.transaction.push_content(octets));
            flight.end = Some(out.end());
        }
        flight.transaction.message = Vec::new();
        self.awaited.push_back((Command::Content, flight.number));
        self.envelope_open = self.style == Style::Lockstep;
    }

    /// Gives the verdict, unless an earlier reply decided it: `503` after a refused recipient adds nothing.
    fn settle(&mut self, at: usize, verdict: Verdict) {
        let flight = &mut self.flights[at];
        if !flight.settled {
            flight.settled = true;
            self.verdicts.push_back((flight.transaction.id, verdict));
        }
    }

    fn after_refusal(&mut self, command: Command, at: usize) {
        match (command, self.style) {
            (Command::Content | Command::Bdat, _) => self.finish(command, at),
            // In a group the reply to DATA is still to come, and it is the last of this transaction.
            (Command::Mail | Command::Rcpt, Style::Groups | Style::Chunks) => {}
            _ => {
                self.reset_first = true;
                self.envelope_open = false;
                self.flights.remove(at);
            }
        }
    }

    /// The message was taken or refused after its end: the transaction is over on both sides.
    fn finish(&mut self, command: Command, at: usize) {
        if command == Command::Content {
            self.flights.remove(at);
            if self.style == Style::Lockstep {
                self.envelope_open = false;
            }
        }
    }

    /// The connection is gone: every transaction gets its verdict. `written`: the place behind the last octet written.
    /// `closing`: the server said before that it carries nothing more out.
    pub fn lost(&mut self, written: u64, closing: bool, why: &str) {
        for (place, flight) in self.flights.drain(..).filter(|flight| !flight.settled).enumerate() {
            let end_written = flight.end.is_some_and(|end| end <= written);
            let verdict = match end_written && !closing {
                true => Verdict::Unknown { text: why.to_owned() },
                false => Verdict::NotTried { text: why.to_owned(), suspect: place == 0 && !closing },
            };
            self.verdicts.push_back((flight.transaction.id, verdict));
        }
        self.awaited.clear();
    }
}

impl Command {
    fn name(self) -> &'static str {
        match self {
            Command::Mail => "MAIL",
            Command::Rcpt => "RCPT",
            Command::Data => "DATA",
            Command::Content => "the end of data",
            Command::Bdat => "BDAT",
            Command::Rset => "RSET",
        }
    }

    fn timeout(self, timeouts: &Timeouts) -> Duration {
        match self {
            Command::Mail | Command::Rcpt | Command::Rset => timeouts.command,
            Command::Data => timeouts.data,
            Command::Content | Command::Bdat => timeouts.content,
        }
    }
}

//! Pipeline of transactions on an open session: as many in flight as the server's extensions allow.
//!
//! - Without PIPELINING one command at a time.
//! - With PIPELINING (RFC 2920) `MAIL`, `RCPT` and `DATA` go in one group, of which `DATA` is the last; the
//!   message itself is the first of the next group, so one write has a message's content and the next one's
//!   envelope. One message is written per round trip.
//! - With PIPELINING and CHUNKING (RFC 3030), and a window above one, nothing has to wait: `MAIL`, `RCPT`,
//!   `BDAT … LAST` and its octets, then `RSET`, since a server's state after a refused `BDAT` is not defined.
//!   As many messages are under way as the window has places.

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
enum LineStyle {
    Lockstep,
    Groups,
    Chunks,
}

/// A command whose reply is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientCommand {
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
    style: LineStyle,
    window: usize,
    extensions: Extensions,
    awaited: VecDeque<(ClientCommand, u64)>,
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
            (false, _) => LineStyle::Lockstep,
            (true, true) if window > 1 => LineStyle::Chunks,
            (true, _) => LineStyle::Groups,
        };
        let window = match style {
            LineStyle::Lockstep => 1,
            LineStyle::Groups => window.clamp(1, DATA_WINDOW),
            LineStyle::Chunks => window,
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
            LineStyle::Lockstep => self.awaited.is_empty() && self.flights.is_empty(),
            LineStyle::Groups => !self.envelope_open,
            LineStyle::Chunks => true,
        };
        if !may_begin || !out.has_room() {
            return 0;
        }
        let unsettled = self.flights.iter().filter(|flight| !flight.settled).count();
        let free = self.window.saturating_sub(unsettled);
        if self.style == LineStyle::Chunks { free } else { free.min(1) }
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
            self.awaited.push_back((ClientCommand::Rset, number));
        }
        let extensions = self.extensions;
        out.push_with(|octets| {
            // Without pipelining MAIL waits for RSET's reply.
            if !(reset && self.style == LineStyle::Lockstep) {
                transaction.push_mail(octets, &extensions);
                self.awaited.push_back((ClientCommand::Mail, number));
            }
            if self.style != LineStyle::Lockstep {
                transaction.push_rcpt(octets, &extensions);
                self.awaited.push_back((ClientCommand::Rcpt, number));
            }
        });
        let mut flight = InFlight { number, transaction, end: None, settled: false };
        match self.style {
            LineStyle::Lockstep => self.envelope_open = true,
            LineStyle::Groups => {
                out.push(b"DATA\r\n");
                self.awaited.push_back((ClientCommand::Data, number));
                self.envelope_open = true;
            }
            LineStyle::Chunks => {
                out.push_with(|octets| flight.transaction.push_chunk(octets));
                flight.end = Some(out.end());
                out.push(b"RSET\r\n");
                self.awaited.extend([(ClientCommand::Bdat, number), (ClientCommand::Rset, number)]);
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
                _ => Err(Failure::unexpected("no command that was sent", reply)),
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
            (ClientCommand::Rset, Class::Completion) => self.handle_reset(at, out),
            (ClientCommand::Rset, _) => return Err(Failure::unexpected("RSET", reply)),
            (ClientCommand::Data, Class::Intermediate) => self.write_content(at, out),
            (ClientCommand::Mail, Class::Completion) => self.step(at, ClientCommand::Rcpt, out),
            (ClientCommand::Rcpt, Class::Completion) => self.step(at, ClientCommand::Data, out),
            (ClientCommand::Content | ClientCommand::Bdat, Class::Completion) => {
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

    /// The server closes the channel with this reply, so nothing behind it was carried out (RFC 5321 §3.8).
    /// Before `RCPT` it says nothing of the recipient.
    fn handle_closing(&mut self, command: ClientCommand, at: usize, reply: &Reply) -> Result<(), Failure> {
        if !matches!(command, ClientCommand::Mail | ClientCommand::Rset) {
            self.settle(at, Verdict::refused(reply));
        }
        Err(Failure::refused(command.name(), reply))
    }

    /// In lockstep: the next command of the same transaction.
    fn step(&mut self, at: usize, command: ClientCommand, out: &mut Outbox) {
        if self.style != LineStyle::Lockstep {
            return;
        }
        let (flight, extensions) = (&self.flights[at], &self.extensions);
        match command {
            ClientCommand::Mail => out.push_with(|octets| flight.transaction.push_mail(octets, extensions)),
            ClientCommand::Rcpt => out.push_with(|octets| flight.transaction.push_rcpt(octets, extensions)),
            _ => out.push(b"DATA\r\n"),
        }
        self.awaited.push_back((command, flight.number));
    }

    fn handle_reset(&mut self, at: usize, out: &mut Outbox) {
        match self.style {
            LineStyle::Lockstep => self.step(at, ClientCommand::Mail, out),
            LineStyle::Groups => {}
            LineStyle::Chunks => {
                self.flights.remove(at);
            }
        }
    }

    /// The server is ready for the message. If the recipient was refused, an empty one is owed (RFC 2920
    /// §3.1).
    fn write_content(&mut self, at: usize, out: &mut Outbox) {
        let flight = &mut self.flights[at];
        if flight.settled {
            out.push(END_OF_DATA);
        } else {
            out.push_with(|octets| flight.transaction.push_content(octets));
            flight.end = Some(out.end());
        }
        flight.transaction.message = Vec::new();
        self.awaited.push_back((ClientCommand::Content, flight.number));
        self.envelope_open = self.style == LineStyle::Lockstep;
    }

    /// Gives the verdict, unless an earlier reply decided it: `503` after a refused recipient adds nothing.
    fn settle(&mut self, at: usize, verdict: Verdict) {
        let flight = &mut self.flights[at];
        if !flight.settled {
            flight.settled = true;
            self.verdicts.push_back((flight.transaction.id, verdict));
        }
    }

    fn after_refusal(&mut self, command: ClientCommand, at: usize) {
        match (command, self.style) {
            (ClientCommand::Content | ClientCommand::Bdat, _) => self.finish(command, at),
            // In a group the reply to DATA is still to come, and it is the last of this transaction.
            (ClientCommand::Mail | ClientCommand::Rcpt, LineStyle::Groups | LineStyle::Chunks) => {}
            _ => {
                self.reset_first = true;
                self.envelope_open = false;
                self.flights.remove(at);
            }
        }
    }

    /// The message was taken or refused after its end: the transaction is over on both sides.
    fn finish(&mut self, command: ClientCommand, at: usize) {
        if command == ClientCommand::Content {
            self.flights.remove(at);
            if self.style == LineStyle::Lockstep {
                self.envelope_open = false;
            }
        }
    }

    /// The connection is gone: every transaction gets its verdict. `written`: the place behind the last octet
    /// written. `closing`: the server said before that it carries nothing more out.
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

impl ClientCommand {
    fn name(self) -> &'static str {
        match self {
            ClientCommand::Mail => "MAIL",
            ClientCommand::Rcpt => "RCPT",
            ClientCommand::Data => "DATA",
            ClientCommand::Content => "the end of data",
            ClientCommand::Bdat => "BDAT",
            ClientCommand::Rset => "RSET",
        }
    }

    fn timeout(self, timeouts: &Timeouts) -> Duration {
        match self {
            ClientCommand::Mail | ClientCommand::Rcpt | ClientCommand::Rset => timeouts.command,
            ClientCommand::Data => timeouts.data,
            ClientCommand::Content | ClientCommand::Bdat => timeouts.content,
        }
    }
}

//! A bare sink: an SMSC that does as little as can be done. It reads what there is, answers each submit_sm
//! with its sequence, and writes once. The id it gives is the message's own address, so that who submitted
//! can tell whose answer it got.

use super::record::{ID_OCTETS, Sums, number_of};
use crate::deployment::now_us;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// Read in one go.
const READ_OCTETS: usize = 256 * 1024;
/// No PDU that a bench sends is longer.
const PDU_OCTETS_MAX: usize = 64 * 1024;
const HEADER_OCTETS: usize = 16;
const RESPONSE: u32 = 0x8000_0000;
const SUBMIT_SM: u32 = 0x004;
const UNBIND: u32 = 0x006;
const ENQUIRE_LINK: u32 = 0x015;
/// bind_receiver, bind_transmitter, bind_transceiver.
const BINDS: [u32; 3] = [0x001, 0x002, 0x009];
/// Our name, and sc_interface_version 3.4 behind it (3.4 §5.3.2.25).
const BIND_RESP: &[u8] = b"sink\0\x02\x10\x00\x01\x34";

/// What came so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Totals {
    pub(super) sums: Sums,
    /// Address and text say different numbers, or none.
    pub(super) unreadable: u64,
    /// When the last came, microseconds since 1970.
    pub(super) last_us: u64,
}

/// Listens until the process ends; answers on threads of its own.
pub(super) struct Sink {
    address: SocketAddr,
    totals: Arc<Mutex<Totals>>,
}

impl Sink {
    /// # Errors
    /// No port, or no thread.
    pub(super) fn start() -> io::Result<Sink> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let totals = Arc::new(Mutex::new(Totals::default()));
        let all = Arc::clone(&totals);
        std::thread::Builder::new().name("sink".to_owned()).spawn(move || {
            for stream in listener.incoming().flatten() {
                let totals = Arc::clone(&all);
                // Who breaks off is missing in the totals; that is where it is told.
                std::thread::spawn(move || converse(stream, &totals));
            }
        })?;
        Ok(Sink { address, totals })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn totals(&self) -> Totals {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn converse(mut stream: TcpStream, totals: &Mutex<Totals>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut input, mut filled, mut output) = (vec![0; READ_OCTETS], 0, Vec::new());
    loop {
        let read = stream.read(&mut input[filled..])?;
        if read == 0 {
            return Ok(());
        }
        filled += read;
        let mut batch = Totals::default();
        let used = answer(&input[..filled], &mut output, &mut batch)?;
        input.copy_within(used..filled, 0);
        filled -= used;
        if batch != Totals::default() {
            // Before the answers leave: who has all of them finds all of them here.
            let mut all = totals.lock().unwrap_or_else(PoisonError::into_inner);
            all.sums.merge(batch.sums);
            all.unreadable += batch.unreadable;
            all.last_us = now_us();
        }
        stream.write_all(&output)?;
        output.clear();
    }
}

/// Answers all whole PDUs; returns how many octets they were.
fn answer(input: &[u8], output: &mut Vec<u8>, batch: &mut Totals) -> io::Result<usize> {
    let mut used = 0;
    while let Some(header) = input[used..].first_chunk::<HEADER_OCTETS>() {
        let word =
            |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (length, command, sequence) = (word(0) as usize, word(4), word(12));
        if !(HEADER_OCTETS..=PDU_OCTETS_MAX).contains(&length) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "command_length is out of bounds"));
        }
        let Some(pdu) = input[used..].get(..length) else { break };
        used += length;
        match command {
            SUBMIT_SM => {
                let id = match message(&pdu[HEADER_OCTETS..]) {
                    Some((address, text)) => {
                        match number_of(address, text) {
                            Some(number) => batch.sums.add(number),
                            None => batch.unreadable += 1,
                        }
                        id(address)
                    }
                    None => {
                        batch.unreadable += 1;
                        id(b"")
                    }
                };
                respond(command, sequence, &id, output);
            }
            UNBIND | ENQUIRE_LINK => respond(command, sequence, b"", output),
            _ if BINDS.contains(&command) => respond(command, sequence, BIND_RESP, output),
            // Answers to nothing of ours, and what a bench does not send.
            _ => {}
        }
    }
    Ok(used)
}

fn respond(command: u32, sequence: u32, body: &[u8], output: &mut Vec<u8>) {
    let length = (HEADER_OCTETS + body.len()) as u32;
    output.extend_from_slice(&length.to_be_bytes());
    output.extend_from_slice(&(command | RESPONSE).to_be_bytes());
    output.extend_from_slice(&[0; 4]);
    output.extend_from_slice(&sequence.to_be_bytes());
    output.extend_from_slice(body);
}

/// The address, padded, and its end.
fn id(address: &[u8]) -> [u8; ID_OCTETS + 1] {
    let mut id = [b'0'; ID_OCTETS + 1];
    let shown = &address[..address.len().min(ID_OCTETS)];
    id[ID_OCTETS - shown.len()..ID_OCTETS].copy_from_slice(shown);
    id[ID_OCTETS] = 0;
    id
}

/// destination_addr and short_message of a submit_sm's body (3.4 §4.4.1).
fn message(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, rest) = cstring(body)?;
    let (_, rest) = cstring(rest.get(2..)?)?;
    let (address, rest) = cstring(rest.get(2..)?)?;
    // esm_class, protocol_id, priority_flag; two times; registered_delivery to sm_default_msg_id.
    let (_, rest) = cstring(rest.get(3..)?)?;
    let (_, rest) = cstring(rest)?;
    let (&length, text) = rest.get(4..)?.split_first()?;
    Some((address, text.get(..usize::from(length))?))
}

fn cstring(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = octets.iter().position(|octet| *octet == 0)?;
    Some((&octets[..end], &octets[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::super::generator::submit_sm;
    use super::super::record::NumberedMessage;
    use super::*;
    use smpp::Status;
    use smpp::pdu::{Command, Header, Pdu, SubmitSmResp, decode};

    #[test]
    fn each_submission_is_answered_with_its_sequence_and_its_own_address() {
        let (mut input, mut output, mut batch) = (Vec::new(), Vec::new(), Totals::default());
        for sequence in 1..=3 {
            submit_sm(&NumberedMessage::new(u64::from(sequence) * 11), sequence, &mut input);
        }
        let whole = input.len();
        input.extend_from_slice(&[0, 0]);
        assert_eq!(answer(&input, &mut output, &mut batch).unwrap(), whole, "half a PDU waits");
        assert_eq!((batch.sums.count, batch.unreadable), (3, 0));
        let length = output.len() / 3;
        for (place, pdu) in output.chunks(length).enumerate() {
            let header = Header::parse(pdu).unwrap();
            let sequence = place as u32 + 1;
            assert_eq!((header.command, header.status), (Command::SUBMIT_SM_RESP, Status::ROK));
            assert_eq!(header.sequence, sequence);
            let (_, Pdu::SubmitSmResp(SubmitSmResp { message_id, .. })) = decode(pdu).unwrap() else {
                panic!("{pdu:?}")
            };
            assert_eq!(message_id, NumberedMessage::new(u64::from(sequence) * 11).id());
        }
    }

    #[test]
    fn what_is_no_message_of_a_bench_is_counted_and_a_lost_framing_ends() {
        let (mut input, mut output, mut batch) = (Vec::new(), Vec::new(), Totals::default());
        let mut words = NumberedMessage::new(5);
        words.text = NumberedMessage::new(6).text;
        submit_sm(&words, 1, &mut input);
        input.extend_from_slice(&[0, 0, 0, 17, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 2, 9]);
        answer(&input, &mut output, &mut batch).unwrap();
        assert_eq!((batch.sums.count, batch.unreadable), (0, 2));
        for length in [0u32, 15, PDU_OCTETS_MAX as u32 + 1, u32::MAX] {
            let header = [&length.to_be_bytes()[..], &[0; 12]].concat();
            assert!(answer(&header, &mut output, &mut batch).is_err(), "{length}");
        }
    }
}

use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// `bind_receiver`, `bind_transmitter` and so on (SMPP 3.4, section 5.1.2.1).
pub const BIND_RECEIVER: u32 = 1;
/// A submission.
pub const SUBMIT_SM: u32 = 4;
/// A receipt, or a message from a person.
pub const DELIVER_SM: u32 = 5;
/// Both ways.
pub const BIND_TRANSCEIVER: u32 = 9;
/// Are you there?
pub const ENQUIRE_LINK: u32 = 0x15;
/// The bit of a response.
pub const RESPONSE: u32 = 0x8000_0000;

const HEADER_OCTETS: usize = 16;
/// Longer than anything that is sent here.
const LENGTH_MAX: usize = 64 * 1024;
/// An answer takes at most so long.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// A PDU as it is on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pdu {
    /// `command_id`.
    pub command: u32,
    /// `command_status`.
    pub status: u32,
    /// `sequence_number`.
    pub sequence: u32,
    /// What follows the header.
    pub body: Vec<u8>,
}

impl Pdu {
    /// A request.
    pub fn request(command: u32, sequence: u32, body: Vec<u8>) -> Pdu {
        Pdu { command, status: 0, sequence, body }
    }

    /// A bind as this `system_id` with the password `secret`, in version 3.4.
    pub fn bind(command: u32, system_id: &str) -> Pdu {
        let body = [system_id.as_bytes(), b"\0secret\0\0\x34\0\0\0"].concat();
        Pdu::request(command, 1, body)
    }

    /// A submission of a text in the default alphabet, with a receipt.
    pub fn submit(sequence: u32, from: &str, to: &str, text: &str) -> Pdu {
        let mut body = b"\0\x01\x01".to_vec();
        body.extend([from.as_bytes(), b"\0\x01\x01", to.as_bytes(), b"\0\0\0\0\0\0\x01\0\0\0"].concat());
        body.push(text.len() as u8);
        body.extend(text.as_bytes());
        Pdu::request(SUBMIT_SM, sequence, body)
    }

    /// As octets.
    pub fn encode(&self) -> Vec<u8> {
        let length = (HEADER_OCTETS + self.body.len()) as u32;
        let words = [length, self.command, self.status, self.sequence];
        words.into_iter().flat_map(u32::to_be_bytes).chain(self.body.iter().copied()).collect()
    }

    /// The first word of the body up to its NUL: an id, a system's name.
    pub fn word(&self) -> String {
        let end = self.body.iter().position(|octet| *octet == 0).unwrap_or(self.body.len());
        String::from_utf8_lossy(&self.body[..end]).into_owned()
    }

    /// The id that a receipt names in its text (SMPP 3.4, Appendix B).
    pub fn receipted(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.body);
        let (_, rest) = text.split_once("id:")?;
        rest.split(' ').next().map(str::to_owned)
    }
}

/// A connection that speaks SMPP by the octet.
pub struct Wire {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Wire {
    /// Connects to a port of this machine.
    pub async fn connect(port: u16) -> io::Result<Wire> {
        let stream = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).await?;
        stream.set_nodelay(true)?;
        Ok(Wire { stream, unread: Vec::new() })
    }

    /// Connects and binds.
    pub async fn bound(port: u16, command: u32, system_id: &str) -> io::Result<Wire> {
        let mut wire = Wire::connect(port).await?;
        wire.write(&Pdu::bind(command, system_id).encode()).await?;
        let answer = wire.next().await?;
        if answer.command != command | RESPONSE || answer.status != 0 {
            return Err(io::Error::other(format!("not bound: {answer:?}")));
        }
        Ok(wire)
    }

    /// Writes octets as they are.
    pub async fn write(&mut self, octets: &[u8]) -> io::Result<()> {
        self.stream.write_all(octets).await
    }

    /// The next PDU; the connection's end is an error, and so is nothing in 20 s.
    pub async fn next(&mut self) -> io::Result<Pdu> {
        let reading = async {
            loop {
                if let Some(pdu) = self.take() {
                    return Ok(pdu);
                }
                if self.stream.read_buf(&mut self.unread).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        };
        match tokio::time::timeout(ANSWER_MAX, reading).await {
            Ok(result) => result,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// A PDU that is here already.
    fn take(&mut self) -> Option<Pdu> {
        let word = |at: usize| {
            let octets = self.unread.get(at..at + 4)?;
            Some(u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]]))
        };
        let length = word(0)? as usize;
        assert!((HEADER_OCTETS..=LENGTH_MAX).contains(&length), "a PDU of {length} octets");
        let (command, status, sequence) = (word(4)?, word(8)?, word(12)?);
        if self.unread.len() < length {
            return None;
        }
        let body = self.unread[HEADER_OCTETS..length].to_vec();
        self.unread.drain(..length);
        Some(Pdu { command, status, sequence, body })
    }

    /// Reads whatever comes until the connection ends; the PDUs that came.
    pub async fn until_the_end(&mut self) -> Vec<Pdu> {
        let mut heard = Vec::new();
        while let Ok(pdu) = self.next().await {
            heard.push(pdu);
        }
        heard
    }
}

//! A small server for tests: it does what the recipient's name says, and remembers what it took and refused.

use std::collections::BTreeMap;

/// What the server did with a message, by the number in its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Did {
    Took,
    Refused,
}

#[derive(Debug, Default)]
pub struct Model {
    pub chunking: bool,
    pub pipelining: bool,
    /// Offered until used, and required before mail.
    pub start_tls: bool,
    /// `\0name\0password`, required before mail.
    pub credentials: Option<String>,
    /// By recipient's local part.
    pub did: BTreeMap<String, Did>,
    /// What was taken, in order: envelope sender, recipient, message.
    pub mails: Vec<(String, String, Vec<u8>)>,
    /// The client waits for TLS.
    pub securing: bool,
    sender: String,
    data: Vec<u8>,
    input: Vec<u8>,
    pub output: Vec<u8>,
    recipient: Option<String>,
    in_mail: bool,
    in_data: bool,
    pub closed: bool,
}

impl Model {
    pub fn new(pipelining: bool, chunking: bool) -> Model {
        let mut model = Model { pipelining, chunking, ..Model::default() };
        model.reply("220 model");
        model
    }

    pub fn receive(&mut self, octets: &[u8]) {
        self.input.extend_from_slice(octets);
        while !self.closed && !self.securing {
            let taken = if self.in_data { self.content() } else { self.command() };
            if !taken {
                return;
            }
        }
    }

    fn reply(&mut self, reply: &str) {
        self.output.extend_from_slice(reply.as_bytes());
        self.output.extend_from_slice(b"\r\n");
    }

    fn content(&mut self) -> bool {
        let whole: Vec<u8> = [b"\r\n", self.input.as_slice()].concat();
        let Some(at) = whole.windows(5).position(|window| window == b"\r\n.\r\n") else { return false };
        self.input = whole[at + 5..].to_vec();
        let stuffed = String::from_utf8_lossy(&whole[..at + 2]).replace("\r\n.", "\r\n");
        self.data = stuffed.as_bytes()[2..].to_vec();
        self.in_data = false;
        self.end_of_message();
        true
    }

    fn end_of_message(&mut self) {
        self.in_mail = false;
        match self.recipient.take() {
            Some(name) if name.starts_with("dot") => {
                self.did.insert(name, Did::Refused);
                self.reply("554 5.6.0 not this");
            }
            Some(name) if name.starts_with("close") => {
                self.did.insert(name, Did::Refused);
                self.reply("421 4.3.2 closing");
                self.closed = true;
            }
            // It takes the mail, and goes away without a word.
            Some(name) if name.starts_with("silent") => {
                self.did.insert(name, Did::Took);
                self.closed = true;
            }
            Some(name) => {
                self.did.insert(name.clone(), Did::Took);
                self.mails.push((self.sender.clone(), name.clone(), std::mem::take(&mut self.data)));
                self.reply(&format!("250 2.0.0 queued as {name}"));
            }
            None => self.reply("554 5.5.1 no valid recipients"),
        }
    }

    fn command(&mut self) -> bool {
        let Some(at) = self.input.windows(2).position(|window| window == b"\r\n") else { return false };
        let line = String::from_utf8(self.input[..at].to_vec()).unwrap();
        if let Some(size) = line.strip_prefix("BDAT ") {
            let size: usize = size.strip_suffix(" LAST").unwrap().parse().unwrap();
            if self.input.len() < at + 2 + size {
                return false;
            }
            self.data = self.input[at + 2..at + 2 + size].to_vec();
            self.input.drain(..at + 2 + size);
            match self.recipient.is_some() {
                true => self.end_of_message(),
                false => self.reply("503 5.5.1 no recipients"),
            }
            return true;
        }
        self.input.drain(..at + 2);
        self.obey(&line);
        true
    }

    fn obey(&mut self, line: &str) {
        match line.split([' ', ':']).next().unwrap_or_default() {
            "EHLO" => {
                let pipelining = if self.pipelining { "\r\n250-PIPELINING" } else { "" };
                let chunking = if self.chunking { "\r\n250-CHUNKING" } else { "" };
                let start_tls = if self.start_tls { "\r\n250-STARTTLS" } else { "" };
                let auth = if self.credentials.is_some() { "\r\n250-AUTH PLAIN" } else { "" };
                self.reply(&format!("250-model{pipelining}{chunking}{start_tls}{auth}\r\n250 HELP"));
            }
            "STARTTLS" if self.start_tls => {
                (self.start_tls, self.securing) = (false, true);
                self.reply("220 go");
            }
            "AUTH" => {
                let given = line.rsplit(' ').next().unwrap_or_default();
                let wanted = self.credentials.take().unwrap_or_default();
                let right =
                    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &wanted) == given;
                self.reply(if right { "235 welcome" } else { "535 5.7.8 wrong" });
            }
            "MAIL" if self.start_tls || self.credentials.is_some() => self.reply("530 5.7.0 not so fast"),
            "MAIL" if self.in_mail => self.reply("503 5.5.1 nested MAIL"),
            "MAIL" => {
                self.in_mail = true;
                self.sender = line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
                self.reply("250 ok");
            }
            "RCPT" => {
                let name = line.split(['<', '@']).nth(1).unwrap().to_owned();
                if name.starts_with("rcpt") {
                    self.did.insert(name, Did::Refused);
                    self.reply("550 5.1.1 unknown");
                } else if name.starts_with("grey") {
                    self.did.insert(name, Did::Refused);
                    self.reply("451 4.7.1 greylisted, come again");
                } else if name.starts_with("drop") {
                    self.closed = true;
                } else {
                    self.recipient = Some(name);
                    self.reply("250 ok");
                }
            }
            "DATA" => match self.recipient.as_deref() {
                // Half of the servers ask for a message that has no recipient.
                None if self.did.len().is_multiple_of(2) => self.reply("503 5.5.1 no recipients"),
                Some(name) if name.starts_with("data") => {
                    self.did.insert(name.to_owned(), Did::Refused);
                    self.reply("451 4.3.0 not now");
                }
                _ => {
                    self.in_data = true;
                    self.reply("354 go");
                }
            },
            "RSET" => {
                (self.in_mail, self.recipient) = (false, None);
                self.reply("250 ok");
            }
            "QUIT" => {
                self.reply("221 bye");
                self.closed = true;
            }
            other => panic!("the client said {other:?}"),
        }
    }
}

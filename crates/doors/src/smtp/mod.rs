//! SMTP door: takes replies and bounces to the mails that went out, and nothing else.
//!
//! Its addresses are `answers+TAG@domain` and `bounces+TAG@domain`; the tag names a delivery, and a
//! [`TagReader`] finds it. The outcome of a mail is on the bus before the client gets `250`. Nothing is
//! relayed, nothing is stored. Words of a mail are a person's where its tag is of a mail to that person, or
//! where a relay of ours notes that DMARC passed; else they are handed on as unproven. Such a relay may also
//! hand over mail to `answers@domain`, without a tag. `postmaster` is taken as RFC 5321 asks (section
//! 4.5.1), and what comes there is a line of the log. The protocol is the server machine of `libs/smtp`; it
//! offers STARTTLS where there is a certificate.
//!
//! ```text
//! tag            tagged addresses: the machine's recipient policy
//! read           a mail as an answer, a report, or nothing
//! inbound_mail   appends outcomes, counts them
//! serve          sockets
//! ```

mod inbound_mail;
mod read;
mod serve;
mod tag;
#[cfg(test)]
mod tests;

pub use serve::{SmtpError, SmtpRunning, serve};
pub use tag::{TagKind, TagReader};

use crate::Gatekeeper;
use bus::Bus;
use engine::Clock;
use net::{AllowedIp, Cores, DoorLimits, TlsServerSettings};
use records::{AlertNo, EndpointNo};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// A mail is at most so many octets: replies bring the pictures of signatures and of what they quote along.
const MAIL_OCTETS_MAX: usize = 48 * 1024 * 1024;
/// So many of them are kept and read: the texts, and the beginning of each file.
const KEPT_OCTETS_MAX: usize = 1024 * 1024;
/// A mail has at most so many recipients: ours answer an alert each.
const RECIPIENTS_MAX: usize = 10;
/// Connections at a time, by default.
pub const CONNECTIONS_MAX: usize = 200;
/// Connections at a time of one address, by default.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 50;
/// `answers+TAG@` takes 59 octets of an address's 254.
const DOMAIN_OCTETS_MAX: usize = 190;

/// A mail for our addresses.
type InboundMail = smtp::server::Mail<tag::InboundRecipient>;

/// `[smtp]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmtpConfig {
    /// `host:port`; port 0 takes a free one.
    pub listen: String,
    /// The domain of our addresses; mail routes have the same.
    pub domain: String,
    /// Relays that note whose mails are authentic; none: nothing but a tag proves an author.
    pub relays: Option<AuthenticatingRelays>,
    /// Certificate and key; without them no TLS is offered.
    pub tls: Option<TlsServerSettings>,
    /// Connections at a time.
    pub limits: DoorLimits,
    /// Until a command is whole.
    pub command: Duration,
    /// Until a mail is whole, from DATA on.
    pub mail: Duration,
    /// Time that a client may leave our octets unread.
    pub write_stall: Duration,
}

/// Relays of ours, whose Authentication-Results (RFC 8601) are believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthenticatingRelays {
    /// Stands in front of what they note.
    pub authserv_id: String,
    /// Where they connect from.
    pub networks: Vec<AllowedIp>,
}

impl AuthenticatingRelays {
    fn hold(&self, client: IpAddr) -> bool {
        self.networks.iter().any(|network| network.holds(client))
    }
}

impl SmtpConfig {
    /// The usual limits, without TLS.
    pub fn new(listen: String, domain: String) -> SmtpConfig {
        let session = smtp::server::SessionLimits::default();
        SmtpConfig {
            listen,
            domain,
            relays: None,
            tls: None,
            limits: DoorLimits::new(CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX),
            command: session.command_within,
            mail: session.mail_within,
            write_stall: Duration::from_secs(30),
        }
    }
}

impl SmtpConfig {
    /// Checks the domain.
    ///
    /// # Errors
    /// The text of the error.
    pub fn check(&self) -> Result<(), String> {
        let domain = &self.domain;
        if domain.len() > DOMAIN_OCTETS_MAX {
            return Err(format!(
                "a domain of {} octets is over the limit of {DOMAIN_OCTETS_MAX}",
                domain.len()
            ));
        }
        let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        match !domain.is_empty() && domain.chars().all(valid) {
            true => Ok(()),
            false => Err(format!("{domain:?} is not a domain")),
        }
    }
}

/// Finds the address that the mail of a delivery went to; called on a thread that may wait.
pub type AddressOf = Arc<dyn Fn(AlertNo, EndpointNo) -> Option<String> + Send + Sync>;

/// The parts of the server that the door uses.
#[derive(Clone)]
pub struct SmtpDeps {
    /// The bus with the topic of outcomes.
    pub bus: Arc<dyn Bus>,
    /// Reads the tags that the mail gateway makes.
    pub tags: Arc<dyn TagReader>,
    /// Tells which recipient of a notification on several is ours.
    pub address_of: AddressOf,
    /// The wall clock.
    pub clock: Clock,
    /// The cores that run the connections.
    pub cores: Arc<Cores>,
    /// Descriptors and guesses, over all doors.
    pub gatekeeper: Gatekeeper,
}

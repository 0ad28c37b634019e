//! Faults between the SMSC and its peers, by scenario.

use super::ErrorShare;
use super::receipts::StateShare;
use crate::chance::Delay;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What is wrong with answers to requests, beside their latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Answers {
    /// Share that is written twice.
    pub twice: f64,
    /// From the answer to its copy.
    pub twice_after: Delay,
    /// Share that changes places with the next answer; where none follows within 50 ms, it goes alone.
    pub swapped: f64,
    /// Share that is followed by an answer to a request that never was.
    pub stray: f64,
    /// Share that becomes a generic_nack (ESME_RSYSERR).
    pub nacked: f64,
}

impl Default for Answers {
    fn default() -> Self {
        Answers { twice: 0.0, twice_after: Delay::NONE, swapped: 0.0, stray: 0.0, nacked: 0.0 }
    }
}

impl Answers {
    /// Answers are as they should be.
    pub(super) fn are_plain(&self) -> bool {
        self.twice == 0.0 && self.swapped == 0.0 && self.stray == 0.0 && self.nacked == 0.0
    }

    pub(super) fn shares(&self) -> [(&'static str, f64); 4] {
        [
            ("answers.twice", self.twice),
            ("answers.swapped", self.swapped),
            ("answers.stray", self.stray),
            ("answers.nacked", self.nacked),
        ]
    }
}

/// When connections end, beside `disconnect` and `disconnect_every`, and how all of them do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Disconnects {
    /// At this PDU of a connection, whatever it is; 0: never. It is answered only before an unbind.
    pub after_pdus: u64,
    /// A connection lives so long; nothing: as long as its peer wants.
    pub after: Option<Delay>,
    /// What the peer sees.
    pub how: Parting,
}

impl Default for Disconnects {
    fn default() -> Self {
        Disconnects { after_pdus: 0, after: None, how: Parting::Cut }
    }
}

/// How the SMSC ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parting {
    /// The connection ends without a word; answers that were not written are lost.
    Cut,
    /// As `cut`, with a TCP reset.
    Reset,
    /// Ten octets of an answer, and then the end.
    HalfPdu,
    /// With an unbind; its answer is awaited for 5 s.
    Unbind,
}

impl std::str::FromStr for Parting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "cut" => Ok(Parting::Cut),
            "reset" => Ok(Parting::Reset),
            "half_pdu" => Ok(Parting::HalfPdu),
            "unbind" => Ok(Parting::Unbind),
            _ => Err(format!("how: {text:?} is none of cut, reset, half_pdu, unbind")),
        }
    }
}

/// What is different for numbers that begin so; the longest prefix that fits holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prefix {
    /// Digits, with or without `+`.
    pub prefix: String,
    /// Instead of the scenario's.
    pub errors: Option<Vec<ErrorShare>>,
    /// Instead of the scenario's.
    pub latency: Option<Delay>,
    /// Instead of the scenario's.
    pub silence: Option<f64>,
    /// Instead of the receipts'.
    pub states: Option<Vec<StateShare>>,
    /// Instead of the receipts'.
    pub receipt_delay: Option<Delay>,
}

impl Prefix {
    pub(super) fn digits(&self) -> &str {
        self.prefix.strip_prefix('+').unwrap_or(&self.prefix)
    }
}

/// Who may bind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Login {
    /// Whoever else binds is refused with ESME_RINVSYSID.
    pub system_id: String,
    /// ESME_RINVPASWD without it; nothing: any.
    pub password: Option<String>,
    /// Sessions at the same time, over it ESME_RBINDFAIL; 0: any number.
    pub binds_max: u32,
    /// In which ways, elsewise ESME_RBINDFAIL; empty: in all.
    pub modes: Vec<Mode>,
    /// Messages accepted from it in any second; 0: any number.
    pub rate: f64,
}

impl Default for Login {
    fn default() -> Self {
        Login { system_id: String::new(), password: None, binds_max: 0, modes: Vec::new(), rate: 0.0 }
    }
}

/// A way to bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Submits.
    Transmitter,
    /// Is delivered to.
    Receiver,
    /// Both.
    Transceiver,
}

impl From<smpp::pdu::BindMode> for Mode {
    fn from(mode: smpp::pdu::BindMode) -> Self {
        match mode {
            smpp::pdu::BindMode::Transmitter => Mode::Transmitter,
            smpp::pdu::BindMode::Receiver => Mode::Receiver,
            smpp::pdu::BindMode::Transceiver => Mode::Transceiver,
        }
    }
}

/// A listener with TLS, beside the plain one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsListener {
    /// Where; port 0 takes a free one.
    pub listen: String,
    /// The chain, PEM; without it one is made for `localhost` and 127.0.0.1 at each start.
    pub cert: Option<std::path::PathBuf>,
    /// Its key, PEM.
    pub key: Option<std::path::PathBuf>,
}

impl Default for TlsListener {
    fn default() -> Self {
        TlsListener { listen: "127.0.0.1:0".to_owned(), cert: None, key: None }
    }
}

/// An answer that changes places waits so long for the next one.
pub(super) const SWAP_PATIENCE: Duration = Duration::from_millis(50);

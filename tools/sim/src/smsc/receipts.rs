//! Receipts: their times, texts and faults, by scenario.

use crate::chance::Delay;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// When receipts come, and what is wrong with them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Receipts {
    /// For which messages.
    pub on: ReceiptOn,
    /// From the acceptance to the receipt.
    pub delay: Delay,
    /// Share that comes after `late_delay` instead.
    pub late: f64,
    /// How late.
    pub late_delay: Delay,
    /// Share that comes twice.
    pub twice: f64,
    /// From a receipt to its copy.
    pub twice_after: Delay,
    /// Share that comes before the answer to its submission.
    pub early: f64,
    /// Share that never comes.
    pub lost: f64,
    /// Share that is preceded at once by an intermediate notification (ENROUTE), where one is asked for.
    pub intermediate: f64,
    /// What becomes of messages; the rest is delivered.
    pub states: Vec<StateShare>,
    /// How they are written.
    pub form: ReceiptForm,
    /// In which PDU.
    pub pdu: ReceiptPdu,
    /// The `esm_class` they bear: 4 by the specification, 0 with some carriers.
    pub esm_class: u8,
    /// The text, with `{id}`, `{sub}`, `{dlvrd}`, `{submit}`, `{done}`, `{submit_s}`, `{done_s}` (with
    /// seconds), `{stat}`, `{err}`, `{text}`, `{from}`, `{to}`; nothing: as 3.4's Appendix B.
    pub template: Option<String>,
    /// Over which of the account's sessions.
    pub bind: OnBind,
    /// Over the sessions of this account instead of the submitter's.
    pub account: Option<String>,
}

impl Default for Receipts {
    fn default() -> Self {
        Receipts {
            on: ReceiptOn::Requested,
            delay: Delay::Fixed(Duration::from_millis(20)),
            late: 0.0,
            late_delay: Delay::Fixed(Duration::from_secs(30)),
            twice: 0.0,
            twice_after: Delay::NONE,
            early: 0.0,
            lost: 0.0,
            intermediate: 1.0,
            states: Vec::new(),
            form: ReceiptForm::Both,
            pdu: ReceiptPdu::DeliverSm,
            esm_class: smpp::pdu::esm_class::RECEIPT,
            template: None,
            bind: OnBind::Any,
            account: None,
        }
    }
}

impl Receipts {
    pub(super) fn shares(&self) -> [(&'static str, f64); 5] {
        [
            ("receipts.late", self.late),
            ("receipts.twice", self.twice),
            ("receipts.early", self.early),
            ("receipts.lost", self.lost),
            ("receipts.intermediate", self.intermediate),
        ]
    }
}

/// For which messages receipts are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptOn {
    /// As `registered_delivery` asks.
    Requested,
    /// For each.
    Always,
    /// For none.
    Never,
}

/// How receipts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptForm {
    /// In the text (3.4 Appendix B) and in the optional parameters.
    Both,
    /// In the text alone.
    Text,
    /// In the optional parameters alone.
    Tlv,
}

/// Which PDU carries a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptPdu {
    /// The usual one.
    DeliverSm,
    /// The other one (3.4 §4.7).
    DataSm,
}

/// Over which of an account's receiving sessions something goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnBind {
    /// Over whichever is free.
    Any,
    /// Over the one that submitted, while it is there and receives.
    Same,
    /// Over another one than that which submitted, while there is one.
    Other,
}

/// How message ids are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdForm {
    /// 16 decimal digits.
    Decimal,
    /// Hexadecimal digits, lower case.
    Hex,
    /// A UUID's 36 characters.
    Uuid,
    /// Hexadecimal in the answer, decimal in the receipt.
    HexThenDecimal,
    /// Decimal in the answer, hexadecimal in the receipt.
    DecimalThenHex,
    /// Hexadecimal in the answer; in the receipt upper case, filled to 16 digits with zeros.
    HexThenPadded,
    /// Decimal in the answer; in the receipt filled to 20 digits with zeros.
    DecimalThenPadded,
}

/// A state and how many messages come to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateShare {
    /// The state.
    pub state: ReceiptStage,
    /// Share of the messages.
    pub share: f64,
    /// The error code that the receipt tells.
    #[serde(default)]
    pub error: u8,
}

/// `message_state` (3.4 §5.2.28, 5.0 §4.7.15), by the words of receipts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReceiptStage {
    /// 1, under way.
    #[serde(rename = "ENROUTE")]
    Enroute,
    /// 2.
    #[serde(rename = "DELIVRD")]
    Delivered,
    /// 3.
    #[serde(rename = "EXPIRED")]
    Expired,
    /// 4: cancelled.
    #[serde(rename = "DELETED")]
    Deleted,
    /// 5.
    #[serde(rename = "UNDELIV")]
    Undeliverable,
    /// 6: read on behalf of the subscriber.
    #[serde(rename = "ACCEPTD")]
    Accepted,
    /// 7.
    #[serde(rename = "UNKNOWN")]
    Unknown,
    /// 8.
    #[serde(rename = "REJECTD")]
    Rejected,
    /// 9, since 5.0.
    #[serde(rename = "SKIPPED")]
    Skipped,
}

impl ReceiptStage {
    /// All of them.
    pub const ALL: [ReceiptStage; 9] = [
        ReceiptStage::Enroute,
        ReceiptStage::Delivered,
        ReceiptStage::Expired,
        ReceiptStage::Deleted,
        ReceiptStage::Undeliverable,
        ReceiptStage::Accepted,
        ReceiptStage::Unknown,
        ReceiptStage::Rejected,
        ReceiptStage::Skipped,
    ];

    /// The word of a receipt.
    pub fn word(self) -> &'static str {
        match self {
            ReceiptStage::Enroute => "ENROUTE",
            ReceiptStage::Delivered => "DELIVRD",
            ReceiptStage::Expired => "EXPIRED",
            ReceiptStage::Deleted => "DELETED",
            ReceiptStage::Undeliverable => "UNDELIV",
            ReceiptStage::Accepted => "ACCEPTD",
            ReceiptStage::Unknown => "UNKNOWN",
            ReceiptStage::Rejected => "REJECTD",
            ReceiptStage::Skipped => "SKIPPED",
        }
    }

    /// The number.
    pub fn number(self) -> u8 {
        ReceiptStage::ALL.iter().position(|state| *state == self).map_or(0, |place| place as u8 + 1)
    }

    /// Nothing follows it.
    pub fn is_final(self) -> bool {
        self != ReceiptStage::Enroute
    }
}

impl std::str::FromStr for ReceiptStage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        ReceiptStage::ALL.into_iter().find(|state| state.word().eq_ignore_ascii_case(text)).ok_or_else(|| {
            let words = ReceiptStage::ALL.map(ReceiptStage::word).join(", ");
            format!("state: {text:?} is none of {words}")
        })
    }
}

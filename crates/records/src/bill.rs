use crate::{AlertNo, EndpointNo, Timestamp};

/// What a gateway wants paid before it writes anything of it: entries of one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bill {
    /// Who pays.
    pub account: String,
    /// The alert.
    pub alert: AlertNo,
    /// It is written whatever the answer, and soon: what it costs is owed.
    pub is_emergency: bool,
    /// What became of the deliveries before this place on the topic of outcomes was known when the segment
    /// was made.
    pub since: u64,
    /// Another process had the segment before, or this one: what it says may have been asked already. Where a
    /// process is alone it says nothing.
    pub is_again: bool,
    /// One for each entry.
    pub items: Vec<BillItem>,
}

/// One message to be paid for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillItem {
    /// Which delivery: with the alert, what is never paid for twice.
    pub endpoint: EndpointNo,
    /// Which attempt at it, from 1.
    pub attempt: u8,
    /// What it costs: parts of a short message, 1 of anything else.
    pub parts: u8,
    /// To whom, as the entry says.
    pub address: String,
    /// Nothing of it is written after.
    pub until: Timestamp,
}

/// Whether a message may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Funding {
    /// Its price is held, owed, or was taken before: that is on record.
    Paid,
    /// It may not.
    Refused(Unpaid),
}

/// Why nobody pays for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpaid {
    /// The account has not enough.
    NoMoney,
    /// The account is blocked.
    Blocked,
    /// There is no such account.
    NoAccount,
    /// No tariff says what it costs.
    NoPrice,
    /// No charging server answers.
    NoServer,
}

impl Unpaid {
    /// All of these codes begin so.
    pub const CODES: &'static str = "charging:";

    /// As the code of an attempt that was refused.
    pub fn code(self) -> &'static str {
        match self {
            Unpaid::NoMoney => "charging:no-money",
            Unpaid::Blocked => "charging:blocked",
            Unpaid::NoAccount => "charging:no-account",
            Unpaid::NoPrice => "charging:no-price",
            Unpaid::NoServer => "charging:no-server",
        }
    }

    /// In words, with what to do.
    pub fn text(self) -> &'static str {
        match self {
            Unpaid::NoMoney => "the account has no money: top it up",
            Unpaid::Blocked => "the account is blocked",
            Unpaid::NoAccount => "there is no account of this name with the ledger: open one",
            Unpaid::NoPrice => "no tariff says what this costs",
            Unpaid::NoServer => "no charging server says that it may be sent",
        }
    }

    /// Whether another try would get the same no.
    pub fn is_permanent(self) -> bool {
        self != Unpaid::NoServer
    }
}

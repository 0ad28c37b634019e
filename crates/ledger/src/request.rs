//! Requests to the ledger and their answers: small plain structs that mirror RFC 8506 without its encoding.

use super::client::Opener;
use super::hash::Hash128;
use super::key::PackedKey;

/// Result-Code values that the ledger gives (RFC 6733 7.1, RFC 8506 9).
pub mod result {
    pub const SUCCESS: u32 = 2001;
    pub const END_USER_SERVICE_DENIED: u32 = 4010;
    pub const CREDIT_CONTROL_NOT_APPLICABLE: u32 = 4011;
    pub const CREDIT_LIMIT_REACHED: u32 = 4012;
    pub const UNKNOWN_SESSION_ID: u32 = 5002;
    pub const INVALID_AVP_VALUE: u32 = 5004;
    pub const UNABLE_TO_COMPLY: u32 = 5012;
    pub const USER_UNKNOWN: u32 = 5030;
    pub const RATING_FAILED: u32 = 5031;
}

/// The units of a Requested-, Used- or Granted-Service-Unit (RFC 8506 8.16 to 8.19). Which are there is said
/// by `present`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    pub present: u8,
    pub time_s: u32,
    /// CC-Total-Octets; the sum of input and output where only those were given.
    pub octets: u64,
    pub specific: u64,
    /// In the ledger's minor units.
    pub money: i64,
}

impl Units {
    pub const TIME: u8 = 1;
    pub const OCTETS: u8 = 2;
    pub const SPECIFIC: u8 = 4;
    pub const MONEY: u8 = 8;

    /// CC-Service-Specific-Units.
    pub fn specific(count: u64) -> Units {
        Units { present: Units::SPECIFIC, specific: count, ..Units::default() }
    }
    /// CC-Total-Octets.
    pub fn octets(count: u64) -> Units {
        Units { present: Units::OCTETS, octets: count, ..Units::default() }
    }
    /// CC-Time.
    pub fn time(seconds: u32) -> Units {
        Units { present: Units::TIME, time_s: seconds, ..Units::default() }
    }
    /// CC-Money in the ledger's minor units.
    pub fn money(minor: i64) -> Units {
        Units { present: Units::MONEY, money: minor, ..Units::default() }
    }
    /// Only the kinds of these bits.
    pub fn only(&self, kinds: u8) -> Units {
        let has = |is: u8| self.present & kinds & is != 0;
        Units {
            present: self.present & kinds,
            time_s: if has(Units::TIME) { self.time_s } else { 0 },
            octets: if has(Units::OCTETS) { self.octets } else { 0 },
            specific: if has(Units::SPECIFIC) { self.specific } else { 0 },
            money: if has(Units::MONEY) { self.money } else { 0 },
        }
    }
    /// No more of each kind than the other has of it; a kind that the other does not have stays as it is.
    pub fn at_most(&self, bound: &Units) -> Units {
        let has = |is: u8| bound.present & is != 0;
        Units {
            present: self.present,
            time_s: if has(Units::TIME) { self.time_s.min(bound.time_s) } else { self.time_s },
            octets: if has(Units::OCTETS) { self.octets.min(bound.octets) } else { self.octets },
            specific: if has(Units::SPECIFIC) { self.specific.min(bound.specific) } else { self.specific },
            money: self.money,
        }
    }
    /// Whether nothing is said, so that the server decides how much (RFC 8506 8.18).
    pub fn is_empty(&self) -> bool {
        self.present == 0
    }
}

/// One Multiple-Services-Credit-Control (RFC 8506 8.16), or the units of a request without any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    pub rating_group: Option<u32>,
    pub service_id: Option<u32>,
    /// None: no units are asked for (a service that ends). Empty: as many as the server likes.
    pub requested: Option<Units>,
    pub used: Option<Units>,
    /// `used` is what was used before the change of the tariff that the last grant told of
    /// (Tariff-Change-Usage, RFC 8506, section 8.27); the same service follows with the rest.
    pub is_before_change: bool,
}

/// Where a service takes place: the number of the specification before `@3gpp.org`, or a hash of another name
/// with the highest bit set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ServiceContext(pub u32);

impl ServiceContext {
    /// SMS (TS 32.274).
    pub const SMS: ServiceContext = ServiceContext(32_274);

    /// The units in which 3GPP counts the service: octets of packets (TS 32.251, 32.255) and of wireless
    /// networks (TS 32.252), seconds of calls (TS 32.250, 32.260, 32.276), and units of its own elsewhere.
    pub fn usual_kind(self) -> u8 {
        match self.0 {
            32_251 | 32_252 | 32_255 => Units::OCTETS,
            32_250 | 32_260 | 32_276 => Units::TIME,
            _ => Units::SPECIFIC,
        }
    }

    /// Reads a Service-Context-Id (RFC 8506 8.42; TS 32.299 7.1.12:
    /// extensions.MNC.MCC.Release.service-context@domain).
    pub fn parse(text: &str) -> ServiceContext {
        let number =
            text.strip_suffix("@3gpp.org").and_then(|name| name.rsplit('.').next()).map(str::parse::<u32>);
        match number {
            Some(Ok(number)) if number < 1 << 31 => ServiceContext(number),
            // FNV-1a: the same in every ledger and version.
            _ => ServiceContext(
                text.bytes().fold(0x811c_9dc5_u32, |hash, b| (hash ^ u32::from(b)).wrapping_mul(0x0100_0193))
                    | 1 << 31,
            ),
        }
    }
}

/// Who is reached: at most 16 digits, the most significant first, as the rating needs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Destination {
    pub digits: u64,
    pub len: u8,
}

impl Destination {
    /// Takes the digits of an address: a leading `+` and separators are left out, and what is after 16
    /// digits.
    pub fn parse(address: &[u8]) -> Destination {
        let mut to = Destination::default();
        for digit in address.iter().filter(|b| b.is_ascii_digit()).take(16) {
            to.digits = to.digits << 4 | u64::from(digit - b'0');
            to.len += 1;
        }
        to
    }

    /// Its first digits.
    pub fn prefix(self, len: u8) -> Destination {
        if len >= self.len {
            return self;
        }
        let digits = if len == 0 { 0 } else { self.digits >> (4 * (self.len - len)) };
        Destination { digits, len }
    }
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (0..self.len).rev().try_for_each(|at| write!(f, "{}", self.digits >> (4 * at) & 0xf))
    }
}

/// A message of ours: one delivery of one alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageKey {
    pub alert: u64,
    pub endpoint: u32,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// EVENT, DIRECT_DEBITING.
    Debit,
    /// EVENT, REFUND_ACCOUNT; the Session-Id of the event to refund, where one is named.
    Refund {
        of: Option<Hash128>,
    },
    /// EVENT, CHECK_BALANCE.
    CheckBalance,
    /// EVENT, PRICE_ENQUIRY.
    PriceEnquiry,
    Initial,
    Update,
    Terminate,
    /// A balance of money grows by so many minor units.
    TopUp {
        amount: i64,
    },
    /// An account with its first balance and limit.
    Create {
        balance: i64,
        limit: i64,
    },
    /// How far below zero the posted balance may go, in minor units.
    SetLimit {
        limit: i64,
    },
    /// A blocked account is refused everything but what is due: 4010.
    Block {
        blocked: bool,
    },
    /// So many specific units (messages), used before money until they expire.
    AddBundle {
        units: u64,
        context: ServiceContext,
        expires_s: u32,
    },
    /// Our own message, before it is sent: holds the price of its parts until `until_us`. What became of it
    /// before `since`, a place in the order of outcomes, does not free it.
    Hold {
        message: MessageKey,
        parts: u32,
        until_us: u64,
        since: u64,
    },
    /// It was sent in so many parts: what was held is taken.
    Settle {
        message: MessageKey,
        parts: u32,
    },
    /// It was not sent, says the outcome at this place: what was held since an earlier one is free again, or
    /// owed no more.
    Release {
        message: MessageKey,
        at: u64,
    },
    /// Nobody knows whether it was sent: what is held stays so until it is settled or its validity ends.
    Keep {
        message: MessageKey,
    },
    /// An emergency's message: posts the price to the account's debt.
    Debt {
        message: MessageKey,
        parts: u32,
        until_us: u64,
        since: u64,
    },
}

/// One request, as the ledger sees it.
///
/// `Update` and `Terminate` are for the account of their session, whatever account they name: RFC 8506 lets
/// them name none. Where a ledger has several shards and no account is named, each shard is asked until one
/// does not answer 5002; nothing is logged by the others.
///
/// What has a session is known again for the time of its window; a caller who may ask twice for
/// a top-up or a new account gives the hash of an idempotency key as the session.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub kind: Kind,
    pub account: PackedKey,
    /// The octets of the account's key.
    pub account_octets: &'a [u8],
    /// The hash of the Session-Id. Both words zero: a request without identity, which is never a duplicate.
    pub session: Hash128,
    /// CC-Request-Number.
    pub number: u32,
    pub context: ServiceContext,
    /// Message-Class, or any small number that tariffs tell apart.
    pub class: u8,
    pub destination: Destination,
    pub services: &'a [Service],
    /// Who begins the session, for `Initial` alone. None: nobody can be asked about it.
    pub opener: Option<Opener<'a>>,
}

/// What came of a request. Its services stand beside it, in the order in which they were asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub result: u32,
    /// The first answer was given before; nothing was debited this time.
    pub is_duplicate: bool,
    /// Check-Balance-Result: whether there is enough credit.
    pub enough_credit: Option<bool>,
    /// What was taken, priced or held, in minor units (Cost-Information).
    pub cost: i64,
    /// Where this request's services begin in the answers' list, and how many there are.
    pub services_from: u32,
    pub services: u32,
}

/// What is told with a grant beside its units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Final-Unit-Action, of a final unit.
    pub final_action: u8,
    /// The thresholds, in percent of the units; 0: none.
    pub threshold_percent: u8,
    /// Quota-Holding-Time; 0: none.
    pub holding_s: u32,
    /// Tariff-Time-Change, in seconds since 1970; 0: none.
    pub tariff_change_s: u32,
    /// The service draws on the session's credit pool; all zero: its units are its own.
    pub pool: Weights,
}

/// How much of a credit pool one unit of each kind takes (Unit-Value of G-S-U-Pool-Reference, RFC 8506,
/// section 8.30), in billionths of a minor unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weights {
    pub time: u64,
    pub octets: u64,
    pub specific: u64,
}

impl Weights {
    /// So many of what a weight is counted in are a minor unit.
    pub const OF_MINOR_UNIT: u64 = 1_000_000_000;
}

/// What came of one service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceAnswer {
    pub rating_group: Option<u32>,
    pub service_id: Option<u32>,
    pub result: u32,
    pub granted: Units,
    /// What was taken for what was used, in minor units; for an enquiry the price.
    pub cost: i64,
    /// Validity-Time; 0: none.
    pub validity_s: u32,
    /// Final-Unit-Indication: nothing is left after these units.
    pub is_final: bool,
    pub terms: Terms,
}

//! Configuration of a ledger: limits, windows, and what unknown accounts begin with. Nothing of it is needed
//! to read the past.

use super::request::Units;
use super::tariff::Tariffs;

/// What an unknown account is opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultAccount {
    /// In minor units.
    pub balance: i64,
    /// How far below zero it may go, in minor units.
    pub limit: i64,
}

/// What a refund may be that names no debit, or one that nobody remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreferenced {
    /// Nothing: 4010.
    Refuse,
    /// At most so many minor units each.
    UpTo(i64),
}

/// What is granted where a request leaves it to the server (RFC 8506 8.18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// So much of each kind.
    pub units: Units,
    /// No grant is larger, of the kinds that are present, whatever was asked for.
    pub at_most: Units,
}

impl Default for Quota {
    /// Ten megabytes, ten minutes, one unit; no bound.
    fn default() -> Quota {
        let present = Units::OCTETS | Units::TIME | Units::SPECIFIC;
        let units = Units { present, octets: 10_000_000, time_s: 600, specific: 1, money: 0 };
        Quota { units, at_most: Units::default() }
    }
}

/// What a client does when its last units are used (Final-Unit-Action, RFC 8506, section 8.35). The numbers
/// stand on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum FinalAction {
    /// It ends the service.
    #[default]
    Terminate = 0,
    /// It sends the subscriber to an address, where there is money to be had.
    Redirect = 1,
    /// It lets through what filters allow.
    RestrictAccess = 2,
}

/// How long requests are known again, and the memory for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuplicateLimits {
    /// How long a session's requests are known again; at least 240 s.
    pub session_window_s: u32,
    /// How long an event is known again.
    pub event_window_s: u32,
    /// Addresses for each of the two first tables of duplicates, of events and of sessions, of all shards: 13
    /// octets for each request of a window at the usual rate. They become memory as far as they are used; a
    /// larger table follows where they do not last.
    pub octets_first: usize,
    /// The most for each of the two tables of duplicates, of all shards: by default that is 600,000 events a
    /// second, for 60 s, of whose entries one in a thousand finds no place (by simulation). Over it the
    /// oldest are forgotten. What is forgotten is counted.
    pub octets_max: usize,
}

impl Default for DuplicateLimits {
    fn default() -> DuplicateLimits {
        DuplicateLimits {
            session_window_s: 240,
            event_window_s: 60,
            octets_first: 32 << 20,
            octets_max: 512 << 20,
        }
    }
}

/// The rules of a shard.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// None: an unknown account is refused with 5030.
    pub default_account: Option<DefaultAccount>,
    pub tariffs: Tariffs,
    pub quota: Quota,
    /// Validity-Time of grants; 0: none.
    pub validity_s: u32,
    /// Final-Unit-Action.
    pub final_action: FinalAction,
    /// Of what is granted, in percent: with so much left the client asks again (the Quota-Threshold AVPs of
    /// TS 32.299); 0: none.
    pub threshold_percent: u8,
    /// Quota-Holding-Time (TS 32.299): unused for so long, units are given back; 0: none.
    pub holding_s: u32,
    /// The services of a session that have a rating group share what is granted (credit pool, RFC 8506,
    /// section 5.1.2).
    pub credit_pool: bool,
    /// Tcc where no validity is granted.
    pub tcc_s: u32,
    /// What is asked of a session whose end user has no money: true grants zero units with a final unit
    /// indication (redirect, restrict), false refuses with 4012.
    pub zero_grant: bool,
    pub unreferenced_refund: Unreferenced,
    pub duplicates: DuplicateLimits,
    pub sessions_max: usize,
    pub messages_max: usize,
    pub accounts_max: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            default_account: None,
            tariffs: Tariffs::default(),
            quota: Quota::default(),
            validity_s: 3_600,
            final_action: FinalAction::Terminate,
            threshold_percent: 0,
            holding_s: 0,
            credit_pool: false,
            tcc_s: 7_200,
            zero_grant: false,
            unreferenced_refund: Unreferenced::UpTo(100_000),
            duplicates: DuplicateLimits::default(),
            sessions_max: 4_000_000,
            messages_max: 16_000_000,
            accounts_max: super::account::ACCOUNTS_MAX,
        }
    }
}

impl Config {
    /// The same for one of so many shards: what is for all of them is divided.
    pub(super) fn of_one_shard(self, shards: usize) -> Config {
        let octets_first = self.duplicates.octets_first / shards.max(1);
        let octets_max = self.duplicates.octets_max / shards.max(1);
        Config { duplicates: DuplicateLimits { octets_first, octets_max, ..self.duplicates }, ..self }
    }
}

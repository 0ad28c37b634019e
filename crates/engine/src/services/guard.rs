//! ReplyGuard keeps what was handled of each address: a message that comes a second time by a replay changes
//! nothing, and nobody is replied to without end.

use super::people::AddressOf;
use crate::solve::address_hash;
use records::Timestamp;
use std::sync::Arc;

/// The retained topic: address to what was handled last.
pub(super) const GUARD: &str = "service-guard";
/// Requests of one address in an hour at most: more change nothing and get no reply.
pub(super) const REQUESTS_AN_HOUR: u16 = 20;
/// Words that nobody understands are replied to so often at most, in microseconds.
const HELP_EVERY_US: i64 = 86_400_000_000;
const HOUR_US: i64 = 3_600_000_000;
/// Octets of a value behind its form.
const VALUE_OCTETS: usize = 26;

/// What is known of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Handled {
    /// The moment of the last message that was handled.
    pub(super) last: Timestamp,
    hour: Timestamp,
    count: u16,
    helped: Timestamp,
}

/// What may be done about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuardVerdict {
    /// It was handled before.
    Again,
    /// There were too many of late.
    TooMany,
    /// Go on.
    Go,
}

/// See the module.
pub(super) struct ReplyGuard {
    handled: Arc<dyn bus::Retained>,
}

impl ReplyGuard {
    pub(super) fn open(bus: &dyn bus::Bus) -> Result<ReplyGuard, bus::BusError> {
        Ok(ReplyGuard { handled: bus.retained(GUARD)? })
    }

    pub(super) fn of(&self, address: &AddressOf) -> Handled {
        self.handled.value(&key(address)).and_then(|octets| Handled::decode(&octets)).unwrap_or_default()
    }

    /// Keeps it.
    pub(super) async fn keep(&self, address: &AddressOf, handled: Handled) -> Result<(), bus::BusError> {
        self.handled.set(&key(address), &handled.encode()).await
    }

    /// Lets go of addresses that nobody wrote from for a day.
    pub(super) async fn forget(&self, now: Timestamp) -> Result<(), bus::BusError> {
        for (key, octets) in self.handled.all() {
            let is_old = Handled::decode(&octets).is_none_or(|one| now.us_since(one.last) > HELP_EVERY_US);
            if is_old {
                self.handled.set(&key, &[]).await?;
            }
        }
        Ok(())
    }
}

/// The address itself is not kept.
fn key((account, channel, address): &AddressOf) -> String {
    format!("{account}/{:016x}", address_hash(*channel, address))
}

impl Handled {
    /// Takes a message in.
    pub(super) fn take(&mut self, at: Timestamp) -> GuardVerdict {
        if at <= self.last {
            return GuardVerdict::Again;
        }
        self.last = at;
        if at.us_since(self.hour) > HOUR_US {
            (self.hour, self.count) = (at, 0);
        }
        self.count = self.count.saturating_add(1);
        if self.count > REQUESTS_AN_HOUR { GuardVerdict::TooMany } else { GuardVerdict::Go }
    }

    /// Whether help may be offered that nobody asked for; it counts as offered with this.
    pub(super) fn may_help(&mut self, at: Timestamp) -> bool {
        let may = self.helped == Timestamp::default() || at.us_since(self.helped) > HELP_EVERY_US;
        if may {
            self.helped = at;
        }
        may
    }

    fn encode(self) -> Vec<u8> {
        let mut octets = Vec::with_capacity(VALUE_OCTETS);
        octets.extend_from_slice(&self.last.0.to_le_bytes());
        octets.extend_from_slice(&self.hour.0.to_le_bytes());
        octets.extend_from_slice(&self.count.to_le_bytes());
        octets.extend_from_slice(&self.helped.0.to_le_bytes());
        records::with_form(&octets)
    }

    fn decode(octets: &[u8]) -> Option<Handled> {
        let rest = records::behind_form("value of the topic service-guard", octets).ok()?;
        let (last, rest) = rest.split_first_chunk()?;
        let (hour, rest) = rest.split_first_chunk()?;
        let (count, rest) = rest.split_first_chunk()?;
        let (helped, _) = rest.split_first_chunk()?;
        Some(Handled {
            last: Timestamp(i64::from_le_bytes(*last)),
            hour: Timestamp(i64::from_le_bytes(*hour)),
            count: u16::from_le_bytes(*count),
            helped: Timestamp(i64::from_le_bytes(*helped)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(1_800_000_000_000_000);

    #[test]
    fn a_message_is_handled_once_and_so_many_in_an_hour() {
        let mut handled = Handled::default();
        assert_eq!(handled.take(START), GuardVerdict::Go);
        assert_eq!(handled.take(START), GuardVerdict::Again);
        for n in 1..i64::from(REQUESTS_AN_HOUR) {
            assert_eq!(handled.take(START.plus_s(n)), GuardVerdict::Go);
        }
        assert_eq!(handled.take(START.plus_s(100)), GuardVerdict::TooMany);
        assert_eq!(handled.take(START.plus_s(4_000)), GuardVerdict::Go);
        assert_eq!(Handled::decode(&handled.encode()), Some(handled));
    }

    #[test]
    fn help_that_nobody_asked_for_is_offered_once_a_day() {
        let mut handled = Handled::default();
        assert!(handled.may_help(START));
        assert!(!handled.may_help(START.plus_s(80_000)));
        assert!(handled.may_help(START.plus_s(90_000)));
    }
}

//! Messages from people: long ones put together, none answered before it is on disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use bus::{Bus, BusError, Retained};
use records::{Channel, Inbound, Outcome, Timestamp};
use smpp::pdu::Address;
use smpp::text::join::{Joined, Joiner};
use smpp::text::udh::{Concatenation, UserData};
use smpp::text::{Charset, Coding};
use tokio::sync::Notify;

/// Stands where a part never came.
const MISSING: &str = " [...] ";
/// Digits from which on a number of unknown type counts as international.
const INTERNATIONAL_DIGITS_MIN: usize = 9;

/// A part of a long message, and under which key it is kept on disk.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    octets: Vec<u8>,
    data_coding: u8,
    key: String,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.octets
    }
}

/// What to do about a message before it is answered.
pub(super) enum Arrived {
    /// It is whole: note it, and forget these parts once it is durable.
    Whole(Outcome, Vec<String>),
    /// It is a part: keep it, and answer when that is done.
    Part(Keep),
}

/// A part that has to be kept on disk.
pub(super) struct Keep {
    key: String,
    value: Vec<u8>,
}

/// Whether a part has been kept.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept(Arc<AtomicU8>);

const KEEPING: u8 = 0;
const KEPT: u8 = 1;

impl Kept {
    /// `None` while it is being written; then whether it was.
    pub(super) fn result(&self) -> Option<bool> {
        match self.0.load(Ordering::Acquire) {
            KEEPING => None,
            state => Some(state == KEPT),
        }
    }
}

/// Parts of long messages of a route. They are on disk before they are answered, since the carrier forgets them then.
pub(super) struct Inbox {
    route: String,
    charset: Charset,
    joiner: Joiner<Piece>,
    kept: Arc<dyn Retained>,
}

impl Inbox {
    /// With what an earlier process had kept.
    pub(super) fn open(
        bus: &dyn Bus,
        route: &str,
        charset: Charset,
        now: Instant,
    ) -> Result<Inbox, BusError> {
        let kept = bus.retained(&format!("joins/{route}"))?;
        let mut inbox = Inbox { route: route.to_owned(), charset, joiner: Joiner::default(), kept };
        for (key, value) in inbox.kept.all() {
            let Some((source, destination, place)) = read_key(&key) else { continue };
            let Some((&data_coding, octets)) = value.split_first() else { continue };
            let piece = Piece { octets: octets.to_vec(), data_coding, key: key.clone() };
            inbox.joiner.insert(source.as_bytes(), destination.as_bytes(), place, piece, now);
        }
        Ok(inbox)
    }

    /// Takes a message in.
    pub(super) fn arrive(&mut self, message: &Message<'_>, at: Timestamp, now: Instant) -> Arrived {
        let (from, to) = (written(message.source), written(message.destination));
        let data = message.data;
        let Some(place) = data.concatenation.filter(|place| place.total > 1) else {
            let text = Coding::of(message.data_coding, self.charset).charset.decode(data.text);
            return Arrived::Whole(self.outcome(from, to, text, at), Vec::new());
        };
        let key = write_key(&from, &to, place);
        let piece = Piece { octets: data.text.to_vec(), data_coding: message.data_coding, key: key.clone() };
        match self.joiner.insert(from.as_bytes(), to.as_bytes(), place, piece, now) {
            Joined::Complete(pieces) => {
                let text = self.text(pieces.iter().map(Some));
                let keys = pieces.into_iter().map(|piece| piece.key).collect();
                Arrived::Whole(self.outcome(from, to, text, at), keys)
            }
            // A repeated part is kept again: the first try may have failed.
            Joined::Waiting | Joined::Duplicate(_) => {
                let mut value = vec![message.data_coding];
                value.extend_from_slice(data.text);
                Arrived::Part(Keep { key, value })
            }
        }
    }

    /// Messages whose missing parts will not come any more, as they are.
    pub(super) fn give_up(&mut self, at: Timestamp, now: Instant) -> Vec<(Outcome, Vec<String>)> {
        self.joiner.handle_timeout(now);
        let mut given_up = Vec::new();
        while let Some(incomplete) = self.joiner.poll_incomplete() {
            let text = self.text(incomplete.parts.iter().map(Option::as_ref));
            let from = String::from_utf8_lossy(&incomplete.key.source).into_owned();
            let to = String::from_utf8_lossy(&incomplete.key.destination).into_owned();
            let keys = incomplete.parts.into_iter().flatten().map(|piece| piece.key).collect();
            given_up.push((self.outcome(from, to, text, at), keys));
        }
        given_up
    }

    /// When [`give_up`](Inbox::give_up) has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.joiner.poll_timeout()
    }

    /// Keeps a part on disk, on the side; `listener` is told when that is done.
    pub(super) fn keep(&self, keep: Keep, listener: Arc<Notify>) -> Kept {
        let kept = Kept::default();
        let (topic, state, route) = (Arc::clone(&self.kept), kept.clone(), self.route.clone());
        tokio::spawn(async move {
            let result = topic.set(&keep.key, &keep.value).await;
            if let Err(error) = &result {
                tracing::error!(route, %error, "a part of a message could not be kept: the carrier is asked to send it again");
            }
            state.0.store(if result.is_ok() { KEPT } else { KEPT + 1 }, Ordering::Release);
            listener.notify_one();
        });
        kept
    }

    /// The message these parts made is on disk as a whole.
    pub(super) fn forget(&self, keys: Vec<String>) {
        if keys.is_empty() {
            return;
        }
        let topic = Arc::clone(&self.kept);
        tokio::spawn(async move {
            for key in keys {
                if let Err(error) = topic.set(&key, b"").await {
                    tracing::warn!(%error, "a part of a message that is whole stays on disk");
                }
            }
        });
    }

    /// Characters may be cut in two between parts of one alphabet: octets are put together first.
    fn text<'a>(&self, pieces: impl Iterator<Item = Option<&'a Piece>>) -> String {
        let mut text = String::new();
        let mut run: (Option<u8>, Vec<u8>) = (None, Vec::new());
        let flush = |run: &mut (Option<u8>, Vec<u8>), text: &mut String| {
            if let Some(data_coding) = run.0.take() {
                text.push_str(&Coding::of(data_coding, self.charset).charset.decode(&run.1));
                run.1.clear();
            }
        };
        for piece in pieces {
            match piece {
                Some(piece) => {
                    if run.0 != Some(piece.data_coding) {
                        flush(&mut run, &mut text);
                    }
                    run.0 = Some(piece.data_coding);
                    run.1.extend_from_slice(&piece.octets);
                }
                None => {
                    flush(&mut run, &mut text);
                    text.push_str(MISSING);
                }
            }
        }
        flush(&mut run, &mut text);
        text
    }

    fn outcome(&self, from: String, to: String, text: String, at: Timestamp) -> Outcome {
        let route = self.route.clone();
        Outcome::Inbound(Inbound { channel: Channel::Sms, route, from, to, text, octets: None, of: None, at })
    }
}

/// What a deliver_sm and a data_sm have in common.
pub(super) struct Message<'a> {
    pub(super) source: Address<'a>,
    pub(super) destination: Address<'a>,
    pub(super) data_coding: u8,
    pub(super) data: UserData<'a>,
}

/// An address as people write it: international numbers with their plus sign.
fn written(address: Address<'_>) -> String {
    const INTERNATIONAL: u8 = 1;
    const UNKNOWN: u8 = 0;
    let addr = String::from_utf8_lossy(address.addr).into_owned();
    let digits = !addr.is_empty() && addr.bytes().all(|octet| octet.is_ascii_digit());
    if !digits {
        return addr;
    }
    match address.ton {
        INTERNATIONAL => format!("+{addr}"),
        // Some carriers do not fill the type in.
        UNKNOWN => match addr.strip_prefix("00") {
            Some(number) if number.len() >= INTERNATIONAL_DIGITS_MIN => format!("+{number}"),
            None if !addr.starts_with('0') && addr.len() >= INTERNATIONAL_DIGITS_MIN => format!("+{addr}"),
            _ => addr,
        },
        _ => addr,
    }
}

fn write_key(from: &str, to: &str, place: Concatenation) -> String {
    let Concatenation { reference, total, number, wide } = place;
    format!("{reference}/{}/{total}/{number}/{}/{from}{to}", u8::from(wide), from.len())
}

fn read_key(key: &str) -> Option<(&str, &str, Concatenation)> {
    let mut fields = key.splitn(6, '/');
    let reference = fields.next()?.parse().ok()?;
    let wide = fields.next()? == "1";
    let total = fields.next()?.parse().ok()?;
    let number = fields.next()?.parse().ok()?;
    let length = fields.next()?.parse().ok()?;
    let (from, to) = fields.next()?.split_at_checked(length)?;
    Some((from, to, Concatenation { reference, total, number, wide }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_write_them() {
        let cases: [(u8, &str, &str); 8] = [
            (1, "46701234567", "+46701234567"),
            (1, "+46701234567", "+46701234567"),
            (0, "46701234567", "+46701234567"),
            (0, "0046701234567", "+46701234567"),
            (0, "0701234567", "0701234567"),
            (0, "72456", "72456"),
            (2, "701234567", "701234567"),
            (5, "City of X", "City of X"),
        ];
        for (ton, addr, expected) in cases {
            assert_eq!(written(Address { ton, npi: 1, addr: addr.as_bytes() }), expected);
        }
    }

    #[test]
    fn the_key_of_a_part_can_be_read_back() {
        let place = Concatenation { reference: 65_535, total: 3, number: 2, wide: true };
        for (from, to) in [("+46701234567", "72456"), ("a/b", ""), ("", "x/y/z")] {
            assert_eq!(read_key(&write_key(from, to, place)), Some((from, to, place)));
        }
        assert_eq!(read_key("nonsense"), None);
    }
}

//! Messages from people: long ones put together, none answered before it is on disk.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use bus::{Bus, BusError, Retained};
use records::{FORM, Inbound, InboundOctets, Outcome, Timestamp, behind_form};
use smpp::pdu::Address;
use smpp::text::join::{Joined, Joiner};
use smpp::text::national::Shift;
use smpp::text::udh::{Concatenation, Udh, UserData};
use smpp::text::{Charset, Coding};
use tokio::sync::Notify;

/// Stands where a part never came.
const MISSING: &str = " [...] ";
/// Digits from which on a number of unknown type counts as international.
const INTERNATIONAL_DIGITS_MIN: usize = 9;

/// Elements of a user data header that tie parts together (TS 23.040 §9.2.3.24): of no meaning once they are
/// one.
const CONCATENATION: [u8; 2] = [0x00, 0x08];
/// And those that say how a text is to be read (TS 23.038 §6.2.1.2.4).
const SHIFTS: [u8; 2] = [0x24, 0x25];
/// Who has the first part of a message may be so slow to put it together; then another does.
pub(super) const ELSEWHERE_MAX: Duration = Duration::from_secs(5);

/// A message, or a part of a long one, and under which key that is kept on disk.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    octets: Vec<u8>,
    data_coding: u8,
    /// What its header says beside that it is a part; without the length octet.
    udh: Vec<u8>,
    key: String,
}

impl Piece {
    fn new(message: &MoMessage<'_>, key: String) -> Piece {
        let mut udh = Vec::new();
        for element in message.data.udh.elements().filter(|element| !CONCATENATION.contains(&element.id)) {
            udh.extend_from_slice(&[element.id, element.data.len() as u8]); // its length came as an octet
            udh.extend_from_slice(element.data);
        }
        Piece { octets: message.data.text.to_vec(), data_coding: message.data_coding, udh, key }
    }

    /// As kept on disk: form, coding, length of the header, header, octets.
    fn value(&self) -> Vec<u8> {
        let head = [FORM, self.data_coding, self.udh.len() as u8]; // a header has at most 255 octets
        [&head[..], &self.udh, &self.octets].concat()
    }

    /// From disk.
    fn read(key: &str, value: &[u8]) -> Option<Piece> {
        let value = behind_form("part of a message", value)
            .inspect_err(|error| tracing::error!(key, %error, "a stored part of a message cannot be decoded and is ignored"))
            .ok()?;
        let (&data_coding, rest) = value.split_first()?;
        let (&length, rest) = rest.split_first()?;
        let (udh, octets) = rest.split_at_checked(usize::from(length))?;
        Some(Piece { octets: octets.to_vec(), data_coding, udh: udh.to_vec(), key: key.to_owned() })
    }

    fn shift(&self) -> Shift {
        let whole: Vec<u8> = std::iter::once(self.udh.len() as u8).chain(self.udh.iter().copied()).collect();
        Udh::split(&whole).map_or(Shift::NONE, |(udh, _)| Shift::of(udh))
    }

    /// It is no text, or has a header or a class that a text has not.
    fn is_more_than_text(&self, charset: Charset) -> bool {
        let coding = Coding::of(self.data_coding, charset);
        let binary = coding.charset == Charset::Binary || coding.class().is_some();
        // Message waiting (TS 23.038 §4).
        let binary = binary || matches!(self.data_coding, 0xC0..=0xEF);
        let mut rest = &self.udh[..];
        let mut more = false;
        while let [id, length, after @ ..] = rest {
            more |= !SHIFTS.contains(id);
            rest = after.get(usize::from(*length)..).unwrap_or(&[]);
        }
        binary || more
    }
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
pub(super) struct StoredPart(Arc<AtomicU8>);

const KEEPING: u8 = 0;
const KEPT: u8 = 1;

impl StoredPart {
    /// `None` while it is being written; then whether it was.
    pub(super) fn result(&self) -> Option<bool> {
        match self.0.load(Ordering::Acquire) {
            KEEPING => None,
            state => Some(state == KEPT),
        }
    }
}

/// Parts of long messages of a route. They are on disk before they are answered, since the carrier forgets
/// them then.
pub(super) struct PartsInbox {
    route: String,
    charset: Charset,
    joiner: Joiner<Piece>,
    kept: Arc<dyn Retained>,
    /// Where other processes hear parts too.
    apart: Option<Apart>,
}

/// Parts of a message that come to several processes: each keeps what comes to it, and who has the first part
/// puts them together.
#[derive(Default)]
struct Apart {
    /// Messages of which parts came here, and whether the first one did.
    ours: HashMap<Set, bool>,
    /// Since when all parts of one are there, whose first part came elsewhere.
    whole: HashMap<Set, Instant>,
}

/// Sender, recipient, reference, whether that is wide, number of parts.
type Set = (String, String, u16, bool, u8);

fn set_of(from: &str, to: &str, place: Concatenation) -> Set {
    (from.to_owned(), to.to_owned(), place.reference, place.wide, place.total)
}

impl PartsInbox {
    /// With what an earlier process had kept.
    pub(super) fn open(
        bus: &dyn Bus,
        route: &str,
        charset: Charset,
        is_shared: bool,
        now: Instant,
    ) -> Result<PartsInbox, BusError> {
        let kept = bus.retained(&format!("joins/{route}"))?;
        let apart = is_shared.then(Apart::default);
        let mut inbox =
            PartsInbox { route: route.to_owned(), charset, joiner: Joiner::default(), kept, apart };
        for (key, value) in inbox.kept.all() {
            let Some((source, destination, place)) = read_key(&key) else { continue };
            let Some(piece) = Piece::read(&key, &value) else { continue };
            if let Some(apart) = &mut inbox.apart {
                // Whoever heard it may be gone.
                apart.ours.entry(set_of(source, destination, place)).or_default();
            }
            inbox.joiner.insert(source.as_bytes(), destination.as_bytes(), place, piece, now);
        }
        Ok(inbox)
    }

    /// Takes a message in.
    pub(super) fn arrive(&mut self, message: &MoMessage<'_>, at: Timestamp, now: Instant) -> Arrived {
        let (from, to) = (written(message.source), written(message.destination));
        let Some(place) = message.data.concatenation.filter(|place| place.total > 1) else {
            let piece = Piece::new(message, String::new());
            return Arrived::Whole(self.outcome(from, to, &[Some(&piece)], at), Vec::new());
        };
        let piece = Piece::new(message, write_key(&from, &to, place));
        let keep = Keep { key: piece.key.clone(), value: piece.value() };
        if let Some(apart) = &mut self.apart {
            *apart.ours.entry(set_of(&from, &to, place)).or_default() |= place.number == 1;
        }
        match self.joiner.insert(from.as_bytes(), to.as_bytes(), place, piece, now) {
            Joined::Complete(pieces) => {
                let all: Vec<Option<&Piece>> = pieces.iter().map(Some).collect();
                let outcome = self.outcome(from.clone(), to.clone(), &all, at);
                if let Some(apart) = &mut self.apart {
                    apart.ours.remove(&set_of(&from, &to, place));
                }
                Arrived::Whole(outcome, pieces.into_iter().map(|piece| piece.key).collect())
            }
            // A repeated part is kept again: the first try may have failed.
            Joined::Waiting | Joined::Duplicate(_) => Arrived::Part(keep),
        }
    }

    /// Messages whose missing parts will not come any more, as they are.
    pub(super) fn give_up(&mut self, at: Timestamp, now: Instant) -> Vec<(Outcome, Vec<String>)> {
        self.joiner.handle_timeout(now);
        let mut given_up = Vec::new();
        while let Some(incomplete) = self.joiner.poll_incomplete() {
            let pieces_of = || incomplete.parts.iter().flatten();
            if let Some(apart) = &mut self.apart {
                let key = &incomplete.key;
                let (from, to) =
                    (String::from_utf8_lossy(&key.source), String::from_utf8_lossy(&key.destination));
                apart.ours.remove(&(from.into_owned(), to.into_owned(), key.reference, key.wide, key.total));
                if pieces_of().all(|piece| self.kept.value(&piece.key).is_none()) {
                    // Another process has put it together.
                    continue;
                }
            }
            let pieces: Vec<Option<&Piece>> = incomplete.parts.iter().map(Option::as_ref).collect();
            let from = String::from_utf8_lossy(&incomplete.key.source).into_owned();
            let to = String::from_utf8_lossy(&incomplete.key.destination).into_owned();
            let outcome = self.outcome(from, to, &pieces, at);
            let keys = incomplete.parts.into_iter().flatten().map(|piece| piece.key).collect();
            given_up.push((outcome, keys));
        }
        given_up
    }

    /// Where parts are kept, if other processes hear some.
    pub(super) fn remote_health(&self) -> Option<Arc<dyn Retained>> {
        self.apart.as_ref().map(|_| Arc::clone(&self.kept))
    }

    /// Messages whose parts are all there, though some came to other processes, if it is for this one to say
    /// so; and whether to look again in a while.
    pub(super) fn meet(&mut self, at: Timestamp, now: Instant) -> (Vec<(Outcome, Vec<String>)>, bool) {
        let Some(apart) = &mut self.apart else { return (Vec::new(), false) };
        let mut sets: HashMap<Set, BTreeMap<u8, Piece>> = HashMap::new();
        for (key, value) in self.kept.all() {
            let Some((from, to, place)) = read_key(&key) else { continue };
            let set = set_of(from, to, place);
            if apart.ours.contains_key(&set)
                && let Some(piece) = Piece::read(&key, &value)
            {
                sets.entry(set).or_default().insert(place.number, piece);
            }
        }
        sets.retain(|(.., total), pieces| pieces.len() == usize::from(*total));
        apart.whole.retain(|set, _| sets.contains_key(set));
        let mut due = Vec::new();
        for (set, pieces) in sets {
            let since = *apart.whole.entry(set.clone()).or_insert(now);
            if apart.ours.get(&set) == Some(&true) || now >= since + ELSEWHERE_MAX {
                apart.whole.remove(&set);
                apart.ours.remove(&set);
                due.push((set, pieces));
            }
        }
        let more = !apart.whole.is_empty();
        let told = due.into_iter().map(|((from, to, ..), pieces)| {
            let all: Vec<Option<&Piece>> = pieces.values().map(Some).collect();
            let outcome = self.outcome(from, to, &all, at);
            (outcome, pieces.into_values().map(|piece| piece.key).collect())
        });
        (told.collect(), more)
    }

    /// When [`give_up`](PartsInbox::give_up) has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.joiner.poll_timeout()
    }

    /// Keeps a part on disk, on the side; `listener` is told when that is done.
    pub(super) fn keep(&self, keep: Keep, listener: Arc<Notify>) -> StoredPart {
        let kept = StoredPart::default();
        let (topic, state, route) = (Arc::clone(&self.kept), kept.clone(), self.route.clone());
        tokio::spawn(async move {
            let result = topic.set(&keep.key, &keep.value).await;
            if let Err(error) = &result {
                tracing::error!(route, %error, "a part of an inbound message could not be stored: it is refused, so that the carrier sends it again");
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
                    tracing::warn!(%error, "a part of a joined message could not be removed: it only takes room");
                }
            }
        });
    }

    /// Characters may be cut in two between parts of one alphabet: octets are put together first. Octets that
    /// are no text say nothing.
    fn text(&self, pieces: &[Option<&Piece>]) -> String {
        let how = |piece: &Piece| (piece.data_coding, piece.shift());
        let mut text = String::new();
        for run in pieces.chunk_by(|a, b| a.map(how) == b.map(how)) {
            let Some((data_coding, shift)) = run[0].map(how) else {
                run.iter().for_each(|_| text.push_str(MISSING));
                continue;
            };
            let octets: Vec<u8> =
                run.iter().flatten().flat_map(|piece| piece.octets.iter().copied()).collect();
            match Coding::of(data_coding, self.charset).charset {
                Charset::Gsm7 => text.push_str(&shift.decode(&octets)),
                Charset::Binary => {}
                // In GSM 7-bit a zero is a letter; elsewhere it ends a string that some carriers send with
                // it.
                charset => text.push_str(charset.decode(&octets).trim_end_matches('\0')),
            }
        }
        text
    }

    /// As octets, where it is whole and more than text.
    fn octets(&self, pieces: &[Option<&Piece>]) -> Option<Box<InboundOctets>> {
        let first = pieces.first().copied().flatten()?;
        let whole: Vec<&Piece> = pieces.iter().copied().collect::<Option<_>>()?;
        let alike = whole.iter().all(|piece| piece.data_coding == first.data_coding);
        (alike && whole.iter().any(|piece| piece.is_more_than_text(self.charset))).then(|| {
            let octets = whole.iter().flat_map(|piece| piece.octets.iter().copied()).collect();
            Box::new(InboundOctets { data_coding: first.data_coding, udh: first.udh.clone(), octets })
        })
    }

    fn outcome(&self, from: String, to: String, pieces: &[Option<&Piece>], at: Timestamp) -> Outcome {
        let (text, octets) = (self.text(pieces), self.octets(pieces));
        let route = self.route.clone();
        Outcome::Inbound(Inbound { channel: channels::SMS, route, from, to, text, octets, of: None, at })
    }
}

/// What a deliver_sm and a data_sm have in common.
pub(super) struct MoMessage<'a> {
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
        // No country's code begins with a zero: two of them are the prefix that people dial.
        INTERNATIONAL => format!("+{}", addr.strip_prefix("00").unwrap_or(&addr)),
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
    fn a_part_is_read_from_disk_as_it_was_and_left_alone_if_a_newer_version_wrote_it() {
        let piece =
            Piece { octets: b"text".to_vec(), data_coding: 8, udh: vec![5, 1, 7], key: "key".to_owned() };
        let value = piece.value();
        let again = Piece::read("key", &value).unwrap();
        assert_eq!((again.octets, again.data_coding, again.udh), (piece.octets, 8, vec![5, 1, 7]));
        assert!(Piece::read("key", &[&[FORM + 1][..], &value[1..]].concat()).is_none());
    }

    #[test]
    fn numbers_are_written_as_people_write_them() {
        let cases: [(u8, &str, &str); 9] = [
            (1, "46701234567", "+46701234567"),
            (1, "0046701234567", "+46701234567"),
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

    #[test]
    fn a_kept_part_is_read_back_with_its_header() {
        let header = [0, 3, 9, 2, 1, 0x24, 1, 1];
        let octets = [&[header.len() as u8][..], &header, b"\x1Bg"].concat();
        let data = UserData::new(&octets, true, smpp::Tlvs::NONE).unwrap();
        let message =
            MoMessage { source: Address::default(), destination: Address::default(), data_coding: 0, data };
        let place = Concatenation { reference: 9, total: 2, number: 1, wide: false };
        let piece = Piece::new(&message, write_key("a", "b", place));
        assert_eq!((piece.udh.as_slice(), piece.octets.as_slice()), (&[0x24, 1, 1][..], &b"\x1Bg"[..]));
        let read = Piece::read(&piece.key, &piece.value()).unwrap();
        assert_eq!((read.udh, read.octets, read.data_coding), (piece.udh, piece.octets, 0));
        assert!(Piece::read("9/0/2/1/1/ab", &[FORM, 8, 9, 65]).is_none(), "a header longer than its part");
    }

    /// A part of a text in two, as it comes.
    fn part(inbox: &mut PartsInbox, number: u8, text: &str) -> Keep {
        let octets = [&[5, 0, 3, 9, 2, number][..], text.as_bytes()].concat();
        let data = UserData::new(&octets, true, smpp::Tlvs::NONE).unwrap();
        let (source, destination) = (Address::default(), Address::default());
        // Latin 1.
        let message = MoMessage { source, destination, data_coding: 3, data };
        match inbox.arrive(&message, Timestamp(0), Instant::now()) {
            Arrived::Part(keep) => keep,
            Arrived::Whole(outcome, _) => panic!("{outcome:?}"),
        }
    }

    async fn keep(inbox: &PartsInbox, keep: Keep) {
        let listener = Arc::new(Notify::new());
        let kept = inbox.keep(keep, Arc::clone(&listener));
        listener.notified().await;
        assert_eq!(kept.result(), Some(true));
    }

    fn texts(told: &[(Outcome, Vec<String>)]) -> Vec<String> {
        let inbound = |(outcome, _): &(Outcome, Vec<String>)| match outcome {
            Outcome::Inbound(inbound) => inbound.text.clone(),
            other => panic!("{other:?}"),
        };
        told.iter().map(inbound).collect()
    }

    #[tokio::test]
    async fn parts_that_come_to_two_processes_are_put_together_once() {
        let dir = tempfile::tempdir().unwrap();
        let bus = bus::embedded::open(dir.path(), bus::embedded::Options::default()).unwrap();
        let now = Instant::now();
        let open = || PartsInbox::open(&*bus, "r", Charset::Gsm7, true, now).unwrap();
        let (mut one, mut two) = (open(), open());
        let (second, first) = (part(&mut two, 2, "world"), part(&mut one, 1, "hello "));
        keep(&two, second).await;
        assert!(two.meet(Timestamp(0), now).0.is_empty());
        keep(&one, first).await;
        // Who has the first part says it; the other only if nobody has after a while.
        let (told, more) = two.meet(Timestamp(0), now);
        assert!(told.is_empty() && more);
        let (told, more) = one.meet(Timestamp(0), now);
        assert_eq!((texts(&told), more), (vec!["hello world".to_owned()], false));
        assert!(one.meet(Timestamp(0), now).0.is_empty(), "said once");
        let version = one.kept.version();
        told.into_iter().for_each(|(_, keys)| one.forget(keys));
        while !one.kept.all().is_empty() {
            one.kept.changed(version).await;
            tokio::task::yield_now().await;
        }
        assert!(two.meet(Timestamp(0), now + ELSEWHERE_MAX).0.is_empty());
        let late = now + Duration::from_secs(3_600);
        assert!(one.give_up(Timestamp(0), late).is_empty() && two.give_up(Timestamp(0), late).is_empty());
    }

    #[tokio::test]
    async fn who_has_any_part_says_a_message_whose_first_part_went_to_a_process_that_died() {
        let dir = tempfile::tempdir().unwrap();
        let bus = bus::embedded::open(dir.path(), bus::embedded::Options::default()).unwrap();
        let now = Instant::now();
        let open = || PartsInbox::open(&*bus, "r", Charset::Gsm7, true, now).unwrap();
        let (mut dead, mut two) = (open(), open());
        let (first, second) = (part(&mut dead, 1, "hello "), part(&mut two, 2, "world"));
        keep(&dead, first).await;
        keep(&two, second).await;
        drop(dead);
        assert!(two.meet(Timestamp(0), now).1);
        let later = now + ELSEWHERE_MAX;
        assert_eq!(texts(&two.meet(Timestamp(0), later).0), ["hello world"]);
        // One that starts finds all of it as well.
        let mut new = open();
        new.meet(Timestamp(0), now);
        assert_eq!(texts(&new.meet(Timestamp(0), later).0), ["hello world"]);
    }
}

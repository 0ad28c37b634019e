//! Request template holds what the requests of one client have in common, so that it is read once.
//!
//! A client writes its requests with one program: the next one has the same AVPs at the same places, and of
//! most of them the same data. What [`RequestReader`](super::read::RequestReader) makes of a request depends
//! on all of its octets, but on a few only in a way that is known: a Session-Id is hashed, a number or an
//! amount of service taken as it is. A [`RequestTemplate`] is a request that was checked and read, with a
//! mask of the bits in which another one must agree with it for all else to be the same: its lengths, its
//! names, its flags, and all data but that. One comparison then stands for the check of the grammar and for
//! the reading. Whatever differs anywhere else is checked and read in full.

use super::amounts::Amount;
use super::answer::Keep;
use diameter::avp::{Avp, AvpName, Avps};
use diameter::dictionary::{self, Kind, avp};
use diameter::header::HEADER_OCTETS;
use diameter::message::Message;
use ledger::client::Client;
use ledger::request::ServiceContext;
use ledger::{Hash128, KeyKind, Kind as LedgerKind, Service};
use std::ops::Range;
use std::sync::Arc;

/// A longer request is read in full each time.
const OCTETS_MAX: usize = 2_048;
/// Shapes of one connection: of its events, and of the first, middle and last requests of sessions.
const SHAPES_MAX: usize = 4;
/// So many requests of no known shape for one that is learnt: a client whose requests are all different costs
/// little more.
const REQUESTS_PER_SHAPE: u32 = 32;
/// Where Hop-by-Hop and End-to-End Identifier stand.
const IDENTIFIERS: Range<usize> = 12..20;
/// The bit that ASCII has not.
const NOT_ASCII: u8 = 0x80;

/// What may have any value: `check` and the reader look at it as a whole number, or not at all.
const NUMBERS: [AvpName; 3] = [avp::EVENT_TIMESTAMP, avp::CC_REQUEST_NUMBER, avp::PROXY_STATE];
/// What may be any text of its length in ASCII, which is always UTF-8.
const TEXTS: [AvpName; 3] = [avp::SESSION_ID, avp::SUBSCRIPTION_ID_DATA, avp::ADDRESS_DATA];

/// Where in a request something stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Span {
    begin: u32,
    octets: u32,
}

impl Span {
    /// Of octets that are a part of the message.
    pub(super) fn of(message: &Message<'_>, part: &[u8]) -> Span {
        let begin = (part.as_ptr() as usize).wrapping_sub(message.octets().as_ptr() as usize);
        Span { begin: begin as u32, octets: part.len() as u32 }
    }

    /// Leaves these bits of each of its octets in a mask.
    fn open(self, mask: &mut [u8], bits: u8) {
        let begin = self.begin as usize;
        if let Some(mask) = mask.get_mut(begin..begin + self.octets as usize) {
            mask.fill(bits);
        }
    }

    /// The same place of another message of the shape.
    #[inline]
    pub(super) fn within<'a>(self, message: &Message<'a>) -> &'a [u8] {
        let begin = self.begin as usize;
        message.octets().get(begin..begin + self.octets as usize).unwrap_or_default()
    }
}

/// Where what differs from request to request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spans {
    /// Data of Session-Id.
    pub(super) session: Span,
    /// Data of CC-Request-Number.
    pub(super) number: Span,
    /// The account's octets.
    pub(super) account: Option<Span>,
    /// The address of the first recipient.
    pub(super) to: Option<Span>,
}

/// What all requests of a shape have in common.
#[derive(Debug, Clone)]
pub(super) struct Common {
    pub(super) context: Keep,
    pub(super) kind: LedgerKind,
    pub(super) account_kind: KeyKind,
    pub(super) host_hash: Hash128,
    pub(super) service_context: ServiceContext,
    pub(super) services: Vec<Service>,
    /// Of the services.
    pub(super) amounts: Vec<Amount>,
    /// Who begins sessions with them, and whether with Multiple-Services-Credit-Control.
    pub(super) opener: Option<(Arc<Client>, bool)>,
    pub(super) places: Spans,
}

/// A request, and which others are like it.
struct RequestTemplate {
    octets: usize,
    /// For 32 octets each a mask, and what must be found there: so many are compared in a few instructions.
    blocks: Vec<[[u64; 4]; 2]>,
    /// For eight octets each of what is behind them, likewise.
    words: Vec<[u64; 2]>,
    /// For the last eight, which overlap those before them where the length is no multiple of eight.
    last: [u64; 2],
    common: Common,
}

impl RequestTemplate {
    fn new(message: &Message<'_>, common: Common) -> Option<RequestTemplate> {
        let octets = message.octets();
        let mut mask = vec![0xff_u8; octets.len()];
        mask.get_mut(IDENTIFIERS)?.fill(0);
        open(message, message.avps(), &mut mask);
        common.amounts.iter().for_each(|amount| amount.place.open(&mut mask, 0));
        let pair = |at: usize| {
            let word = |octets: &[u8]| octets.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes);
            let mask = word(&mask)?;
            Some([mask, word(octets)? & mask])
        };
        let words = (0..octets.len() / 8).map(|at| pair(at * 8)).collect::<Option<Vec<[u64; 2]>>>()?;
        let (blocks, words) = words.as_chunks::<4>();
        let blocks = blocks.iter().map(|four| [four.map(|[mask, _]| mask), four.map(|[_, is]| is)]).collect();
        let last = pair(octets.len().checked_sub(8)?)?;
        Some(RequestTemplate { octets: octets.len(), blocks, words: words.to_vec(), last, common })
    }

    #[inline]
    fn is_of(&self, octets: &[u8]) -> bool {
        if octets.len() != self.octets {
            return false;
        }
        let Some(last) = octets.last_chunk::<8>() else { return false };
        let differs = |octets: &[u8; 8], [mask, is]: &[u64; 2]| u64::from_ne_bytes(*octets) & mask ^ is;
        let (blocks, rest) = octets.as_chunks::<32>();
        let mut differ = [0; 4];
        for (block, [mask, is]) in blocks.iter().zip(&self.blocks) {
            let (eights, _) = block.as_chunks::<8>();
            for (at, differ) in differ.iter_mut().enumerate() {
                *differ |= differs(&eights[at], &[mask[at], is[at]]);
            }
        }
        let (eights, _) = rest.as_chunks::<8>();
        let behind = eights.iter().zip(&self.words).fold(0, |all, (eight, word)| all | differs(eight, word));
        differ.iter().fold(behind, |all, one| all | one) | differs(last, &self.last) == 0
    }
}

/// Takes the data out of the mask that may differ.
fn open(message: &Message<'_>, avps: Avps<'_>, mask: &mut [u8]) {
    for found in avps.map_while(Result::ok) {
        let Some(rule) = dictionary::lookup(found.name) else { continue };
        if rule.kind == Kind::Grouped {
            // What a Failed-AVP holds is nobody's data.
            if found.name != avp::FAILED_AVP {
                open(message, found.group(), mask);
            }
        } else if let Some(bits) = bits(&found, rule.kind) {
            Span::of(message, found.data).open(mask, bits);
        }
    }
}

/// The bits of data in which another request must agree. `None`: all.
fn bits(found: &Avp<'_>, kind: Kind) -> Option<u8> {
    match kind {
        Kind::UTF8String if TEXTS.contains(&found.name) && found.data.is_ascii() => Some(NOT_ASCII),
        Kind::Unsigned32 | Kind::Time | Kind::OctetString if NUMBERS.contains(&found.name) => Some(0),
        _ => None,
    }
}

/// The shapes of one connection's requests.
#[derive(Default)]
pub(super) struct RequestTemplates {
    all: Vec<RequestTemplate>,
    /// Which one gives way to the next.
    oldest: usize,
    /// Requests of no known shape until the next one is learnt.
    until_next: u32,
}

impl RequestTemplates {
    /// Which one this request is of.
    #[inline]
    pub(super) fn find(&self, message: &Message<'_>) -> Option<usize> {
        self.all.iter().position(|shape| shape.is_of(message.octets()))
    }

    /// What the requests of a shape that was found have in common.
    #[inline]
    pub(super) fn common(&self, found: usize) -> &Common {
        &self.all[found].common
    }

    /// Whether this request, which is of no known shape, should be learnt if it is good.
    pub(super) fn is_due(&mut self, message: &Message<'_>) -> bool {
        if self.until_next > 0 {
            self.until_next -= 1;
            return false;
        }
        (HEADER_OCTETS..=OCTETS_MAX).contains(&message.octets().len())
    }

    /// Learns a request that is good.
    pub(super) fn learn(&mut self, message: &Message<'_>, common: Common) {
        let Some(shape) = RequestTemplate::new(message, common) else { return };
        self.until_next = REQUESTS_PER_SHAPE;
        if self.all.len() < SHAPES_MAX {
            self.all.push(shape);
        } else {
            self.all[self.oldest] = shape;
            self.oldest = (self.oldest + 1) % SHAPES_MAX;
        }
    }
}

#[cfg(test)]
mod tests;

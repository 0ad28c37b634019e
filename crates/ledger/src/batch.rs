//! Requests on their way to an owner and their answers on the way back: one object that goes round, with a
//! few flat lists and no allocation for a request.

use super::client::{Client, Opener};
use super::hash::{Hash128, HashKey};
use super::key::{KEY_OCTETS_MAX, KeyKind, PackedKey, canonical};
use super::request::{Answer, Destination, Kind, Request, Service, ServiceAnswer, ServiceContext};
use std::sync::Arc;

/// A request as it is put into a batch.
#[derive(Clone, Copy, Debug)]
pub struct NewRequest<'a> {
    pub kind: Kind,
    pub account_kind: KeyKind,
    /// At most `KEY_OCTETS_MAX`.
    pub account: &'a [u8],
    pub session: Hash128,
    pub number: u32,
    pub context: ServiceContext,
    pub class: u8,
    pub destination: Destination,
    pub services: &'a [Service],
    /// Who begins the session, for `Initial` alone.
    pub opener: Option<Opener<'a>>,
    /// The caller's own mark; it comes back with the answer.
    pub tag: u64,
}

/// One request of a batch, but for what it has in common with the one before it: what crosses from a
/// connection to its shard is read by another core, so it is little.
#[derive(Clone, Copy, Debug)]
struct Item {
    account: PackedKey,
    hash: u64,
    session: Hash128,
    tag: u64,
    destination: Destination,
    number: u32,
    /// Where the account's octets stand, if its packed form has only their hash.
    octets: u32,
    octets_len: u16,
    /// Its number in `alike`.
    alike: u32,
}

/// What requests that follow on one another nearly always have in common.
#[derive(Clone, Copy, Debug)]
struct Alike {
    kind: Kind,
    context: ServiceContext,
    class: u8,
    services: (u32, u32),
}

/// Who begins the session of one item.
#[derive(Clone, Copy, Debug)]
struct OpenerItem {
    item: u32,
    session_id: (u32, u32),
    /// Its number in `clients`.
    client: u32,
    is_multiple: bool,
}

/// A number of requests for one shard, and afterwards their answers. Empty it with `clear` and use it again.
#[derive(Debug, Default)]
pub struct Batch {
    items: Vec<Item>,
    alike: Vec<Alike>,
    /// Of those that begin sessions, in their order.
    openers: Vec<OpenerItem>,
    /// One after the other, each once as long as no other comes.
    clients: Vec<Arc<Client>>,
    services: Vec<Service>,
    octets: Vec<u8>,
    answers: Vec<Answer>,
    answer_services: Vec<ServiceAnswer>,
    slots: super::answered::Slots,
}

/// How many requests are looked up together before they are applied.
const TOGETHER: usize = 128;

impl Batch {
    pub fn len(&self) -> usize {
        self.items.len()
    }
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// Ready for other requests; the memory stays.
    pub fn clear(&mut self) {
        self.items.clear();
        self.alike.clear();
        self.openers.clear();
        self.clients.clear();
        self.services.clear();
        self.octets.clear();
        self.answers.clear();
        self.answer_services.clear();
    }

    /// Adds a request. The hash of its account says to which shard it belongs: see
    /// `Ledger::account_hash`.
    #[inline]
    pub fn push(&mut self, packed: PackedKey, hash: u64, request: &NewRequest<'_>) {
        let alike = match self.alike.last() {
            Some(last) if self.is_alike(last, request) => self.alike.len() - 1,
            _ => self.add_alike(request),
        };
        let octets = self.octets.len() as u32;
        let mut octets_len = 0;
        if packed.is_hashed() {
            // A longer key than `KEY_OCTETS_MAX` is refused by its length, whatever its octets are.
            let account = canonical(request.account_kind, request.account);
            let kept = &account[..account.len().min(KEY_OCTETS_MAX + 1)];
            self.octets.extend_from_slice(kept);
            octets_len = kept.len() as u16;
        }
        if let Some(opener) = &request.opener {
            self.push_opener(opener);
        }
        self.items.push(Item {
            account: packed,
            hash,
            session: request.session,
            tag: request.tag,
            destination: request.destination,
            number: request.number,
            octets,
            octets_len,
            alike: alike as u32,
        });
    }

    #[inline]
    fn is_alike(&self, last: &Alike, request: &NewRequest<'_>) -> bool {
        let services = last.services.0 as usize..(last.services.0 + last.services.1) as usize;
        last.kind == request.kind
            && last.context == request.context
            && last.class == request.class
            && self.services.get(services).is_some_and(|services| services == request.services)
    }

    #[inline(never)]
    fn add_alike(&mut self, request: &NewRequest<'_>) -> usize {
        let services = (self.services.len() as u32, request.services.len() as u32);
        self.services.extend_from_slice(request.services);
        let NewRequest { kind, context, class, .. } = *request;
        self.alike.push(Alike { kind, context, class, services });
        self.alike.len() - 1
    }

    fn push_opener(&mut self, opener: &Opener<'_>) {
        let session_id = (self.octets.len() as u32, opener.session_id.len() as u32);
        self.octets.extend_from_slice(opener.session_id);
        if !self.clients.last().is_some_and(|last| Arc::ptr_eq(last, opener.client)) {
            self.clients.push(opener.client.clone());
        }
        let (item, client) = (self.items.len() as u32, self.clients.len() as u32 - 1);
        self.openers.push(OpenerItem { item, session_id, client, is_multiple: opener.is_multiple });
    }

    /// Who begins the session of an item that begins one.
    fn opener(&self, item: u32) -> Option<Opener<'_>> {
        let place = self.openers.binary_search_by_key(&item, |opener| opener.item).ok()?;
        let OpenerItem { session_id: (begin, octets), client, is_multiple, .. } = &self.openers[place];
        let session_id = &self.octets[*begin as usize..(begin + octets) as usize];
        let client = &self.clients[*client as usize];
        Some(Opener { session_id, client, is_multiple: *is_multiple })
    }

    #[inline]
    fn request(&self, number: u32, item: &Item) -> Request<'_> {
        let alike = &self.alike[item.alike as usize];
        let octets = item.octets as usize..item.octets as usize + usize::from(item.octets_len);
        let services = alike.services.0 as usize..(alike.services.0 + alike.services.1) as usize;
        Request {
            kind: alike.kind,
            account: item.account,
            account_octets: &self.octets[octets],
            session: item.session,
            number: item.number,
            context: alike.context,
            class: alike.class,
            destination: item.destination,
            services: &self.services[services],
            opener: if alike.kind == Kind::Initial { self.opener(number) } else { None },
        }
    }

    /// All requests in their order, with the hashes of their accounts.
    pub(super) fn requests(&self) -> impl Iterator<Item = (Request<'_>, u64)> {
        self.items.iter().zip(0..).map(|(item, number)| (self.request(number, item), item.hash))
    }

    /// Applies all requests in their order.
    pub fn apply(
        &mut self,
        shard: &mut super::Shard,
        now_us: u64,
        log: &mut Vec<u8>,
        past: &dyn super::shard::Past,
    ) {
        let mut answers = std::mem::take(&mut self.answers);
        let mut services = std::mem::take(&mut self.answer_services);
        let mut slots = std::mem::take(&mut self.slots);
        answers.clear();
        services.clear();
        let mut number = 0;
        for items in self.items.chunks(TOGETHER) {
            let id = |item: &Item| super::answered::AnsweredRequests::id(item.session, item.number);
            let touched = items
                .iter()
                .map(|item| (item.hash, &self.alike[item.alike as usize].kind, &item.session, id(item)));
            std::hint::black_box(shard.touch(touched, &mut slots));
            for item in items {
                let mut turn = super::shard::Turn { now_us, log, services: &mut services, past };
                answers.push(shard.apply(&self.request(number, item), item.hash, &mut turn));
                number += 1;
            }
        }
        (self.answers, self.answer_services, self.slots) = (answers, services, slots);
    }

    /// Answers all requests with this result: the ledger cannot do its work.
    pub fn refuse(&mut self, result: u32) {
        self.answers.clear();
        self.answer_services.clear();
        self.answers.resize(self.items.len(), Answer { result, ..Answer::default() });
    }

    /// Each request's mark, its answer and its services, in the order of the requests.
    pub fn answers(&self) -> impl Iterator<Item = (u64, &Answer, &[ServiceAnswer])> {
        self.items.iter().zip(&self.answers).map(|(item, answer)| {
            let from = answer.services_from as usize;
            (item.tag, answer, &self.answer_services[from..from + answer.services as usize])
        })
    }
}

/// The packed key of an account and its hash, whose upper bits choose the shard. [`Ledger::account_hash`]
/// knows accounts of older ledgers too.
///
/// [`Ledger::account_hash`]: super::Ledger::account_hash
pub(super) fn account_hash(key: HashKey, kind: KeyKind, octets: &[u8]) -> (PackedKey, u64) {
    let packed = PackedKey::new(key, kind, canonical(kind, octets));
    (packed, packed.hash(key))
}

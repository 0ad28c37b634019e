//! Requests on their way to an owner and their answers on the way back: one object that goes round, with a few flat lists and no allocation
//! for a request.

use super::hash::{Hash128, HashKey};
use super::key::{KeyKind, PackedKey};
use super::request::{Answer, Destination, Kind, Request, Service, ServiceAnswer, ServiceContext};

/// A request as it is put into a batch.
#[derive(Clone, Copy, Debug)]
pub struct NewRequest<'a> {
    pub kind: Kind,
    pub account_kind: KeyKind,
    /// At most `KEY_OCTETS_MAX`.
    pub account: &'a [u8],
    pub session: Hash128,
    pub number: u32,
    pub origin: Hash128,
    pub context: ServiceContext,
    pub class: u8,
    pub destination: Destination,
    pub services: &'a [Service],
    /// The caller's own mark; it comes back with the answer.
    pub tag: u64,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    kind: Kind,
    account: PackedKey,
    hash: u64,
    session: Hash128,
    origin: Hash128,
    tag: u64,
    number: u32,
    context: ServiceContext,
    destination: Destination,
    octets: (u32, u32),
    services: (u32, u32),
    class: u8,
}

/// A number of requests for one shard, and afterwards their answers. Empty it with `clear` and use it again.
#[derive(Debug, Default)]
pub struct Batch {
    items: Vec<Item>,
    services: Vec<Service>,
    octets: Vec<u8>,
    answers: Vec<Answer>,
    answer_services: Vec<ServiceAnswer>,
    slots: Vec<u64>,
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
        self.services.clear();
        self.octets.clear();
        self.answers.clear();
        self.answer_services.clear();
    }

    /// Adds a request. The hash of its account says to which shard it belongs: see `account_hash`.
    pub fn push(&mut self, packed: PackedKey, hash: u64, request: &NewRequest<'_>) {
        let octets = (self.octets.len() as u32, request.account.len() as u32);
        let services = (self.services.len() as u32, request.services.len() as u32);
        self.octets.extend_from_slice(request.account);
        self.services.extend_from_slice(request.services);
        self.items.push(Item {
            kind: request.kind,
            account: packed,
            hash,
            session: request.session,
            origin: request.origin,
            tag: request.tag,
            number: request.number,
            context: request.context,
            destination: request.destination,
            octets,
            services,
            class: request.class,
        });
    }

    fn request(&self, item: &Item) -> Request<'_> {
        let octets = item.octets.0 as usize..(item.octets.0 + item.octets.1) as usize;
        let services = item.services.0 as usize..(item.services.0 + item.services.1) as usize;
        Request {
            kind: item.kind,
            account: item.account,
            account_octets: &self.octets[octets],
            session: item.session,
            number: item.number,
            origin: item.origin,
            context: item.context,
            class: item.class,
            destination: item.destination,
            services: &self.services[services],
        }
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
        for items in self.items.chunks(TOGETHER) {
            let ids = |item: &Item| super::Shard::ids(item.session, item.number, item.origin);
            let touched = items.iter().map(|item| (item.hash, &item.kind, ids(item)));
            std::hint::black_box(shard.touch(touched, &mut slots));
            for item in items {
                let mut turn = super::shard::Turn { now_us, log, services: &mut services, past };
                answers.push(shard.apply(&self.request(item), item.hash, &mut turn));
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

/// The packed key of an account and its hash, whose upper bits choose the shard.
pub fn account_hash(key: HashKey, kind: KeyKind, octets: &[u8]) -> (PackedKey, u64) {
    let packed = PackedKey::new(key, kind, octets);
    (packed, packed.hash(key))
}

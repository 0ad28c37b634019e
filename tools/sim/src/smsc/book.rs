//! The last accepted messages, by their ids: to be queried, cancelled, replaced, and receipted by hand.

use super::deliver_sm::{self, Subject};
use super::delivery_queue::QueueAccount;
use super::ids;
use super::receipts::{IdForm, ReceiptStage};
use super::{Shared, Smsc, alphabet};
use smpp::pdu::{Address, registered_delivery};
use smpp::status::Status;

/// So many are known at most, whatever `keep` says.
const SLOTS_MAX: usize = 100_000;
/// Octets of all addresses but data_sm's, which have up to 64 (5.0 §4.2.2).
const ADDRESS_OCTETS: usize = 20;
/// A receipt repeats so much of a message: 20 characters of UCS-2.
const WORDS_OCTETS: usize = 40;

/// An address of its own.
#[derive(Debug, Clone)]
pub(super) struct OwnAddress {
    ton: u8,
    npi: u8,
    length: u8,
    octets: [u8; ADDRESS_OCTETS],
    /// What does not fit above.
    long: Option<Box<[u8]>>,
}

impl OwnAddress {
    pub(super) fn new(address: Address<'_>) -> Self {
        let Address { ton, npi, addr } = address;
        let mut octets = [0; ADDRESS_OCTETS];
        let mut own = OwnAddress { ton, npi, length: 0, octets, long: None };
        if let Some(place) = octets.get_mut(..addr.len()) {
            place.copy_from_slice(addr);
            (own.octets, own.length) = (octets, addr.len() as u8);
        } else {
            own.long = Some(addr.into());
        }
        own
    }

    fn get(&self) -> Address<'_> {
        let short = &self.octets[..usize::from(self.length)];
        Address::new(self.ton, self.npi, self.long.as_deref().unwrap_or(short))
    }
}

/// One accepted message to one number, or a part of it.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) id: u64,
    /// The account's place.
    pub(super) account: u32,
    pub(super) from: OwnAddress,
    pub(super) to: OwnAddress,
    pub(super) submitted_us: u64,
    /// When it comes to its state; before, it is under way.
    pub(super) done_us: u64,
    pub(super) state: ReceiptStage,
    pub(super) error: u8,
    pub(super) registered_delivery: u8,
    pub(super) is_v33: bool,
    pub(super) words: TextBeginning,
}

/// A message's first octets: they are read when a receipt wants them.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextBeginning {
    octets: [u8; WORDS_OCTETS],
    length: u8,
    data_coding: u8,
}

impl TextBeginning {
    pub(super) fn new(data_coding: u8, octets: &[u8]) -> Self {
        let mut words = TextBeginning { octets: [0; WORDS_OCTETS], length: 0, data_coding };
        let length = octets.len().min(WORDS_OCTETS);
        words.octets[..length].copy_from_slice(&octets[..length]);
        words.length = length as u8;
        words
    }

    fn read(&self) -> String {
        alphabet::read(self.data_coding, &self.octets[..usize::from(self.length)]).into_owned()
    }
}

impl Slot {
    pub(super) fn state_at(&self, now_us: u64) -> ReceiptStage {
        if now_us >= self.done_us { self.state } else { ReceiptStage::Enroute }
    }

    fn is_pending(&self, now_us: u64) -> bool {
        !self.state_at(now_us).is_final()
    }

    fn receipt(&self, form: IdForm, receipts: &super::Receipts) -> Option<Box<[u8]>> {
        let subject = Subject {
            id: self.id,
            form,
            is_v33: self.is_v33,
            from: self.from.get(),
            to: self.to.get(),
            text: &self.words.read(),
            submitted_us: self.submitted_us,
            done_us: self.done_us,
            state: self.state,
            error: self.error,
        };
        deliver_sm::receipt(&subject, receipts)
    }
}

/// The last slots; since ids follow each other, an id's place is its rest.
#[derive(Debug, Default)]
pub(super) struct Book {
    slots: Vec<Option<Slot>>,
}

impl Book {
    /// Enters slots, and empties the list.
    pub(super) fn enter(&mut self, slots: &mut Vec<Slot>, keep: usize) {
        let size = keep.min(SLOTS_MAX);
        if size == 0 || slots.is_empty() {
            return slots.clear();
        }
        if self.slots.len() != size {
            let old = std::mem::take(&mut self.slots);
            self.slots.resize_with(size, || None);
            old.into_iter().flatten().for_each(|slot| self.put(slot));
        }
        slots.drain(..).for_each(|slot| self.put(slot));
    }

    fn put(&mut self, slot: Slot) {
        let place = (slot.id % self.slots.len() as u64) as usize;
        self.slots[place] = Some(slot);
    }

    pub(super) fn find(&mut self, id: u64) -> Option<&mut Slot> {
        let size = self.slots.len() as u64;
        let slot = self.slots.get_mut((id.checked_rem(size)?) as usize)?;
        slot.as_mut().filter(|slot| slot.id == id)
    }
}

/// Who asks for which message.
pub(super) struct MessageLookup<'a> {
    pub(super) account: &'a QueueAccount,
    pub(super) message_id: &'a [u8],
    pub(super) is_v33: bool,
    /// Must be that of the submission.
    pub(super) from: Address<'a>,
}

impl Shared {
    /// The id that was written so.
    fn id(&self, message_id: &[u8], is_v33: bool) -> Option<u64> {
        let id = ids::read(self.scene().options.ids, message_id, is_v33)?;
        if !is_v33 {
            return Some(id);
        }
        let last = self.ids.end();
        let near = (last & !u64::from(u32::MAX)) | id;
        Some(if near >= last { near.saturating_sub(1 << 32) } else { near })
    }

    /// Does something with the message that is wanted.
    fn with<T>(&self, wanted: &MessageLookup<'_>, act: impl FnOnce(&mut Slot) -> T) -> Option<T> {
        let id = self.id(wanted.message_id, wanted.is_v33)?;
        self.ledger.with_book(|book| {
            let slot = book.find(id)?;
            let is_theirs = slot.account == wanted.account.place;
            let is_from = wanted.from.addr.is_empty() || wanted.from.addr == slot.from.get().addr;
            (is_theirs && is_from).then(|| act(slot))
        })
    }

    /// State, error and the moment of the state, of a message.
    pub(super) fn query(&self, wanted: &MessageLookup<'_>) -> Result<(ReceiptStage, u8, u64), Status> {
        let now_us = self.clock.now_us();
        self.with(wanted, |slot| {
            let state = slot.state_at(now_us);
            (state, if state.is_final() { slot.error } else { 0 }, slot.done_us)
        })
        .ok_or(Status::RQUERYFAIL)
    }

    /// Cancels one message by its id, or all that are under way from one address to another.
    pub(super) fn cancel(&self, wanted: &MessageLookup<'_>, to: Address<'_>) -> Result<(), Status> {
        let now_us = self.clock.now_us();
        let cancel = |slot: &mut Slot| {
            slot.is_pending(now_us).then(|| {
                (slot.state, slot.error, slot.done_us) = (ReceiptStage::Deleted, 0, now_us);
                slot.clone()
            })
        };
        let cancelled = if wanted.message_id.is_empty() {
            self.ledger.with_book(|book| {
                let theirs = book.slots.iter_mut().flatten().filter(|slot| {
                    slot.account == wanted.account.place
                        && slot.from.get().addr == wanted.from.addr
                        && slot.to.get().addr == to.addr
                });
                theirs.filter_map(cancel).collect()
            })
        } else {
            let slot = self.with(wanted, cancel).ok_or(Status::RINVMSGID)?;
            Vec::from_iter(slot)
        };
        if cancelled.is_empty() {
            return Err(Status::RCANCELFAIL);
        }
        for slot in &cancelled {
            let mask = registered_delivery::RECEIPT_MASK;
            let is_wanted = [registered_delivery::FINAL, registered_delivery::FAILURE]
                .contains(&(slot.registered_delivery & mask));
            self.settle(slot, is_wanted);
        }
        Ok(())
    }

    /// Puts other words into a message that is under way.
    pub(super) fn replace(
        &self,
        wanted: &MessageLookup<'_>,
        octets: &[u8],
        registered: u8,
    ) -> Result<(), Status> {
        let now_us = self.clock.now_us();
        let id = self.with(wanted, |slot| {
            slot.is_pending(now_us).then(|| {
                slot.words = TextBeginning::new(0, octets);
                slot.registered_delivery = registered;
                slot.id
            })
        });
        let id = id.ok_or(Status::RINVMSGID)?.ok_or(Status::RREPLACEFAIL)?;
        let mut written = Vec::new();
        ids::write(self.scene().options.ids, id, ids::IdPlace::Response, wanted.is_v33, &mut written);
        self.ledger.replace(&String::from_utf8_lossy(&written), &alphabet::read(0, octets));
        Ok(())
    }

    /// Sends a receipt now instead of the one that waits.
    fn settle(&self, slot: &Slot, is_wanted: bool) {
        self.post.withdraw(slot.id);
        let scene = self.scene();
        let receipts = &scene.options.receipts;
        let Some(pdu) = slot.receipt(scene.options.ids, receipts).filter(|_| is_wanted) else { return };
        let account = match &receipts.account {
            Some(name) => Some(self.post.account(name.as_bytes())),
            None => self.post.at(slot.account),
        };
        let Some(account) = account else { return };
        self.post.count_made(1, 0);
        self.post.mail(&mut vec![(self.clock.now_us(), account.letter(pdu))]);
    }

    /// Brings a message to a state and sends its receipt, asked for or not, whatever it came to before.
    pub(super) fn force(&self, message_id: &str, state: ReceiptStage, error: u8) -> Result<(), String> {
        let now_us = self.clock.now_us();
        let force = |slot: &mut Slot| {
            (slot.state, slot.error, slot.done_us) = (state, error, now_us);
            slot.clone()
        };
        let found = [false, true].iter().find_map(|is_v33| {
            let id = self.id(message_id.as_bytes(), *is_v33)?;
            self.ledger.with_book(|book| book.find(id).map(force))
        });
        let slot = found.ok_or_else(|| format!("id: {message_id:?} is none of the last messages"))?;
        self.settle(&slot, true);
        Ok(())
    }
}

impl Smsc {
    /// Brings a message (by its id, as answered) to a state, and sends its receipt at once, asked for or not.
    ///
    /// # Errors
    /// The message is not known, or no more.
    pub fn force_receipt(&self, message_id: &str, state: ReceiptStage, error: u8) -> Result<(), String> {
        self.shared.force(message_id, state, error)
    }
}

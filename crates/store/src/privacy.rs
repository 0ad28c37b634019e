use crate::{FoldedBlock, StopHash, StoreError};
use futures_util::future::BoxFuture;
use records::{Alert, AlertNo, AlertRequest, ChannelNumber, Device, EndpointNo, Timestamp};

/// What is taken out of a store when a person is forgotten, and what is let go of by age.
pub trait Privacy {
    /// Takes a person's record away, in all its versions, and their id out of the members of groups. An
    /// import that is published later brings its rows, also those of this id.
    fn erase_recipient<'a>(
        &'a self,
        account: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<ErasedRecord, StoreError>>;
    /// Puts hashes in the place of the stops of these addresses. One whose `stopped` is given is noted as a
    /// stop since then, also if there was none.
    fn forget_stops<'a>(
        &'a self,
        account: &'a str,
        stops: Vec<StopOf>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Alerts of the account in the order of their numbers after `after`, standing ones too.
    fn alerts_after<'a>(
        &'a self,
        account: &'a str,
        after: AlertNo,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>>;
    /// Puts a block of a roster in the place of the one that is there, and takes the words out of the
    /// deliveries of these endpoints: what carriers said of them, and the texts of their answers. States,
    /// times and the keys of answers stay.
    fn rewrite_block(
        &self,
        block: FoldedBlock,
        wordless: Vec<EndpointNo>,
    ) -> BoxFuture<'_, Result<(), StoreError>>;
    /// Puts what an alert asked for in the place of what is there. One that takes answers takes them until
    /// the end that stands there then.
    fn rewrite_request<'a>(
        &'a self,
        no: AlertNo,
        request: &'a AlertRequest,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Notes whom to forget. Resolves to the note's number.
    fn put_erasure<'a>(
        &'a self,
        account: &'a str,
        body: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<u64, StoreError>>;
    /// All that were noted, of every account, the oldest first.
    fn erasures(&self) -> BoxFuture<'_, Result<Vec<PendingErasure>, StoreError>>;
    /// One of them is done.
    fn remove_erasure(&self, no: u64) -> BoxFuture<'_, Result<(), StoreError>>;
    /// Takes the texts out of the answers to alerts that ended before `before` and took none after it, of at
    /// most `limit` alerts; the keys of the choices stay, so that counts do. Resolves to those alerts.
    fn forget_answers_before(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AlertNo>, StoreError>>;
}

/// What a store had of a person.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ErasedRecord {
    /// Versions of the record; 0: there was none.
    pub versions: usize,
    /// All devices of these, each once.
    pub devices: Vec<Device>,
    /// Groups that had them as a member.
    pub groups: Vec<String>,
}

/// An address whose stops are to be known by their hash alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopOf {
    /// By which channel.
    pub channel: ChannelNumber,
    /// As it stands in the store.
    pub address: String,
    /// Of [`crate::StopHasher::hash`].
    pub hash: StopHash,
    /// It is a stop to whatever we send since then, as a mark of the device says.
    pub stopped: Option<Timestamp>,
}

/// Somebody who is still to be forgotten of some alerts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingErasure {
    /// Its number.
    pub no: u64,
    /// Whose person.
    pub account: String,
    /// Since when.
    pub at: Timestamp,
    /// As it was put.
    pub body: String,
}

impl ErasedRecord {
    /// Adds a version of the record.
    pub(crate) fn add(&mut self, devices: Vec<Device>) {
        self.versions += 1;
        for device in devices {
            let known = self
                .devices
                .iter_mut()
                .find(|one| (one.channel, &one.address) == (device.channel, &device.address));
            match known {
                Some(known) => known.opted_out |= device.opted_out,
                None => self.devices.push(device),
            }
        }
    }
}

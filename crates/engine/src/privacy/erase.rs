//! Erase forgets a person: record, devices, groups, stops (but for their hashes), rosters, deliveries, what
//! alerts asked for, exports, the audit trail. A note of it is kept until it is done, so that a crash in the
//! middle is made good; alerts that have not ended are gone through when they have.

use super::Privacy;
use super::person::ForgottenPerson;
use crate::api::EngineError;
use crate::run::{ActorCommand, forget_help_words as forget_words, store_error};
use crate::services::{Joining, PageNotes};
use futures_util::future::BoxFuture;
use records::{Alert, AlertNo, AlertState, ChannelNumber, EndpointNo, ROSTER_BLOCK_ENDPOINTS, RosterBlock};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{FoldedBlock, PendingErasure, StopOf, Store};

/// Alerts looked up in one go.
const ALERTS_AT_ONCE: usize = 200;

/// Forgets a person in what the engine does not keep, such as exported files; gives how many of these
/// changed.
pub type ForgetElsewhere =
    Arc<dyn Fn(ForgottenPerson) -> BoxFuture<'static, Result<u64, String>> + Send + Sync>;

/// What became of forgetting a person.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Erased {
    /// There was a record.
    pub record: bool,
    /// Groups that had them as a member.
    pub groups: u64,
    /// Alerts and message streams that knew them, and do not any more.
    pub alerts: u64,
    /// Alerts and message streams that have not ended: they are gone through when they have.
    pub waiting: u64,
    /// Entries of the audit trail that named them.
    pub audit: u64,
    /// Exported files that named them.
    pub exports: u64,
}

impl Erased {
    /// Nobody knew them.
    fn is_nothing(&self) -> bool {
        *self == Erased::default()
    }
}

/// A note of what is to be forgotten, as it stands in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    id: String,
    addresses: Vec<(u8, String)>,
    /// Alerts that are still to be gone through; nothing: everything is to be done.
    alerts: Option<Vec<u64>>,
}

impl Note {
    fn new(person: &ForgottenPerson, alerts: Option<Vec<AlertNo>>) -> Note {
        let mut addresses: Vec<(u8, String)> =
            person.addresses.iter().map(|(channel, address)| (channel.0, address.clone())).collect();
        addresses.sort_unstable();
        let alerts = alerts.map(|all| all.iter().map(|no| no.0).collect());
        Note { id: person.id.clone(), addresses, alerts }
    }

    fn person(&self, account: &str) -> ForgottenPerson {
        let addresses =
            self.addresses.iter().map(|(channel, address)| (ChannelNumber(*channel), address.clone()));
        ForgottenPerson { account: account.to_owned(), id: self.id.clone(), addresses: addresses.collect() }
    }
}

impl Privacy {
    /// Forgets a person. Of several processes the leader does it.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] if nothing is known of them; the store's, and what `elsewhere` says: then a
    /// note is left, and it is tried again by [`Privacy::erase_noted`].
    pub async fn erase(
        &self,
        account: &str,
        id: &str,
        elsewhere: Option<&ForgetElsewhere>,
    ) -> Result<Erased, EngineError> {
        let store = self.engine.store();
        let known = store.recipient(account, id).await.map_err(store_error)?;
        let devices = known.map(|(recipient, _)| recipient.devices).unwrap_or_default();
        let mut person = ForgottenPerson {
            account: account.to_owned(),
            id: id.to_owned(),
            addresses: devices.into_iter().map(|device| (device.channel, device.address)).collect(),
        };
        self.keep_addresses_of_others(&mut person).await?;
        let no = self.note_erasure(&person, None).await?;
        let erased = self.erase_everywhere(person, elsewhere).await?;
        store.remove_erasure(no).await.map_err(store_error)?;
        if erased.is_nothing() { Err(EngineError::NotFound) } else { Ok(erased) }
    }

    /// Goes on with what was noted: alerts that have ended since, and what a crash or an error cut short.
    ///
    /// # Errors
    /// As [`Privacy::erase`].
    pub async fn erase_noted(&self, elsewhere: Option<&ForgetElsewhere>) -> Result<(), EngineError> {
        let store = self.engine.store();
        for pending in store.erasures().await.map_err(store_error)? {
            let note: Note = serde_json::from_str(&pending.body).map_err(|error| {
                EngineError::Internal(format!(
                    "the note {} of an erasure cannot be read: {error}",
                    pending.no
                ))
            })?;
            let person = note.person(&pending.account);
            match &note.alerts {
                None => _ = self.erase_everywhere(person, elsewhere).await?,
                Some(alerts) => self.erase_of(&pending, &person, alerts, elsewhere).await?,
            }
            if note.alerts.is_none() {
                store.remove_erasure(pending.no).await.map_err(store_error)?;
            }
        }
        Ok(())
    }

    /// Goes through the alerts of a note; those that still have not ended are noted again.
    async fn erase_of(
        &self,
        pending: &PendingErasure,
        person: &ForgottenPerson,
        alerts: &[u64],
        elsewhere: Option<&ForgetElsewhere>,
    ) -> Result<(), EngineError> {
        let store = self.engine.store();
        let mut waiting = Vec::new();
        for no in alerts {
            if let Some(alert) = store.alert_by_no(AlertNo(*no)).await.map_err(store_error)?
                && self.erase_in(person, &alert).await? == Found::Waits
            {
                waiting.push(alert.no);
            }
        }
        if waiting.len() == alerts.len() {
            return Ok(());
        }
        forget_elsewhere(person, elsewhere).await?;
        if !waiting.is_empty() {
            self.note_erasure(person, Some(waiting)).await?;
        }
        store.remove_erasure(pending.no).await.map_err(store_error)
    }

    async fn erase_everywhere(
        &self,
        mut person: ForgottenPerson,
        elsewhere: Option<&ForgetElsewhere>,
    ) -> Result<Erased, EngineError> {
        let store = self.engine.store();
        let record = store.erase_recipient(&person.account, &person.id).await.map_err(store_error)?;
        Joining::of(&self.engine).forget(&person.account, &person.id).await?;
        PageNotes::of(&self.engine).forget(&person.account, &person.id).await?;
        let devices = record.devices.iter().map(|device| (device.channel, device.address.clone()));
        person.addresses.extend(devices);
        self.find_addresses(&mut person).await?;
        self.keep_addresses_of_others(&mut person).await?;
        self.remember_stops(&person, &record).await?;
        let (mut alerts, mut waiting) = (0, Vec::new());
        let mut after = AlertNo(0);
        loop {
            let page =
                store.alerts_after(&person.account, after, ALERTS_AT_ONCE).await.map_err(store_error)?;
            let Some(last) = page.last() else { break };
            after = last.no;
            for alert in &page {
                match self.erase_in(&person, alert).await? {
                    Found::Nowhere => {}
                    Found::Erased => alerts += 1,
                    Found::Waits => waiting.push(alert.no),
                }
            }
        }
        let still = waiting.len() as u64;
        if still > 0 {
            self.note_erasure(&person, Some(waiting)).await?;
        }
        let exports = forget_elsewhere(&person, elsewhere).await?;
        let audit = self.forget_in_audit(&person).await?;
        let groups = record.groups.len() as u64;
        Ok(Erased { record: record.versions > 0, groups, alerts, waiting: still, audit, exports })
    }

    /// What the audit trail says of the person, by the id and by each address.
    async fn forget_in_audit(&self, person: &ForgottenPerson) -> Result<u64, EngineError> {
        let (mut fields, store) = (0, self.engine.store());
        let addresses = person.addresses.iter().map(|(_, address)| address);
        for name in std::iter::once(&person.id).chain(addresses) {
            let forgetting = store.forget_person(&person.account, name, self.engine.parts().now());
            fields += forgetting.await.map_err(store_error)?;
        }
        Ok(fields)
    }

    /// Stops of addresses that nobody else has are known by their hashes from now on.
    async fn remember_stops(
        &self,
        person: &ForgottenPerson,
        record: &store::ErasedRecord,
    ) -> Result<(), EngineError> {
        let store = self.engine.store();
        let hasher = store.stop_hasher().ok_or_else(|| {
            EngineError::Internal("there is no key for the stops of forgotten people".to_owned())
        })?;
        let now = self.engine.parts().now();
        let stop = |(channel, address): &(ChannelNumber, String)| {
            let mut marks = record.devices.iter().filter(|device| device.opted_out);
            let marked = marks.any(|device| (device.channel, &device.address) == (*channel, address));
            let (channel, hash) = (*channel, hasher.hash(&person.account, *channel, address));
            let stopped = marked.then_some(now);
            stored_forms(channel, address).into_iter().map(move |address| StopOf {
                channel,
                address,
                hash,
                stopped,
            })
        };
        let stops = person.addresses.iter().flat_map(stop).collect();
        store.forget_stops(&person.account, stops).await.map_err(store_error)
    }

    async fn note_erasure(
        &self,
        person: &ForgottenPerson,
        alerts: Option<Vec<AlertNo>>,
    ) -> Result<u64, EngineError> {
        let body = serde_json::to_string(&Note::new(person, alerts));
        let body = body.map_err(|error| EngineError::Internal(error.to_string()))?;
        self.engine
            .store()
            .put_erasure(&person.account, &body, self.engine.parts().now())
            .await
            .map_err(store_error)
    }

    /// Addresses that rosters know as theirs alone, from when their record had others.
    async fn find_addresses(&self, person: &mut ForgottenPerson) -> Result<(), EngineError> {
        let store = self.engine.store();
        let mut after = AlertNo(0);
        loop {
            let page =
                store.alerts_after(&person.account, after, ALERTS_AT_ONCE).await.map_err(store_error)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.no;
            let (store, seeker) = (store.clone(), person.clone());
            let found = aside(move || addresses_in(&*store, &seeker, &page)).await?;
            person.addresses.extend(found);
        }
    }

    /// An address that another recipient has is not the person's alone.
    async fn keep_addresses_of_others(&self, person: &mut ForgottenPerson) -> Result<(), EngineError> {
        if person.addresses.is_empty() {
            return Ok(());
        }
        let (store, seeker) = (self.engine.store(), person.clone());
        let shared = aside(move || {
            let mut shared = FxHashSet::default();
            let mut show = |people: &[records::Recipient]| {
                for device in people.iter().filter(|one| one.id != seeker.id).flat_map(|one| &one.devices) {
                    if seeker.has(device.channel, &device.address) {
                        shared.insert((device.channel, device.address.clone()));
                    }
                }
                true
            };
            store.scan_recipients(&seeker.account, &mut show).map_err(store_error)?;
            Ok(shared)
        });
        let shared = shared.await?;
        person.addresses.retain(|address| !shared.contains(address));
        Ok(())
    }

    /// SQL hears of an alert's end a second late.
    async fn has_ended(&self, alert: &Alert) -> Result<bool, EngineError> {
        let no = alert.no;
        if alert.state.is_final() {
            return Ok(true);
        }
        let look = self.engine.request(|reply| ActorCommand::Look { no, reply }).await?;
        Ok(look.is_some_and(|look| look.alert.state.is_final()))
    }

    /// Forgets them in one alert, if it has ended.
    async fn erase_in(&self, person: &ForgottenPerson, alert: &Alert) -> Result<Found, EngineError> {
        let (store, seeker, no) = (self.engine.store(), person.clone(), alert.no);
        let blocks = aside(move || left_blocks(&*store, &seeker, no)).await?;
        let request = person.left(&alert.request);
        if !self.has_ended(alert).await? {
            let unsolved = matches!(
                alert.state,
                AlertState::Accepted | AlertState::Solving | AlertState::AwaitingApproval
            );
            let waits = unsolved || request.is_some() || !blocks.is_empty();
            return Ok(if waits { Found::Waits } else { Found::Nowhere });
        }
        if blocks.is_empty() && request.is_none() {
            return Ok(Found::Nowhere);
        }
        let store = self.engine.store();
        let mut endpoints = Vec::new();
        for (block, left) in blocks {
            endpoints.extend(&left);
            store.rewrite_block(block, left).await.map_err(store_error)?;
        }
        if let Some(request) = &request {
            store.rewrite_request(no, request).await.map_err(store_error)?;
        }
        let now = self.engine.parts().now();
        forget_words(&*store, &person.account, no, &endpoints, now).await.map_err(store_error)?;
        // In SQL first: what comes into memory from now on knows nothing of them.
        let request = request.map(Box::new);
        let gone =
            self.engine.request(|reply| ActorCommand::Forget { no, endpoints, request, reply }).await?;
        Ok(if gone { Found::Erased } else { Found::Waits })
    }
}

/// The forms in which a stop of an address may be stored: as the device has it, in its one form, and as
/// networks gave it to older versions.
fn stored_forms(channel: ChannelNumber, address: &str) -> Vec<String> {
    let one_form = channels::canonical(channel, address, &channels::Defaults::default()).into_owned();
    let mut forms = vec![address.to_owned()];
    if let Some(digits) = one_form.strip_prefix('+') {
        forms.extend([digits.to_owned(), format!("00{digits}")]);
    }
    if one_form != address {
        forms.push(one_form);
    }
    forms
}

/// Where a person was found in an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nowhere,
    /// They are not there any more.
    Erased,
    /// It has not ended, or memory still has it.
    Waits,
}

async fn forget_elsewhere(
    person: &ForgottenPerson,
    elsewhere: Option<&ForgetElsewhere>,
) -> Result<u64, EngineError> {
    match elsewhere {
        Some(forget) => forget(person.clone()).await.map_err(EngineError::Internal),
        None => Ok(0),
    }
}

/// On a thread that may wait.
pub(crate) async fn aside<T: Send + 'static>(
    run: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, EngineError> {
    tokio::task::spawn_blocking(run).await.map_err(|error| EngineError::Internal(error.to_string()))?
}

/// Shows each block of an alert's roster.
pub(super) fn each_block(
    store: &dyn Store,
    no: AlertNo,
    mut show: impl FnMut(RosterBlock),
) -> Result<(), EngineError> {
    let mut at = EndpointNo(0);
    while let Some(block) = store.roster_block(no, at).map_err(store_error)? {
        at = EndpointNo(block.first.0 + ROSTER_BLOCK_ENDPOINTS as u32);
        show(block);
    }
    Ok(())
}

fn addresses_in(
    store: &dyn Store,
    person: &ForgottenPerson,
    alerts: &[Alert],
) -> Result<Vec<(ChannelNumber, String)>, EngineError> {
    let mut found = Vec::new();
    for alert in alerts {
        each_block(store, alert.no, |block| {
            found.extend(block.entries.iter().filter_map(|entry| person.sole_address(entry)));
        })?;
    }
    Ok(found)
}

/// Blocks that name them, without them, and the endpoints that changed.
fn left_blocks(
    store: &dyn Store,
    person: &ForgottenPerson,
    no: AlertNo,
) -> Result<Vec<(FoldedBlock, Vec<EndpointNo>)>, EngineError> {
    let mut changed = Vec::new();
    each_block(store, no, |mut block| {
        let left = person.leave_block(&mut block);
        if !left.is_empty() {
            let (first, entries) = (block.first, block.entries.len() as u32);
            changed.push((FoldedBlock { alert: no, first, entries, octets: block.encode() }, left));
        }
    })?;
    Ok(changed)
}

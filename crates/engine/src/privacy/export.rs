//! Export of one person: all that the server knows of them.

use super::Privacy;
use super::erase::{aside, each_block};
use super::person::ForgottenPerson;
use crate::api::{DeliveryView, EngineError};
use crate::messages::untouched;
use crate::report::{headline, rfc3339};
use crate::run::{ActorCommand, DeliveryPage, delivery_view, store_error};
use records::{Alert, AlertNo, ChannelNumber, EndpointNo, RosterBlock, RosterEntry, ShortText};
use rustc_hash::FxHashSet;
use serde::Serialize;
use std::collections::BTreeMap;

/// Alerts looked up in one go.
const ALERTS_AT_ONCE: usize = 200;

/// Words that are perhaps a stop, looked up in one go.
const PERHAPS_AT_ONCE: usize = 1_000;

/// All that is known of a person.
#[derive(Debug, Clone, Serialize)]
pub struct PersonExport {
    /// Their id.
    pub id: String,
    /// The record, as the API shows recipients; nothing: there is none any more.
    pub record: Option<serde_json::Value>,
    /// Groups that name them as a member.
    pub groups: Vec<String>,
    /// Stops of their addresses.
    pub stops: Vec<StopView>,
    /// Words of theirs that are perhaps a stop, until somebody decides.
    pub perhaps_stops: Vec<PerhapsView>,
    /// Alerts that were sent to them, or left them out, with what became of each copy.
    pub alerts: Vec<AlertOfPerson>,
    /// Messages that platforms sent to their numbers.
    pub messages: Vec<MessageOfPerson>,
}

/// A stop.
#[derive(Debug, Clone, Serialize)]
pub struct StopView {
    /// By which channel.
    pub channel: &'static str,
    /// Theirs.
    pub address: String,
    /// Our number or name it holds for; nothing: all.
    pub sender: Option<String>,
    /// Since when; RFC 3339.
    pub since: String,
}

/// Words that are perhaps a stop.
#[derive(Debug, Clone, Serialize)]
pub struct PerhapsView {
    /// By which channel.
    pub channel: &'static str,
    /// Theirs.
    pub address: String,
    /// What they wrote.
    pub text: String,
    /// When; RFC 3339.
    pub at: String,
}

/// An alert as it went to a person.
#[derive(Debug, Clone, Serialize)]
pub struct AlertOfPerson {
    /// The alert.
    pub id: String,
    /// Its first words.
    pub headline: String,
    /// Its state.
    pub state: &'static str,
    /// When it was accepted; RFC 3339.
    pub created: String,
    /// Values of their texts' placeholders, by endpoint.
    pub values: BTreeMap<u32, BTreeMap<String, String>>,
    /// Their copies, with answers.
    pub deliveries: Vec<DeliveryView>,
}

/// A platform's message.
#[derive(Debug, Clone, Serialize)]
pub struct MessageOfPerson {
    /// When it was taken; RFC 3339.
    pub at: String,
    /// What it says; nothing where it is no text.
    pub text: Option<String>,
    /// What became of it.
    pub delivery: DeliveryView,
}

impl Privacy {
    /// All that is known of a person. Of several processes the leader does it.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] if nothing is known of them; the store's.
    pub async fn export(&self, account: &str, id: &str) -> Result<PersonExport, EngineError> {
        let store = self.engine.store();
        let mut record = store.recipient(account, id).await.map_err(store_error)?.map(|(record, _)| record);
        crate::run::Stops::of(&self.engine).mark_stops(account, record.as_mut_slice()).await?;
        let devices = record.iter().flat_map(|record| &record.devices);
        let person = ForgottenPerson {
            account: account.to_owned(),
            id: id.to_owned(),
            addresses: devices.map(|device| (device.channel, device.address.clone())).collect(),
        };
        let groups = self.groups_of(&person).await?;
        let stops = self.stops_of(&person).await?;
        let perhaps_stops = self.perhaps_stops_of(&person).await?;
        let (alerts, messages) = self.sent_to(&person).await?;
        if record.is_none() && groups.is_empty() && alerts.is_empty() {
            return Err(EngineError::NotFound);
        }
        let record = record.as_ref().map(store::import::to_json);
        Ok(PersonExport { id: person.id, record, groups, stops, perhaps_stops, alerts, messages })
    }

    async fn groups_of(&self, person: &ForgottenPerson) -> Result<Vec<String>, EngineError> {
        let (store, mut after, mut found) = (self.engine.store(), String::new(), Vec::new());
        loop {
            let page =
                store.groups_after(&person.account, &after, ALERTS_AT_ONCE).await.map_err(store_error)?;
            let Some(last) = page.last() else { return Ok(found) };
            after.clone_from(&last.id);
            let theirs = page.iter().filter(|group| group.members.contains(&person.id));
            found.extend(theirs.map(|group| group.id.clone()));
        }
    }

    async fn stops_of(&self, person: &ForgottenPerson) -> Result<Vec<StopView>, EngineError> {
        let store = self.engine.store();
        let all = store.all_opt_outs(&person.account).await.map_err(store_error)?;
        let view = |channel, address: &str, sender, at| StopView {
            channel: channels::name(channel),
            address: address.to_owned(),
            sender,
            since: rfc3339(at),
        };
        let addresses = one_forms(person);
        let is_theirs = |stop: &store::OptOut| addresses.contains(&one_form(stop.channel, &stop.address));
        let theirs = all.into_iter().filter(is_theirs);
        let mut found: Vec<StopView> =
            theirs.map(|stop| view(stop.channel, &stop.address, stop.sender, stop.at)).collect();
        let forgotten = store.forgotten_stops(&person.account).await.map_err(store_error)?;
        if let Some(hasher) = store.stop_hasher().filter(|_| !forgotten.is_empty()) {
            for (channel, address) in &person.addresses {
                let hash = hasher.hash(&person.account, *channel, address);
                let theirs = forgotten.iter().filter(|stop| stop.hash == hash);
                found.extend(theirs.map(|stop| view(*channel, address, stop.sender.clone(), stop.at)));
            }
        }
        found.sort_by(|a, b| (a.channel, &a.address, &a.sender).cmp(&(b.channel, &b.address, &b.sender)));
        Ok(found)
    }

    async fn perhaps_stops_of(&self, person: &ForgottenPerson) -> Result<Vec<PerhapsView>, EngineError> {
        let (store, addresses) = (self.engine.store(), one_forms(person));
        let (mut after, mut found) = (0, Vec::new());
        loop {
            let page = store.perhaps_stops(&person.account, after, PERHAPS_AT_ONCE).await;
            let page = page.map_err(store_error)?;
            let Some(last) = page.last() else { return Ok(found) };
            after = last.no;
            let theirs =
                page.into_iter().filter(|one| addresses.contains(&one_form(one.channel, &one.address)));
            found.extend(theirs.map(|one| PerhapsView {
                channel: channels::name(one.channel),
                address: one.address,
                text: one.text,
                at: rfc3339(one.at),
            }));
        }
    }

    async fn sent_to(
        &self,
        person: &ForgottenPerson,
    ) -> Result<(Vec<AlertOfPerson>, Vec<MessageOfPerson>), EngineError> {
        let (store, mut after) = (self.engine.store(), AlertNo(0));
        let (mut alerts, mut messages) = (Vec::new(), Vec::new());
        loop {
            let page =
                store.alerts_after(&person.account, after, ALERTS_AT_ONCE).await.map_err(store_error)?;
            let Some(last) = page.last() else { return Ok((alerts, messages)) };
            after = last.no;
            for alert in page {
                let (store, seeker, no) = (store.clone(), person.clone(), alert.no);
                let found = aside(move || {
                    let mut found = Vec::new();
                    each_block(&*store, no, |block| found.extend(entries_of(&seeker, block)))?;
                    Ok(found)
                });
                let found = found.await?;
                self.show(person, &alert, found, &mut alerts, &mut messages).await?;
            }
        }
    }

    async fn show(
        &self,
        person: &ForgottenPerson,
        alert: &Alert,
        found: Vec<(EndpointNo, RosterEntry)>,
        alerts: &mut Vec<AlertOfPerson>,
        messages: &mut Vec<MessageOfPerson>,
    ) -> Result<(), EngineError> {
        let mut of = AlertOfPerson {
            id: alert.id.to_string(),
            headline: headline(&alert.request),
            state: alert.state.name(),
            created: rfc3339(alert.created),
            values: BTreeMap::new(),
            deliveries: Vec::new(),
        };
        for (endpoint, mut entry) in found {
            // Who shares the address is nobody's business here.
            entry.persons.retain(|one| one.recipient == person.id);
            let delivery = self.delivery_of(alert, endpoint, &entry).await?;
            match entry.message.take() {
                Some(message) => {
                    let text = match message.short.text {
                        ShortText::Text { text, .. } => Some(text.into_string()),
                        ShortText::Octets { .. } => None,
                    };
                    messages.push(MessageOfPerson { at: rfc3339(message.at), text, delivery });
                }
                None => {
                    if !entry.values.is_empty() {
                        of.values.insert(endpoint.0, entry.values.into_iter().collect());
                    }
                    of.deliveries.push(delivery);
                }
            }
        }
        if !of.deliveries.is_empty() {
            alerts.push(of);
        }
        Ok(())
    }

    /// How one of its deliveries stands.
    async fn delivery_of(
        &self,
        alert: &Alert,
        endpoint: EndpointNo,
        entry: &RosterEntry,
    ) -> Result<DeliveryView, EngineError> {
        let page = DeliveryPage { state: None, from: endpoint, limit: 1 };
        let no = alert.no;
        let rows = match self.engine.request(|reply| ActorCommand::Deliveries { no, page, reply }).await? {
            Some(rows) => rows,
            None => self.engine.store().deliveries_from(no, endpoint, None, 1).await.map_err(store_error)?,
        };
        let row = rows.into_iter().find(|row| row.endpoint == endpoint);
        Ok(delivery_view(&row.unwrap_or_else(|| untouched(no, endpoint, entry)), entry))
    }
}

/// An address in its one form.
fn one_form(channel: ChannelNumber, address: &str) -> (ChannelNumber, String) {
    (channel, channels::canonical(channel, address, &channels::Defaults::default()).into_owned())
}

fn one_forms(person: &ForgottenPerson) -> FxHashSet<(ChannelNumber, String)> {
    person.addresses.iter().map(|(channel, address)| one_form(*channel, address)).collect()
}

/// Entries with the person, and those with their address and nobody's name.
fn entries_of(
    person: &ForgottenPerson,
    block: RosterBlock,
) -> impl Iterator<Item = (EndpointNo, RosterEntry)> {
    let first = block.first.0;
    let entries = block.entries.into_iter().enumerate();
    let theirs = entries.filter(|(_, entry)| {
        let nobody = entry.persons.iter().all(|one| one.recipient.is_empty() || one.recipient == person.id);
        person.is_in(entry) && (nobody || entry.persons.iter().any(|one| one.recipient == person.id))
    });
    theirs.map(move |(i, entry)| (EndpointNo(first + i as u32), entry)).collect::<Vec<_>>().into_iter()
}

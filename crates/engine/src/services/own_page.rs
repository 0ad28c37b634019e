//! OwnPage carries out what a person does on a page of their own, to which a signed link leads: the acts of
//! service words, and those with devices. A new device is theirs once a code that was sent to it was typed.

use super::acts::{SUBSCRIPTIONS_MAX, quiet_hours, set_subscriptions, subscriptions};
use super::chat_link::{self, ChatLink};
use super::groups::{is_in, is_named, joinable, named, shown};
use super::joining::{JoinRequest, Joining, add, leave_list};
use super::page_notes::{CODE_MINUTES, CodeVerdict, PageNotes, WaitingDevice};
use super::phrases::{Phrase, is_off, say};
use super::prepared::code;
use super::replies::{self, ReplyTo};
use crate::api::EngineError;
use crate::inbound_text::{Service, folded, read_service};
use crate::run::{Engine, Stops, live_channels, store_error};
use records::{ChannelNumber, Device, Group, JoinRule, Mode, QuietHours, Recipient, Timestamp};
use store::Act;

/// Times a record is read again since somebody else changed it.
const TRIES: usize = 8;
/// Devices of one person, as an import takes them.
const DEVICES_MAX: usize = 32;
/// Groups that a person names, as an import takes them.
const GROUPS_MAX: usize = 64;
/// Octets of all subscriptions, as an import takes an attribute.
const SUBSCRIPTIONS_OCTETS_MAX: usize = 2_048;
/// Characters of one subscription.
const SUBSCRIPTION_CHARS_MAX: usize = 80;

/// The page of one person.
pub struct OwnPage<'a> {
    engine: &'a Engine,
    account: &'a str,
    id: &'a str,
    /// The address of the client, for the audit trail.
    from: String,
}

/// What the page shows.
#[derive(Debug, Clone, PartialEq)]
pub struct PageView {
    /// The record, with the marks of stops.
    pub person: Recipient,
    /// Groups that can be joined.
    pub groups: Vec<PageGroup>,
    /// What they subscribed to.
    pub subscriptions: Vec<String>,
    /// Devices that wait for their code.
    pub waiting: Vec<WaitingDevice>,
    /// Channels of which a device can be added.
    pub channels: Vec<ChannelNumber>,
    /// Bots that a chat can be connected with.
    pub chats: Vec<ChatLink>,
    /// Who alerts; empty: nobody is named.
    pub organisation: String,
}

/// What words ask for that a page does by a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageAct {
    /// Into the group with this id, or to ask for it.
    Join(String),
    /// Out of the group with this id.
    Leave(String),
    /// Alerts about this.
    Subscribe(String),
    /// No more alerts about this.
    Unsubscribe(String),
    /// The language of texts: a tag.
    Language(String),
    /// Quiet hours, or none.
    Quiet(Option<QuietHours>),
}

/// A group that can be joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageGroup {
    /// Its id.
    pub id: String,
    /// As people call it.
    pub name: String,
    /// How they stand to it.
    pub standing: GroupStanding,
}

/// How somebody stands to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupStanding {
    /// In it, and may leave.
    Member,
    /// In it by what is known of them.
    ByRule,
    /// They asked, and nobody has decided.
    Asked,
    /// May join.
    Open,
    /// May ask.
    OnRequest,
}

/// What came of joining or leaving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinResult {
    /// Done.
    Done,
    /// An operator decides.
    Asked,
    /// There is no such group any more, or they stand to it otherwise than the page said.
    Changed,
}

/// Why no code is sent to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedDevice {
    /// Nothing can be sent by that channel.
    Channel,
    /// They have it.
    Known,
    /// They have as many as there can be.
    TooMany,
    /// Its owner said stop.
    Stopped,
    /// Too many codes were sent of late.
    TooOften,
}

/// What came of a code that was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeResult {
    /// The device is theirs.
    Added,
    /// It was another.
    Wrong,
    /// None holds any more.
    Over,
}

impl<'a> OwnPage<'a> {
    /// Of this person, whose browser has this address.
    pub fn of(engine: &'a Engine, account: &'a str, id: &'a str, from: String) -> OwnPage<'a> {
        OwnPage { engine, account, id, from }
    }

    /// Whether a link that was made then leads to the page of somebody who is there.
    ///
    /// # Errors
    /// The store's or the bus's.
    pub async fn is_link_good(&self, made: Timestamp) -> Result<bool, EngineError> {
        let found = self.engine.store().recipient(self.account, self.id).await.map_err(store_error)?;
        Ok(PageNotes::of(self.engine).is_link_good(self.account, self.id, made)? && found.is_some())
    }

    /// What the page shows.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] if there is no such person; the store's or the bus's.
    pub async fn view(&self) -> Result<PageView, EngineError> {
        let mut person = self.person().await?;
        Stops::of(self.engine).mark_stops(self.account, std::slice::from_mut(&mut person)).await?;
        let asked = Joining::of(self.engine).waiting(self.account)?;
        let has_asked = |group: &Group| {
            asked.iter().any(|request| request.recipient == self.id && request.group == group.id)
        };
        let groups = joinable(&self.engine.store(), self.account).await.map_err(store_error)?;
        let view = |group: &Group| PageGroup {
            id: group.id.clone(),
            name: shown(group).to_owned(),
            standing: match group.join {
                _ if is_named(&person, group) => GroupStanding::Member,
                _ if is_in(&person, group) => GroupStanding::ByRule,
                _ if has_asked(group) => GroupStanding::Asked,
                JoinRule::Approval => GroupStanding::OnRequest,
                JoinRule::Open | JoinRule::Closed => GroupStanding::Open,
            },
        };
        Ok(PageView {
            groups: groups.iter().map(view).collect(),
            subscriptions: subscriptions(&person),
            waiting: PageNotes::of(self.engine).waiting(self.account, self.id)?,
            channels: self.channels(),
            chats: chat_link::links_for(self.engine, self.account, self.id),
            organisation: self.engine.services().organisation.clone(),
            person,
        })
    }

    /// Channels of which a device can be added: whoever has it can stop it, and something is sent by it.
    fn channels(&self) -> Vec<ChannelNumber> {
        let mut live = live_channels(self.engine, self.account);
        live.retain(|channel| channels::traits(*channel).opt_out);
        live
    }

    /// What words ask for, as a service word does; nothing where a page has no such form, or they name what
    /// is not there.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] if there is no such person; the store's.
    pub async fn act_of(&self, words: &str) -> Result<Option<PageAct>, EngineError> {
        let rules = self.engine.services();
        let Some(request) = read_service(words, &rules.words).filter(|request| is_form(request.service))
        else {
            return Ok(None);
        };
        let wanted = request.argument;
        if wanted.is_empty() {
            return Ok(None);
        }
        let group = match request.service {
            Service::Join | Service::Leave => {
                let groups = joinable(&self.engine.store(), self.account).await.map_err(store_error)?;
                named(&groups, wanted).map(|group| group.id.clone())
            }
            _ => None,
        };
        Ok(match request.service {
            Service::Join => group.map(PageAct::Join),
            Service::Leave => group.map(PageAct::Leave),
            Service::Subscribe => Some(PageAct::Subscribe(wanted.to_owned())),
            Service::Unsubscribe => {
                let all = subscriptions(&self.person().await?);
                all.into_iter().find(|one| folded(one) == folded(wanted)).map(PageAct::Unsubscribe)
            }
            Service::Lang => channels::languages::tag(wanted).ok().map(PageAct::Language),
            Service::Quiet if is_off(wanted) => Some(PageAct::Quiet(None)),
            Service::Quiet => quiet_hours(wanted).map(|quiet| PageAct::Quiet(Some(quiet))),
            _ => None,
        })
    }

    async fn person(&self) -> Result<Recipient, EngineError> {
        let found = self.engine.store().recipient(self.account, self.id).await.map_err(store_error)?;
        found.map(|(person, _)| person).ok_or(EngineError::NotFound)
    }

    /// Changes the record as it is now, once the act is noted. False: what was to be changed is not there any
    /// more, or others change the record without end.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] if there is no such person; the store's.
    pub async fn edit(
        &self,
        (verb, detail): (&str, &str),
        change: impl Fn(&mut Recipient) -> bool,
    ) -> Result<bool, EngineError> {
        let store = self.engine.store();
        let mut is_noted = false;
        for _ in 0..TRIES {
            let found = store.recipient(self.account, self.id).await.map_err(store_error)?;
            let (before, version) = found.ok_or(EngineError::NotFound)?;
            let mut person = before.clone();
            if !change(&mut person) {
                return Ok(false);
            }
            if person == before {
                return Ok(true);
            }
            if !std::mem::replace(&mut is_noted, true) {
                self.note(verb, detail).await?;
            }
            let replaced = store.replace_recipient(self.account, person, version).await;
            if replaced.map_err(store_error)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Puts a group among theirs, or asks an operator to.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] if there is no such person; the store's or the bus's.
    pub async fn join(&self, id: &str) -> Result<JoinResult, EngineError> {
        let person = self.person().await?;
        let groups = joinable(&self.engine.store(), self.account).await.map_err(store_error)?;
        let found = groups.iter().find(|group| group.id == id && !is_named(&person, group));
        let Some(group) = found else { return Ok(JoinResult::Changed) };
        if group.join == JoinRule::Approval {
            self.note("page.ask_to_join", &group.id).await?;
            Joining::of(self.engine).note(&self.join_request(group, &person)).await?;
            return Ok(JoinResult::Asked);
        }
        let join = |person: &mut Recipient| {
            add(&mut person.groups, &group.id);
            person.groups.len() <= GROUPS_MAX
        };
        let is_done = self.edit(("page.join", &group.id), join).await?;
        Ok(if is_done { JoinResult::Done } else { JoinResult::Changed })
    }

    /// They are told of the decision by their first device.
    fn join_request(&self, group: &Group, person: &Recipient) -> JoinRequest {
        let device = person.devices.iter().find(|device| device.enabled && !device.opted_out);
        JoinRequest {
            account: self.account.to_owned(),
            group: group.id.clone(),
            recipient: person.id.clone(),
            at: self.engine.parts().now(),
            channel: device.map_or(channels::SMS.0, |device| device.channel.0),
            address: device.map(|device| device.address.clone()).unwrap_or_default(),
            ours: String::new(),
            route: String::new(),
            is_drill: false,
        }
    }

    /// Takes them out of a group that they may leave.
    ///
    /// # Errors
    /// As [`OwnPage::join`].
    pub async fn leave(&self, id: &str) -> Result<JoinResult, EngineError> {
        let person = self.person().await?;
        let groups = joinable(&self.engine.store(), self.account).await.map_err(store_error)?;
        let found = groups.iter().find(|group| group.id == id && is_named(&person, group));
        let Some(group) = found else { return Ok(JoinResult::Changed) };
        self.note("page.leave", &group.id).await?;
        let leave = |person: &mut Recipient| {
            person.groups.retain(|own| own != &group.id);
            true
        };
        let is_done = self.write(leave).await?;
        if group.members.contains(&person.id) {
            leave_list(self.engine, self.account, &group.id, self.id).await?;
        }
        Ok(if is_done { JoinResult::Done } else { JoinResult::Changed })
    }

    /// Subscribes to a word or a phrase; false: it is none, or they have as many as there can be.
    ///
    /// # Errors
    /// As [`OwnPage::edit`].
    pub async fn subscribe(&self, wanted: &str) -> Result<bool, EngineError> {
        let plain: String =
            wanted.chars().map(|c| if c == ';' || c.is_control() { ' ' } else { c }).collect();
        let wanted = plain.split_whitespace().collect::<Vec<_>>().join(" ");
        if folded(&wanted).is_empty() || wanted.chars().count() > SUBSCRIPTION_CHARS_MAX {
            return Ok(false);
        }
        let subscribe = |person: &mut Recipient| {
            let mut all = subscriptions(person);
            if !all.iter().any(|one| folded(one) == folded(&wanted)) {
                all.push(wanted.clone());
            }
            set_subscriptions(person, &all);
            let octets: usize = all.iter().map(|one| one.len() + 2).sum();
            all.len() <= SUBSCRIPTIONS_MAX && octets <= SUBSCRIPTIONS_OCTETS_MAX
        };
        self.edit(("page.subscribe", &wanted), subscribe).await
    }

    /// Takes a subscription away; false: there is none such.
    ///
    /// # Errors
    /// As [`OwnPage::edit`].
    pub async fn unsubscribe(&self, wanted: &str) -> Result<bool, EngineError> {
        let unsubscribe = |person: &mut Recipient| {
            let mut all = subscriptions(person);
            let before = all.len();
            all.retain(|one| one != wanted);
            set_subscriptions(person, &all);
            all.len() < before
        };
        self.edit(("page.unsubscribe", wanted), unsubscribe).await
    }

    /// Notes a stop (or, with `out` false, a start) of a device of theirs; false: they have none such.
    ///
    /// # Errors
    /// As [`OwnPage::edit`].
    pub async fn stop(
        &self,
        (channel, address): (ChannelNumber, &str),
        out: bool,
    ) -> Result<bool, EngineError> {
        let person = self.person().await?;
        let found = person.devices.iter().any(|device| is_it(device, channel, address));
        if !found || !channels::traits(channel).opt_out {
            return Ok(false);
        }
        self.note(if out { "page.stop" } else { "page.start" }, &shown_entry(channel, address)).await?;
        let stops = Stops::of(self.engine);
        if out {
            let one_form = channels::canonical(channel, address, &channels::Defaults::default()).into_owned();
            stops.opt_out(self.account, vec![(channel, one_form)]).await?;
            return Ok(true);
        }
        stops.opt_in(self.account, channel, address).await?;
        let unmark = |person: &mut Recipient| {
            let own = person.devices.iter_mut().filter(|device| is_it(device, channel, address));
            own.for_each(|device| device.opted_out = false);
            true
        };
        self.write(unmark).await
    }

    /// Sends a code to a device that is to be theirs; the address is in normal form.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] if there is no such person; the store's or the bus's.
    pub async fn offer(
        &self,
        channel: ChannelNumber,
        address: &str,
    ) -> Result<Result<(), RefusedDevice>, EngineError> {
        let person = self.person().await?;
        if let Some(refused) = self.refused(&person, channel, address).await? {
            return Ok(Err(refused));
        }
        let code = code();
        let notes = PageNotes::of(self.engine);
        if !notes.wait_for((self.account, self.id), (channel, address), &code).await? {
            return Ok(Err(RefusedDevice::TooOften));
        }
        self.note("page.device_offer", &shown_entry(channel, address)).await?;
        let to = ReplyTo {
            account: self.account.to_owned(),
            mode: Mode::Live,
            channel,
            address: address.to_owned(),
            ours: String::new(),
            route: String::new(),
        };
        let minutes = CODE_MINUTES.to_string();
        let text = say(Phrase::DeviceCode, person.language.as_deref(), &[&code, &minutes]);
        let organisation = &self.engine.services().organisation;
        let text = if organisation.is_empty() { text } else { format!("{organisation}. {text}") };
        replies::send_within(self.engine, &to, text, 60 * CODE_MINUTES).await?;
        Ok(Ok(()))
    }

    /// Why a device cannot be theirs.
    pub(super) async fn refused(
        &self,
        person: &Recipient,
        channel: ChannelNumber,
        address: &str,
    ) -> Result<Option<RefusedDevice>, EngineError> {
        if !self.channels().contains(&channel) {
            return Ok(Some(RefusedDevice::Channel));
        }
        if person.devices.iter().any(|device| is_it(device, channel, address)) {
            return Ok(Some(RefusedDevice::Known));
        }
        if person.devices.len() >= DEVICES_MAX {
            return Ok(Some(RefusedDevice::TooMany));
        }
        let one_form = channels::canonical(channel, address, &channels::Defaults::default()).into_owned();
        let stops = self.engine.store().stops_of(self.account, vec![(channel, one_form)]).await;
        Ok((!stops.map_err(store_error)?.is_empty()).then_some(RefusedDevice::Stopped))
    }

    /// Adds a device that waits, if the code is the one that was sent to it.
    ///
    /// # Errors
    /// As [`OwnPage::offer`].
    pub async fn confirm(
        &self,
        (channel, address): (ChannelNumber, &str),
        typed: &str,
    ) -> Result<CodeResult, EngineError> {
        let typed: String = typed.chars().filter_map(channels::decimal_digit).map(digit).collect();
        let notes = PageNotes::of(self.engine);
        let verdict = notes.try_code((self.account, self.id), (channel, address), &typed).await?;
        let device = match verdict {
            CodeVerdict::Wrong => return Ok(CodeResult::Wrong),
            CodeVerdict::Over => return Ok(CodeResult::Over),
            CodeVerdict::Right(device) => device,
        };
        let is_done = self.add_verified("page.device_add", channel, &device.address).await?;
        Ok(if is_done { CodeResult::Added } else { CodeResult::Over })
    }

    /// Adds a device whose owner has shown that it is theirs; false: they have as many as there can be.
    pub(super) async fn add_verified(
        &self,
        verb: &str,
        channel: ChannelNumber,
        address: &str,
    ) -> Result<bool, EngineError> {
        let add = |person: &mut Recipient| {
            match person.devices.iter_mut().find(|own| is_it(own, channel, address)) {
                Some(own) => own.verified = true,
                None => {
                    let new = Device::new(channel, address.to_owned());
                    person.devices.push(Device { verified: true, ..new });
                }
            }
            person.devices.len() <= DEVICES_MAX
        };
        self.edit((verb, &shown_entry(channel, address)), add).await
    }

    /// Forgets a device that waits for its code; false: there is none such.
    ///
    /// # Errors
    /// The bus's.
    pub async fn give_up(&self, channel: ChannelNumber, address: &str) -> Result<bool, EngineError> {
        PageNotes::of(self.engine).give_up((self.account, self.id), (channel, address)).await
    }

    /// Writes a change that was noted.
    async fn write(&self, change: impl Fn(&mut Recipient) -> bool) -> Result<bool, EngineError> {
        let changed = super::joining::edit(self.engine, self.account, self.id, |person| _ = change(person));
        changed.await?.map(|_| true).ok_or(EngineError::NotFound)
    }

    /// Notes an act before it is done.
    async fn note(&self, verb: &str, detail: &str) -> Result<(), EngineError> {
        let act = self.act(verb, self.id, detail);
        self.engine.store().note_act(act).await.map(|_| ()).map_err(store_error)
    }

    /// An act of theirs, now.
    pub fn act(&self, verb: &str, object: &str, detail: &str) -> Act {
        Act {
            at: self.engine.parts().now(),
            account: self.account.to_owned(),
            token: store::audit::SERVER.to_owned(),
            from: self.from.clone(),
            verb: verb.to_owned(),
            object: object.to_owned(),
            detail: detail.to_owned(),
            person: Some(self.id.to_owned()),
            ..Act::default()
        }
    }
}

/// Whether a page has a form for what a word asks for.
pub(super) fn is_form(service: Service) -> bool {
    matches!(
        service,
        Service::Join
            | Service::Leave
            | Service::Subscribe
            | Service::Unsubscribe
            | Service::Lang
            | Service::Quiet
    )
}

/// Whether a device has this address, however it is written.
pub(super) fn is_it(device: &Device, channel: ChannelNumber, address: &str) -> bool {
    device.channel == channel && channels::key(channel, &device.address) == channels::key(channel, address)
}

fn shown_entry(channel: ChannelNumber, address: &str) -> String {
    channels::entry(channel, &channels::shown(channel, address))
}

fn digit(value: u8) -> char {
    char::from(b'0' + value)
}

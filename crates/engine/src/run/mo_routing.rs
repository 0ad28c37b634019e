//! MoRouting routes messages from people to a keyword or a client. It owns the clients, the keywords, and the
//! topic of messages that were for nobody.

use super::actor::bus_error;
use super::context::Context;
use super::intake::IntakeReader;
use super::opt_outs::same_number;
use super::status_events::StatusEvents;
use crate::api::{EngineError, Keyword, KeywordAction, Keywords, MessageClientSettings, Parts};
use crate::inbound_text::{StopReading, is_phrase, read_service, read_stop};
use crate::report::{Values, expand};
use crate::solve::address_hash;
use records::{
    Account, AlertNo, ClientEvent, ClientInbound, DlrRequest, EndpointNo, Inbound, Intake, Lane, Message,
    MessageClient, Mode, NoticeVerb, Outcome, ServiceCall, Short, ShortAddress, ShortText, Timestamp,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Persons of whom it is known which client sent to them last; the memory begins anew when it is full.
const SENT_MAX: usize = 2_000_000;
/// The retained topic of confirmations: person and keyword to when it was sent.
const CONFIRMED: &str = "confirmed";
/// Old confirmations are looked for so often, in microseconds.
const FORGET_EVERY_US: i64 = 600_000_000;
/// Messages from people that were for nobody are kept to be looked up, so many of them.
const INBOUND_KEPT: u64 = 1_000_000;
/// A confirmation is tried for so long, in seconds.
const CONFIRMATION_TRIED_S: i64 = 3_600;
/// A reply in the answer to a callback is tried for so long, in seconds.
const REPLY_TRIED_S: i64 = 86_400;

/// Words that take a stop back, beside the config's.
const START_WORDS: [&str; 2] = ["START", "UNSTOP"];
/// Of words that are perhaps a stop, so many characters are kept.
const PERHAPS_CHARACTERS_MAX: usize = 1_000;

/// The meaning of a message that is a keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundKeyword {
    pub action: KeywordAction,
    /// It holds for the sender it was said to alone.
    by_sender: bool,
    reply: Option<String>,
    url: Option<String>,
}

/// See the module.
pub struct MoRouting {
    clients: Vec<MessageClientSettings>,
    keywords: Keywords,
    /// By person, the place of the client that sent to them last.
    sent: FxHashMap<u64, u32>,
    places: FxHashMap<MessageClient, u32>,
    inbound: Arc<dyn bus::Topic>,
    service_calls: Arc<dyn bus::Topic>,
    confirmed: Arc<dyn bus::Retained>,
    forgot_at: Timestamp,
    confirming: FxHashMap<String, Timestamp>,
}

impl MoRouting {
    pub fn new(parts: &Parts) -> Result<MoRouting, EngineError> {
        let mut mo_routing = MoRouting {
            clients: Vec::new(),
            keywords: parts.settings.keywords.clone(),
            sent: FxHashMap::default(),
            places: FxHashMap::default(),
            inbound: parts.bus.topic(records::INBOUND).map_err(bus_error)?,
            service_calls: parts.bus.topic(records::SERVICE_CALLS).map_err(bus_error)?,
            confirmed: parts.bus.retained(CONFIRMED).map_err(bus_error)?,
            forgot_at: Timestamp::default(),
            confirming: FxHashMap::default(),
        };
        mo_routing.change(parts.clients.clone(), parts.settings.keywords.clone());
        Ok(mo_routing)
    }

    /// Clients and keywords changed. The client that sent last is remembered, whatever its place.
    pub fn change(&mut self, clients: Vec<MessageClientSettings>, keywords: Keywords) {
        self.keywords = keywords;
        let mut places = FxHashMap::default();
        let moved: Vec<Option<u32>> = self
            .clients
            .iter()
            .map(|old| clients.iter().position(|new| new.client == old.client).map(|place| place as u32))
            .collect();
        self.sent.retain(|_, place| match moved.get(*place as usize).copied().flatten() {
            Some(now) => {
                *place = now;
                true
            }
            None => false,
        });
        for (place, client) in clients.iter().enumerate() {
            places.entry(client.client.clone()).or_insert(place as u32);
        }
        self.places = places;
        self.clients = clients;
    }

    /// A client sent something to somebody.
    pub fn note_sent(&mut self, message: &Message) {
        // Where one client gets everything there is nothing to choose.
        if self.clients.len() < 2 && self.clients.iter().all(|client| client.numbers.is_empty()) {
            return;
        }
        let Some(&place) = self.places.get(&message.party) else { return };
        if self.sent.len() >= SENT_MAX {
            self.sent.clear();
        }
        let to = channels::canonical(channels::SMS, &message.to, &self.keywords.opt_out.numbers);
        self.sent.insert(address_hash(channels::SMS, &to), place);
    }

    /// The client it is for: the one whose numbers fit the most, else the one that sent to that person last,
    /// else the first that names no numbers.
    fn client_for(&self, inbound: &Inbound) -> Option<&MessageClientSettings> {
        let by_route = |client: &MessageClientSettings| {
            client.routes.is_empty() || client.routes.contains(&inbound.route)
        };
        let named = self.clients.iter().filter(|client| by_route(client));
        let named = named.filter_map(|client| Some((fits(&client.numbers, &inbound.to)?, client)));
        // `max_by_key` gives the last of equals; the first is wanted.
        if let Some((_, client)) = named.rev().max_by_key(|(octets, _)| *octets) {
            return Some(client);
        }
        let from = channels::canonical(inbound.channel, &inbound.from, &self.keywords.opt_out.numbers);
        let last = self.sent.get(&address_hash(inbound.channel, &from));
        let last = last.and_then(|place| self.clients.get(*place as usize));
        last.filter(|client| by_route(client))
            .or_else(|| self.clients.iter().find(|client| by_route(client) && client.numbers.is_empty()))
    }

    /// The keyword this is, if it is one: those for this number of ours alone go first, then the others of
    /// the config, then the reserved words. STOP ALL is for all senders, whatever the config says.
    pub fn keyword(&self, inbound: &Inbound) -> Option<FoundKeyword> {
        let is_it = |keyword: &&Keyword| is_phrase(&inbound.text, keyword.words.iter().map(String::as_str));
        let is_ours = |keyword: &&Keyword| keyword.senders.iter().any(|ours| same_number(ours, &inbound.to));
        let own: Vec<&Keyword> = self.keywords.list.iter().filter(is_it).collect();
        let for_all = || own.iter().copied().find(|keyword| keyword.senders.is_empty());
        let found = own.iter().copied().find(is_ours).or_else(for_all);
        let reserved = read_stop(&inbound.text);
        let rules = &self.keywords.opt_out;
        match (found, reserved) {
            (Some(keyword), reserved) => {
                let is_for_all = matches!(reserved, StopReading::Stop { all: true, .. });
                let is_limited =
                    !keyword.senders.is_empty() || keyword.action == KeywordAction::Stop && rules.by_sender;
                Some(FoundKeyword {
                    action: keyword.action,
                    by_sender: is_limited && !(is_for_all && keyword.action == KeywordAction::Stop),
                    reply: keyword.reply.clone(),
                    url: keyword.url.clone(),
                })
            }
            (None, StopReading::Stop { language, all }) => Some(FoundKeyword {
                action: KeywordAction::Stop,
                by_sender: rules.by_sender && !all,
                reply: self.reply_to_stop(language),
                url: None,
            }),
            (None, _) => is_phrase(&inbound.text, START_WORDS.iter().copied()).then_some(FoundKeyword {
                action: KeywordAction::Start,
                by_sender: false,
                reply: None,
                url: None,
            }),
        }
    }

    /// The reply to a reserved word: that of the config's keyword in its language, or of the first one.
    fn reply_to_stop(&self, language: &str) -> Option<String> {
        let is_general = |keyword: &&Keyword| {
            keyword.action == KeywordAction::Stop && keyword.senders.is_empty() && keyword.reply.is_some()
        };
        let general = || self.keywords.list.iter().filter(is_general);
        let is_in_it = |keyword: &&Keyword| {
            keyword.language.as_deref().is_some_and(|tag| tag.split('-').next() == Some(language))
        };
        general().find(is_in_it).or_else(|| general().next()).and_then(|keyword| keyword.reply.clone())
    }

    fn may_confirm(&self, key: &str, at: Timestamp) -> bool {
        let kept = self.confirmed.value(key).and_then(|octets| confirmed_at(&octets));
        let last = kept.max(self.confirming.get(key).copied());
        last.is_none_or(|last| last.plus_s(i64::from(self.keywords.confirm_every_s)) <= at)
    }
}

/// How much of our number a client names: the whole goes before a beginning, the longer before the shorter.
fn fits(numbers: &[String], to: &str) -> Option<usize> {
    let bare = |number: &str| number.strip_prefix('+').unwrap_or(number).to_owned();
    let to = bare(to);
    let rank = |number: &String| {
        let number = bare(number);
        if number == to { Some(usize::MAX) } else { to.starts_with(&number).then_some(number.len()) }
    };
    numbers.iter().filter_map(rank).max()
}

impl MoRouting {
    /// A person opted out or in by a keyword, or requested help: that is noted, and confirmed once. `account`
    /// is of the alert they answered, `mode` of the route it came by.
    pub fn obey_keyword(
        &mut self,
        keyword: &FoundKeyword,
        inbound: &Inbound,
        account: Option<String>,
        mode: Option<Mode>,
        intake: &mut IntakeReader,
        context: &Context,
    ) {
        let client = self.client_for(inbound);
        let mode = mode.or(client.map(|client| client.mode)).unwrap_or(Mode::Live);
        let account = account.or_else(|| client.map(|client| client.account.clone()));
        let account = account.unwrap_or_else(|| Account::DEFAULT.to_owned());
        let out = match keyword.action {
            KeywordAction::Stop => Some(true),
            KeywordAction::Start => Some(false),
            KeywordAction::Help | KeywordAction::Text | KeywordAction::Url => None,
        };
        if let Some(out) = out.filter(|_| channels::traits(inbound.channel).opt_out) {
            let ours = || Some(inbound.to.clone());
            let limited = if keyword.by_sender { ours() } else { None };
            // Who wants messages again wants those of this sender, whatever they stopped before.
            let also = (!out && !keyword.by_sender).then(ours).flatten();
            for sender in [Some(limited), also.map(Some)].into_iter().flatten() {
                let change = OptOutChange { account: account.clone(), sender, out };
                opt_out(change, inbound, intake, context);
            }
        }
        if let Some(reply) = &keyword.reply {
            let key = format!("{:?}/{}/{}/{}", keyword.action, account, inbound.from, inbound.to);
            if self.may_confirm(&key, inbound.at) {
                self.confirming.insert(key.clone(), inbound.at);
                match inbound.channel {
                    channels::SMS => {
                        self.confirm(key, confirmation(account, mode, reply, inbound), intake, context);
                    }
                    _ => {
                        let call = self.service_call(inbound, (Some(account), Some(mode), None), (0, 0));
                        self.call_desk(&ServiceCall { reply: Some(reply.clone()), ..call }, context);
                    }
                }
            }
        }
    }

    /// Fetches what a keyword's URL answers: it is the reply. `position` is of the message's outcome.
    pub fn fetch_keyword(
        &self,
        keyword: &FoundKeyword,
        inbound: &Inbound,
        mode: Option<Mode>,
        position: (u64, u32),
        events: &mut StatusEvents,
    ) {
        let Some(callback) = keyword.url.as_deref().filter(|_| inbound.channel == channels::SMS) else {
            return;
        };
        let client = self.client_for(inbound);
        let mode = mode.or(client.map(|client| client.mode)).unwrap_or(Mode::Live);
        let account = client.map_or(Account::DEFAULT, |client| &client.account).to_owned();
        let (record, place) = position;
        let id = format!("kw-{record:x}-{place:x}");
        let url = expand(callback, &values_of(inbound, "", &id, callback));
        events.request_with_reply(id, url, confirmation(account, mode, "", inbound), inbound.at);
    }

    /// One confirmation, not repeated to the same person for a while: itself a message, by the route it came.
    fn confirm(&self, key: String, message: Message, intake: &IntakeReader, context: &Context) {
        let at = message.at;
        let record = Intake::Message(Box::new(message)).encode();
        let (topic, confirmed) = (intake.topic.clone(), self.confirmed.clone());
        context.spawn_logged(async move {
            let words = |error: bus::BusError| format!("a confirmation could not be sent: {error}");
            topic.append(&[&record]).await.map_err(words)?;
            confirmed.set(&key, &records::with_form(&at.0.to_le_bytes())).await.map_err(words)
        });
    }

    /// Confirmations of long ago need not be known any more.
    pub fn forget_confirmations(&mut self, context: &Context, now: Timestamp) {
        if now.us_since(self.forgot_at) < FORGET_EVERY_US && now >= self.forgot_at {
            return;
        }
        self.forgot_at = now;
        let kept_us = i64::from(self.keywords.confirm_every_s) * 1_000_000;
        self.confirming.retain(|_, at| now.us_since(*at) <= kept_us);
        let is_old = |octets: &[u8]| confirmed_at(octets).is_some_and(|at| now.us_since(at) > kept_us);
        let all = self.confirmed.all().into_iter();
        let old: Vec<String> = all.filter(|(_, octets)| is_old(octets)).map(|(key, _)| key).collect();
        let confirmed = self.confirmed.clone();
        if !old.is_empty() {
            context.spawn_logged(async move {
                for key in old {
                    confirmed.set(&key, &[]).await.map_err(|error| error.to_string())?;
                }
                Ok(())
            });
        }
    }

    /// Service words are understood.
    pub fn has_services(&self) -> bool {
        self.keywords.services.enabled
    }

    /// Whether a message asks for a service.
    pub fn is_service(&self, inbound: &Inbound) -> bool {
        self.has_services() && read_service(&inbound.text, &self.keywords.services.words).is_some()
    }

    /// Hands a message to the desk of services. `of` is the account of the alert that it answers, the mode of
    /// the route it came by, and the delivery that it answers.
    pub fn call_service(
        &self,
        inbound: &Inbound,
        (account, mode, asked): (Option<String>, Option<Mode>, Option<(AlertNo, EndpointNo)>),
        position: (u64, u32),
        context: &Context,
    ) {
        let call = self.service_call(inbound, (account, mode, asked), position);
        self.call_desk(&call, context);
    }

    /// The same with a message whose sender may be another than it says.
    pub fn call_unproven(
        &self,
        inbound: &Inbound,
        of: (Option<String>, Option<Mode>, Option<(AlertNo, EndpointNo)>),
        position: (u64, u32),
        context: &Context,
    ) {
        let call = ServiceCall { is_unproven: true, ..self.service_call(inbound, of, position) };
        self.call_desk(&call, context);
    }

    fn service_call(
        &self,
        inbound: &Inbound,
        (account, mode, asked): (Option<String>, Option<Mode>, Option<(AlertNo, EndpointNo)>),
        position: (u64, u32),
    ) -> ServiceCall {
        let client = self.client_for(inbound);
        let account = account.or_else(|| client.map(|client| client.account.clone()));
        ServiceCall {
            account: account.unwrap_or_else(|| Account::DEFAULT.to_owned()),
            mode: mode.or(client.map(|client| client.mode)).unwrap_or(Mode::Live),
            inbound: inbound.clone(),
            asked,
            position,
            reply: None,
            is_unproven: false,
        }
    }

    fn call_desk(&self, call: &ServiceCall, context: &Context) {
        let (topic, record) = (self.service_calls.clone(), call.encode());
        context.spawn_logged(async move {
            let appended = topic.append(&[&record]).await;
            appended.map(|_| ()).map_err(|error| format!("a service call could not be kept: {error}"))
        });
    }

    /// Forwards a message that answers no alert to the client it is for. `position` is of its outcome. True
    /// if there is none, so that it was only kept.
    pub fn forward(
        &self,
        inbound: &Inbound,
        position: (u64, u32),
        events: &mut StatusEvents,
        context: &Context,
    ) -> bool {
        let client = self.client_for(inbound).filter(|_| inbound.channel == channels::SMS);
        let Some(client) = client else {
            self.keep(inbound, context);
            return true;
        };
        match (&client.client, &client.callback) {
            (MessageClient::Smpp(system_id), _) => {
                let event = ClientInbound {
                    from: inbound.from.clone(),
                    to: inbound.to.clone(),
                    route: inbound.route.clone(),
                    text: inbound.text.clone(),
                    octets: inbound.octets.clone(),
                    at: inbound.at,
                };
                events.publish_to_client(system_id, &ClientEvent::Inbound(Box::new(event)));
            }
            (MessageClient::Platform(username), Some(callback)) => {
                let (record, place) = position;
                let id = format!("in-{record:x}-{place:x}");
                let url = expand(callback, &values_of(inbound, username, &id, callback));
                match client.replies {
                    true => events.request_with_reply(id, url, reply_form(client, inbound), inbound.at),
                    false => events.request(id, url, NoticeVerb::Fetch, inbound.at),
                }
            }
            _ => self.keep(inbound, context),
        }
        false
    }

    /// A message that belongs to no alert and no client stays on its own topic.
    fn keep(&self, inbound: &Inbound, context: &Context) {
        let record = records::encode_outcomes(&[Outcome::Inbound(inbound.clone())]);
        let topic = self.inbound.clone();
        context.spawn_logged(async move {
            topic.append(&[&record]).await.map(|_| ()).map_err(|error| error.to_string())
        });
    }

    /// Lets go of the oldest messages that were for nobody.
    pub fn trim(&self) {
        let _ = self.inbound.trim(self.inbound.head().saturating_sub(INBOUND_KEPT));
    }
}

/// A stop or a start of a person.
struct OptOutChange {
    account: String,
    /// Of ours; nothing: all.
    sender: Option<String>,
    out: bool,
}

/// Notes an opt-out, or an opt-in, here and in SQL.
fn opt_out(change: OptOutChange, inbound: &Inbound, intake: &mut IntakeReader, context: &Context) {
    let OptOutChange { account, sender, out } = change;
    let (channel, at) = (inbound.channel, inbound.at);
    if channel == channels::SMS {
        intake.opt_outs.note(&account, &inbound.from, sender.as_deref(), out.then_some(at));
    }
    let address = intake.opt_outs.one_form(channel, &inbound.from).into_owned();
    // An older version may have stored it as the network gave it.
    let as_given = (!out && address != inbound.from).then(|| inbound.from.clone());
    let store = context.parts.store.clone();
    context.spawn_logged(async move {
        let words = |error| format!("a stop or start could not be kept: {error}");
        for address in std::iter::once(address).chain(as_given) {
            let Some(sender) = &sender else {
                store.set_opt_out(&account, channel, &address, out, at).await.map_err(words)?;
                continue;
            };
            let otherwise = match sender.strip_prefix('+') {
                Some(digits) => digits.to_owned(),
                None => format!("+{sender}"),
            };
            for sender in std::iter::once(sender).chain((!out).then_some(&otherwise)) {
                let set = store.set_sender_opt_out(&account, channel, &address, sender, out, at);
                set.await.map_err(words)?;
            }
        }
        Ok(())
    });
}

impl MoRouting {
    /// Words with a stop in them are listed until a person decides.
    pub fn note_perhaps_stop(
        &self,
        inbound: &Inbound,
        account: Option<String>,
        intake: &IntakeReader,
        context: &Context,
    ) {
        if !channels::traits(inbound.channel).opt_out {
            return;
        }
        let account = account.or_else(|| self.client_for(inbound).map(|client| client.account.clone()));
        let account = account.unwrap_or_else(|| Account::DEFAULT.to_owned());
        let perhaps = store::PerhapsStop {
            no: 0,
            channel: inbound.channel,
            address: intake.opt_outs.one_form(inbound.channel, &inbound.from).into_owned(),
            sender: inbound.to.clone(),
            text: inbound.text.chars().take(PERHAPS_CHARACTERS_MAX).collect(),
            at: inbound.at,
        };
        let store = context.parts.store.clone();
        context.spawn_logged(async move {
            let noted = store.note_perhaps_stop(&account, perhaps).await;
            noted.map_err(|error| format!("words that are perhaps a stop could not be kept: {error}"))
        });
    }
}

fn confirmation(account: String, mode: Mode, reply: &str, inbound: &Inbound) -> Message {
    Message {
        account,
        party: MessageClient::House,
        at: inbound.at,
        lane: Lane::Urgent,
        mode,
        to: inbound.from.clone(),
        short: Short {
            source: ShortAddress { ton_npi: None, addr: inbound.to.as_str().into() },
            text: ShortText::Text { text: reply.into(), class: None },
            ..Short::default()
        },
        not_before: None,
        expires: inbound.at.plus_s(CONFIRMATION_TRIED_S),
        route: (!inbound.route.is_empty()).then(|| inbound.route.clone()),
        tell: DlrRequest::default(),
    }
}

/// What a text in the answer to a callback becomes: a message of the platform, from the number written to, by
/// the route of the person's message.
fn reply_form(client: &MessageClientSettings, inbound: &Inbound) -> Message {
    let expires = inbound.at.plus_s(REPLY_TRIED_S);
    let form = confirmation(client.account.clone(), client.mode, "", inbound);
    Message { party: client.client.clone(), lane: Lane::Routine, expires, ..form }
}

/// When a confirmation was sent, by a value of [`CONFIRMED`].
fn confirmed_at(value: &[u8]) -> Option<Timestamp> {
    let at = records::behind_form("value of the topic confirmed", value).ok()?;
    Some(Timestamp(i64::from_le_bytes(at.try_into().ok()?)))
}

fn values_of<'a>(inbound: &'a Inbound, username: &'a str, id: &'a str, callback: &'a str) -> Values<'a> {
    let octets = inbound.octets.as_deref();
    let mut udh = Vec::new();
    if let Some(octets) = octets.filter(|octets| !octets.udh.is_empty()) {
        udh.push(octets.udh.len() as u8);
        udh.extend_from_slice(&octets.udh);
    }
    let is_text = octets.is_none_or(|octets| !inbound.text.is_empty() || octets.octets.is_empty());
    let (coding, text): (u8, std::borrow::Cow<'_, [u8]>) = match octets {
        Some(octets) if !is_text => (1, octets.octets.as_slice().into()),
        // The text is given in UTF-8, whatever the network's alphabet, as by Kannel with `mo-recode`.
        _ => (0, inbound.text.as_bytes().into()),
    };
    Values {
        text,
        person: &inbound.from,
        ours: &inbound.to,
        at: Some(inbound.at),
        id,
        route: &inbound.route,
        service: username,
        coding,
        class: octets.and_then(|octets| octets.class()),
        waiting: octets.and_then(|octets| octets.waiting()),
        data_coding: octets.map_or(0, |octets| octets.data_coding),
        udh: udh.into(),
        url: callback,
        ..Values::default()
    }
}

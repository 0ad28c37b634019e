//! Routing of messages from people: to an alert that asked, a keyword, or a client.

use super::actor::{EngineActor, bus_error};
use super::intake::same_number;
use crate::api::{EngineError, Keyword, KeywordAction, Keywords, MessageClientSettings, Parts};
use crate::report::{Values, expand};
use crate::solve::address_hash;
use records::{
    Account, ClientEvent, ClientInbound, DlrRequest, Inbound, Intake, Lane, Message, MessageClient, Mode,
    Short, ShortAddress, ShortText, Timestamp,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Persons of whom it is known which client sent to them last; the memory begins anew when it is full.
const SENT_MAX: usize = 2_000_000;
/// The retained topic of confirmations: person and keyword to when they were told.
const CONFIRMED: &str = "confirmed";
/// Old confirmations are looked for so often, in microseconds.
const FORGET_EVERY_US: i64 = 600_000_000;
/// A confirmation is tried for so long, in seconds.
const CONFIRMATION_TRIED_S: i64 = 3_600;

/// Clients, keywords, and what is remembered of both.
pub struct MoRouting {
    pub parties: Vec<MessageClientSettings>,
    keywords: Keywords,
    sent: FxHashMap<u64, u32>,
    numbers: FxHashMap<MessageClient, u32>,
    confirmed: Arc<dyn bus::Retained>,
    forgot_at: Timestamp,
    confirming: FxHashMap<String, Timestamp>,
}

impl MoRouting {
    pub fn new(parts: &Parts) -> Result<MoRouting, EngineError> {
        let mut mo_routing = MoRouting {
            parties: Vec::new(),
            keywords: parts.settings.keywords.clone(),
            sent: FxHashMap::default(),
            numbers: FxHashMap::default(),
            confirmed: parts.bus.retained(CONFIRMED).map_err(bus_error)?,
            forgot_at: Timestamp::default(),
            confirming: FxHashMap::default(),
        };
        mo_routing.change(parts.parties.clone(), parts.settings.keywords.clone());
        Ok(mo_routing)
    }

    /// Clients and keywords changed. Who sent to whom is remembered by client, whatever its place.
    pub fn change(&mut self, parties: Vec<MessageClientSettings>, keywords: Keywords) {
        self.keywords = keywords;
        let mut places = FxHashMap::default();
        let moved: Vec<Option<u32>> = self
            .parties
            .iter()
            .map(|old| parties.iter().position(|new| new.party == old.party).map(|place| place as u32))
            .collect();
        self.sent.retain(|_, place| match moved.get(*place as usize).copied().flatten() {
            Some(now) => {
                *place = now;
                true
            }
            None => false,
        });
        for (place, party) in parties.iter().enumerate() {
            places.entry(party.party.clone()).or_insert(place as u32);
        }
        self.numbers = places;
        self.parties = parties;
    }

    /// A client sent something to somebody.
    pub fn note_sent(&mut self, message: &Message) {
        // Where one client hears everything there is nothing to choose.
        if self.parties.len() < 2 && self.parties.iter().all(|party| party.numbers.is_empty()) {
            return;
        }
        let Some(&place) = self.numbers.get(&message.party) else { return };
        if self.sent.len() >= SENT_MAX {
            self.sent.clear();
        }
        self.sent.insert(address_hash(channels::SMS, &message.to), place);
    }

    /// Who hears it: whose numbers fit the most, else who sent to that person last, else the first that names
    /// no numbers.
    pub fn party_for(&self, inbound: &Inbound) -> Option<&MessageClientSettings> {
        let hears =
            |party: &MessageClientSettings| party.routes.is_empty() || party.routes.contains(&inbound.route);
        let named = self.parties.iter().filter(|party| hears(party));
        let named = named.filter_map(|party| Some((fits(&party.numbers, &inbound.to)?, party)));
        // `max_by_key` gives the last of equals; the first is wanted.
        if let Some((_, party)) = named.rev().max_by_key(|(octets, _)| *octets) {
            return Some(party);
        }
        let last = self.sent.get(&address_hash(inbound.channel, &inbound.from));
        let last = last.and_then(|place| self.parties.get(*place as usize));
        last.filter(|party| hears(party))
            .or_else(|| self.parties.iter().find(|party| hears(party) && party.numbers.is_empty()))
    }

    /// The keyword this is, if it is one: those for this number of ours alone go first.
    pub fn keyword(&self, inbound: &Inbound) -> Option<&Keyword> {
        let said = inbound.text.trim().trim_end_matches(['.', '!', '?']).trim_end().to_lowercase();
        let is_it = |keyword: &&Keyword| keyword.words.iter().any(|word| word.to_lowercase() == said);
        let is_ours = |keyword: &&Keyword| keyword.senders.iter().any(|ours| same_number(ours, &inbound.to));
        let mut all = self.keywords.list.iter().filter(is_it);
        self.keywords
            .list
            .iter()
            .filter(is_it)
            .find(is_ours)
            .or_else(|| all.find(|keyword| keyword.senders.is_empty()))
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

impl EngineActor {
    /// A person said something.
    pub fn take_inbound(&mut self, inbound: Inbound) {
        let route = self.alerts.strings.route_no(&inbound.route);
        let of = inbound.of.or_else(|| self.alerts.replies.find(inbound.channel, &inbound.from, Some(route)));
        let keyword = self.mo_routing.keyword(&inbound).cloned();
        if let Some((alert, endpoint)) = of {
            let via = channels::name(inbound.channel).to_owned();
            self.take_answer(alert, endpoint, &inbound.text, via, inbound.at);
        }
        match keyword {
            // Who is asked whether they are safe and says "help" answers.
            Some(keyword) if of.is_none() || keyword.action != KeywordAction::Help => {
                let alert = of.map(|(alert, _)| alert);
                self.obey_keyword(&keyword, alert, &inbound);
            }
            _ if of.is_some() => {}
            _ => self.give_to_party(&inbound),
        }
    }

    fn obey_keyword(&mut self, keyword: &Keyword, alert: Option<records::AlertNo>, inbound: &Inbound) {
        let party = self.mo_routing.party_for(inbound);
        let of_party = party.map(|party| party.account.clone());
        let routes = self.dispatcher.routes.classifier.routes();
        let came_by = routes.iter().find(|route| route.name == inbound.route).map(|route| route.mode);
        let mode = came_by.or(party.map(|party| party.mode)).unwrap_or(Mode::Live);
        let of_alert = alert.and_then(|no| self.alerts.live.get(&no)).map(|live| live.alert.account.clone());
        let account = of_alert.or(of_party).unwrap_or_else(|| Account::DEFAULT.to_owned());
        let out = match keyword.action {
            KeywordAction::Stop => Some(Some(inbound.at)),
            KeywordAction::Start => Some(None),
            KeywordAction::Help => None,
        };
        if let Some(out) = out.filter(|_| channels::traits(inbound.channel).opt_out) {
            let sender = (!keyword.senders.is_empty()).then(|| inbound.to.clone());
            self.opt(account.clone(), inbound, sender, out);
        }
        let confirms = inbound.channel == channels::SMS;
        if let Some(reply) = keyword.reply.as_ref().filter(|_| confirms) {
            self.confirm(account, mode, keyword.action, reply, inbound);
        }
    }

    /// Notes a stop (since when) or a start (nothing).
    fn opt(&mut self, account: String, inbound: &Inbound, sender: Option<String>, out: Option<Timestamp>) {
        let (channel, address, at) = (inbound.channel, inbound.from.clone(), inbound.at);
        if channel == channels::SMS {
            self.intake.note_stop(&account, &address, sender.as_deref(), out);
        }
        let store = self.context.parts.store.clone();
        self.context.spawn_logged(async move {
            let set = match &sender {
                Some(sender) => {
                    store.set_sender_opt_out(&account, channel, &address, sender, out.is_some(), at).await
                }
                None => store.set_opt_out(&account, channel, &address, out.is_some(), at).await,
            };
            set.map_err(|error| format!("a stop or start could not be kept: {error}"))
        });
    }

    /// One confirmation, not told again to the same person for a while: itself a message, by the route it
    /// came.
    fn confirm(
        &mut self,
        account: String,
        mode: Mode,
        action: KeywordAction,
        reply: &str,
        inbound: &Inbound,
    ) {
        let key = format!("{action:?}/{}/{}/{}", account, inbound.from, inbound.to);
        if !self.mo_routing.may_confirm(&key, inbound.at) {
            return;
        }
        self.mo_routing.confirming.insert(key.clone(), inbound.at);
        let message = Message {
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
        };
        let record = Intake::Message(Box::new(message)).encode();
        let (topic, confirmed, at) =
            (self.intake.topic.clone(), self.mo_routing.confirmed.clone(), inbound.at);
        self.context.spawn_logged(async move {
            let words = |error: bus::BusError| format!("a confirmation could not be sent: {error}");
            topic.append(&[&record]).await.map_err(words)?;
            confirmed.set(&key, &records::with_form(&at.0.to_le_bytes())).await.map_err(words)
        });
    }

    /// Confirmations of long ago need not be known any more.
    pub fn forget_confirmations(&mut self, now: Timestamp) {
        if now.us_since(self.mo_routing.forgot_at) < FORGET_EVERY_US && now >= self.mo_routing.forgot_at {
            return;
        }
        self.mo_routing.forgot_at = now;
        let kept_us = i64::from(self.mo_routing.keywords.confirm_every_s) * 1_000_000;
        self.mo_routing.confirming.retain(|_, at| now.us_since(*at) <= kept_us);
        let is_old = |octets: &[u8]| confirmed_at(octets).is_some_and(|at| now.us_since(at) > kept_us);
        let all = self.mo_routing.confirmed.all().into_iter();
        let old: Vec<String> = all.filter(|(_, octets)| is_old(octets)).map(|(key, _)| key).collect();
        let confirmed = self.mo_routing.confirmed.clone();
        if !old.is_empty() {
            self.context.spawn_logged(async move {
                for key in old {
                    confirmed.set(&key, &[]).await.map_err(|error| error.to_string())?;
                }
                Ok(())
            });
        }
    }

    fn give_to_party(&mut self, inbound: &Inbound) {
        let party = self.mo_routing.party_for(inbound).filter(|_| inbound.channel == channels::SMS).cloned();
        let Some(party) = party else { return self.keep_inbound(inbound) };
        match (&party.party, &party.callback) {
            (MessageClient::Smpp(system_id), _) => {
                let told = ClientInbound {
                    from: inbound.from.clone(),
                    to: inbound.to.clone(),
                    route: inbound.route.clone(),
                    text: inbound.text.clone(),
                    octets: inbound.octets.clone(),
                    at: inbound.at,
                };
                self.tell_client(system_id, &ClientEvent::Inbound(Box::new(told)));
            }
            (MessageClient::Platform(username), Some(callback)) => {
                let (record, place) = self.outcomes.position;
                let id = format!("in-{record:x}-{place:x}");
                let url = expand(callback, &heard(inbound, username, &id, callback));
                self.fetch(id, url, inbound.at);
            }
            _ => self.keep_inbound(inbound),
        }
    }
}

/// When a confirmation was sent, by a value of [`CONFIRMED`].
fn confirmed_at(value: &[u8]) -> Option<Timestamp> {
    let at = records::behind_form("value of the topic confirmed", value).ok()?;
    Some(Timestamp(i64::from_le_bytes(at.try_into().ok()?)))
}

fn heard<'a>(inbound: &'a Inbound, username: &'a str, id: &'a str, callback: &'a str) -> Values<'a> {
    let octets = inbound.octets.as_deref();
    let mut udh = Vec::new();
    if let Some(octets) = octets.filter(|octets| !octets.udh.is_empty()) {
        udh.push(octets.udh.len() as u8);
        udh.extend_from_slice(&octets.udh);
    }
    let is_text = inbound.octets.is_none() || !inbound.text.is_empty();
    let (coding, text): (u8, std::borrow::Cow<'_, [u8]>) = match octets {
        Some(octets) if !is_text => (1, octets.octets.as_slice().into()),
        // What was said is told in UTF-8, whatever the network's alphabet, as by Kannel with `mo-recode`.
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
        data_coding: octets.map_or(0, |octets| octets.data_coding),
        udh: udh.into(),
        url: callback,
        ..Values::default()
    }
}

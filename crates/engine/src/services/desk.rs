//! ServiceDesk takes messages from the topic of service calls, one after another, does what they ask and
//! replies. Of several processes the one that leads has it.

use super::acts::PersonRequest;
use super::chat_link::{StartedChat, chat_payload};
use super::guard::{GuardVerdict, ReplyGuard};
use super::own_page::is_form;
use super::page_notes::PageNotes;
use super::people::{AddressOf, People, PersonLookup, address_of};
use super::phrases::{Phrase, say};
use super::prepared::SendDesk;
use super::replies::{self, ReplyTo};
use crate::api::EngineError;
use crate::inbound_text::{ServiceRequest, read_service};
use crate::report::percent_encode;
use crate::run::{ActorCommand, Engine, WeakEngine, bus_error};
use crate::shared::Leader;
use bus::{Group, Topic};
use records::{Recipient, SERVICE_CALLS, ServiceCall};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The consumer group.
const GROUP: &str = "desk";
/// Calls taken at a time.
const TAKE_MAX: usize = 256;
/// A call is ours for so long without a word.
const LEASE: Duration = Duration::from_secs(120);
/// It is looked for calls, and for who leads, at least so often.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// After an error of bus or store it is tried again after so long.
const RETRY: Duration = Duration::from_secs(2);
/// All people are gone through for words that nobody understands so often at most.
const HELP_LOOK_EVERY: Duration = Duration::from_secs(10);
/// Old notes of the guard are looked for so often.
const FORGET_EVERY: Duration = Duration::from_secs(3_600);

/// See the module.
pub(crate) struct ServiceDesk {
    calls: Arc<dyn Topic>,
    group: Arc<dyn Group>,
    guard: ReplyGuard,
    people: PersonLookup,
    pub(super) sending: SendDesk,
}

/// A call, as it is on the topic.
struct TakenCall {
    index: u64,
    call: ServiceCall,
    of: AddressOf,
}

impl ServiceDesk {
    /// Works until the engine is gone.
    pub(crate) async fn run(engine: WeakEngine) {
        let Some(desk) = ServiceDesk::open(&engine).await else { return };
        let (mut helped, mut forgot) = (None::<Instant>, Instant::now());
        while let Some(running) = engine.upgrade() {
            if running.leader() != Leader::Here {
                drop(running);
                tokio::time::sleep(LOOK_EVERY).await;
                continue;
            }
            match desk.turn(&running, &mut helped).await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, "services of people wait");
                    drop(running);
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            }
            if forgot.elapsed() >= FORGET_EVERY {
                forgot = Instant::now();
                let now = running.parts().now();
                let _ = desk.guard.forget(now).await;
                let _ = PageNotes::of(&running).forget_old(now).await;
            }
            drop(running);
            let _ = tokio::time::timeout(LOOK_EVERY, desk.group.ready()).await;
        }
    }

    /// Opens its topics; may take a while where the bus is far away.
    async fn open(engine: &WeakEngine) -> Option<ServiceDesk> {
        loop {
            let bus = engine.upgrade()?.parts().bus.clone();
            let open = move || -> Result<ServiceDesk, bus::BusError> {
                Ok(ServiceDesk {
                    calls: bus.topic(SERVICE_CALLS)?,
                    group: bus.group(SERVICE_CALLS, GROUP)?,
                    guard: ReplyGuard::open(&*bus)?,
                    people: PersonLookup::default(),
                    sending: SendDesk::default(),
                })
            };
            match tokio::task::spawn_blocking(open).await {
                Ok(Ok(desk)) => return Some(desk),
                Ok(Err(error)) => tracing::warn!(%error, "services of people wait for their topic"),
                Err(_) => return None,
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Takes what is there; false if there was nothing.
    async fn turn(&self, engine: &Engine, helped: &mut Option<Instant>) -> Result<bool, EngineError> {
        let leased = self.group.take(TAKE_MAX, LEASE).map_err(bus_error)?;
        if leased.is_empty() {
            return Ok(false);
        }
        let mut taken = Vec::with_capacity(leased.len());
        for leased in leased {
            let index = leased.record.index;
            match ServiceCall::decode(&leased.record.octets) {
                Ok(call) => {
                    let of = address_of(&call.account, call.inbound.channel, &call.inbound.from);
                    taken.push(TakenCall { index, call, of });
                }
                Err(error) => {
                    tracing::error!(%error, index, "a service call is skipped");
                    self.group.ack(index).map_err(bus_error)?;
                }
            }
        }
        let people = self.people_of(engine, &taken, helped).await?;
        for one in taken {
            self.handle(engine, &one, &people).await?;
            self.group.ack(one.index).map_err(bus_error)?;
        }
        self.group.flush().await.map_err(bus_error)?;
        let _ = self.calls.trim(self.group.low_water());
        Ok(true)
    }

    async fn people_of(
        &self,
        engine: &Engine,
        taken: &[TakenCall],
        helped: &mut Option<Instant>,
    ) -> Result<People, EngineError> {
        let rules = engine.services();
        let is_service = |one: &&TakenCall| {
            one.call.is_unproven || read_service(&one.call.inbound.text, &rules.words).is_some()
        };
        let services: FxHashSet<&AddressOf> = taken.iter().filter(is_service).map(|one| &one.of).collect();
        // Anybody can write words that nobody understands: they do not make us go through all people.
        let all = helped.is_none_or(|at| at.elapsed() >= HELP_LOOK_EVERY);
        if all {
            *helped = Some(Instant::now());
        }
        let addresses = taken.iter().map(|one| one.of.clone()).collect();
        self.people.find(&engine.store(), addresses, |of| all || services.contains(of)).await
    }

    async fn handle(&self, engine: &Engine, one: &TakenCall, people: &People) -> Result<(), EngineError> {
        let TakenCall { call, of, .. } = one;
        if let Some(payload) = chat_payload(&call.inbound) {
            return self.start_chat(engine, one, payload).await;
        }
        let rules = engine.services();
        let request = read_service(&call.inbound.text, &rules.words);
        if let Some(reply) = &call.reply {
            return self.say_once(engine, one, reply).await;
        }
        let Some(persons) = people.get(of) else {
            // What may be of anybody is an answer at most, to the delivery that it names.
            return match request.filter(|_| !call.is_unproven || call.asked.is_some()) {
                Some(_) => engine.send(ActorCommand::Declined(Box::new(call.clone()))).await,
                None => Ok(()),
            };
        };
        let mut handled = self.guard.of(of);
        match handled.take(call.inbound.at) {
            GuardVerdict::Again => return Ok(()),
            GuardVerdict::TooMany => {
                tracing::warn!(
                    channel = channels::name(call.inbound.channel),
                    "an address asks for more than a person does: no reply"
                );
                return self.guard.keep(of, handled).await.map_err(bus_error);
            }
            GuardVerdict::Go => {}
        }
        let reply = match request {
            _ if call.is_unproven => Some(ask_to_confirm(engine, call, persons, request)),
            Some(request) => Some(self.carry_out(engine, call, persons, request).await),
            None => handled.may_help(call.inbound.at).then(|| self.help(engine, call, &persons[0])),
        };
        if let Some(reply) = reply
            && let Err(error) = replies::send(engine, &ReplyTo::of(call), reply).await
        {
            tracing::warn!(%error, "a person who used a service cannot be replied to");
        }
        self.guard.keep(of, handled).await.map_err(bus_error)
    }

    /// Sends a keyword's reply.
    async fn say_once(&self, engine: &Engine, one: &TakenCall, reply: &str) -> Result<(), EngineError> {
        let mut handled = self.guard.of(&one.of);
        if handled.take(one.call.inbound.at) != GuardVerdict::Go {
            return Ok(());
        }
        if let Err(error) = replies::send(engine, &ReplyTo::of(&one.call), reply.to_owned()).await {
            tracing::warn!(%error, "a keyword's reply cannot be sent");
        }
        self.guard.keep(&one.of, handled).await.map_err(bus_error)
    }

    /// Connects a chat that was started by a link, and says what came of it. What is refused is said once a
    /// day: anybody can send what looks like a link.
    async fn start_chat(&self, engine: &Engine, one: &TakenCall, payload: &str) -> Result<(), EngineError> {
        let TakenCall { call, of, .. } = one;
        let mut handled = self.guard.of(of);
        match handled.take(call.inbound.at) {
            GuardVerdict::Again => return Ok(()),
            GuardVerdict::TooMany => return self.guard.keep(of, handled).await.map_err(bus_error),
            GuardVerdict::Go => {}
        }
        let reply = StartedChat { engine, people: &self.people, call }.connect(payload).await?;
        let to = ReplyTo::of(call);
        let to = ReplyTo { account: reply.account.unwrap_or_else(|| to.account.clone()), ..to };
        if (!reply.is_refusal || handled.may_help(call.inbound.at))
            && let Err(error) = replies::send(engine, &to, reply.text).await
        {
            tracing::warn!(%error, "a person who started a chat cannot be replied to");
        }
        self.guard.keep(of, handled).await.map_err(bus_error)
    }

    fn help(&self, engine: &Engine, call: &ServiceCall, person: &Recipient) -> String {
        PersonRequest { desk: self, engine, call, person }.help()
    }

    /// Does it for everybody who has the device; gives what is said.
    async fn carry_out(
        &self,
        engine: &Engine,
        call: &ServiceCall,
        persons: &[Recipient],
        request: ServiceRequest<'_>,
    ) -> String {
        let mut said: Vec<String> = Vec::new();
        for person in persons {
            let asked = PersonRequest { desk: self, engine, call, person };
            let reply = asked.carry_out(request).await.unwrap_or_else(|error| {
                tracing::warn!(%error, service = ?request.service, "a service failed");
                say(Phrase::Failed, person.language.as_deref(), &[])
            });
            if !said.contains(&reply) {
                said.push(reply);
            }
        }
        said.join("\n")
    }
}

/// A mail says who it is from, and anybody can say that: what it asks for is done once the person confirms it
/// by a link, which comes to their own mailbox.
fn ask_to_confirm(
    engine: &Engine,
    call: &ServiceCall,
    persons: &[Recipient],
    request: Option<ServiceRequest<'_>>,
) -> String {
    let is_done_there =
        request.is_some_and(|request| is_form(request.service) && !request.argument.is_empty());
    let words = call.inbound.text.trim_start().lines().next().unwrap_or_default().trim();
    let mut said: Vec<String> = Vec::new();
    for person in persons {
        let language = person.language.as_deref();
        let page = engine.parts().links.page(&call.account, &person.id, engine.parts().now());
        let reply = match page {
            Some(mut link) if is_done_there => {
                link.push_str("?word=");
                percent_encode(&mut link, words.as_bytes());
                say(Phrase::ProveAct, language, &[&link, words])
            }
            Some(link) => say(Phrase::Prove, language, &[&link]),
            None => say(Phrase::NoPage, language, &[]),
        };
        if !said.contains(&reply) {
            said.push(reply);
        }
    }
    said.join("\n")
}

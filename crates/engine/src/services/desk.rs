//! ServiceDesk takes messages from the topic of service calls, one after another, does what they ask and
//! replies. Of several processes the one that leads has it.

use super::acts::PersonRequest;
use super::guard::{GuardVerdict, ReplyGuard};
use super::page_notes::PageNotes;
use super::people::{AddressOf, People, PersonLookup, address_of};
use super::phrases::{Phrase, say};
use super::prepared::SendDesk;
use super::replies::{self, ReplyTo};
use crate::api::EngineError;
use crate::inbound_text::{ServiceRequest, read_service};
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
        let is_service = |one: &&TakenCall| read_service(&one.call.inbound.text, &rules.words).is_some();
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
        let rules = engine.services();
        let request = read_service(&call.inbound.text, &rules.words);
        if let Some(reply) = &call.reply {
            return self.say_once(engine, one, reply).await;
        }
        let Some(persons) = people.get(of) else {
            return match request {
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
            // A mail says who it is from, and anybody can say that.
            let is_proven = call.inbound.channel != channels::MAIL || call.asked.is_some();
            let reply =
                match (is_proven, engine.parts().links.page(&call.account, &person.id, engine.parts().now()))
                {
                    (false, Some(link)) => Ok(asked.say(Phrase::Prove, &[&link])),
                    (false, None) => Ok(asked.say(Phrase::NoPage, &[])),
                    (true, _) => asked.carry_out(request).await,
                };
            let reply = reply.unwrap_or_else(|error| {
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

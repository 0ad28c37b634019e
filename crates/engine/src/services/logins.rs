//! Logins of people at a session: who has an id as a device, a code to another device of theirs, and the
//! deliveries that waited for them.

use super::phrases::{Phrase, say};
use super::replies::{self, ReplyTo};
use crate::api::EngineError;
use crate::run::{ActorCommand, Engine, Stops, routes_of, store_error};
use records::{Account, ChannelNumber, Device, Mode, Recipient};
use std::net::IpAddr;
use std::time::Duration;
use store::Act;
use tokio::sync::Semaphore;

/// A code is sent for so long, in seconds, and holds for so many minutes.
const CODE_S: i64 = 600;
const CODE_MINUTES: i64 = CODE_S / 60;
/// All people are gone through for an id: so many times at once at most.
const LOOKS_MAX: usize = 1;
/// People with one id at most.
const PEOPLE_MAX: usize = 100;
/// An attempt that was refused just before somebody came is on record by then.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// A device that a code may go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginDevice {
    /// Whose people they are.
    pub account: String,
    /// How it is reached.
    pub channel: ChannelNumber,
    /// Where.
    pub address: String,
    /// The person's.
    pub language: Option<String>,
    /// The person's id.
    pub person: String,
}

/// Logins of one channel, whose addresses are ids of people in the account `default`.
pub struct Logins {
    engine: Engine,
    channel: ChannelNumber,
    looks: Semaphore,
}

impl Logins {
    /// Of this engine.
    pub fn of(engine: &Engine, channel: ChannelNumber) -> Logins {
        Logins { engine: engine.clone(), channel, looks: Semaphore::new(LOOKS_MAX) }
    }

    /// The devices that a code for an id may go to: of each person who has it, the first other one that a
    /// person reads, that is switched on, whose owner did not say stop, and that a route reaches. It takes as
    /// long for an id that nobody has.
    ///
    /// # Errors
    /// The store's.
    pub async fn devices(&self, id: &str) -> Result<Vec<LoginDevice>, EngineError> {
        let Ok(_turn) = self.looks.acquire().await else { return Ok(Vec::new()) };
        let (store, channel, id) = (self.engine.store(), self.channel, id.to_owned());
        let found = tokio::task::spawn_blocking(move || {
            let mut people: Vec<Recipient> = Vec::new();
            store.scan_recipients(Account::DEFAULT, &mut |slice| {
                let has_it = |device: &Device| {
                    device.channel == channel
                        && device.enabled
                        && channels::key(channel, &device.address) == id
                };
                let theirs = slice.iter().filter(|person| person.devices.iter().any(has_it));
                people.extend(theirs.cloned());
                true
            })?;
            people.truncate(PEOPLE_MAX);
            Ok::<_, store::StoreError>(people)
        });
        let found = found.await.map_err(|error| EngineError::Internal(error.to_string()))?;
        let mut people = found.map_err(store_error)?;
        Stops::of(&self.engine).mark_stops(Account::DEFAULT, &mut people).await?;
        Ok(people.iter().filter_map(|person| self.device_of(person)).collect())
    }

    fn device_of(&self, person: &Recipient) -> Option<LoginDevice> {
        let may_carry = |device: &&Device| {
            // Where people can say stop a person reads, and no machine.
            device.channel != self.channel
                && device.enabled
                && !device.opted_out
                && channels::traits(device.channel).opt_out
                && self.mode_of(device.channel).is_some()
        };
        let device = person.devices.iter().find(may_carry)?;
        Some(LoginDevice {
            account: Account::DEFAULT.to_owned(),
            channel: device.channel,
            address: device.address.clone(),
            language: person.language.clone(),
            person: person.id.clone(),
        })
    }

    /// The mode of the routes that carry it: live ones, if there are any.
    fn mode_of(&self, channel: ChannelNumber) -> Option<Mode> {
        let routes = routes_of(&self.engine);
        let has = |mode: &Mode| routes.iter().any(|route| route.channel == channel && route.mode == *mode);
        [Mode::Live, Mode::Drill].into_iter().find(has)
    }

    /// Sends a code; resolves when it is accepted.
    ///
    /// # Errors
    /// The store's; no route carries it.
    pub async fn send_code(&self, device: &LoginDevice, id: &str, code: &str) -> Result<(), EngineError> {
        let values = [code, id, &CODE_MINUTES.to_string()];
        let text = say(Phrase::LoginCode, device.language.as_deref(), &values);
        let to = ReplyTo {
            account: device.account.clone(),
            mode: self.mode_of(device.channel).unwrap_or(Mode::Live),
            channel: device.channel,
            address: device.address.clone(),
            ours: String::new(),
            route: String::new(),
        };
        replies::notify(&self.engine, &to, text, CODE_S).await
    }

    /// Somebody logged in: that is noted, and what waits for them is tried at once.
    ///
    /// # Errors
    /// The store's; a server that closes.
    pub async fn logged_in(&self, id: &str, from: IpAddr, detail: &str) -> Result<(), EngineError> {
        let act = Act {
            at: self.engine.parts().now(),
            account: Account::DEFAULT.to_owned(),
            token: store::audit::SERVER.to_owned(),
            from: from.to_string(),
            verb: format!("{}.login", channels::name(self.channel)),
            object: id.to_owned(),
            detail: detail.to_owned(),
            ..Act::default()
        };
        let noted = self.engine.store().note_act(act).await;
        for pause in [Duration::ZERO, AGAIN_AFTER] {
            tokio::time::sleep(pause).await;
            let (channel, address) = (self.channel, id.to_owned());
            self.engine.send(ActorCommand::Present { channel, address }).await?;
        }
        noted.map(|_| ()).map_err(store_error)
    }
}

//! Stops that are not said to the engine: those of operators and files, and decisions on words that are
//! perhaps a stop. SQL has each before the actor hears of it.

use super::actor::store_error;
use super::{ActorCommand, Engine};
use crate::api::EngineError;
use records::{ChannelNumber, Recipient, Timestamp};
use store::PerhapsStop;

/// Stops of an engine's accounts.
pub struct Stops<'a> {
    engine: &'a Engine,
}

impl Stops<'_> {
    /// Of this engine.
    pub fn of(engine: &Engine) -> Stops<'_> {
        Stops { engine }
    }

    /// Opts these addresses out of whatever is sent.
    ///
    /// # Errors
    /// The store's; then nothing has changed.
    pub async fn opt_out(
        &self,
        account: &str,
        stops: Vec<(ChannelNumber, String)>,
    ) -> Result<(), EngineError> {
        if stops.is_empty() {
            return Ok(());
        }
        let now = (self.engine.inner.parts.clock)();
        let numbers = |stops: &[(ChannelNumber, String)]| -> Vec<String> {
            let sms = stops.iter().filter(|(channel, _)| *channel == channels::SMS);
            sms.map(|(_, address)| address.clone()).collect()
        };
        let told = numbers(&stops);
        self.engine.store().put_opt_outs(account, stops, now).await.map_err(store_error)?;
        self.tell_of_stops(account, told, None, now).await
    }

    /// Opts one address in again: takes back every stop of it to whatever is sent.
    ///
    /// # Errors
    /// The store's.
    pub async fn opt_in(
        &self,
        account: &str,
        channel: ChannelNumber,
        address: &str,
    ) -> Result<(), EngineError> {
        let now = (self.engine.inner.parts.clock)();
        let one_form = channels::canonical(channel, address, &channels::Defaults::default()).into_owned();
        // An older version may have stored it as it was given.
        let as_given = (one_form != address).then(|| address.to_owned());
        for form in std::iter::once(one_form.clone()).chain(as_given) {
            let set = self.engine.store().set_opt_out(account, channel, &form, false, now).await;
            set.map_err(store_error)?;
        }
        if channel != channels::SMS {
            return Ok(());
        }
        let (account, numbers) = (account.to_owned(), vec![one_form]);
        self.engine.send(ActorCommand::OptIn { account, numbers }).await
    }

    /// Decides on words that were perhaps a stop: the address is opted out, or nothing follows.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] if there are none with this number, or somebody decided before.
    pub async fn decide_stop(
        &self,
        account: &str,
        no: u64,
        is_stop: bool,
    ) -> Result<PerhapsStop, EngineError> {
        let (store, now) = (self.engine.store(), (self.engine.inner.parts.clock)());
        let before = no.checked_sub(1).ok_or(EngineError::NotFound)?;
        let found = store.perhaps_stops(account, before, 1).await.map_err(store_error)?.pop();
        let found = found.filter(|found| found.no == no).ok_or(EngineError::NotFound)?;
        if is_stop {
            let by_sender = self.engine.inner.keywords.load().opt_out.by_sender && !found.sender.is_empty();
            let sender = by_sender.then(|| found.sender.clone());
            let set = match &sender {
                Some(sender) => {
                    store.set_sender_opt_out(account, found.channel, &found.address, sender, true, now).await
                }
                None => store.set_opt_out(account, found.channel, &found.address, true, now).await,
            };
            set.map_err(store_error)?;
            if found.channel == channels::SMS {
                self.tell_of_stops(account, vec![found.address.clone()], sender, now).await?;
            }
        }
        store.remove_perhaps_stop(account, no).await.map_err(store_error)?;
        Ok(found)
    }

    async fn tell_of_stops(
        &self,
        account: &str,
        numbers: Vec<String>,
        sender: Option<String>,
        at: Timestamp,
    ) -> Result<(), EngineError> {
        let account = account.to_owned();
        match numbers.is_empty() {
            true => Ok(()),
            false => self.engine.send(ActorCommand::OptOut { account, numbers, sender, at }).await,
        }
    }

    /// Marks the devices of people whose owners said stop, however they said it.
    ///
    /// # Errors
    /// The store's.
    pub async fn mark_stops(&self, account: &str, people: &mut [Recipient]) -> Result<(), EngineError> {
        let devices = people.iter().flat_map(|person| &person.devices);
        let asked: Vec<(ChannelNumber, String)> = devices
            .filter(|device| channels::traits(device.channel).opt_out && !device.opted_out)
            .map(|device| {
                let defaults = channels::Defaults::default();
                let address = channels::canonical(device.channel, &device.address, &defaults);
                (device.channel, address.into_owned())
            })
            .collect();
        if asked.is_empty() {
            return Ok(());
        }
        let stops = self.engine.store().stops_of(account, asked).await.map_err(store_error)?;
        let all = stops.into_iter().filter(|stop| stop.sender.is_none());
        let stopped: rustc_hash::FxHashSet<_> = all.map(|stop| (stop.channel, stop.address)).collect();
        for device in people.iter_mut().flat_map(|person| &mut person.devices) {
            let defaults = channels::Defaults::default();
            let address = channels::canonical(device.channel, &device.address, &defaults).into_owned();
            device.opted_out |= stopped.contains(&(device.channel, address));
        }
        Ok(())
    }
}

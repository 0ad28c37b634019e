//! Callbacks of a carrier: from the topic where the HTTP door keeps them to outcomes on record.

use super::HttpSmsCalls;
use super::outcome;
use crate::context::Stop;
use crate::dispatcher::RouteDispatcher;
use crate::journal::Ticket;
use crate::sms::encode::SmsEncoder;
use bus::{BusError, Group, Leased, Topic};
use records::{CarrierCallback, callbacks_topic};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// The consumer group.
const GROUP: &str = "gateway";
/// Callbacks taken at a time.
const TAKE_MAX: usize = 64;
/// A callback is ours for so long without a word.
const LEASE: Duration = Duration::from_secs(60);
/// A bus that cannot be read is asked again after so long.
const RETRY: Duration = Duration::from_secs(1);

/// Reads a route's callbacks.
pub(super) struct CallbackReader {
    calls: Arc<HttpSmsCalls>,
    dispatcher: Arc<RouteDispatcher<SmsEncoder>>,
    /// What was noted has become durable.
    durable: Arc<Notify>,
    topic: Arc<dyn Topic>,
    group: Arc<dyn Group>,
}

impl CallbackReader {
    /// # Errors
    /// The bus's.
    pub(super) fn open(
        calls: &Arc<HttpSmsCalls>,
        dispatcher: &Arc<RouteDispatcher<SmsEncoder>>,
    ) -> Result<CallbackReader, BusError> {
        let name = callbacks_topic(dispatcher.route());
        Ok(CallbackReader {
            calls: Arc::clone(calls),
            durable: dispatcher.listen(),
            dispatcher: Arc::clone(dispatcher),
            topic: calls.context.bus.topic(&name)?,
            group: calls.context.bus.group(&name, GROUP)?,
        })
    }

    /// Until it is told to stop. What was taken and is not acknowledged then comes again with the next start.
    pub(super) async fn run(self, mut stop: Stop) {
        while !stop.is_set() {
            tokio::select! {
                () = self.group.ready() => {}
                () = stop.wait() => return,
            }
            let taken = match self.group.take(TAKE_MAX, LEASE) {
                Ok(taken) => taken,
                Err(error) => {
                    tracing::error!(route = self.dispatcher.route(), %error, "callbacks of the carrier cannot be read from the bus; retrying");
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            };
            if taken.is_empty() {
                continue;
            }
            let last = taken.iter().filter_map(|leased| self.note(leased)).last();
            tokio::select! {
                () = self.until_durable(last) => self.acknowledge(&taken).await,
                () = stop.wait() => return,
            }
        }
    }

    /// Notes what a callback says; its last ticket, if it says something.
    fn note(&self, leased: &Leased) -> Option<Ticket> {
        let route = self.dispatcher.route();
        let callback = CarrierCallback::decode(&leased.record.octets)
            .inspect_err(
                |error| tracing::error!(route, %error, "a callback of the carrier cannot be decoded"),
            )
            .ok()?;
        let state = self.calls.state.load();
        let mut ids = self.calls.ids.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome::outcomes(&callback, &state.route, &mut ids) {
            Ok(outcomes) => {
                let mut last = None;
                outcomes.iter().for_each(|outcome| last = Some(self.dispatcher.note(outcome)));
                last
            }
            Err(why) => {
                tracing::warn!(
                    route,
                    why,
                    purpose = ?callback.purpose,
                    "what the carrier posted has not the fields that the route's keys receipt and inbound name: it is dropped"
                );
                None
            }
        }
    }

    async fn until_durable(&self, last: Option<Ticket>) {
        let Some(ticket) = last else { return };
        while !self.dispatcher.is_durable(ticket) {
            self.durable.notified().await;
        }
    }

    async fn acknowledge(&self, taken: &[Leased]) {
        let route = self.dispatcher.route();
        for leased in taken {
            if let Err(error) = self.group.ack(leased.record.index) {
                tracing::warn!(route, %error, "a callback of the carrier was not acknowledged: it is read again");
            }
        }
        if let Err(error) = self.group.flush().await {
            tracing::warn!(route, %error, "acknowledged callbacks are not on disk yet: after a crash some are read again");
        }
        let below = self.group.low_water();
        if below > self.topic.low()
            && let Err(error) = self.topic.trim(below)
        {
            tracing::warn!(route, %error, "callbacks that were read could not be removed from the bus: they only take room");
        }
    }
}

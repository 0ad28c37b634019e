//! Callbacks append what endpoints and carriers post to signed URLs of ours.

use super::Engine;
use super::actor::bus_error;
use crate::api::EngineError;
use records::{CarrierCallback, Outcome, Receipt};

/// Callbacks to an engine.
pub struct Callbacks<'a> {
    engine: &'a Engine,
}

impl Callbacks<'_> {
    /// Of this engine.
    pub fn of(engine: &Engine) -> Callbacks<'_> {
        Callbacks { engine }
    }

    /// Takes a report on a delivery that came by its signed URL; resolves when it is on disk.
    pub async fn report(&self, receipt: Receipt) -> Result<(), EngineError> {
        let record = records::encode_outcomes(&[Outcome::Receipt(receipt)]);
        self.engine.inner.outcomes.append(&[&record]).await.map(|_| ()).map_err(bus_error)
    }

    /// Takes what a carrier posted to the URL of a route, for the route's gateway; resolves when it is on
    /// disk.
    pub async fn take(&self, route: &str, callback: &CarrierCallback) -> Result<(), EngineError> {
        let routes = self.engine.inner.routes.load();
        if !routes.iter().any(|known| known.name == route && known.channel == channels::SMS) {
            return Err(EngineError::NotFound);
        }
        let topic = self.engine.inner.parts.bus.topic(&records::callbacks_topic(route)).map_err(bus_error)?;
        topic.append(&[&callback.encode()]).await.map(|_| ()).map_err(bus_error)
    }
}

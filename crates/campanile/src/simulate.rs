//! Simulators of this process: real listeners on ports, and the routes to them ordinary clients.

use crate::setup::{ConfiguredRoute, Setup};
use gateway::{Simulator, SimulatorOptions, registry};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The simulators of a server, by route.
#[derive(Default)]
pub struct Simulators {
    running: BTreeMap<String, Arc<dyn Simulator>>,
}

impl Simulators {
    /// Starts one for every route that wants it.
    ///
    /// # Errors
    /// In words: a port that cannot be had, or a channel without a simulator.
    pub async fn start(setup: &Setup) -> Result<Simulators, String> {
        let mut running = BTreeMap::new();
        for way in setup.routes.iter().filter(|way| way.simulator.is_some()) {
            let simulator = start(way, setup)
                .await
                .map_err(|error| format!("the simulator behind route {}: {error}", way.route.name))?;
            tracing::info!(route = way.route.name, address = %simulator.address(), "simulated");
            running.insert(way.route.name.clone(), Arc::from(simulator));
        }
        Ok(Simulators { running })
    }

    /// Where the one behind a route listens.
    pub fn address(&self, route: &str) -> Option<String> {
        self.running.get(route).map(|simulator| simulator.address().to_string())
    }

    /// All of them.
    pub fn each(&self) -> impl Iterator<Item = (&String, &dyn Simulator)> {
        self.running.iter().map(|(route, simulator)| (route, &**simulator))
    }

    /// The same, to be kept.
    pub(crate) fn shared(&self) -> impl Iterator<Item = (String, Arc<dyn Simulator>)> {
        self.running.iter().map(|(route, simulator)| (route.clone(), Arc::clone(simulator)))
    }
}

async fn start(way: &ConfiguredRoute, setup: &Setup) -> std::io::Result<Box<dyn Simulator>> {
    let options = SimulatorOptions {
        habits: way.simulator.as_ref().and_then(|simulator| simulator.habits.clone()),
        smtp_door: setup.smtp.as_ref().map(|door| door.listen.clone()),
    };
    let channel = way.route.channel;
    match registry::of(channel).and_then(|gateway| gateway.simulate(options)) {
        Some(starting) => starting.await,
        None => Err(std::io::Error::other(format!(
            "channel {} has no simulator: remove sim = true",
            channels::name(channel)
        ))),
    }
}

//! Simulated carriers inside this process: always real listeners on ports, and the routes to them ordinary clients.

use crate::setup::{CarrierSetup, Setup, Simulator, Way};
use sim::mailbox::Mailbox;
use sim::smsc::Smsc;
use std::collections::BTreeMap;

/// A free port of this machine.
const ANY_PORT: &str = "127.0.0.1:0";

/// The simulators of a house, by route.
#[derive(Default)]
pub struct Simulators {
    carriers: BTreeMap<String, Carrier>,
}

/// One of them.
pub enum Carrier {
    /// Behind an SMS route.
    Sms(Smsc),
    /// Behind a mail route.
    Mail(Mailbox),
}

impl Simulators {
    /// Starts one for every route that wants it.
    pub async fn start(setup: &Setup) -> Result<Simulators, String> {
        let mut carriers = BTreeMap::new();
        for way in &setup.routes {
            let Some(simulator) = &way.simulator else { continue };
            let carrier = start(way, simulator, setup)
                .await
                .map_err(|error| format!("the simulator behind route {}: {error}", way.route.name))?;
            tracing::info!(route = way.route.name, address = carrier.address(), "simulated");
            carriers.insert(way.route.name.clone(), carrier);
        }
        Ok(Simulators { carriers })
    }

    /// Where the one behind a route listens.
    pub fn address(&self, route: &str) -> Option<String> {
        self.carriers.get(route).map(Carrier::address)
    }

    /// All of them.
    pub fn each(&self) -> impl Iterator<Item = (&String, &Carrier)> {
        self.carriers.iter()
    }
}

impl Carrier {
    /// Where it listens.
    pub fn address(&self) -> String {
        match self {
            Carrier::Sms(smsc) => smsc.address().to_string(),
            Carrier::Mail(mailbox) => mailbox.address().to_string(),
        }
    }
}

async fn start(way: &Way, simulator: &Simulator, setup: &Setup) -> std::io::Result<Carrier> {
    match way.carrier {
        CarrierSetup::Sms(_) => {
            let options = sim::smsc::Options {
                listen: ANY_PORT.to_owned(),
                people: simulator.habits.clone(),
                ..sim::smsc::Options::default()
            };
            Smsc::start(options).await.map(Carrier::Sms)
        }
        CarrierSetup::Mail(_) => {
            let options = sim::mailbox::Options {
                listen: ANY_PORT.to_owned(),
                people: simulator.habits.clone(),
                door: setup.smtp.as_ref().map(|door| door.listen.to_string()),
                ..sim::mailbox::Options::default()
            };
            Mailbox::start(options).await.map(Carrier::Mail)
        }
        CarrierSetup::Topic(_) => Err(std::io::Error::other("a text topic is real, and has no simulator")),
        CarrierSetup::Edge(_) => Err(std::io::Error::other("an edge site has no simulator")),
    }
}

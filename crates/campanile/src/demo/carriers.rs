//! The demo's carriers, as its API lets people break them.

use crate::simulate::Simulators;
use doors::http::{CarrierBehaviour, DemoCarrier, DemoCarriers};
use gateway::Simulator;
use records::{ChannelNumber, Timestamp};
use sim::Behaviour;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The simulators of this process, by route, with what each was told last.
pub(super) struct RunningCarriers {
    carriers: BTreeMap<String, RunningCarrier>,
    told: Mutex<BTreeMap<String, (CarrierBehaviour, Timestamp)>>,
}

struct RunningCarrier {
    channel: ChannelNumber,
    simulator: Arc<dyn Simulator>,
}

impl RunningCarriers {
    /// Of the routes that have one.
    pub(super) fn new(simulators: &Simulators, channel_of: impl Fn(&str) -> Option<ChannelNumber>) -> Self {
        let carriers = simulators.shared().filter_map(|(name, simulator)| {
            let channel = channel_of(&name)?;
            Some((name, RunningCarrier { channel, simulator }))
        });
        RunningCarriers { carriers: carriers.collect(), told: Mutex::default() }
    }

    fn told(&self) -> MutexGuard<'_, BTreeMap<String, (CarrierBehaviour, Timestamp)>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DemoCarriers for RunningCarriers {
    fn carriers(&self) -> Vec<DemoCarrier> {
        let told = self.told();
        let view = |(name, carrier): (&String, &RunningCarrier)| {
            let last = told.get(name);
            DemoCarrier {
                name: name.clone(),
                channel: carrier.channel,
                behaviour: last.map_or(CarrierBehaviour::Works, |(behaviour, _)| *behaviour),
                since: last.map(|(_, since)| *since),
                can_be: carrier.simulator.behaviours().iter().map(|one| shown(*one)).collect(),
            }
        };
        self.carriers.iter().map(view).collect()
    }

    fn behave(&self, name: &str, behaviour: CarrierBehaviour, now: Timestamp) -> Result<(), String> {
        let carrier = self.carriers.get(name).ok_or("it has no simulator")?;
        // Held meanwhile, so that of two who tell it something the later one is shown.
        let mut told = self.told();
        carrier.simulator.behave(of_simulator(behaviour))?;
        told.insert(name.to_owned(), (behaviour, now));
        Ok(())
    }
}

fn shown(behaviour: Behaviour) -> CarrierBehaviour {
    match behaviour {
        Behaviour::Works => CarrierBehaviour::Works,
        Behaviour::Down => CarrierBehaviour::Down,
        Behaviour::Slow => CarrierBehaviour::Slow,
        Behaviour::WithoutReceipts => CarrierBehaviour::WithoutReceipts,
    }
}

fn of_simulator(behaviour: CarrierBehaviour) -> Behaviour {
    match behaviour {
        CarrierBehaviour::Works => Behaviour::Works,
        CarrierBehaviour::Down => Behaviour::Down,
        CarrierBehaviour::Slow => Behaviour::Slow,
        CarrierBehaviour::WithoutReceipts => Behaviour::WithoutReceipts,
    }
}

//! Phases: what a scenario changes over time.

use super::scene::Scene;
use super::{Shared, Smsc};
use crate::chance::Delay;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// From a moment on, these keys of the scenario have other values; all others are as outside of phases.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// By which it is told and entered by hand.
    #[serde(default)]
    pub name: String,
    /// From when on, counted from the start.
    #[serde(default)]
    pub from: Delay,
    /// Keys of the scenario with their values; a table's keys that are not named stay.
    #[serde(flatten)]
    pub changes: toml::Table,
}

impl Phase {
    /// A phase of this name.
    ///
    /// # Errors
    /// What `changes` cannot be read as TOML for.
    pub fn new(name: &str, from: std::time::Duration, changes: &str) -> Result<Self, String> {
        let changes = toml::from_str(changes).map_err(|error| format!("phases {name:?}: {error}"))?;
        Ok(Phase { name: name.to_owned(), from: Delay::Fixed(from), changes })
    }
}

/// A scenario's scenes and the moments of their beginning, from the start in microseconds, rising; the first
/// is at 0.
pub(super) struct Timetable {
    pub(super) scenes: Vec<(u64, Arc<Scene>)>,
    again_us: Option<u64>,
}

impl Timetable {
    pub(super) fn new(options: super::SmscOptions) -> Result<Self, String> {
        let again = options.phases_again;
        let mut scenes = vec![(0, Arc::new(Scene::new(options.clone(), "")?))];
        for (place, phase) in options.phases.iter().enumerate() {
            let name =
                if phase.name.is_empty() { format!("phase {}", place + 1) } else { phase.name.clone() };
            let changed = options.changed(&phase.changes).map_err(|why| format!("phases {name:?}: {why}"))?;
            let from_us = phase.from.longest().as_micros() as u64;
            if scenes.last().is_some_and(|(before, _)| *before > from_us) {
                return Err(format!("phases {name:?}: begins before the phase in front of it"));
            }
            let scene = Scene::new(changed, &name).map_err(|why| format!("phases {name:?}: {why}"))?;
            scenes.push((from_us, Arc::new(scene)));
        }
        let again_us = again.map(|again| again.longest().as_micros() as u64);
        if again_us.is_some_and(|again| scenes.last().is_some_and(|(from, _)| again <= *from)) {
            return Err("phases_again: is not after the last phase".to_owned());
        }
        Ok(Timetable { scenes, again_us })
    }

    /// The scene at a time since the start, and when the next one begins.
    fn at(&self, since_us: u64) -> (&Arc<Scene>, Option<u64>) {
        let round = self.again_us.map_or(0, |again| since_us / again * again);
        let place = self.scenes.partition_point(|(from, _)| *from <= since_us - round).saturating_sub(1);
        let next = self.scenes.get(place + 1).map(|(from, _)| *from).or(self.again_us);
        (&self.scenes[place].1, next.map(|next| next + round))
    }
}

/// Puts the scenes on as their moments come, until another timetable begins or a phase is entered by hand.
pub(super) async fn run(shared: Arc<Shared>) {
    loop {
        let changed = shared.new_timetable.notified();
        let next_us = shared.follow();
        match next_us {
            None => changed.await,
            Some(at_us) => {
                let at = shared.clock.instant(at_us);
                tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(at) => {}
                }
            }
        }
    }
}

impl Shared {
    /// Puts the scene on whose moment it is. Returns the moment of the next one.
    fn follow(&self) -> Option<u64> {
        let timetable = self.timetable();
        let begin_us = self.timetable_us.load(Ordering::Relaxed);
        if self.is_held.load(Ordering::Relaxed) {
            return None;
        }
        let since_us = self.clock.now_us().saturating_sub(begin_us);
        let (scene, next) = timetable.at(since_us);
        self.put_on(Arc::clone(scene));
        next.map(|next| begin_us + next)
    }

    pub(super) fn timetable(&self) -> Arc<Timetable> {
        Arc::clone(&self.timetable.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins another scenario.
    pub(super) fn begin(&self, options: super::SmscOptions) -> Result<(), String> {
        let timetable = Arc::new(Timetable::new(options)?);
        self.put_on(Arc::clone(&timetable.scenes[0].1));
        *self.timetable.write().unwrap_or_else(PoisonError::into_inner) = timetable;
        self.follow_from_now();
        Ok(())
    }

    /// Enters a phase by hand: it stays. Without a name the timetable begins anew.
    pub(super) fn enter(&self, name: Option<&str>) -> Result<(), String> {
        let Some(name) = name else {
            self.follow_from_now();
            return Ok(());
        };
        let timetable = self.timetable();
        let found = timetable.scenes.iter().find(|(_, scene)| scene.phase == name);
        let (_, scene) = found.ok_or_else(|| {
            let names: Vec<&str> = timetable.scenes.iter().map(|(_, scene)| scene.phase.as_str()).collect();
            format!("phase {name:?} is none of {names:?}")
        })?;
        self.is_held.store(true, Ordering::Relaxed);
        self.put_on(Arc::clone(scene));
        self.new_timetable.notify_one();
        Ok(())
    }

    fn follow_from_now(&self) {
        self.timetable_us.store(self.clock.now_us(), Ordering::Relaxed);
        self.is_held.store(false, Ordering::Relaxed);
        self.new_timetable.notify_one();
    }

    fn put_on(&self, scene: Arc<Scene>) {
        *self.scene.write().unwrap_or_else(PoisonError::into_inner) = scene;
        self.new_traffic.notify_one();
        self.cards().values().for_each(|card| card.wake.notify_one());
    }
}

impl Smsc {
    /// The phase that holds; empty outside of all phases.
    pub fn phase(&self) -> String {
        self.shared.scene().phase.clone()
    }

    /// Enters a phase by hand (the empty name: what holds outside of phases), and stays in it.
    ///
    /// # Errors
    /// No phase has this name; those that there are.
    pub fn enter(&self, phase: &str) -> Result<(), String> {
        self.shared.enter(Some(phase))
    }
}

#[cfg(test)]
mod tests {
    use super::super::SmscOptions;
    use super::*;

    #[test]
    fn each_moment_has_its_phase_and_the_round_begins_anew() {
        let text = r#"
            rate = 5.0
            phases_again = "60s"
            [[phases]]
            name = "storm"
            from = "30s"
            rate = 1.0
            receipts = { twice = 0.5 }
            [[phases]]
            from = "45s"
            latency = "1s"
        "#;
        let timetable = Timetable::new(SmscOptions::from_toml(text).unwrap()).unwrap();
        for (second, phase, rate, next) in [
            (0, "", 5.0, 30),
            (29, "", 5.0, 30),
            (30, "storm", 1.0, 45),
            (45, "phase 2", 5.0, 60),
            (60, "", 5.0, 90),
            (95, "storm", 1.0, 105),
        ] {
            let (scene, following) = timetable.at(second * 1_000_000);
            let found = (scene.phase.as_str(), scene.options.rate, following);
            assert_eq!(found, (phase, rate, Some(next * 1_000_000)), "{second}");
        }
        assert_eq!(timetable.scenes[1].1.options.receipts.twice, 0.5);
        assert_eq!(timetable.scenes[2].1.options.receipts.twice, 0.0);
    }
}

//! A reload: what changed in the config is applied, and sessions of what did not change stay as they are.

use crate::server::{RunningServer, gateway_of, listed, said};
use crate::setup::{ConfiguredRoute, Setup};
use doors::kannel::Platforms;
use gateway::Changed;
use std::collections::BTreeMap;
use std::sync::Arc;

impl RunningServer {
    /// Applies what changed: routes, clients and platforms come, go and change. Tells what was done, and what
    /// needs a restart.
    ///
    /// # Errors
    /// What could not be done, in words; everything before it is.
    pub async fn apply(&mut self, setup: &Setup) -> Result<Vec<String>, String> {
        // What can be refused comes first: then nothing has changed.
        let platforms = Platforms::new(setup.platforms.clone()).map_err(|problems| listed(&problems))?;
        let mut told = Vec::new();
        self.apply_clients(setup, &mut told)?;
        self.apply_routes(setup, &mut told).await?;
        if self.applied.platforms != setup.platforms {
            self.platforms.store(Arc::new(platforms.after(&self.platforms.load())));
            told.push("platforms changed".to_owned());
        }
        if self.applied.parties != setup.parties || self.applied.engine.keywords != setup.engine.keywords {
            let keywords = setup.engine.keywords.clone();
            let changed = self.engine.change_clients(setup.parties.clone(), keywords).await;
            changed.map_err(|error| error.to_string())?;
            told.push("numbers of platforms, and keywords, changed".to_owned());
        }
        if let (Some(door), Some(new)) = (&self.doors.diameter, &setup.diameter)
            && self.applied.diameter.as_ref().is_none_or(|before| before.peers != new.peers)
        {
            door.change_peers(new.peers.clone());
            told.push("diameter peers changed".to_owned());
        }
        if let (Some(books), Some(new)) = (&self.ledger, &setup.ledger)
            && self.applied.ledger.as_ref().is_none_or(|before| before.rules != new.rules)
        {
            books.configure(&new.rules, &new.tariffs);
            told.push("prices and rules of accounts changed".to_owned());
            if !books.prices().are_configs {
                told.push(
                    "tariffs set by API stay in force: use DELETE /api/v1/tariffs to return to those of the config"
                        .to_owned(),
                );
            }
        }
        if **self.cap_senders.load() != setup.cap_senders {
            self.cap_senders.store(Arc::new(setup.cap_senders.clone()));
            told.push("cap senders changed".to_owned());
        }
        if **self.defaults.load() != setup.defaults {
            self.defaults.store(Arc::new(setup.defaults.clone()));
            told.push("the region of addresses changed".to_owned());
        }
        told.extend(
            self.setup
                .needs_restart(setup)
                .into_iter()
                .map(|key| format!("{key} changed: that needs a restart")),
        );
        self.applied = setup.clone();
        Ok(told)
    }

    /// Clients of the SMPP door; without a door there are none, and to open one needs a restart.
    fn apply_clients(&mut self, setup: &Setup, told: &mut Vec<String>) -> Result<(), String> {
        if self.setup.smpp.is_none() {
            return Ok(());
        }
        let clients = setup.smpp.as_ref().map(|smpp| smpp.clients.clone()).unwrap_or_default();
        let changes = self.clients.replace(clients).map_err(|problems| listed(&problems))?;
        for (names, verb) in
            [(changes.added, "added"), (changes.changed, "changed"), (changes.removed, "removed")]
        {
            told.extend(names.into_iter().map(|name| format!("smpp client {name} {verb}")));
        }
        Ok(())
    }

    async fn apply_routes(&mut self, setup: &Setup, told: &mut Vec<String>) -> Result<(), String> {
        let driven: Vec<&ConfiguredRoute> =
            setup.routes.iter().filter(|way| self.drives(&way.route.name)).collect();
        let wanted: BTreeMap<&str, &ConfiguredRoute> =
            driven.iter().map(|way| (way.route.name.as_str(), *way)).collect();
        let gone: Vec<String> =
            self.ways.keys().filter(|name| !wanted.contains_key(name.as_str())).cloned().collect();
        for name in gone {
            self.close_gateway(&name).await;
            told.push(format!("route {name} removed"));
        }
        self.parts_estimator.replace(&setup.routes);
        let routes = setup.routes.iter().map(|way| way.route.clone()).collect();
        self.engine.change_routes(routes).await.map_err(|error| error.to_string())?;
        for way in driven {
            if let Some(what) = self.apply_route(way).await? {
                told.push(format!("route {} {what}", way.route.name));
            }
        }
        Ok(())
    }

    /// One route; nothing if it is as it was.
    async fn apply_route(&mut self, way: &ConfiguredRoute) -> Result<Option<&'static str>, String> {
        let name = &way.route.name;
        let wants_simulator = way.simulator.is_some() && self.simulators.address(name).is_none();
        if self.ways.get(name) == Some(way) {
            return Ok(None);
        }
        if wants_simulator {
            return Ok(Some("needs a new simulator: that needs a restart"));
        }
        let Some(before) = self.ways.get(name).cloned() else {
            self.open_gateway(way)?;
            return Ok(Some("added"));
        };
        if before.settings == way.settings && before.simulator == way.simulator {
            self.ways.insert(name.clone(), way.clone());
            return Ok(Some("changed"));
        }
        if before.route.channel == way.route.channel
            && before.simulator == way.simulator
            && let Some(running) = self.gateways.get(name)
        {
            let simulator = self.simulators.address(name);
            let changed = gateway_of(way)?.change(running, &way.settings, simulator.as_deref()).await;
            let changed = changed.map_err(|problems| said(name, &problems))?;
            self.ways.insert(name.clone(), way.clone());
            return Ok(Some(match changed {
                Changed::Nothing | Changed::InPlace => "changed, its sessions stay bound",
                Changed::Rebound => "changed, its sessions bind again",
            }));
        }
        self.close_gateway(name).await;
        self.open_gateway(way)?;
        Ok(Some("changed"))
    }

    async fn close_gateway(&mut self, name: &str) {
        if let Some(running) = self.gateways.remove(name) {
            running.stop().await;
        }
        self.ways.remove(name);
    }
}

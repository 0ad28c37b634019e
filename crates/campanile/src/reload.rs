//! A reload: what changed in the config is applied, and sessions of what did not change stay as they are.

use crate::server::{RunningServer, listed};
use crate::setup::{ConfiguredRoute, Setup};
use doors::kannel::Platforms;
use std::collections::BTreeSet;
use std::sync::Arc;

impl RunningServer {
    /// Applies what changed: routes, clients and platforms come, go and change. Reports the changes that are
    /// done, and those that need a restart.
    ///
    /// # Errors
    /// What could not be done, in words; everything before it is.
    pub async fn apply(&mut self, setup: &Setup) -> Result<Vec<String>, String> {
        // What can be refused comes first: then nothing has changed.
        let platforms = Platforms::new(setup.platforms.clone()).map_err(|problems| listed(&problems))?;
        let mut changes = Vec::new();
        self.apply_clients(setup, &mut changes)?;
        self.apply_routes(setup, &mut changes).await?;
        if self.config.applied.platforms != setup.platforms {
            let before = self.live.policies.platforms.load_full();
            self.live.policies.platforms.store(Arc::new(platforms.after(&before)));
            changes.push("platforms changed".to_owned());
        }
        if self.config.applied.parties != setup.parties
            || self.config.applied.engine.keywords != setup.engine.keywords
        {
            let keywords = setup.engine.keywords.clone();
            let changed = self.engine.change_clients(setup.parties.clone(), keywords).await;
            changed.map_err(|error| error.to_string())?;
            changes.push("numbers of platforms, and keywords, changed".to_owned());
        }
        if self.config.applied.engine.approval != setup.engine.approval {
            let changed = self.engine.change_approval_policy(setup.engine.approval.clone()).await;
            changed.map_err(|error| error.to_string())?;
            changes.push("rules of approval changed".to_owned());
        }
        if let (Some(door), Some(new)) = (&self.doors.diameter, &setup.diameter)
            && self.config.applied.diameter.as_ref().is_none_or(|before| before.peers != new.peers)
        {
            door.change_peers(new.peers.clone());
            changes.push("diameter peers changed".to_owned());
        }
        if let (Some(books), Some(new)) = (&self.ledger, &setup.ledger)
            && self.config.applied.ledger.as_ref().is_none_or(|before| before.rules != new.rules)
        {
            books.configure(&new.rules, &new.tariffs);
            changes.push("prices and rules of accounts changed".to_owned());
            if !books.prices().are_configs {
                changes.push(
                    "tariffs set by API stay in force: use DELETE /api/v1/tariffs to return to those of the config"
                        .to_owned(),
                );
            }
        }
        self.apply_sources(setup, &mut changes);
        if **self.live.policies.outbound.load() != setup.callbacks.outbound {
            self.live.policies.outbound.store(Arc::new(setup.callbacks.outbound.clone()));
            changes.push("what may be called for clients changed".to_owned());
        }
        let sign_in = crate::live_settings::sign_in(setup);
        if **self.live.policies.sign_in.load() != sign_in {
            self.live.policies.sign_in.store(Arc::new(sign_in));
            changes.push("how people sign in changed".to_owned());
        }
        if **self.live.policies.defaults.load() != setup.defaults {
            self.live.policies.defaults.store(Arc::new(setup.defaults.clone()));
            changes.push("the region of addresses changed".to_owned());
        }
        changes.extend(
            self.config
                .built
                .needs_restart(setup)
                .into_iter()
                .map(|key| format!("{key} changed: that needs a restart")),
        );
        self.config.applied = setup.clone();
        Ok(changes)
    }

    fn apply_sources(&self, setup: &Setup, changes: &mut Vec<String>) {
        self.live.policies.server.facts.store(Arc::new(self.live.process.facts(setup)));
        // The files may be others under the same names.
        self.live.policies.server.map.store(Arc::new(crate::server_facts::map(setup)));
        let (before, after) = (&self.config.applied.sources, &setup.sources);
        if before.map != after.map {
            changes.push("the map changed".to_owned());
        }
        if before.cap_senders != after.cap_senders {
            self.live.policies.cap_senders.store(Arc::new(after.cap_senders.clone()));
            changes.push("cap senders changed".to_owned());
        }
        if before.directories != after.directories {
            self.live.policies.directories.store(Arc::new(after.directories()));
            changes.push("directories changed".to_owned());
        }
    }

    /// Clients of the SMPP door; without a door there are none, and to open one needs a restart.
    fn apply_clients(&mut self, setup: &Setup, changes: &mut Vec<String>) -> Result<(), String> {
        if self.config.built.smpp.is_none() {
            return Ok(());
        }
        let clients = setup.smpp.as_ref().map(|smpp| smpp.clients.clone()).unwrap_or_default();
        let replaced = self.live.clients.replace(clients).map_err(|problems| listed(&problems))?;
        for (names, verb) in
            [(replaced.added, "added"), (replaced.changed, "changed"), (replaced.removed, "removed")]
        {
            changes.extend(names.into_iter().map(|name| format!("smpp client {name} {verb}")));
        }
        Ok(())
    }

    async fn apply_routes(&mut self, setup: &Setup, changes: &mut Vec<String>) -> Result<(), String> {
        let driven: Vec<&ConfiguredRoute> =
            setup.routes.iter().filter(|configured| self.drives(&configured.route.name)).collect();
        let wanted: BTreeSet<&str> = driven.iter().map(|configured| configured.route.name.as_str()).collect();
        for name in self.routes.others_than(&wanted) {
            self.routes.close(&name).await;
            changes.push(format!("route {name} removed"));
        }
        self.live.parts_estimator.replace(&setup.routes);
        self.live.policies.routes.store(Arc::new(setup.routes_shown()));
        let routes = setup.routes.iter().map(|configured| configured.route.clone()).collect();
        self.engine.change_routes(routes).await.map_err(|error| error.to_string())?;
        for configured in driven {
            if let Some(what) = self.routes.apply(configured).await? {
                changes.push(format!("route {} {what}", configured.route.name));
            }
        }
        Ok(())
    }
}

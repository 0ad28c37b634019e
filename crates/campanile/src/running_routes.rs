//! Running routes: the gateways of this process with their settings and simulators.

use crate::keys::Keys;
use crate::setup::{ConfiguredRoute, Setup};
use crate::simulate::Simulators;
use gateway::line::LineSessions;
use gateway::{Changed, GatewayContext, RunningGateway};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The notice gateway has no route; no route can have this name.
const NOTICES: &str = "(notices)";

pub(crate) struct RunningRoutes {
    context: GatewayContext,
    simulators: Simulators,
    /// By route, and the notice gateway.
    gateways: BTreeMap<String, RunningGateway>,
    configured: BTreeMap<String, ConfiguredRoute>,
}

impl RunningRoutes {
    pub(crate) fn new(context: GatewayContext, simulators: Simulators) -> RunningRoutes {
        RunningRoutes { context, simulators, gateways: BTreeMap::new(), configured: BTreeMap::new() }
    }

    /// The open sessions of the line protocol, which the topic door enters.
    pub(crate) fn lines(&self) -> &Arc<LineSessions> {
        &self.context.lines
    }

    pub(crate) fn simulators(&self) -> &Simulators {
        &self.simulators
    }

    /// Opens the gateway of a route's channel.
    pub(crate) fn open(&mut self, configured: &ConfiguredRoute) -> Result<(), String> {
        let name = configured.route.name.clone();
        self.context.limits.set_shares(&name, configured.route.shares.as_deref());
        let simulated = self.simulators.address(&name);
        let running = gateway_of(configured)?
            .start(&configured.settings, simulated.as_deref(), &self.context)
            .map_err(|problems| listed(&name, &problems))?;
        self.gateways.insert(name.clone(), running);
        self.configured.insert(name, configured.clone());
        Ok(())
    }

    /// Opens the gateway that carries out callbacks.
    pub(crate) fn open_notices(&mut self, setup: &Setup, keys: &Keys) -> Result<(), String> {
        let secrets = vec![setup.callbacks.secret.clone().unwrap_or_else(|| keys.webhook_secret())];
        let settings = gateway::notice::NoticeSettings { secrets, ..Default::default() };
        let notice = gateway::notice::start(settings, &self.context)
            .map_err(|problems| listed("callbacks", &problems))?;
        self.gateways.insert(NOTICES.to_owned(), notice);
        Ok(())
    }

    /// Names of the open routes that are not among these.
    pub(crate) fn others_than(&self, wanted: &BTreeSet<&str>) -> Vec<String> {
        self.configured.keys().filter(|name| !wanted.contains(name.as_str())).cloned().collect()
    }

    /// Applies one route's settings; nothing if they are as they were.
    pub(crate) async fn apply(&mut self, new: &ConfiguredRoute) -> Result<Option<&'static str>, String> {
        let name = &new.route.name;
        let wants_simulator = new.simulator.is_some() && self.simulators.address(name).is_none();
        if self.configured.get(name) == Some(new) {
            return Ok(None);
        }
        if wants_simulator {
            return Ok(Some("wants a simulator: that needs a restart"));
        }
        let Some(before) = self.configured.get(name).cloned() else {
            self.open(new)?;
            return Ok(Some("added"));
        };
        let has_same_account = before.route.shares == new.route.shares;
        if before.settings == new.settings && before.simulator == new.simulator && has_same_account {
            self.configured.insert(name.clone(), new.clone());
            return Ok(Some("changed"));
        }
        if before.route.channel == new.route.channel
            && before.simulator == new.simulator
            && has_same_account
            && let Some(running) = self.gateways.get(name)
        {
            let simulator = self.simulators.address(name);
            let changed = gateway_of(new)?.change(running, &new.settings, simulator.as_deref()).await;
            let changed = changed.map_err(|problems| listed(name, &problems))?;
            self.configured.insert(name.clone(), new.clone());
            return Ok(Some(match changed {
                Changed::Nothing | Changed::InPlace => "changed, its sessions stay bound",
                Changed::Rebound => "changed, its sessions are bound anew",
            }));
        }
        self.close(name).await;
        self.open(new)?;
        Ok(Some("changed"))
    }

    /// Closes one route.
    pub(crate) async fn close(&mut self, name: &str) {
        if let Some(running) = self.gateways.remove(name) {
            running.stop().await;
        }
        self.configured.remove(name);
    }

    /// Stops all gateways at once, and waits until they have drained.
    pub(crate) async fn stop(&mut self) {
        let gateways = std::mem::take(&mut self.gateways);
        let stopping: Vec<_> = gateways.into_values().map(RunningGateway::stop).collect();
        for stopped in stopping {
            stopped.await;
        }
    }
}

/// The gateway of a route's channel.
fn gateway_of(configured: &ConfiguredRoute) -> Result<&'static dyn gateway::Gateway, String> {
    let channel = configured.route.channel;
    gateway::registry::of(channel).ok_or_else(|| {
        format!("route {}: channel {} has no gateway", configured.route.name, channels::name(channel))
    })
}

/// Problems as lines.
fn listed<P: std::fmt::Display>(name: &str, problems: &[P]) -> String {
    let list: Vec<String> = problems.iter().map(|problem| format!("route {name}: {problem}")).collect();
    list.join("\n")
}

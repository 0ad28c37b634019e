//! Position of a route in its network's events, kept on the bus over restarts; and the lease of the process
//! that reads them.

use bus::{BusError, Group, Retained};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

use crate::GatewayContext;

/// Retained: key is the route's name, value the account and its position.
const POSITIONS: &str = "im/positions";
/// Consumer group of the processes that could read a route's events.
const GROUP: &str = "reader";
/// The right to read is a process's for so long without a word.
const LEASE: Duration = Duration::from_secs(30);
/// It is renewed, or asked for, this often.
pub(super) const RENEW_EVERY: Duration = Duration::from_secs(5);

/// An answer of the network is waited for so long at most where the right to read must be renewed.
pub(super) const READ_HELD_MAX: Duration = Duration::from_secs(10);

/// The position of one account's route.
#[derive(Clone)]
pub(super) struct Position {
    retained: Arc<dyn Retained>,
    route: String,
    /// Another account's position says nothing.
    account: String,
}

impl Position {
    /// Opens it.
    ///
    /// # Errors
    /// The bus's.
    pub(super) fn open(context: &GatewayContext, route: &str, account: &str) -> Result<Position, BusError> {
        let retained = context.bus.retained(POSITIONS)?;
        Ok(Position { retained, route: route.to_owned(), account: account.to_owned() })
    }

    /// What was kept last; nothing for an account that was never read.
    pub(super) fn load(&self) -> Option<String> {
        let value: Value = serde_json::from_slice(&self.retained.value(&self.route)?).ok()?;
        let is_ours = value["account"].as_str() == Some(&self.account);
        value["position"].as_str().filter(|_| is_ours).map(str::to_owned)
    }

    /// Keeps it; everything before it has its outcomes on disk.
    ///
    /// # Errors
    /// The bus's.
    pub(super) async fn save(&self, position: &str) -> Result<(), BusError> {
        let value = json!({"account": self.account, "position": position}).to_string();
        self.retained.set(&self.route, value.as_bytes()).await
    }
}

/// The right to read a route's events, where several processes have the route: networks give each event to
/// whoever asks, so that two readers would record all of them twice.
pub(super) struct ReaderLease {
    /// Nothing: this process is alone.
    group: Option<Arc<dyn Group>>,
    held: Option<u64>,
}

impl ReaderLease {
    /// Opens it, without taking it.
    ///
    /// # Errors
    /// The bus's.
    pub(super) async fn open(context: &GatewayContext, route: &str) -> Result<ReaderLease, BusError> {
        if context.shared.is_none() {
            return Ok(ReaderLease { group: None, held: None });
        }
        let name = format!("im/readers/{route}");
        let topic = context.bus.topic(&name)?;
        // One record, which nobody acknowledges: who has it reads.
        match topic.append_at(0, &[b"reader"]).await {
            Ok(_) | Err(BusError::Moved { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(ReaderLease { group: Some(context.bus.group(&name, GROUP)?), held: None })
    }

    /// Other processes may have it.
    pub(super) fn is_shared(&self) -> bool {
        self.group.is_some()
    }

    /// Takes the right to read, or renews it; false while another process has it.
    pub(super) fn hold(&mut self) -> bool {
        let Some(group) = &self.group else { return true };
        if let Some(index) = self.held {
            if group.renew(index, LEASE).is_ok() {
                return true;
            }
            self.held = None;
        }
        self.held =
            group.take(1, LEASE).ok().and_then(|taken| taken.first().map(|leased| leased.record.index));
        self.held.is_some()
    }
}

impl Drop for ReaderLease {
    fn drop(&mut self) {
        if let (Some(group), Some(index)) = (&self.group, self.held) {
            // Otherwise it expires.
            let _ = group.release(index);
        }
    }
}

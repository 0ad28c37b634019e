//! Alert control reads the retained topic by which senders pause and stop their alerts.

use std::sync::Arc;

use bus::{BusError, Retained};
use futures_util::future::BoxFuture;
use records::{CONTROL, Control, ControlState, Segment};

use crate::GatewayContext;

pub(super) struct AlertControl {
    topic: Arc<dyn Retained>,
}

impl AlertControl {
    pub(super) fn open(context: &GatewayContext) -> Result<AlertControl, BusError> {
        Ok(AlertControl { topic: context.bus.retained(CONTROL)? })
    }

    /// Another after each change.
    pub(super) fn version(&self) -> u64 {
        self.topic.version()
    }

    /// Resolves when the version is another.
    pub(super) fn changed(&self, version: u64) -> BoxFuture<'static, ()> {
        self.topic.changed(version)
    }

    /// The state of a segment's alert.
    pub(super) fn state_of(&self, segment: &Segment) -> ControlState {
        let Some(octets) = self.topic.value(&segment.alert.to_string()) else {
            return ControlState::Run;
        };
        match Control::decode(&octets) {
            Ok(control) => control.state,
            Err(error) => {
                tracing::error!(alert = %segment.alert, %error, "nothing is sent of an alert whose control cannot be read");
                ControlState::Pause
            }
        }
    }
}

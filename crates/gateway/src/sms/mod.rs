//! Short messages, by SMPP: a client of the carriers.
//!
//! ```text
//! config    what a route is told
//! change    other settings for a route that runs
//! encode    text to parts, once for a body
//! fleet     the sessions of a route: how many, bound when
//! session   one connection: submits, hears answers, receipts and people
//! submit    the submit_sm of a part
//! carrier   what the sessions of a route share: limit, retries, ids
//! outcome   what the carrier's words mean
//! inbound   messages from people, put together
//! ```

mod carrier;
mod change;
pub mod config;
mod encode;
mod fleet;
mod flight;
mod inbound;
mod outcome;
mod pace;
mod session;
mod submit;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bus::BusError;
use net::TlsClient;
use records::NotTried;
use tokio::sync::mpsc;

pub(crate) use change::Change;
pub use config::SmsRoute;
pub use encode::{Prepared, SmsEncoder, parts, parts_of_short};

use crate::context::{GatewayContext, Problem, Running, Stop};
use crate::dispatcher::{DispatcherSettings, RouteDispatcher};
use carrier::Carrier;
use change::CHANGES_MAX;
use fleet::Fleet;

/// A route whose topics cannot be opened tries again after so long.
const REOPEN: Duration = Duration::from_secs(5);
/// A route that is down for longer gives back what it has: another one takes it within a second. Long enough for one that
/// was cut off by chance to be back.
const ROUTE_DOWN_AFTER: Duration = Duration::from_millis(700);

/// Starts a route. [`Running::change`] gives it other settings.
///
/// # Errors
/// Everything that is wrong with its settings.
pub fn start(config: SmsRoute, context: &GatewayContext) -> Result<Running, Vec<Problem>> {
    let route = change::checked(config)?;
    let (name, core) = (route.config.name.clone(), context.cores.next());
    let given = context.clone();
    let (changes, changed) = mpsc::channel(CHANGES_MAX);
    let running = Running::start(&name, context, core, move |stop| run(route, given, changed, stop));
    Ok(running.with_changes(changes))
}

/// Settings that were looked at.
struct Checked {
    config: SmsRoute,
    tls: Option<TlsClient>,
}

async fn run(
    mut route: Checked,
    context: GatewayContext,
    mut changes: mpsc::Receiver<Change>,
    mut stop: Stop,
) {
    loop {
        let Some(carrier) = open(&mut route, &context, &mut changes, &mut stop).await else { return };
        match serve(&carrier, route.tls, &mut changes, &mut stop).await {
            Some(other) => route = other,
            None => return,
        }
    }
}

/// Opens the route's topics, however long that takes; nothing if it is stopped before.
async fn open(
    route: &mut Checked,
    context: &GatewayContext,
    changes: &mut mpsc::Receiver<Change>,
    stop: &mut Stop,
) -> Option<Arc<Carrier>> {
    loop {
        match open_now(&route.config, context).await {
            Ok(carrier) => return Some(carrier),
            Err(error) => tracing::error!(route = route.config.name, %error, "the route cannot start yet"),
        }
        tokio::select! {
            () = tokio::time::sleep(REOPEN) => {}
            Some(mut change) = changes.recv() => {
                change.answer(route.config.step_to(&change.route.config));
                *route = change.route;
            }
            () = stop.wait() => return None,
        }
    }
}

async fn open_now(config: &SmsRoute, context: &GatewayContext) -> Result<Arc<Carrier>, BusError> {
    let settings = DispatcherSettings {
        route: config.name.clone(),
        slots: config.slots(),
        rate: config.rate,
        rests: config.is_on_demand() && config.bind != config::Binding::Receiver,
        down_after: ROUTE_DOWN_AFTER,
    };
    let dispatcher = RouteDispatcher::open(context, settings, SmsEncoder::new(config)).await?;
    let carrier = Arc::new(Carrier::new(config.clone(), context.clone(), dispatcher)?);
    carrier.begin_sharing();
    Ok(carrier)
}

/// Until the route is stopped, or until settings come that it has to be opened anew for.
async fn serve(
    carrier: &Arc<Carrier>,
    tls: Option<TlsClient>,
    changes: &mut mpsc::Receiver<Change>,
    stop: &mut Stop,
) -> Option<Checked> {
    let dispatcher = Arc::clone(&carrier.dispatcher);
    let mut dispatching = tokio::spawn(async move { dispatcher.run().await });
    let mut fleet = Fleet::new(Arc::clone(carrier), tls);
    fleet.fill();
    let meeting = tokio::spawn(Arc::clone(carrier).meet_parts());
    let other = loop {
        tokio::select! {
            () = stop.wait() => break None,
            // When the bus is closing, or by a fault of ours.
            ended = &mut dispatching => {
                tracing::error!(route = carrier.name(), ?ended, "the route has no feed any more");
                break None;
            }
            () = carrier.dispatcher.went_down() => carrier.give_up_if_down(),
            Some(mut change) = changes.recv() => {
                let step = carrier.config().step_to(&change.route.config);
                tracing::info!(route = carrier.name(), ?step, "the route has other settings");
                change.answer(step);
                if step == config::Step::Reopen {
                    break Some(change.route);
                }
                carrier.change(change.route.config);
                fleet.change(step, change.route.tls).await;
            }
        }
    };
    carrier.dispatcher.close();
    fleet.end().await;
    meeting.abort();
    carrier.give_up_all(NotTried::Closing);
    carrier.dispatcher.finish();
    if !dispatching.is_finished()
        && let Err(error) = dispatching.await
    {
        tracing::error!(route = carrier.name(), %error, "the route's feed ended in a panic");
    }
    other
}

//! Conformance: what every gateway of the registry must do, checked against its own far end.
//!
//! Each channel's folder brings a [`FarEnd`]: a simulator, or the real thing on this machine. The checks
//! ([`checks`]) are the same for all; each answers with the first thing that is wrong, so that gateways that
//! are broken on purpose ([`broken`]) can be shown to fail them.

mod broken;
mod checks;
mod test_bus;

use crate::registry::{self, AnyRoute};
use crate::{Gateway, GatewayContext};
use futures_util::future::{BoxFuture, join_all};

/// Persons behind a far end that has room for any number.
const PERSONS: u32 = 240;

/// A message that reached the far end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The address that it reached.
    pub address: String,
    /// Its text, as a person reads it.
    pub text: String,
    /// Copies with the same identity are one message to who gets them.
    pub identity: String,
}

/// The way in which the far end treats messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// All are taken.
    Accept,
    /// All are read, and never answered.
    Silent,
    /// All are refused, for good.
    RefuseForGood,
    /// All are refused, for now.
    RefuseForNow,
}

/// The far end of one channel.
pub trait FarEnd: Send + Sync {
    /// Settings of a process's route of this name to it; messages per second, 0 unlimited.
    fn route(&self, name: &str, rate: f64, process: &str) -> AnyRoute;

    /// Persons that a check may send to: each has an address of their own.
    fn persons(&self) -> u32 {
        PERSONS
    }

    /// Adds to the context what the channel needs beside the bus.
    fn furnish(&self, _context: &mut GatewayContext) {}

    /// The address of a person, by their number.
    fn address(&self, person: u32) -> String;

    /// Treats messages so from now on; false where this far end cannot.
    fn set_manner(&self, manner: Manner) -> bool;

    /// Ends all connections; false where there are none.
    fn cut(&self) -> bool;

    /// A message that is sent to it again leaves no second copy: what the route's encoder must claim.
    fn repeatable(&self, of_channel: bool) -> bool {
        of_channel
    }

    /// All messages that arrived, in their order.
    fn arrived(&self) -> Vec<Message>;
}

/// A check of one gateway against its far end.
type Check = for<'a> fn(&'a dyn Gateway, &'a dyn FarEnd) -> BoxFuture<'a, Result<(), String>>;

/// Runs a check on every entry of the registry, all at once, each with a far end of its own.
async fn every_gateway(check: Check) {
    let each =
        registry::ALL.iter().flat_map(|gateway| gateway.far_ends().into_iter().map(move |it| (gateway, it)));
    let results = join_all(each.map(|(gateway, far_end)| async move {
        let far_end = far_end.await;
        (gateway.channel(), check(*gateway, &*far_end).await)
    }));
    let wrong: Vec<String> = results
        .await
        .into_iter()
        .filter_map(|(channel, result)| {
            Some(format!("channel {}: {}", channels::name(channel), result.err()?))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_intent_is_on_record_before_anything_is_written_or_has_an_outcome() {
    every_gateway(checks::intent_comes_first).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_was_written_and_not_answered_is_unknown_after_a_cut() {
    every_gateway(checks::cut_leaves_unknown).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_leaves_nobody_out_and_no_second_copy() {
    every_gateway(checks::kill_leaves_nobody_out).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_or_stopped_alert_is_not_tried() {
    every_gateway(checks::paused_is_not_tried).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rate_is_shared_by_the_processes_that_have_a_route() {
    every_gateway(checks::rate_is_shared).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_changes_the_rate_in_place_and_loses_nothing() {
    every_gateway(checks::reload_loses_nothing).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mark_of_a_drill_arrives_first_in_the_text() {
    every_gateway(checks::drill_mark_arrives).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_for_good_and_for_now_are_told_apart() {
    every_gateway(checks::refusals_have_their_class).await;
}

//! Kill -9, of whom it hurts most.

use super::{ALL, AT_LAST, Story, What};
use std::time::Duration;
use tokio::task::block_in_place;

/// Takes the place of a node of the cluster: kills it, lets the alert go on, starts it again.
async fn kill_the_leader_of_outcomes(story: &mut Story, more: u64) {
    let node = story.all.leader_of("outcomes", AT_LAST).await;
    block_in_place(|| story.all.nats.kill(node));
    story.goes_on(more).await;
    block_in_place(|| story.all.nats.restart(node));
}

/// Kills the process that leads; another leads, and sends, before it is started again.
async fn kill_the_leader(story: &mut Story) {
    let leader = story.all.leads(&ALL, AT_LAST).await;
    story.kill(leader);
    let others: Vec<usize> = (0..3).filter(|place| *place != leader).collect();
    story.all.leads(&others, AT_LAST).await;
    // More than was under way.
    story.goes_on(5_000).await;
    story.all.processes[leader].spawn_again();
}

/// Kills a process that does not lead, with segments in hand.
async fn kill_a_gateway(story: &mut Story) {
    let gateway = story.gateway().await;
    story.kill(gateway);
    story.goes_on(3_000).await;
    story.all.processes[gateway].spawn_again();
}

/// Everything that runs, and then everything again.
async fn kill_all(story: &mut Story) {
    story.all.processes.iter_mut().for_each(it::Server::kill9);
    block_in_place(|| {
        (0..3).for_each(|node| story.all.nats.kill(node));
        story.all.postgres.kill();
        story.all.postgres.restart();
        (0..3).for_each(|node| story.all.nats.restart(node));
        story.all.nats.wait_until_ready();
    });
    story.all_failed();
    story.all.processes.iter_mut().for_each(it::Server::spawn_again);
    story.goes_on(1_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn kills_of_each_and_of_all_leave_nobody_of_50_000_out_and_no_second_copy() {
    let lease = Duration::from_secs(10);
    let plan = What { people: 50_000, rate: 1_000, on_unknown: "hold", lease, cuttable: false };
    let mut story = Story::begin(plan).await;
    story.goes_on(4_000).await;
    story.part("a node of the bus", async |story| kill_the_leader_of_outcomes(story, 3_000).await).await;
    story.goes_on(3_000).await;
    story.part("who leads", async |story| kill_the_leader(story).await).await;
    story.goes_on(5_000).await;
    story.part("a gateway", async |story| kill_a_gateway(story).await).await;
    story.goes_on(5_000).await;
    story.part("all at once", async |story| kill_all(story).await).await;
    story.judge().await;
}

//! Stories of a process that stands still for longer than its lease.

use super::{ALL, AT_LAST, Story, What, now_ns};
use std::time::Duration;
use tokio::task::block_in_place;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_stands_still_longer_than_its_lease_leaves_nobody_out_and_repeats_only_the_unknown() {
    let lease = Duration::from_secs(6);
    let plan = What { people: 4_000, rate: 100, on_unknown: "resend", lease, cuttable: false };
    let mut story = Story::begin(plan).await;
    story.goes_on(300).await;
    story.part("who leads", async |story| the_leader(story).await).await;
    story.part("a gateway", async |story| a_gateway(story).await).await;
    story.part("a node of the bus", async |story| a_node_of_the_bus(story).await).await;
    story.part("the store", async |story| the_store(story).await).await;
    story.judge().await;
}

impl Story {
    /// Stops a process where it stands until its lease is long over, then lets it go on.
    async fn stand_still(&mut self, place: usize) {
        self.all.processes[place].signal(libc::SIGSTOP);
        self.failed += 1;
        self.outlast_the_lease().await;
        self.resumed_ns.push(now_ns());
        self.all.processes[place].signal(libc::SIGCONT);
    }
}

async fn the_leader(story: &mut Story) {
    let leader = story.all.leads(&ALL, AT_LAST).await;
    story.stand_still(leader).await;
    story.goes_on(200).await;
}

async fn a_gateway(story: &mut Story) {
    let gateway = story.gateway().await;
    story.stand_still(gateway).await;
    story.goes_on(200).await;
}

async fn a_node_of_the_bus(story: &mut Story) {
    let node = story.all.leader_of("outcomes", AT_LAST).await;
    story.all.nats.pause(node);
    story.outlast_the_lease().await;
    story.all.nats.resume(node);
    story.goes_on(200).await;
}

async fn the_store(story: &mut Story) {
    block_in_place(|| story.all.postgres.pause());
    story.outlast_the_lease().await;
    block_in_place(|| story.all.postgres.resume());
    story.goes_on(200).await;
}

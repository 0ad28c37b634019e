//! A network that splits: a process sees the carrier and none of its servers, and nobody tells it.

use super::{ALL, AT_LAST, Story, What};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_is_cut_off_from_the_others_stops_and_what_it_had_is_sent_once() {
    let lease = Duration::from_secs(6);
    let plan = What { people: 3_000, rate: 100, on_unknown: "hold", lease, cuttable: true };
    let mut story = Story::begin(plan).await;
    story.goes_on(300).await;
    let leader = story.all.leads(&ALL, AT_LAST).await;
    story.cut_off(leader).await;
    story.goes_on(200).await;
    let gateway = story.gateway().await;
    story.cut_off(gateway).await;
    story.goes_on(200).await;
    story.judge().await;
}

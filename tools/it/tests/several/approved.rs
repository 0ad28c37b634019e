//! The story of an alert that others have to approve, over three processes: whoever leads is killed between
//! any two steps, and the people go on at another process.

use super::{ALL, AT_LAST};
use crate::approved::{Ground, Office, config, town_carrier};
use crate::crash::seed;
use it::{Api, Constellation, Plan};
use std::time::Duration;

/// Three processes, and the one that people are at.
struct Three {
    all: Constellation,
    at: usize,
    /// Was killed, and may not be up again.
    killed: Option<usize>,
}

impl Ground for Three {
    async fn kill(&mut self) {
        if let Some(killed) = self.killed {
            self.all.processes[killed].ready().await;
        }
        let leader = self.all.leads(&ALL, AT_LAST).await;
        self.all.processes[leader].kill9();
        let others: Vec<usize> = ALL.into_iter().filter(|place| *place != leader).collect();
        let next = self.all.leads(&others, AT_LAST).await;
        self.all.processes[leader].spawn_again();
        self.killed = Some(leader);
        // At the one that neither leads nor was killed: what it is asked goes on to who leads.
        self.at = others.into_iter().find(|place| *place != next).unwrap();
    }

    fn api(&self) -> Api {
        self.all.api(self.at)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_alert_is_returned_approved_corrected_and_over_with_the_leader_killed_between_any_two_steps() {
    let seed = seed();
    println!("IT_SEED={seed}");
    let carrier = town_carrier(seed).await;
    let plan = Plan { config: config(&carrier), lease: Duration::from_secs(3), ..Plan::default() };
    let all = Constellation::start(plan).await;
    Office::open(Three { all, at: 0, killed: None }, &carrier, seed).await.work().await;
}

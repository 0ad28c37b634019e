//! `campanile bench sign-in`.

use super::{Common, Figure};
use crate::sign_in::{self, SignInOptions};
use clap::Args;
use plot::{Curve, Scale};
use std::path::Path;
use std::time::Duration;

/// `bench sign-in`.
#[derive(Debug, Args)]
pub struct SignInArgs {
    /// Sign-ins a second; several numbers are several runs
    #[arg(long, value_name = "R", value_delimiter = ',', default_value = "50")]
    rate: Vec<f64>,
    /// Users, who sign in one after the other
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    users: u64,
    /// Duration in seconds
    #[arg(long, value_name = "S", default_value_t = 10.0)]
    seconds: f64,
    #[command(flatten)]
    pub(super) common: Common,
}

impl SignInArgs {
    pub(super) async fn run(self, program: &Path) -> Result<(), String> {
        let common = &self.common;
        let is_positive = |number: &f64| number.is_finite() && *number > 0.0;
        if !is_positive(&self.seconds) || !self.rate.iter().all(is_positive) {
            return Err("--rate and --seconds: positive numbers".to_owned());
        }
        if common.paper || common.server.is_some() {
            return Err(
                "sign-in: nothing is published, and it makes users at a server of its own; leave out \
                        --paper and --server"
                    .to_owned(),
            );
        }
        let mut measured = Vec::new();
        for rate in &self.rate {
            let options = SignInOptions {
                program: program.to_owned(),
                folder: common.folder.clone(),
                users: self.users,
                rate: *rate,
                time: Duration::from_secs_f64(self.seconds),
                fsync: common.fsync.clone(),
            };
            measured.push(sign_in::run(&options).await?);
        }
        let curve = |name: &str, field: &str| {
            let points =
                measured.iter().filter_map(|m| Some((m.number("rate")?, m.number(field)?))).collect();
            Curve { name: name.to_owned(), points }
        };
        let curves = vec![curve("99 of 100", "healthz_p99_ms"), curve("the slowest", "healthz_max_ms")];
        let axes = ["sign-ins/s", "ms of /healthz"];
        let figure =
            Figure { title: "/healthz while people sign in", axes, scale: Scale::Logarithmic, curves };
        common.show("sign-in", &measured, sign_in::rows(&measured), figure)
    }
}

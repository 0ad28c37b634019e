//! The credit-control server by SCTP. Few machines that build have a kernel with SCTP, so what is told of TCP
//! elsewhere is told again inside a guest: by the same stories, with `CAMPANILE_IT_TRANSPORT=sctp`, and those
//! of `association.rs`.

use super::{ANN, Ocs};
use it::credit::CreditClient;
use it::{Guest, free_port, program};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// The guest is done within this also on a busy machine; alone on one, in a fraction of it.
const GUEST_MAX: Duration = Duration::from_secs(900);
const INIT: &str = include_str!("../../foreign/guest/init");
/// Stories that are told again by SCTP. Few: each starts a server, which takes the emulated machine seconds.
const STORIES: &[&str] = &[
    "charging::conformance::what_is_not_for_us",
    "charging::credit::a_session_reserves",
    "charging::duplicates::",
    "charging::hostile::lengths_that_lie",
    "charging::peer::a_watchdog_is_answered",
    "charging::peer::who_says_goodbye",
];
/// Requests of each run of the bench: few, since what is emulated is slow.
const BENCH_REQUESTS: u32 = 500;

#[test]
fn what_holds_by_tcp_holds_by_sctp_and_an_association_outlives_a_device() {
    let mut guest = Guest::new(INIT);
    guest.program("campanile", &program());
    guest.program("campanile-bench", &program().with_file_name("campanile-bench"));
    guest.program("it", &std::env::current_exe().unwrap());
    guest.text("order", &format!("STORIES=\"{}\"\nCOUNT={BENCH_REQUESTS}\n", STORIES.join(" ")));
    let said = guest.run(GUEST_MAX);
    // The emulated machine says what it measured; the ratio is of use, the rates are not.
    let rates = |transport: &str| -> Vec<f64> {
        let lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let ours = lines.filter(|line| line["params"]["transport"] == transport);
        ours.filter_map(|line| line["rate_per_s"].as_f64()).collect()
    };
    let (tcp, sctp) = (rates("tcp"), rates("sctp"));
    println!("requests a second in the guest: by TCP {tcp:?}, by SCTP {sctp:?}");
    assert!(!tcp.is_empty() && tcp.len() == sctp.len(), "both were measured:\n{said}");
    for told in said.lines().filter(|line| line.starts_with("guest: ") || line.starts_with("with ")) {
        println!("{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kernel_without_sctp_is_told_and_the_others_are_served() {
    let port = free_port();
    let more = format!("listen_sctp = [\"127.0.0.1:{port}\"]");
    let ocs = Ocs::start(&more, "").await;
    ocs.fund(ANN, 10).await;
    CreditClient::open(ocs.port, "tcp.client.test").works(ANN);
    let mut checking = Command::new(program());
    let checked = checking.args(["check", "--config"]).arg(ocs.server.config()).output().unwrap();
    let said = String::from_utf8(checked.stderr).unwrap();
    assert!(checked.status.success(), "{said}");
    match net::probe_sctp() {
        Ok(()) => assert_eq!(said, ""),
        Err(none) => {
            let wanted = format!("listen_sctp: {none}. Peers ");
            assert!(said.contains(&wanted), "{said}");
            assert!(ocs.server.log().contains(&wanted), "{}", ocs.server.log());
        }
    }
}

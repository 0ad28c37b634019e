use super::*;

const TIMERS: TransactionTimers = TransactionTimers {
    t1: Duration::from_millis(500),
    t2: Duration::from_secs(4),
    t4: Duration::from_secs(5),
    d: Duration::from_secs(32),
};

/// Responses from the beginning, each with its step; the state behind them, by UDP and by TCP.
type Row<State> = (&'static [(u16, &'static str)], State, State);

fn step(words: &str) -> ClientStep {
    ClientStep {
        transmits: words.contains("transmit"),
        delivers: words.contains("deliver"),
        acknowledges: words.contains("ack"),
        timed_out: words.contains("silence"),
    }
}

/// The moments, in milliseconds from the beginning, at which a request or response is sent again, until
/// `end_ms`.
fn repetitions(begin: Instant, end_ms: u64, mut act: impl FnMut(Instant) -> bool) -> Vec<u64> {
    let mut times = Vec::new();
    for ms in (0..=end_ms).step_by(100) {
        if act(begin + Duration::from_millis(ms)) {
            times.push(ms);
        }
    }
    times
}

#[test]
fn the_rows_of_the_invite_client_are_those_of_rfc_6026() {
    use InviteClientState::*;
    let rows: &[Row<InviteClientState>] = &[
        (&[], Calling, Calling),
        (&[(100, "deliver")], Proceeding, Proceeding),
        (&[(100, "deliver"), (180, "deliver")], Proceeding, Proceeding),
        (&[(200, "deliver")], Accepted, Accepted),
        (&[(180, "deliver"), (200, "deliver"), (200, "deliver")], Accepted, Accepted),
        (&[(200, "deliver"), (486, "")], Accepted, Accepted),
        (&[(200, "deliver"), (180, "")], Accepted, Accepted),
        (&[(486, "deliver ack")], Completed, Terminated),
        (&[(180, "deliver"), (302, "deliver ack")], Completed, Terminated),
    ];
    for (responses, by_udp, by_tcp) in rows {
        for (is_reliable, state) in [(false, by_udp), (true, by_tcp)] {
            let now = Instant::now();
            let mut machine = InviteClientTransaction::new(TIMERS, is_reliable, now);
            for (status, words) in *responses {
                assert_eq!(machine.receive(*status, now), step(words), "{responses:?} {status}");
            }
            assert_eq!(machine.state(), *state, "{responses:?}");
        }
    }
    let now = Instant::now();
    let mut machine = InviteClientTransaction::new(TIMERS, false, now);
    machine.receive(486, now);
    assert_eq!(machine.receive(486, now), step("ack"));
    assert_eq!(machine.receive(200, now), step(""));
    assert_eq!(machine.handle_timeout(now + TIMERS.d), step(""));
    assert_eq!((machine.state(), machine.poll_timeout()), (Terminated, None));
}

#[test]
fn invite_is_repeated_with_doubling_pauses_until_64_t1() {
    let begin = Instant::now();
    let mut machine = InviteClientTransaction::new(TIMERS, false, begin);
    let times = repetitions(begin, 31_900, |now| machine.handle_timeout(now).transmits);
    assert_eq!(times, [500, 1_500, 3_500, 7_500, 15_500, 31_500]);
    assert_eq!(machine.handle_timeout(begin + Duration::from_secs(32)), step("silence"));
    let mut machine = InviteClientTransaction::new(TIMERS, true, begin);
    assert_eq!(machine.poll_timeout(), Some(begin + Duration::from_secs(32)));
    machine.receive(100, begin);
    assert_eq!(machine.poll_timeout(), None);
}

#[test]
fn the_rows_of_the_other_client_are_those_of_figure_6() {
    use ClientState::*;
    let rows: &[Row<ClientState>] = &[
        (&[], Trying, Trying),
        (&[(100, "deliver")], Proceeding, Proceeding),
        (&[(200, "deliver")], Completed, Terminated),
        (&[(100, "deliver"), (404, "deliver"), (404, "")], Completed, Terminated),
    ];
    for (responses, by_udp, by_tcp) in rows {
        for (is_reliable, state) in [(false, by_udp), (true, by_tcp)] {
            let now = Instant::now();
            let mut machine = ClientTransaction::new(TIMERS, is_reliable, now);
            for (status, words) in *responses {
                assert_eq!(machine.receive(*status, now), step(words), "{responses:?} {status}");
            }
            assert_eq!(machine.state(), *state, "{responses:?}");
        }
    }
}

#[test]
fn other_requests_are_repeated_up_to_t2_and_while_they_proceed() {
    let begin = Instant::now();
    let mut machine = ClientTransaction::new(TIMERS, false, begin);
    let times = repetitions(begin, 31_900, |now| machine.handle_timeout(now).transmits);
    assert_eq!(times, [500, 1_500, 3_500, 7_500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500]);
    assert_eq!(machine.handle_timeout(begin + Duration::from_secs(32)), step("silence"));
    let mut machine = ClientTransaction::new(TIMERS, false, begin);
    machine.receive(100, begin);
    let times = repetitions(begin, 10_000, |now| machine.handle_timeout(now).transmits);
    assert_eq!(times, [500, 4_500, 8_500]);
    machine.receive(200, begin);
    assert_eq!(machine.handle_timeout(begin + TIMERS.t4), step(""));
    assert_eq!(machine.state(), ClientState::Terminated);
}

#[test]
fn the_rows_of_the_invite_server_are_those_of_rfc_6026() {
    use InviteServerState::*;
    let now = Instant::now();
    let quiet = ServerStep::default();
    let again = ServerStep { transmits: true, ..quiet };
    let mut machine = InviteServerTransaction::new(TIMERS, false);
    assert!(machine.respond(100, now) && machine.respond(180, now));
    assert_eq!(machine.receive_invite(), again);
    assert_eq!(machine.receive_ack(now), quiet);
    assert!(machine.respond(486, now));
    assert_eq!((machine.state(), machine.receive_invite()), (Completed, again));
    assert!(!machine.respond(200, now));
    assert_eq!(machine.receive_ack(now), quiet);
    assert_eq!((machine.state(), machine.receive_invite()), (Confirmed, quiet));
    machine.handle_timeout(now + TIMERS.t4);
    assert_eq!((machine.state(), machine.poll_timeout()), (Terminated, None));

    let mut machine = InviteServerTransaction::new(TIMERS, false);
    assert!(machine.respond(200, now) && machine.respond(200, now));
    assert_eq!((machine.state(), machine.receive_invite()), (Accepted, quiet));
    assert_eq!(machine.receive_ack(now), ServerStep { delivers: true, ..quiet });
    assert!(!machine.respond(486, now));
    assert_eq!(machine.handle_timeout(now + TIMERS.give_up()), quiet);
    assert_eq!(machine.state(), Terminated);

    let mut machine = InviteServerTransaction::new(TIMERS, true);
    assert!(machine.respond(603, now));
    assert_eq!(machine.poll_timeout(), Some(now + TIMERS.give_up()));
    machine.receive_ack(now);
    assert_eq!(machine.state(), Terminated);
}

#[test]
fn a_refusal_of_invite_is_repeated_until_its_ack_or_64_t1() {
    let begin = Instant::now();
    let mut machine = InviteServerTransaction::new(TIMERS, false);
    machine.respond(486, begin);
    let times = repetitions(begin, 20_000, |now| machine.handle_timeout(now).transmits);
    assert_eq!(times, [500, 1_500, 3_500, 7_500, 11_500, 15_500, 19_500]);
    assert!(machine.handle_timeout(begin + TIMERS.give_up()).timed_out);
    assert_eq!(machine.state(), InviteServerState::Terminated);
}

#[test]
fn the_rows_of_the_other_server_are_those_of_figure_8() {
    let now = Instant::now();
    let mut machine = ServerTransaction::new(TIMERS, false);
    assert!(!machine.receive_again().transmits);
    assert!(machine.respond(100, now) && machine.receive_again().transmits);
    assert!(machine.respond(200, now) && !machine.respond(200, now));
    assert!(machine.receive_again().transmits);
    machine.handle_timeout(now + TIMERS.give_up());
    assert_eq!((machine.state(), machine.poll_timeout()), (ServerState::Terminated, None));
    let mut machine = ServerTransaction::new(TIMERS, true);
    machine.respond(200, now);
    assert_eq!(machine.state(), ServerState::Terminated);
}

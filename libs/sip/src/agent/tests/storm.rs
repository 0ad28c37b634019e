//! Hundreds of calls over a wire that loses, repeats, delays and reorders. Whatever happens, each call of
//! the caller has exactly one end, both sides agree whether it was answered, and nothing is left.

use super::*;
use std::collections::BTreeSet;

const CALLS: usize = 40;

#[derive(Default)]
struct Side {
    answered: BTreeSet<CallHandle>,
    over: BTreeMap<CallHandle, &'static str>,
}

impl Side {
    fn note(&mut self, call: CallHandle, event: &CallEvent, weather: Weather) {
        let end = match event {
            CallEvent::Answered { .. } => {
                assert!(self.answered.insert(call), "{weather:?}: answered twice");
                None
            }
            CallEvent::Refused(_) => {
                assert!(!self.answered.contains(&call), "{weather:?}: refused after its answer");
                Some("refused")
            }
            CallEvent::Ended { .. } => Some("ended"),
            _ => None,
        };
        assert!(!self.over.contains_key(&call), "{weather:?}: {event:?} after the end");
        self.over.extend(end.map(|end| (call, end)));
    }
}

/// The callee's mood.
fn react(wire: &mut Wire, call: CallHandle, random: &mut Random) {
    let now = wire.now;
    let agent = &mut wire.agents[1];
    // It may have been cancelled in between.
    let _ = match random.below(10) {
        0 => agent.reject(call, &SipResponse::new(486), now),
        1 => agent.reject(call, &SipResponse::new(603), now),
        2 => agent.ring(call, &SipResponse::new(180), now),
        _ => agent
            .ring(call, &SipResponse::new(183), now)
            .and_then(|()| agent.answer(call, SipResponse::new(200).with_body(body("answer")), now)),
    };
}

fn caller_acts(wire: &mut Wire, calls: &[CallHandle], random: &mut Random) {
    let call = calls[random.below(calls.len() as u64) as usize];
    let now = wire.now;
    let agent = &mut wire.agents[0];
    // Each may be in any state: an order that does not fit is refused and changes nothing.
    let _ = match random.below(4) {
        0 => agent.cancel(call, now),
        1 => agent.bye(call, vec![], now),
        _ => agent.reinvite(call, body("again"), now),
    };
}

/// Ends what is left of the caller's, and waits for all ends.
fn finish(wire: &mut Wire, calls: &[CallHandle], mut sides: [&mut Side; 2]) {
    for call in calls {
        let _ =
            wire.agents[0].cancel(*call, wire.now).or_else(|_| wire.agents[0].bye(*call, vec![], wire.now));
    }
    for _ in 0..40 {
        wire.pass(10);
        for (index, side) in sides.iter_mut().enumerate() {
            for event in std::mem::take(&mut wire.events[index]) {
                if let AgentEvent::Call { call, event } = event {
                    side.note(call, &event, wire.weather);
                }
            }
        }
    }
}

fn run(weather: Weather) {
    let mut wire = Wire::with(2, weather, |_, config| {
        config.session_interval = Some(Duration::from_secs(120));
    });
    let mut random = Random(weather.seed ^ 0xABCD);
    let (mut ours, mut theirs) = (Side::default(), Side::default());
    let mut calls = Vec::new();
    for round in 0..1_500 {
        if round % 5 == 0 && calls.len() < CALLS {
            calls.push(wire.agents[0].invite(order(1), wire.now).unwrap());
        }
        if round > 10 && random.chance(30) {
            caller_acts(&mut wire, &calls, &mut random);
        }
        wire.pass_ms(random.below(400));
        for index in 0..2 {
            for event in std::mem::take(&mut wire.events[index]) {
                match event {
                    AgentEvent::IncomingCall { call, .. } => react(&mut wire, call, &mut random),
                    AgentEvent::Call { call, event } => {
                        let side = if index == 0 { &mut ours } else { &mut theirs };
                        side.note(call, &event, weather);
                        let is_offer = matches!(event, CallEvent::Offered { .. });
                        if is_offer && wire.agents[index].accept_offer(call, body("fine"), wire.now).is_err()
                        {
                            // It ended in between.
                            assert!(!matches!(event, CallEvent::Answered { .. }));
                        }
                    }
                    other => panic!("{weather:?}: {other:?}"),
                }
            }
        }
    }
    finish(&mut wire, &calls, [&mut ours, &mut theirs]);
    assert_eq!(ours.over.keys().copied().collect::<Vec<_>>(), calls, "{weather:?}: a call has no end");
    assert!(ours.answered.iter().all(|call| ours.over[call] == "ended"), "{weather:?}");
    wire.assert_empty();
}

#[test]
fn on_a_quiet_wire_every_call_has_one_end() {
    for seed in cases::seeds(3) {
        run(Weather { seed, ..Weather::default() });
    }
}

#[test]
fn on_a_bad_wire_every_call_has_one_end_and_nothing_is_left() {
    for seed in cases::seeds(12) {
        run(Weather { seed, lost: 20, repeated: 15, delay_ms: 300 });
    }
}

#[test]
fn on_a_terrible_wire_every_call_has_one_end_and_nothing_is_left() {
    for seed in cases::seeds(6) {
        run(Weather { seed, lost: 60, repeated: 30, delay_ms: 2_000 });
    }
}

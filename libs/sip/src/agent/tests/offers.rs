use super::*;

#[test]
fn a_re_invite_of_either_side_is_answered() {
    for from in [0, 1] {
        let mut wire = Wire::new(2);
        let (ours, theirs) = wire.talking();
        let handles = [ours, theirs];
        let to = 1 - from;
        wire.agents[from].reinvite(handles[from], body("hold"), wire.now).unwrap();
        assert_eq!(
            wire.agents[from].reinvite(handles[from], body("hold"), wire.now),
            Err(InviteRefusal::OfferPending)
        );
        wire.settle();
        assert_eq!(wire.take_calls(to), [CallEvent::Offered { body: body("hold") }]);
        wire.agents[to].accept_offer(handles[to], body("held"), wire.now).unwrap();
        wire.settle();
        assert_eq!(wire.take_calls(from), [CallEvent::OfferAnswered { body: body("held") }]);
        assert_eq!(wire.take_calls(to), [CallEvent::Acknowledged { body: None }]);
        wire.agents[to].bye(handles[to], vec![], wire.now).unwrap();
        wire.settle();
        assert_eq!(ended(&wire.take_calls(from)), EndedBy::Peer);
        wire.assert_empty();
    }
}

#[test]
fn a_refused_re_invite_leaves_the_call_as_it_was() {
    let mut wire = Wire::new(2);
    let (ours, theirs) = wire.talking();
    wire.agents[0].reinvite(ours, body("fax"), wire.now).unwrap();
    wire.settle();
    wire.agents[1].reject_offer(theirs, 488, wire.now).unwrap();
    wire.settle();
    assert_eq!(wire.take_calls(0), [CallEvent::OfferRefused { status: 488 }]);
    wire.pass(60);
    wire.agents[0].reinvite(ours, body("again"), wire.now).unwrap();
    wire.settle();
    assert_eq!(wire.take_calls(1).last(), Some(&CallEvent::Offered { body: body("again") }));
}

#[test]
fn re_invites_that_cross_are_both_refused_and_come_again_apart() {
    let mut wire = Wire::new(2);
    let (ours, theirs) = wire.talking();
    wire.agents[0].reinvite(ours, body("mine"), wire.now).unwrap();
    wire.agents[1].reinvite(theirs, body("yours"), wire.now).unwrap();
    wire.settle();
    assert_eq!((wire.count(0, "SIP/2.0 491"), wire.count(1, "SIP/2.0 491")), (1, 1));
    let mut answered = [0, 0];
    for _ in 0..60 {
        wire.pass_ms(100);
        for (index, call) in [(0, ours), (1, theirs)] {
            for event in wire.take_calls(index) {
                match event {
                    CallEvent::Offered { .. } => {
                        wire.agents[index].accept_offer(call, body("fine"), wire.now).unwrap();
                        wire.settle();
                    }
                    CallEvent::OfferAnswered { body: answer } => {
                        assert_eq!(word(&answer), "fine");
                        answered[index] += 1;
                    }
                    CallEvent::Acknowledged { .. } => {}
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    assert_eq!(answered, [1, 1]);
}

#[test]
fn a_re_invite_without_an_offer_asks_for_one() {
    let mut wire = Wire::new(2);
    let (ours, theirs) = wire.talking();
    wire.agents[0].reinvite(ours, None, wire.now).unwrap();
    wire.settle();
    assert_eq!(wire.take_calls(1), [CallEvent::Offered { body: None }]);
    wire.agents[1].accept_offer(theirs, body("theirs"), wire.now).unwrap();
    wire.settle();
    assert_eq!(wire.take_calls(0), [CallEvent::OfferAnswered { body: body("theirs") }]);
    wire.agents[0].acknowledge(ours, body("ours"), wire.now).unwrap();
    wire.settle();
    assert_eq!(wire.take_calls(1), [CallEvent::Acknowledged { body: body("ours") }]);
}

#[test]
fn a_re_invite_that_the_peer_does_not_know_ends_the_call() {
    let mut wire = Wire::new(2);
    let (ours, theirs) = wire.talking();
    wire.drops = vec![(1, "BYE", 100)];
    wire.agents[1].bye(theirs, vec![], wire.now).unwrap();
    wire.pass(40);
    wire.agents[0].reinvite(ours, body("hello"), wire.now).unwrap();
    wire.settle();
    let events = wire.take_calls(0);
    assert!(events.contains(&CallEvent::OfferRefused { status: 481 }), "{events:?}");
    assert_eq!(ended(&events), EndedBy::Gone);
    wire.assert_empty();
}

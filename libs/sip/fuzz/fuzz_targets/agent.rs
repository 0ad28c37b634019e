//! Any messages to a user agent with a call of its own: no call has two ends, nothing follows an end, and in
//! the end nothing is left.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sip::agent::{
    AgentEvent, CallEvent, CallHandle, OutgoingCall, SipAddresses, SipFlow, SipResponse, SipTransport, UserAgent,
    UserAgentConfig,
};
use sip::message::PartyAddress;
use sip::{HostPort, Uri};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const MESSAGES_MAX: usize = 64;

#[derive(Default)]
struct Calls {
    theirs: Vec<CallHandle>,
    over: BTreeSet<CallHandle>,
}

fn note(event: AgentEvent, agent: &mut UserAgent, calls: &mut Calls, choice: u8, now: Instant) {
    match event {
        AgentEvent::IncomingCall { call, .. } => {
            calls.theirs.push(call);
            let done = match choice % 3 {
                0 => agent.reject(call, &SipResponse::new(486), now),
                1 => agent.answer(call, SipResponse::new(200), now),
                _ => agent.ring(call, &SipResponse::new(180), now),
            };
            // It may be cancelled in the same piece of a stream.
            let _ = done;
        }
        AgentEvent::Call { call, event } => {
            assert!(!calls.over.contains(&call), "nothing follows the end");
            match event {
                CallEvent::Refused(_) | CallEvent::Ended { .. } => drop(calls.over.insert(call)),
                CallEvent::Offered { body } => {
                    // The call may have ended in the same message.
                    let _ = agent.accept_offer(call, body, now);
                }
                _ => {}
            }
        }
        _ => {}
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&[choices, cut], rest)) = bytes.split_first_chunk::<2>() else { return };
    let mut now = Instant::now();
    let here = HostPort::new("192.0.2.1", Some(5060)).expect("a host");
    let addresses = SipAddresses { udp: Some(here.clone()), tcp: Some(here.clone()), tls: Some(here) };
    let mut agent = UserAgent::new(UserAgentConfig::new([choices; 32], addresses), now);
    let transport = if choices & 1 == 0 { SipTransport::Udp } else { SipTransport::Tcp };
    let flow = SipFlow { transport, remote: "192.0.2.2:5060".parse().expect("an address") };
    let uri = |text: &str| Uri::parse(text).expect("a URI");
    let order = OutgoingCall::new(flow, uri("sip:b@192.0.2.2"), PartyAddress::new(uri("sip:a@192.0.2.1")));
    let ours = agent.invite(order, now).expect("there is room");
    let mut calls = Calls::default();
    // A message ends with FF, so that the fuzzer puts together conversations. TAG in it is the INVITE's
    // branch.
    let invite = agent.poll_transmit().expect("INVITE").octets;
    let invite = String::from_utf8_lossy(&invite).into_owned();
    let head: String = invite
        .lines()
        .filter(|line| ["Via:", "From:", "To:", "Call-ID:", "CSeq:"].iter().any(|name| line.starts_with(name)))
        .map(|line| format!("{line}\r\n"))
        .collect();
    for (index, piece) in rest.split(|octet| *octet == 0xFF).take(MESSAGES_MAX).enumerate() {
        let text = String::from_utf8_lossy(piece).replace("TAG\r\n", &head);
        let pieces = if transport == SipTransport::Udp { text.len().max(1) } else { 1 + usize::from(cut) };
        for piece in text.as_bytes().chunks(pieces) {
            agent.receive(flow, piece, now);
        }
        now += Duration::from_millis(u64::from(choices) * 20);
        agent.handle_timeout(now);
        while let Some(event) = agent.poll_event() {
            note(event, &mut agent, &mut calls, choices.wrapping_add(index as u8), now);
        }
        while agent.poll_transmit().is_some() {}
    }
    let _ = agent.cancel(ours, now).or_else(|_| agent.bye(ours, Vec::new(), now));
    for call in calls.theirs.clone() {
        let refusal = SipResponse::new(480);
        let _ = agent.reject(call, &refusal, now).or_else(|_| agent.bye(call, Vec::new(), now));
    }
    for _ in 0..200 {
        now += Duration::from_secs(60);
        agent.handle_timeout(now);
        while let Some(event) = agent.poll_event() {
            note(event, &mut agent, &mut calls, 0, now);
        }
        while agent.poll_transmit().is_some() {}
    }
    assert!(calls.over.contains(&ours) && agent.calls() == 0 && agent.transactions() == 0);
});

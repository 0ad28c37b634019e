//! Streams and keep-alives (RFC 5626): octets of a connection become messages, CRLF CRLF asks, CRLF answers.

use super::core::{AgentCore, Timer};
use super::event::AgentEvent;
use super::flow::SipFlow;
use crate::limits::{PONG_WITHIN, STREAMS_MAX};
use crate::message::{StreamFrame, StreamFramer};
use std::collections::HashMap;
use std::time::{Duration, Instant};

const PING: &[u8] = b"\r\n\r\n";
const PONG: &[u8] = b"\r\n";

#[derive(Debug)]
struct KeepAlive {
    interval: Duration,
    ping_at: Instant,
    /// A pong is awaited until this moment; streams alone have it.
    pong_by: Option<Instant>,
}

/// The connections whose octets came, and the flows that are kept alive.
#[derive(Debug, Default)]
pub(super) struct Streams {
    framers: HashMap<SipFlow, StreamFramer>,
    keep_alives: HashMap<SipFlow, KeepAlive>,
}

impl Streams {
    pub(super) fn keep_alive(&mut self, core: &mut AgentCore, flow: SipFlow, interval: Option<Duration>) {
        match interval.filter(|interval| !interval.is_zero()) {
            Some(interval)
                if self.keep_alives.len() < STREAMS_MAX || self.keep_alives.contains_key(&flow) =>
            {
                let ping_at = core.now + interval;
                self.keep_alives.insert(flow, KeepAlive { interval, ping_at, pong_by: None });
            }
            _ => drop(self.keep_alives.remove(&flow)),
        }
        self.settle(core, flow);
    }

    fn settle(&self, core: &mut AgentCore, flow: SipFlow) {
        let keep_alive = self.keep_alives.get(&flow);
        let next = keep_alive.map(|one| one.pong_by.map_or(one.ping_at, |by| by.min(one.ping_at)));
        core.deadlines.set(Timer::KeepAlive(flow), next);
    }

    pub(super) fn handle_timeout(&mut self, core: &mut AgentCore, flow: SipFlow) {
        let now = core.now;
        let Some(keep_alive) = self.keep_alives.get_mut(&flow) else { return };
        if keep_alive.pong_by.is_some_and(|by| by <= now) {
            self.keep_alives.remove(&flow);
            self.framers.remove(&flow);
            let problem = format!("no pong within {} s", PONG_WITHIN.as_secs());
            core.events.push_back(AgentEvent::FlowFailed { flow, problem });
            return;
        }
        if keep_alive.ping_at <= now {
            keep_alive.ping_at = now + keep_alive.interval;
            let is_stream = flow.transport.is_reliable();
            if is_stream && keep_alive.pong_by.is_none() {
                keep_alive.pong_by = Some(now + PONG_WITHIN);
            }
            core.transmit(flow, if is_stream { PING.into() } else { PONG.into() });
        }
        self.settle(core, flow);
    }

    /// Takes octets of a connection in; the messages that are whole.
    pub(super) fn receive(&mut self, core: &mut AgentCore, flow: SipFlow, octets: &[u8]) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        if !self.framers.contains_key(&flow) && self.framers.len() >= STREAMS_MAX {
            core.counters.no_room += 1;
            let problem = format!("more than {STREAMS_MAX} connections");
            core.events.push_back(AgentEvent::FlowFailed { flow, problem });
            return messages;
        }
        let framer = self.framers.entry(flow).or_default();
        framer.push(octets);
        loop {
            let keep_alive = self.keep_alives.get_mut(&flow);
            let awaits_pong = keep_alive.as_ref().is_some_and(|one| one.pong_by.is_some());
            match framer.next_frame(awaits_pong) {
                Ok(None) => break,
                Ok(Some(StreamFrame::Message(message))) => messages.push(message),
                Ok(Some(StreamFrame::Ping)) => core.transmit(flow, PONG.into()),
                Ok(Some(StreamFrame::Pong)) => {
                    if let Some(keep_alive) = keep_alive {
                        keep_alive.pong_by = None;
                    }
                }
                Err(error) => {
                    core.counters.unreadable += 1;
                    self.forget(core, flow);
                    core.events.push_back(AgentEvent::FlowFailed { flow, problem: error.to_string() });
                    return messages;
                }
            }
        }
        self.settle(core, flow);
        messages
    }

    /// The connection is gone.
    pub(super) fn forget(&mut self, core: &mut AgentCore, flow: SipFlow) {
        self.framers.remove(&flow);
        self.keep_alives.remove(&flow);
        core.deadlines.set(Timer::KeepAlive(flow), None);
    }
}

//! Far ends of routes of instant messages for the conformance checks: the simulated networks.

use super::config::{ImProtocol, ImRoute};
use crate::AnyRoute;
use crate::conformance::{FarEnd, Manner, Message};
use futures_util::future::BoxFuture;
use settings::Secret;
use sim::im::{ImManner, ImOptions, Messengers};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Messages that are kept to be looked at: more than any check sends.
const KEPT: usize = 10_000;
/// Longer than any machine stands still.
const PATIENCE: Duration = Duration::from_secs(60);

/// A network.
struct Network {
    messengers: Messengers,
    protocol: ImProtocol,
    is_silent: AtomicBool,
}

/// Starts the network of a protocol.
pub(super) fn start(protocol: ImProtocol) -> BoxFuture<'static, Box<dyn FarEnd>> {
    Box::pin(async move {
        let messengers = Messengers::start(options(Manner::Accept)).await.unwrap();
        Box::new(Network { messengers, protocol, is_silent: AtomicBool::new(false) }) as Box<dyn FarEnd>
    })
}

fn options(manner: Manner) -> ImOptions {
    let manner = match manner {
        Manner::Accept => ImManner::Accept,
        Manner::Silent => ImManner::Silent,
        Manner::RefuseForGood => ImManner::RefuseForGood,
        Manner::RefuseForNow => ImManner::RefuseForNow,
    };
    ImOptions { manner, keep: KEPT, ..ImOptions::default() }
}

impl FarEnd for Network {
    fn route(&self, name: &str, rate: f64, _process: &str) -> AnyRoute {
        AnyRoute::new(ImRoute {
            name: name.to_owned(),
            rate,
            protocol: Some(self.protocol),
            base: format!("http://{}", self.messengers.address()),
            token: Some(Secret::from("1:token")),
            poll: Duration::from_secs(1),
            ..ImRoute::default()
        })
    }

    fn address(&self, person: u32) -> String {
        match self.protocol {
            ImProtocol::Matrix => format!("matrix:@person-{person}:sim.example"),
            ImProtocol::Telegram => format!("telegram:{}", person + 1),
        }
    }

    /// What a homeserver does not answer is sent again: there is nothing to call unknown.
    fn set_manner(&self, manner: Manner) -> bool {
        if manner == Manner::Silent && self.protocol == ImProtocol::Matrix {
            return false;
        }
        // A write is reported as it begins: silence is over when the network has read something.
        if self.is_silent.swap(manner == Manner::Silent, Ordering::Relaxed) {
            let end = Instant::now() + PATIENCE;
            while self.messengers.stats().unanswered == 0 && Instant::now() < end {
                std::thread::yield_now();
            }
        }
        self.messengers.change(options(manner)).unwrap();
        true
    }

    fn cut(&self) -> bool {
        self.messengers.disconnect();
        true
    }

    fn repeatable(&self, _: bool) -> bool {
        self.protocol.is_repeatable()
    }

    fn arrived(&self) -> Vec<Message> {
        let message = |(number, message): (usize, sim::im::ArrivedMessage)| Message {
            address: message.address,
            text: message.text,
            // Two messages to a person are two, whatever their ids.
            identity: number.to_string(),
        };
        self.messengers.messages(KEPT).into_iter().enumerate().map(message).collect()
    }
}

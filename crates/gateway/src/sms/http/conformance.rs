//! Far end of HTTP routes for the conformance checks: a receiver of requests, as a carrier.

use super::config::{self, HttpSmsRoute};
use crate::AnyRoute;
use crate::conformance::{FarEnd, Manner, Message};
use sim::webhook::{ReceivedHook, RefusalShare, WebhookOptions, WebhookReceiver};

/// Messages that are kept to be looked at: more than any check sends.
const KEPT: usize = 10_000;

/// A carrier.
pub(super) struct HttpCarrier(WebhookReceiver);

impl HttpCarrier {
    pub(super) async fn start() -> HttpCarrier {
        HttpCarrier(WebhookReceiver::start(options(Manner::Accept)).await.unwrap())
    }
}

fn options(manner: Manner) -> WebhookOptions {
    let usual = WebhookOptions { keep: KEPT, ..WebhookOptions::default() };
    let refuses = |status| vec![RefusalShare { status, share: 1.0, retry_after: None }];
    match manner {
        Manner::Accept => usual,
        Manner::Silent => WebhookOptions { silence: 1.0, ..usual },
        Manner::RefuseForGood => WebhookOptions { refusals: refuses(400), ..usual },
        Manner::RefuseForNow => WebhookOptions { refusals: refuses(500), ..usual },
    }
}

impl FarEnd for HttpCarrier {
    fn route(&self, name: &str, rate: f64, _process: &str) -> AnyRoute {
        let mut route = config::tests::route();
        route.request.url = format!("http://{}/messages", self.0.address()).as_str().into();
        AnyRoute::new(HttpSmsRoute { name: name.to_owned(), rate, ..route })
    }

    fn address(&self, person: u32) -> String {
        format!("+4670{person:07}")
    }

    fn set_manner(&self, manner: Manner) -> bool {
        self.0.change(options(manner)).unwrap();
        true
    }

    fn cut(&self) -> bool {
        self.0.disconnect();
        true
    }

    fn arrived(&self) -> Vec<Message> {
        self.0.hooks(KEPT).iter().enumerate().map(|(number, hook)| message(number, hook)).collect()
    }
}

/// Two requests are two messages, whatever their ids.
fn message(number: usize, hook: &ReceivedHook) -> Message {
    let member = |name: &str| hook.text_of(name).unwrap();
    Message { address: member("to"), text: member("text"), identity: number.to_string() }
}

//! Far end of webhook routes for the conformance checks: the simulated receiver.

use super::WebhookRoute;
use crate::conformance::{FarEnd, Manner, Message};
use crate::{AnyRoute, GatewayContext};
use net::OutboundPolicy;
use sim::webhook::{ReceivedHook, RefusalShare, WebhookOptions, WebhookReceiver};
use std::sync::Arc;

/// Messages that are kept to be looked at: more than any check sends.
const KEPT: usize = 10_000;
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Devices that verify what they get.
pub(super) struct HookReceiver(WebhookReceiver);

impl HookReceiver {
    pub(super) async fn start() -> HookReceiver {
        HookReceiver(WebhookReceiver::start(options(Manner::Accept)).await.unwrap())
    }
}

fn options(manner: Manner) -> WebhookOptions {
    let usual = WebhookOptions { keep: KEPT, secret: Some(SECRET.to_owned()), ..WebhookOptions::default() };
    let refuses = |status| vec![RefusalShare { status, share: 1.0, retry_after: None }];
    match manner {
        Manner::Accept => usual,
        Manner::Silent => WebhookOptions { silence: 1.0, ..usual },
        Manner::RefuseForGood => WebhookOptions { refusals: refuses(410), ..usual },
        Manner::RefuseForNow => WebhookOptions { refusals: refuses(500), ..usual },
    }
}

impl FarEnd for HookReceiver {
    fn route(&self, name: &str, rate: f64, _process: &str) -> AnyRoute {
        AnyRoute::new(WebhookRoute {
            name: name.to_owned(),
            rate,
            secret: Some(SECRET.into()),
            ..WebhookRoute::default()
        })
    }

    fn furnish(&self, context: &mut GatewayContext) {
        let policy = OutboundPolicy::new(&["127.0.0.0/8".to_owned()]).unwrap();
        context.outbound.store(Arc::new(policy));
    }

    fn address(&self, person: u32) -> String {
        format!("http://{}/person-{person}", self.0.address())
    }

    /// Who is silent is sent the message again: that is refused for now, and never unknown.
    fn set_manner(&self, manner: Manner) -> bool {
        self.0.change(options(manner)).unwrap();
        manner != Manner::Silent
    }

    fn cut(&self) -> bool {
        self.0.disconnect();
        true
    }

    fn arrived(&self) -> Vec<Message> {
        self.0.hooks(KEPT).iter().map(|hook| self.message(hook)).collect()
    }
}

impl HookReceiver {
    /// Who gets the same id twice drops the second.
    fn message(&self, hook: &ReceivedHook) -> Message {
        Message {
            address: format!("http://{}{}", self.0.address(), hook.path),
            text: hook.text_of("text").unwrap(),
            identity: hook.id.clone(),
        }
    }
}

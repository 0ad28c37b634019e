//! Far end of SMS routes for the conformance checks: the simulated SMSC.

use super::SmsRoute;
use crate::AnyRoute;
use crate::conformance::{FarEnd, Manner, Message};
use crate::registry::ANY_PORT;
use sim::smsc::{ErrorShare, Smsc, SmscOptions};

/// Messages that are kept to be looked at: more than any check sends.
const KEPT: usize = 10_000;

/// A carrier.
pub(super) struct Carrier(Smsc);

impl Carrier {
    pub(super) async fn start() -> Carrier {
        Carrier(Smsc::start(options(Manner::Accept)).await.unwrap())
    }
}

fn options(manner: Manner) -> SmscOptions {
    let usual = SmscOptions { listen: ANY_PORT.to_owned(), keep: KEPT, ..SmscOptions::default() };
    let refuses = |status: &str| vec![ErrorShare { status: status.to_owned(), share: 1.0 }];
    match manner {
        Manner::Accept => usual,
        Manner::Silent => SmscOptions { silence: 1.0, silence_accepts: 1.0, ..usual },
        Manner::RefuseForGood => SmscOptions { errors: refuses("RINVDSTADR"), ..usual },
        Manner::RefuseForNow => SmscOptions { errors: refuses("RSYSERR"), ..usual },
    }
}

impl FarEnd for Carrier {
    fn route(&self, name: &str, rate: f64, _process: &str) -> AnyRoute {
        AnyRoute::new(SmsRoute {
            name: name.to_owned(),
            address: self.0.address().to_string(),
            system_id: "platform".to_owned(),
            password: "secret".into(),
            rate,
            ..SmsRoute::default()
        })
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
        let message = |message: sim::smsc::StoredMessage| Message {
            address: format!("+{}", message.to.trim_start_matches('+')),
            text: message.text,
            identity: message.id,
        };
        self.0.messages(KEPT).into_iter().map(message).collect()
    }
}

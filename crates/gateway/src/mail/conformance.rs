//! Far end of mail routes for the conformance checks: the simulated mailbox.

use super::MailRoute;
use crate::AnyRoute;
use crate::conformance::{FarEnd, Manner, Message};
use crate::registry::ANY_PORT;
use mail_parser::MessageParser;
use sim::chance::Delay;
use sim::mailbox::{ErrorShare, Mailbox, MailboxOptions, ReceivedMail, Stage};
use std::time::Duration;

/// Mails that are kept to be looked at: more than any check sends.
const KEPT: usize = 10_000;
/// Longer than any check waits.
const NEVER: Duration = Duration::from_secs(3_600);

/// A relay.
pub(super) struct Relay(Mailbox);

impl Relay {
    pub(super) async fn start() -> Relay {
        Relay(Mailbox::start(options(Manner::Accept)).await.unwrap())
    }
}

fn options(manner: Manner) -> MailboxOptions {
    let usual = MailboxOptions { listen: ANY_PORT.to_owned(), keep: KEPT, ..MailboxOptions::default() };
    let refuses = |reply: &str| vec![ErrorShare { at: Stage::Rcpt, reply: reply.to_owned(), share: 1.0 }];
    match manner {
        Manner::Accept => usual,
        Manner::Silent => MailboxOptions { latency: Delay::Fixed(NEVER), ..usual },
        Manner::RefuseForGood => {
            MailboxOptions { errors: refuses("550 5.1.1 nobody here has this name"), ..usual }
        }
        Manner::RefuseForNow => MailboxOptions { errors: refuses("451 4.3.0 come again"), ..usual },
    }
}

impl FarEnd for Relay {
    fn route(&self, name: &str, rate: f64, _process: &str) -> AnyRoute {
        AnyRoute::new(MailRoute {
            name: name.to_owned(),
            address: self.0.address().to_string(),
            from: "City of X <alerts@city.test>".to_owned(),
            rate,
            ..MailRoute::default()
        })
    }

    fn address(&self, person: u32) -> String {
        format!("person-{person}@city.test")
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
        self.0.mails(KEPT).iter().enumerate().map(|(number, mail)| message(number, mail)).collect()
    }
}

/// Two mails to a person are two, whatever their Message-IDs.
fn message(number: usize, mail: &ReceivedMail) -> Message {
    let read = MessageParser::default().parse(&*mail.raw).unwrap();
    let text = read.body_text(0).map(|text| text.into_owned()).unwrap_or_default();
    Message { address: mail.to[0].clone(), text, identity: number.to_string() }
}

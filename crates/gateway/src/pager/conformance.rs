//! Far ends of pager routes for the conformance checks: the simulated paging carrier, and a mailbox at one.

use super::config::{PagerRoute, PagingTransport, SnppSettings};
use super::text::TextShape;
use crate::AnyRoute;
use crate::conformance::{FarEnd, Manner, Message};
use crate::mail::MailRoute;
use crate::registry::ANY_PORT;
use mail_parser::MessageParser;
use sim::chance::Delay;
use sim::mailbox::{ErrorShare, Mailbox, MailboxOptions, Stage};
use sim::pager::{PageError, PageStage, PagingCarrier, PagingOptions};
use std::time::Duration;

/// Pages that are kept to be looked at: more than any check sends.
const KEPT: usize = 10_000;
/// Longer than any check waits.
const NEVER: Duration = Duration::from_secs(3_600);

fn route(name: &str, rate: f64, transport: PagingTransport) -> AnyRoute {
    let shape = TextShape::default();
    AnyRoute::new(PagerRoute { name: name.to_owned(), rate, sessions: 4, shape, transport })
}

/// A paging carrier by SNPP.
pub(super) struct PagingFarEnd(PagingCarrier);

impl PagingFarEnd {
    pub(super) async fn start() -> PagingFarEnd {
        PagingFarEnd(PagingCarrier::start(paging(Manner::Accept)).await.unwrap())
    }
}

fn paging(manner: Manner) -> PagingOptions {
    let usual = PagingOptions { listen: ANY_PORT.to_owned(), keep: KEPT, ..PagingOptions::default() };
    let refuses = |at, code| vec![PageError { at, code, share: 1.0 }];
    match manner {
        Manner::Accept => usual,
        Manner::Silent => PagingOptions { latency: Delay::Fixed(NEVER), ..usual },
        Manner::RefuseForGood => PagingOptions { errors: refuses(PageStage::Page, 550), ..usual },
        Manner::RefuseForNow => PagingOptions { errors: refuses(PageStage::Send, 554), ..usual },
    }
}

impl FarEnd for PagingFarEnd {
    fn route(&self, name: &str, rate: f64, _process: &str) -> AnyRoute {
        let settings = SnppSettings { address: self.0.address().to_string(), ..SnppSettings::default() };
        route(name, rate, PagingTransport::Snpp(Box::new(settings)))
    }

    fn address(&self, person: u32) -> String {
        format!("{}", 5_551_000 + person)
    }

    fn set_manner(&self, manner: Manner) -> bool {
        self.0.change(paging(manner)).unwrap();
        true
    }

    fn cut(&self) -> bool {
        self.0.disconnect();
        true
    }

    fn arrived(&self) -> Vec<Message> {
        let pages = self.0.pages(KEPT);
        let message = |(number, page): (usize, &sim::pager::PagedMessage)| Message {
            address: page.pager.clone(),
            text: page.text.clone(),
            identity: number.to_string(),
        };
        pages.iter().enumerate().map(message).collect()
    }
}

/// A paging carrier by mail.
pub(super) struct CarrierMailbox(Mailbox);

impl CarrierMailbox {
    pub(super) async fn start() -> CarrierMailbox {
        CarrierMailbox(Mailbox::start(mailbox(Manner::Accept)).await.unwrap())
    }
}

fn mailbox(manner: Manner) -> MailboxOptions {
    let usual = MailboxOptions { listen: ANY_PORT.to_owned(), keep: KEPT, ..MailboxOptions::default() };
    let refuses = |reply: &str| vec![ErrorShare { at: Stage::Rcpt, reply: reply.to_owned(), share: 1.0 }];
    match manner {
        Manner::Accept => usual,
        Manner::Silent => MailboxOptions { latency: Delay::Fixed(NEVER), ..usual },
        Manner::RefuseForGood => MailboxOptions { errors: refuses("550 5.1.1 no such pager"), ..usual },
        Manner::RefuseForNow => MailboxOptions { errors: refuses("451 4.3.0 come again"), ..usual },
    }
}

impl FarEnd for CarrierMailbox {
    fn route(&self, name: &str, rate: f64, _process: &str) -> AnyRoute {
        let relay = MailRoute {
            name: name.to_owned(),
            address: self.0.address().to_string(),
            from: "City of X <alerts@city.test>".to_owned(),
            rate,
            ..MailRoute::default()
        };
        route(name, rate, PagingTransport::Smtp(Box::new(relay)))
    }

    fn address(&self, person: u32) -> String {
        format!("{}@page.test", 5_551_000 + person)
    }

    fn set_manner(&self, manner: Manner) -> bool {
        self.0.change(mailbox(manner)).unwrap();
        true
    }

    fn cut(&self) -> bool {
        self.0.disconnect();
        true
    }

    fn arrived(&self) -> Vec<Message> {
        let mails = self.0.mails(KEPT);
        let read = |(number, mail): (usize, &sim::mailbox::ReceivedMail)| {
            let message = MessageParser::default().parse(&*mail.raw).unwrap();
            let text = message.body_text(0).map(|text| text.into_owned()).unwrap_or_default();
            Message { address: mail.to[0].clone(), text, identity: number.to_string() }
        };
        mails.iter().enumerate().map(read).collect()
    }
}

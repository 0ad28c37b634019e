//! Replies to a person, by the device they wrote from: a short message by the route theirs came by, on any
//! other channel an alert to that one address, which no list shows.

use crate::api::{Draft, EngineError};
use crate::run::{Engine, bus_error};
use records::{
    AlertRequest, AudienceEntry, DlrRequest, Intake, Lane, Message, MessageClient, Mode, OnUnknown, Origin,
    Priority, ServiceCall, Short, ShortAddress, ShortText, Strategy, Terminal, Texts, Timestamp,
};

/// A reply is tried for so long, in seconds.
const TRIED_S: i64 = 3_600;
/// Token of the alerts that are replies.
const TOKEN: &str = "service";

/// Where a reply goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReplyTo {
    pub(super) account: String,
    pub(super) mode: Mode,
    pub(super) channel: records::ChannelNumber,
    /// Theirs.
    pub(super) address: String,
    /// Ours, as they wrote to it.
    pub(super) ours: String,
    pub(super) route: String,
}

impl ReplyTo {
    pub(super) fn of(call: &ServiceCall) -> ReplyTo {
        ReplyTo {
            account: call.account.clone(),
            mode: call.mode,
            channel: call.inbound.channel,
            address: call.inbound.from.clone(),
            ours: call.inbound.to.clone(),
            route: call.inbound.route.clone(),
        }
    }
}

/// Sends it; resolves when it is accepted.
///
/// # Errors
/// The bus's or the store's; a channel without a route of that mode.
pub(super) async fn send(engine: &Engine, to: &ReplyTo, text: String) -> Result<(), EngineError> {
    send_within(engine, to, text, TRIED_S).await
}

/// The same, tried for so many seconds.
///
/// # Errors
/// As [`send`].
pub(super) async fn send_within(
    engine: &Engine,
    to: &ReplyTo,
    text: String,
    tried_s: i64,
) -> Result<(), EngineError> {
    let now = engine.parts().now();
    let until = now.plus_s(tried_s);
    if to.channel == channels::SMS {
        let record = Intake::Message(Box::new(short_message(to, text, (now, until)))).encode();
        let topic = engine.parts().bus.topic(records::INTAKE).map_err(bus_error)?;
        return topic.append(&[&record]).await.map(|_| ()).map_err(bus_error);
    }
    notify(engine, to, text, tried_s).await
}

/// Sends it as an alert to that one address, which no list shows; it is tried for so many seconds.
///
/// # Errors
/// The store's; a channel without a route of that mode.
pub(super) async fn notify(
    engine: &Engine,
    to: &ReplyTo,
    text: String,
    tried_s: i64,
) -> Result<(), EngineError> {
    let now = engine.parts().now();
    let draft = Draft {
        account: to.account.clone(),
        token: TOKEN.to_owned(),
        authors: Vec::new(),
        request: alert(to, text, now.plus_s(tried_s)),
        origin: Origin::Reply,
        key: None,
        wait_solved: false,
        note: None,
    };
    engine.submit(draft).await.map(|_| ())
}

fn short_message(to: &ReplyTo, text: String, (now, until): (Timestamp, Timestamp)) -> Message {
    Message {
        account: to.account.clone(),
        party: MessageClient::House,
        at: now,
        lane: Lane::Urgent,
        mode: to.mode,
        to: to.address.clone(),
        short: Short {
            source: ShortAddress { ton_npi: None, addr: to.ours.as_str().into() },
            text: ShortText::Text { text: text.into(), class: None },
            ..Short::default()
        },
        not_before: None,
        expires: until,
        route: (!to.route.is_empty()).then(|| to.route.clone()),
        tell: DlrRequest::default(),
    }
}

fn alert(to: &ReplyTo, text: String, expires: Timestamp) -> AlertRequest {
    AlertRequest {
        headline: None,
        // A reply quotes what people wrote: it is text, and no template.
        text: Some(crate::literal_text(&text)),
        texts: Texts::default(),
        audience: vec![AudienceEntry {
            to: channels::entry(to.channel, &to.address),
            strategy: None,
            expires: None,
        }],
        exclude: Vec::new(),
        channels: Vec::new(),
        strategy: Strategy::All,
        require_answer: false,
        choices: Vec::new(),
        terminal: Terminal::Accepted,
        not_before: None,
        expires,
        priority: Priority::Urgent,
        on_unknown: OnUnknown::Hold,
        callback: None,
        sender: None,
        mode: to.mode,
        participants_only: false,
        answer_rules: records::AnswerRules::default(),
        follows: None,
        flash: false,
        resources: Vec::new(),
        attachments: Vec::new(),
        area: None,
    }
}

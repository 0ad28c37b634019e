//! The carrier over real sockets, with the client machine.

use super::*;
use crate::chance::Delay;
use crate::town::Habits;
use snpp::client::{
    OutgoingPage, PageVerdict, SnppClient, SnppClientEvent, SnppClientOptions, SnppInput, TwoWay,
};
use snpp::command::ReplyType;
use snpp::tag::{StatusReply, TagState};
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A client over a socket.
struct SnppCaller {
    stream: TcpStream,
    client: SnppClient,
}

impl SnppCaller {
    async fn connect(carrier: &PagingCarrier, login: Option<(String, Option<String>)>) -> SnppCaller {
        let stream = TcpStream::connect(carrier.address()).await.unwrap();
        let options = SnppClientOptions { login, ..SnppClientOptions::default() };
        SnppCaller { stream, client: SnppClient::new(options, Instant::now()) }
    }

    /// The next event.
    async fn event(&mut self) -> SnppClientEvent {
        loop {
            if let Some(event) = self.client.poll_event() {
                return event;
            }
            self.step().await;
        }
    }

    /// Writes what waits, and reads once.
    async fn step(&mut self) {
        let mut input = [0; 4096];
        let out = self.client.poll_transmit().to_vec();
        self.stream.write_all(&out).await.unwrap();
        self.client.handle_input(Instant::now(), SnppInput::Sent(out.len()));
        match self.stream.read(&mut input).await.unwrap_or(0) {
            0 => self.client.handle_input(Instant::now(), SnppInput::Lost("closed")),
            length => self.client.handle_input(Instant::now(), SnppInput::Octets(&input[..length])),
        }
    }

    async fn page(&mut self, pager: &str, two_way: Option<TwoWay>) -> PageVerdict {
        let text = b"Leave by the north gate".to_vec();
        let page = OutgoingPage { pager: pager.to_owned(), text, two_way, ..OutgoingPage::default() };
        while !self.client.is_idle() {
            match self.client.poll_event() {
                Some(event) => assert_eq!(event, SnppClientEvent::Ready),
                None => self.step().await,
            }
        }
        while let Some(event) = self.client.poll_event() {
            assert_eq!(event, SnppClientEvent::Ready);
        }
        self.client.submit(Instant::now(), page);
        loop {
            match self.event().await {
                SnppClientEvent::Done { verdict, .. } => return verdict,
                SnppClientEvent::SendWritten { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    async fn state(&mut self, tag: &MessageTag) -> TagState {
        self.client.query(Instant::now(), 0, tag);
        match self.event().await {
            SnppClientEvent::Status { reply: Some(StatusReply::Known(status)), .. } => status.state,
            other => panic!("{other:?}"),
        }
    }
}

fn two_way() -> TwoWay {
    let choices = vec![("01".to_owned(), b"I am safe".to_vec()), ("02".to_owned(), b"Help".to_vec())];
    let reply = ReplyType::MultipleChoice;
    TwoWay { expires_h: None, no_queue: false, ack_read: false, reply, choices }
}

fn answering() -> Habits {
    let mut habits = Habits::answering(1);
    habits.free_text = 0.0;
    habits.choices = vec!["2".to_owned()];
    habits.answer_after = Delay::NONE;
    habits
}

#[tokio::test]
async fn a_person_reads_and_answers_by_the_choice_they_mean() {
    let options = PagingOptions { people: Some(answering()), ..PagingOptions::default() };
    let carrier = PagingCarrier::start(options).await.unwrap();
    let mut caller = SnppCaller::connect(&carrier, None).await;
    let PageVerdict::Accepted { receipt, without } = caller.page("1234", Some(two_way())).await else {
        panic!()
    };
    assert!(without.is_empty());
    let tag = receipt.tag.unwrap();
    assert_eq!(caller.state(&tag).await, TagState::Choice("02".to_owned()));
    let page = &carrier.pages(10)[0];
    assert_eq!((page.pager.as_str(), page.text.as_str()), ("1234", "Leave by the north gate"));
    assert_eq!((page.two_way, page.choices.len(), carrier.accepted("1234")), (true, 2, 1));
}

#[tokio::test]
async fn a_page_that_arrives_late_is_queued_first_and_a_lost_one_expires() {
    let mut people = Habits::silent(1);
    let late = Delay::Fixed(std::time::Duration::from_secs(3_600));
    let options = PagingOptions { deliver_after: late, ..PagingOptions::default() };
    let carrier = PagingCarrier::start(options).await.unwrap();
    let mut caller = SnppCaller::connect(&carrier, None).await;
    let PageVerdict::Accepted { receipt, .. } = caller.page("1234", Some(two_way())).await else { panic!() };
    assert_eq!(receipt.state, Some(TagState::Queued));
    assert_eq!(caller.state(&receipt.tag.unwrap()).await, TagState::Queued);
    people.sms.lost = 1.0;
    carrier.change(PagingOptions { people: Some(people), ..PagingOptions::default() }).unwrap();
    let PageVerdict::Accepted { receipt, .. } = caller.page("1234", Some(two_way())).await else { panic!() };
    assert_eq!(caller.state(&receipt.tag.unwrap()).await, TagState::Expired);
    assert_eq!((carrier.accepted("1234"), carrier.stats().repeats), (2, 1));
}

#[tokio::test]
async fn refusals_and_logins_are_as_the_options_say() {
    let errors = |at, code| vec![PageError { at, code, share: 1.0 }];
    let with = |errors| PagingOptions { errors, ..PagingOptions::default() };
    let carrier = PagingCarrier::start(with(errors(PageStage::Page, 550))).await.unwrap();
    let mut caller = SnppCaller::connect(&carrier, None).await;
    for (options, code, permanent) in [
        (with(errors(PageStage::Page, 550)), "snpp:550", true),
        (with(errors(PageStage::Send, 550)), "snpp:550", true),
        (with(errors(PageStage::Send, 554)), "snpp:554", false),
        (with(errors(PageStage::Send, 421)), "snpp:421", false),
    ] {
        carrier.change(options).unwrap();
        let PageVerdict::Refused { permanent: was, code: got, .. } = caller.page("1", None).await else {
            panic!()
        };
        assert_eq!((got.as_str(), was), (code, permanent));
    }
    let options = PagingOptions {
        login: Some("city".to_owned()),
        password: Some("word".to_owned()),
        ..PagingOptions::default()
    };
    carrier.change(options).unwrap();
    let mut caller = SnppCaller::connect(&carrier, Some(("city".to_owned(), Some("word".to_owned())))).await;
    assert!(matches!(caller.page("1", None).await, PageVerdict::Accepted { .. }));
    let mut caller = SnppCaller::connect(&carrier, Some(("city".to_owned(), None))).await;
    let SnppClientEvent::Closed(Err(failure)) = caller.event().await else { panic!() };
    assert_eq!(failure.code, "snpp:550");
}

#[tokio::test]
async fn a_cut_leaves_the_page_unknown() {
    let options = PagingOptions { disconnect: 1.0, disconnect_accepts: 1.0, ..PagingOptions::default() };
    let carrier = PagingCarrier::start(options).await.unwrap();
    let mut caller = SnppCaller::connect(&carrier, None).await;
    assert!(matches!(caller.page("1", None).await, PageVerdict::Unknown { .. }));
    assert_eq!((carrier.accepted("1"), carrier.stats().cut), (1, 1));
}

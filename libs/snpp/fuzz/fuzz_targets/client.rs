//! Any octets of a server, cut anywhere, to a client with pages of one way and of two: one verdict for each
//! page, one answer for each question, one end, nothing to write behind it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use snpp::client::{
    OutgoingPage, PageVerdict, SnppClient, SnppClientEvent, SnppClientOptions, SnppInput, TwoWay,
};
use snpp::command::ReplyType;
use snpp::tag::MessageTag;
use std::time::{Duration, Instant};

fuzz_target!(|bytes: &[u8]| {
    let Some((&[choices, cut], rest)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let mut now = Instant::now();
    let login = (choices & 1 != 0).then(|| ("name".to_owned(), None));
    let mut client = SnppClient::new(SnppClientOptions { login, ..SnppClientOptions::default() }, now);
    if choices & 2 != 0 {
        // The session is open, so that the fuzzer need not find out how.
        client.handle_input(now, SnppInput::Octets(b"220 fuzz\r\n"));
    }
    let mut book = FuzzBook::default();
    for piece in rest.chunks(1 + usize::from(cut)) {
        now += Duration::from_secs(u64::from(choices >> 5) * 10);
        client.handle_timeout(now);
        if client.is_idle() {
            book.give(&mut client, now, choices & 4 != 0);
        }
        let pending = client.poll_transmit().len();
        client.handle_input(now, SnppInput::Sent(pending.min(1 + usize::from(cut))));
        client.handle_input(now, SnppInput::Octets(piece));
        book.take_events(&mut client);
    }
    client.handle_input(now, SnppInput::Lost("over"));
    book.take_events(&mut client);
    assert_eq!((book.pages, book.questions, book.ends), (book.verdicts, book.answers, 1));
    assert!(client.poll_transmit().is_empty() && client.poll_timeout().is_none());
});

#[derive(Default)]
struct FuzzBook {
    given: u64,
    pages: usize,
    verdicts: usize,
    questions: usize,
    answers: usize,
    ends: usize,
}

impl FuzzBook {
    fn give(&mut self, client: &mut SnppClient, now: Instant, two_way: bool) {
        self.given += 1;
        if self.given % 3 == 0 {
            self.questions += 1;
            return client.query(now, self.given, &MessageTag::new("1", "2").expect("a tag"));
        }
        self.pages += 1;
        let choices = vec![("01".to_owned(), b"yes".to_vec())];
        let reply = ReplyType::MultipleChoice;
        let level_3 = TwoWay { expires_h: Some(1), no_queue: true, ack_read: true, reply, choices };
        let text = if self.given % 2 == 0 { b"one".to_vec() } else { b"one\n.two".to_vec() };
        let pager = "1".to_owned();
        let two_way = two_way.then_some(level_3);
        client.submit(now, OutgoingPage { id: self.given, pager, text, two_way, ..OutgoingPage::default() });
    }

    fn take_events(&mut self, client: &mut SnppClient) {
        while let Some(event) = client.poll_event() {
            assert_eq!(self.ends, 0, "nothing follows the end");
            match event {
                SnppClientEvent::Ready | SnppClientEvent::SendWritten { .. } => {}
                SnppClientEvent::Done { verdict, .. } => {
                    self.verdicts += 1;
                    if let PageVerdict::Accepted { receipt, .. } = verdict {
                        assert!(matches!(receipt.code / 100, 2 | 8 | 9));
                    }
                }
                SnppClientEvent::Status { .. } => self.answers += 1,
                SnppClientEvent::Closed(_) => self.ends += 1,
            }
        }
    }
}

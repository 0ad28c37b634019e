//! The two machines on a virtual wire: octets are split anywhere, and the wire is cut at any moment. Seeded:
//! the seed is in each message of a failure.

use crate::client::{
    OutgoingPage, PageVerdict, SnppClient, SnppClientEvent, SnppClientOptions, SnppInput, TwoWay,
};
use crate::command::ReplyType;
use crate::server::{
    PagerAnswer, PagingTerminal, ReceivedPage, SendAnswer, SnppServer, SnppServerEvent, SnppServerOptions,
};
use crate::tag::{MessageTag, StatusReply, TagState, TagStatus};
use std::time::Instant;

/// Seeds that are run.
const SEEDS: u64 = 400;
/// Pages of a session.
const PAGES: u64 = 5;

struct Draw(u64);

impl Draw {
    /// SplitMix64.
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % limit
    }
}

struct Terminal;

impl PagingTerminal for Terminal {
    fn login(&mut self, _: &str, _: Option<&str>) -> bool {
        true
    }

    fn pager(&mut self, pager: &str, _: Option<&str>, _: bool) -> PagerAnswer {
        match pager {
            "2" => PagerAnswer::Unknown,
            "3" => PagerAnswer::OneWayOnly,
            _ => PagerAnswer::Accepted,
        }
    }

    fn status(&mut self, tag: &MessageTag) -> Option<TagStatus> {
        let state = TagState::Choice("01".to_owned());
        (tag.tag() == "7").then(|| TagStatus {
            sequence: 1,
            at: "261127120000+0".to_owned(),
            state,
            words: String::new(),
        })
    }

    fn kill(&mut self, _: &MessageTag) -> bool {
        true
    }
}

/// What one session came to.
#[derive(Default)]
struct SessionBook {
    sent: Vec<ReceivedPage>,
    verdicts: Vec<(u64, PageVerdict)>,
    statuses: Vec<Option<StatusReply>>,
    ends: usize,
}

struct VirtualWire {
    draw: Draw,
    client: SnppClient,
    server: SnppServer<Terminal>,
    to_client: Vec<u8>,
    to_server: Vec<u8>,
    book: SessionBook,
}

impl VirtualWire {
    /// Moves some octets one way or the other, and hands out what happened.
    fn step(&mut self, now: Instant) {
        self.server.poll_transmit(&mut self.to_client);
        match self.draw.below(3) {
            0 => {
                let length = self.part(self.client.poll_transmit().len());
                self.to_server.extend_from_slice(&self.client.poll_transmit()[..length]);
                self.client.handle_input(now, SnppInput::Sent(length));
            }
            1 => {
                let length = self.part(self.to_server.len());
                let octets: Vec<u8> = self.to_server.drain(..length).collect();
                self.server.handle_input(now, &octets);
            }
            _ => {
                let length = self.part(self.to_client.len());
                let octets: Vec<u8> = self.to_client.drain(..length).collect();
                self.client.handle_input(now, SnppInput::Octets(&octets));
            }
        }
        self.take_events(now);
    }

    fn part(&mut self, length: usize) -> usize {
        self.draw.below(length as u64 + 1) as usize
    }

    fn take_events(&mut self, now: Instant) {
        while let Some(SnppServerEvent::Send(page)) = self.server.poll_event() {
            self.book.sent.push(page);
            let tag = MessageTag::new("7", "77").unwrap();
            self.server.finish_send(now, SendAnswer::TwoWay(tag, TagState::AwaitingReply));
        }
        while let Some(event) = self.client.poll_event() {
            assert_eq!(self.book.ends, 0, "nothing follows the end");
            match event {
                SnppClientEvent::Ready | SnppClientEvent::SendWritten { .. } => {}
                SnppClientEvent::Done { id, verdict } => self.book.verdicts.push((id, verdict)),
                SnppClientEvent::Status { reply, .. } => self.book.statuses.push(reply),
                SnppClientEvent::Closed(_) => self.book.ends += 1,
            }
        }
    }
}

fn page(id: u64) -> OutgoingPage {
    let choices = vec![("01".to_owned(), b"Yes".to_vec())];
    let reply = ReplyType::MultipleChoice;
    let two_way = TwoWay { expires_h: None, no_queue: false, ack_read: false, reply, choices };
    let text = if id.is_multiple_of(2) { format!("page {id}") } else { format!("page {id}\n.and more") };
    OutgoingPage {
        id,
        pager: id.to_string(),
        text: text.into_bytes(),
        two_way: (id >= 3).then_some(two_way),
        ..OutgoingPage::default()
    }
}

fn session(seed: u64, cut_after: Option<u64>) -> SessionBook {
    let now = Instant::now();
    let mut wire = VirtualWire {
        draw: Draw(seed),
        client: SnppClient::new(SnppClientOptions::default(), now),
        server: SnppServer::new(SnppServerOptions::default(), Terminal, now),
        to_client: Vec::new(),
        to_server: Vec::new(),
        book: SessionBook::default(),
    };
    let (mut next, mut asked, mut steps) = (0, false, 0);
    while wire.book.ends == 0 {
        if cut_after.is_some_and(|most| steps >= most) {
            wire.client.handle_input(now, SnppInput::Lost("cut"));
            wire.take_events(now);
            break;
        }
        if wire.client.is_idle() {
            if next < PAGES {
                wire.client.submit(now, page(next));
                next += 1;
            } else if !asked {
                wire.client.query(now, 0, &MessageTag::new("7", "77").unwrap());
                asked = true;
            } else {
                wire.client.quit(now);
            }
        }
        wire.step(now);
        steps += 1;
        assert!(steps < 1_000_000, "seed {seed}: the session stands still");
    }
    wire.book
}

#[test]
fn pages_arrive_as_they_were_written_however_octets_are_split() {
    for seed in 0..SEEDS {
        let book = session(seed, None);
        let ids: Vec<u64> = book.verdicts.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [0, 1, 2, 3, 4], "seed {seed}");
        let pagers: Vec<&str> = book.sent.iter().map(|page| page.pagers[0].pager.as_str()).collect();
        assert_eq!(pagers, ["0", "1", "3", "4"], "seed {seed}");
        assert_eq!(book.sent[1].text, b"page 1\n.and more", "seed {seed}");
        assert_eq!(book.sent[3].two_way.as_ref().unwrap().choices.len(), 1, "seed {seed}");
        assert_eq!(book.sent[2].two_way, None, "seed {seed}: the pager is of one way");
        assert!(matches!(&book.verdicts[2].1, PageVerdict::Refused { permanent: true, .. }), "seed {seed}");
        let PageVerdict::Accepted { receipt, without } = &book.verdicts[4].1 else { panic!("seed {seed}") };
        assert_eq!((receipt.code, without.len()), (861, 0), "seed {seed}");
        assert!(
            matches!(&book.statuses[..], [Some(StatusReply::Known(status))] if status.state.is_final()),
            "seed {seed}"
        );
    }
}

#[test]
fn a_cut_at_any_moment_leaves_no_page_that_was_sent_and_called_untried() {
    for seed in 0..SEEDS {
        let book = session(seed, Some(seed % 200));
        let sent = |id: &u64| book.sent.iter().any(|page| page.pagers[0].pager == id.to_string());
        assert_eq!(book.ends, 1, "seed {seed}");
        for (id, verdict) in &book.verdicts {
            match verdict {
                PageVerdict::Accepted { .. } => assert!(sent(id), "seed {seed}: {id} was not sent"),
                PageVerdict::NotTried { .. } | PageVerdict::Refused { .. } => {
                    assert!(!sent(id), "seed {seed}: {id} was sent");
                }
                PageVerdict::Unknown { .. } => {}
            }
        }
        assert!(book.sent.len() <= book.verdicts.len(), "seed {seed}: each page has a verdict");
    }
}

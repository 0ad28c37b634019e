//! Any octets of a client, cut anywhere: whole pages for pagers of the terminal alone, one at a time, whole
//! lines out, nothing after the end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use snpp::server::{PagerAnswer, PagingTerminal, SendAnswer, SnppServer, SnppServerEvent, SnppServerOptions};
use snpp::tag::{MessageTag, TagState, TagStatus};
use std::time::{Duration, Instant};

struct Terminal;

impl PagingTerminal for Terminal {
    fn login(&mut self, id: &str, _: Option<&str>) -> bool {
        id.len() == 1
    }

    fn pager(&mut self, pager: &str, _: Option<&str>, _: bool) -> PagerAnswer {
        assert!(!pager.is_empty() && pager.bytes().all(|octet| octet.is_ascii_graphic()));
        match pager.len() {
            1 => PagerAnswer::Accepted,
            2 => PagerAnswer::Offline,
            3 => PagerAnswer::OneWayOnly,
            4 => PagerAnswer::Failed,
            _ => PagerAnswer::Unknown,
        }
    }

    fn status(&mut self, tag: &MessageTag) -> Option<TagStatus> {
        let state = TagState::Text(tag.pass_code().to_owned());
        (tag.tag().len() == 1).then(|| TagStatus {
            sequence: 1,
            at: String::new(),
            state,
            words: String::new(),
        })
    }

    fn kill(&mut self, tag: &MessageTag) -> bool {
        tag.tag().len() == 1
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&[choices, cut], rest)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let options = SnppServerOptions {
        level: choices % 4,
        needs_login: choices & 4 != 0,
        errors_max: 50,
        ..SnppServerOptions::default()
    };
    let mut now = Instant::now();
    let mut server = SnppServer::new(options, Terminal, now);
    let mut out = Vec::new();
    for piece in rest.chunks(1 + usize::from(cut)) {
        let was_finished = server.is_finished();
        now += Duration::from_secs(u64::from(choices >> 4));
        server.handle_timeout(now);
        if server.wants_input() || was_finished {
            server.handle_input(now, piece);
        }
        while let Some(SnppServerEvent::Send(page)) = server.poll_event() {
            assert!((1..=10).contains(&page.pagers.len()) && !page.text.trim_ascii().is_empty());
            assert!(page.pagers.iter().all(|pager| pager.pager.len() <= 3));
            assert!(!server.wants_input());
            let tag = MessageTag::new("1", "2").expect("a tag");
            server.finish_send(now, SendAnswer::TwoWay(tag, TagState::Queued));
        }
        let before = out.len();
        server.poll_transmit(&mut out);
        assert!(!was_finished || before == out.len(), "nothing follows the end");
    }
    assert!(out.is_empty() || out.ends_with(b"\r\n"));
});

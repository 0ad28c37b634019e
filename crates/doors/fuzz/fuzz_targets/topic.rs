//! Any octets in any pieces as a connection of the topic protocol: the same is understood as in one piece, in
//! bounded room.
#![no_main]

use libfuzzer_sys::fuzz_target;
use machine::{Conversation, LengthLimits, ConversationLimits, TopicRequest};
use std::time::{Duration, Instant};

#[allow(dead_code)]
#[path = "../../src/topic/machine/mod.rs"]
mod machine;

const CUT: LengthLimits = LengthLimits { topic_octets_max: 9, message_octets_max: 7 };
/// What a begun request takes at most, beside the piece that came last.
const BEGUN_MAX: usize = 9 + 7 + 4 * 1024;

fn talk<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let now = Instant::now();
    let limits = ConversationLimits { cut: CUT, idle: None, request: Duration::from_secs(1), auth: None };
    let mut conversation = Conversation::new(limits, now);
    let mut said = Vec::new();
    for piece in pieces {
        conversation.handle_input(now, piece);
        while let Some(request) = conversation.poll_event() {
            match &request {
                TopicRequest::Post { topic, message } => {
                    let (topic, message) = (conversation.text(topic), conversation.text(message));
                    assert!(topic.first() == Some(&b'@') && topic.len() <= CUT.topic_octets_max);
                    assert!((1..=CUT.message_octets_max).contains(&message.len()));
                    let text = [b"post", topic, b"#", message].concat();
                    said.extend_from_slice(&text);
                }
                TopicRequest::Read { topic, index } => {
                    said.extend_from_slice(conversation.text(topic));
                    said.extend_from_slice(format!("{index:?}").as_bytes());
                }
                other => said.extend_from_slice(format!("{:?}", std::mem::discriminant(other)).as_bytes()),
            }
            conversation.reply(b"x");
            let waiting = conversation.poll_transmit().len();
            said.extend_from_slice(conversation.poll_transmit());
            conversation.handle_sent(waiting);
        }
        assert!(conversation.waiting() <= BEGUN_MAX + piece.len());
    }
    said
}

fuzz_target!(|octets: &[u8]| {
    let Some((&first, wire)) = octets.split_first() else { return };
    // Long requests, too: the fuzzer need not write them out.
    let wire: Vec<u8> = wire.iter().flat_map(|octet| vec![*octet; if *octet == b'~' { 3_000 } else { 1 }]).collect();
    let size = usize::from(first).max(1);
    assert_eq!(talk(wire.chunks(size)), talk(std::iter::once(&wire[..])));
});

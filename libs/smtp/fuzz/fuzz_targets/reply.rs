//! Any octets as replies: the same however they are cut, within their limits, and read as extensions without
//! a fault.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smtp::extensions::Extensions;
use smtp::reply::{Reply, ReplyError, ReplyReader};

fuzz_target!(|bytes: &[u8]| {
    let Some((&cut, rest)) = bytes.split_first() else {
        return;
    };
    let whole = read(rest, rest.len().max(1));
    assert_eq!(whole, read(rest, 1 + usize::from(cut)));
    for reply in whole.0 {
        assert!((200..560).contains(&reply.code));
        assert!(reply.text.contains(reply.queue_id()) && !reply.words().contains('\n'));
        let extensions = Extensions::parse(&reply.text);
        let mut again = Vec::new();
        extensions.push_reply(&mut again, "fuzz");
        let (replies, end) = read(&again, 1);
        assert_eq!((replies.len(), end), (1, None));
        assert_eq!(Extensions::parse(&replies[0].text), extensions);
    }
});

fn read(octets: &[u8], piece: usize) -> (Vec<Reply>, Option<ReplyError>) {
    let mut reader = ReplyReader::default();
    let mut replies = Vec::new();
    for piece in octets.chunks(piece) {
        reader.push(piece);
        loop {
            match reader.next_reply() {
                Ok(Some(reply)) => replies.push(reply),
                Ok(None) => break,
                Err(error) => return (replies, Some(error)),
            }
        }
    }
    (replies, None)
}

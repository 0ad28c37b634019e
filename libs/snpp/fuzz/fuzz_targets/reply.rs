//! Any octets as replies: the same however they are cut, within their limits, and read as receipts and states
//! without a fault and without a pass code.
#![no_main]

use libfuzzer_sys::fuzz_target;
use snpp::reply::{MalformedReply, SnppReply, SnppReplyReader};
use snpp::tag::{SendReceipt, StatusReply};

fuzz_target!(|bytes: &[u8]| {
    let Some((&cut, rest)) = bytes.split_first() else {
        return;
    };
    let whole = read(rest, rest.len().max(1));
    assert_eq!(whole, read(rest, 1 + usize::from(cut)));
    for reply in whole.0 {
        assert!((200..1000).contains(&reply.code) && !(600..700).contains(&reply.code));
        assert!(!reply.words().contains('\n'));
        if let StatusReply::Known(status) = StatusReply::read(&reply) {
            assert!(!(status.state.is_delivered() && reply.code / 100 != 8));
        }
        if let Some(receipt) = SendReceipt::read(&reply) {
            assert!(matches!(reply.code / 100, 2 | 8 | 9));
            assert!(receipt.tag.is_none() || receipt.state.is_some());
        }
    }
});

fn read(octets: &[u8], piece: usize) -> (Vec<SnppReply>, Option<MalformedReply>) {
    let mut reader = SnppReplyReader::default();
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

//! Any octets as the parts of messages: headers are read, parts joined, and what waits stays within its
//! limits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smpp::Tlvs;
use smpp::text::join::{Joined, Joiner};
use smpp::text::national::Shift;
use smpp::text::udh::UserData;
use std::time::{Duration, Instant};

/// Messages that may wait.
const SETS_MAX: usize = 8;

fuzz_target!(|bytes: &[u8]| {
    let mut now = Instant::now();
    let mut joiner: Joiner<Vec<u8>> = Joiner::new(Duration::from_secs(3), SETS_MAX, 1_000);
    let mut rest = bytes;
    // Pieces of a length, a phone and a message.
    while let Some((&[length, phone], after)) = rest.split_first_chunk::<2>() {
        let (message, after) = after.split_at(usize::from(length).min(after.len()));
        rest = after;
        now += Duration::from_millis(u64::from(phone));
        joiner.handle_timeout(now);
        let Ok(data) = UserData::new(message, phone & 1 == 0, Tlvs::parse(message).unwrap_or_default()) else {
            continue;
        };
        let _ = (data.udh.ports(), Shift::of(data.udh).decode(data.text));
        let Some(place) = data.concatenation else {
            continue;
        };
        if let Joined::Complete(parts) = joiner.insert(&[phone >> 4], b"1", place, data.text.to_vec(), now) {
            assert_eq!(parts.len(), usize::from(place.total));
        }
        assert!(joiner.waiting() <= SETS_MAX);
        while let Some(given_up) = joiner.poll_incomplete() {
            assert!(given_up.parts.iter().any(Option::is_none));
        }
    }
});

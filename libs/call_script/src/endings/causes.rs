//! Causes of ITU-T Q.850 in plain words, as a `Reason` header carries them (RFC 3326).

/// Normal end of a call.
pub const NORMAL_CLEARING: u16 = 16;
/// User busy.
pub const USER_BUSY: u16 = 17;
/// No user responding.
pub const NO_USER_RESPONDING: u16 = 18;
/// User alerting, no answer.
pub const NO_ANSWER: u16 = 19;
/// Subscriber absent.
pub const SUBSCRIBER_ABSENT: u16 = 20;
/// Call rejected.
pub const CALL_REJECTED: u16 = 21;

const WORDS: [(u16, &str); 32] = [
    (1, "the number is not assigned"),
    (16, "normal end of the call"),
    (17, "the line is busy"),
    (18, "the telephone does not respond"),
    (19, "it rang and nobody answered"),
    (20, "the telephone is switched off or out of reach"),
    (21, "the call was rejected"),
    (22, "the number has changed"),
    (26, "the call was cleared for another one that was answered"),
    (27, "the destination is out of order"),
    (28, "the number is incomplete or has a wrong form"),
    (29, "the network refused a facility"),
    (31, "normal, unspecified"),
    (34, "no line is free"),
    (38, "the network is out of order"),
    (41, "temporary failure of the network"),
    (42, "congestion in an exchange"),
    (44, "the requested line is not available"),
    (47, "a resource of the network is not available"),
    (50, "the facility is not subscribed to"),
    (55, "incoming calls are barred in this group of users"),
    (57, "the service is not authorised"),
    (58, "the service is not available at present"),
    (63, "the service is not available"),
    (65, "the service is not implemented"),
    (69, "the facility is not implemented"),
    (79, "the service is not implemented, unspecified"),
    (87, "the number is no member of this group of users"),
    (88, "the destination cannot take this kind of call"),
    (102, "a timer of the network expired"),
    (111, "protocol error"),
    (127, "interworking with another network, no cause known"),
];

/// The words of a cause; `None` for one that is not listed.
pub fn cause_words(cause: u16) -> Option<&'static str> {
    WORDS.iter().find(|(number, _)| *number == cause).map(|&(_, words)| words)
}

/// Status code by which RFC 3398 (section 7.2.4.1) writes a cause; `None`: it names none.
pub fn status_of_cause(cause: u16) -> Option<u16> {
    Some(match cause {
        1..=3 | 26 => 404,
        17 => 486,
        18 => 408,
        19 | 20 | 31 => 480,
        21 | 55 | 57 | 87 => 403,
        22 | 23 => 410,
        27 => 502,
        28 => 484,
        29 | 79 => 501,
        34 | 38 | 41 | 42 | 47 | 58 | 88 => 503,
        65 | 70 => 488,
        102 => 504,
        111 | 127 => 500,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_cause_has_words_of_its_own_in_order() {
        assert!(WORDS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (at, (number, words)) in WORDS.iter().enumerate() {
            assert_eq!(cause_words(*number), Some(*words));
            assert!(WORDS[..at].iter().all(|(_, other)| other != words), "{words}");
        }
        assert_eq!(cause_words(2), None);
    }

    #[test]
    fn causes_have_the_status_codes_of_rfc_3398() {
        for (cause, status) in [
            (1, Some(404)),
            (16, None),
            (17, Some(486)),
            (18, Some(408)),
            (19, Some(480)),
            (20, Some(480)),
            (21, Some(403)),
            (22, Some(410)),
            (27, Some(502)),
            (28, Some(484)),
            (34, Some(503)),
            (55, Some(403)),
            (57, Some(403)),
            (65, Some(488)),
            (88, Some(503)),
            (102, Some(504)),
            (111, Some(500)),
            (127, Some(500)),
        ] {
            assert_eq!(status_of_cause(cause), status, "{cause}");
        }
    }
}

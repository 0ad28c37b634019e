//! Values of Result-Code: RFC 6733, section 7.1, and RFC 8506, section 9.

/// DIAMETER_MULTI_ROUND_AUTH.
pub const MULTI_ROUND_AUTH: u32 = 1001;
/// DIAMETER_SUCCESS.
pub const SUCCESS: u32 = 2001;
/// DIAMETER_LIMITED_SUCCESS.
pub const LIMITED_SUCCESS: u32 = 2002;
/// DIAMETER_COMMAND_UNSUPPORTED.
pub const COMMAND_UNSUPPORTED: u32 = 3001;
/// DIAMETER_UNABLE_TO_DELIVER: no such Destination-Host, or nobody to ask.
pub const UNABLE_TO_DELIVER: u32 = 3002;
/// DIAMETER_REALM_NOT_SERVED.
pub const REALM_NOT_SERVED: u32 = 3003;
/// DIAMETER_TOO_BUSY.
pub const TOO_BUSY: u32 = 3004;
/// DIAMETER_LOOP_DETECTED: our identity is in Route-Record.
pub const LOOP_DETECTED: u32 = 3005;
/// DIAMETER_REDIRECT_INDICATION.
pub const REDIRECT_INDICATION: u32 = 3006;
/// DIAMETER_APPLICATION_UNSUPPORTED.
pub const APPLICATION_UNSUPPORTED: u32 = 3007;
/// DIAMETER_INVALID_HDR_BITS.
pub const INVALID_HDR_BITS: u32 = 3008;
/// DIAMETER_INVALID_AVP_BITS.
pub const INVALID_AVP_BITS: u32 = 3009;
/// DIAMETER_UNKNOWN_PEER.
pub const UNKNOWN_PEER: u32 = 3010;
/// DIAMETER_AUTHENTICATION_REJECTED.
pub const AUTHENTICATION_REJECTED: u32 = 4001;
/// DIAMETER_OUT_OF_SPACE.
pub const OUT_OF_SPACE: u32 = 4002;
/// DIAMETER_ELECTION_LOST.
pub const ELECTION_LOST: u32 = 4003;
/// DIAMETER_END_USER_SERVICE_DENIED (RFC 8506).
pub const END_USER_SERVICE_DENIED: u32 = 4010;
/// DIAMETER_CREDIT_CONTROL_NOT_APPLICABLE (RFC 8506).
pub const CREDIT_CONTROL_NOT_APPLICABLE: u32 = 4011;
/// DIAMETER_CREDIT_LIMIT_REACHED (RFC 8506).
pub const CREDIT_LIMIT_REACHED: u32 = 4012;
/// DIAMETER_AVP_UNSUPPORTED.
pub const AVP_UNSUPPORTED: u32 = 5001;
/// DIAMETER_UNKNOWN_SESSION_ID.
pub const UNKNOWN_SESSION_ID: u32 = 5002;
/// DIAMETER_AUTHORIZATION_REJECTED.
pub const AUTHORIZATION_REJECTED: u32 = 5003;
/// DIAMETER_INVALID_AVP_VALUE.
pub const INVALID_AVP_VALUE: u32 = 5004;
/// DIAMETER_MISSING_AVP.
pub const MISSING_AVP: u32 = 5005;
/// DIAMETER_RESOURCES_EXCEEDED.
pub const RESOURCES_EXCEEDED: u32 = 5006;
/// DIAMETER_CONTRADICTING_AVPS.
pub const CONTRADICTING_AVPS: u32 = 5007;
/// DIAMETER_AVP_NOT_ALLOWED.
pub const AVP_NOT_ALLOWED: u32 = 5008;
/// DIAMETER_AVP_OCCURS_TOO_MANY_TIMES.
pub const AVP_OCCURS_TOO_MANY_TIMES: u32 = 5009;
/// DIAMETER_NO_COMMON_APPLICATION.
pub const NO_COMMON_APPLICATION: u32 = 5010;
/// DIAMETER_UNSUPPORTED_VERSION.
pub const UNSUPPORTED_VERSION: u32 = 5011;
/// DIAMETER_UNABLE_TO_COMPLY.
pub const UNABLE_TO_COMPLY: u32 = 5012;
/// DIAMETER_INVALID_BIT_IN_HEADER.
pub const INVALID_BIT_IN_HEADER: u32 = 5013;
/// DIAMETER_INVALID_AVP_LENGTH.
pub const INVALID_AVP_LENGTH: u32 = 5014;
/// DIAMETER_INVALID_MESSAGE_LENGTH.
pub const INVALID_MESSAGE_LENGTH: u32 = 5015;
/// DIAMETER_INVALID_AVP_BIT_COMBO.
pub const INVALID_AVP_BIT_COMBO: u32 = 5016;
/// DIAMETER_NO_COMMON_SECURITY.
pub const NO_COMMON_SECURITY: u32 = 5017;
/// DIAMETER_USER_UNKNOWN (RFC 8506).
pub const USER_UNKNOWN: u32 = 5030;
/// DIAMETER_RATING_FAILED (RFC 8506).
pub const RATING_FAILED: u32 = 5031;

/// What the thousands of a Result-Code say (RFC 6733, section 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// 1xxx: more to come.
    Informational,
    /// 2xxx.
    Success,
    /// 3xxx: told hop by hop, with the `E` bit, in the grammar of answer-message.
    Protocol,
    /// 4xxx: may succeed later.
    Transient,
    /// 5xxx, and every class the RFC does not know: will fail again.
    Permanent,
}

/// The class of a Result-Code. An unknown class is treated as a permanent failure, as section 7.1 asks.
pub const fn class(result_code: u32) -> Class {
    match result_code / 1000 {
        1 => Class::Informational,
        2 => Class::Success,
        3 => Class::Protocol,
        4 => Class::Transient,
        _ => Class::Permanent,
    }
}

/// 2xxx.
pub const fn is_success(result_code: u32) -> bool {
    matches!(class(result_code), Class::Success)
}

/// 3xxx: the answer carries the `E` bit.
pub const fn is_protocol(result_code: u32) -> bool {
    matches!(class(result_code), Class::Protocol)
}

/// 4xxx.
pub const fn is_transient(result_code: u32) -> bool {
    matches!(class(result_code), Class::Transient)
}

/// 5xxx, or a class the RFC does not know.
pub const fn is_permanent(result_code: u32) -> bool {
    matches!(class(result_code), Class::Permanent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thousands_tell_the_class_and_the_unknown_is_permanent() {
        assert_eq!(class(MULTI_ROUND_AUTH), Class::Informational);
        assert!(is_success(SUCCESS) && is_protocol(TOO_BUSY) && is_transient(CREDIT_LIMIT_REACHED));
        assert!(
            is_permanent(RATING_FAILED) && is_permanent(0) && is_permanent(7001) && is_permanent(u32::MAX)
        );
        assert!(!is_success(3001) && !is_permanent(2001));
    }
}

//! Credit control (RFC 8506): requests read in place, answers written, the server's session machine.
//!
//! - [`request`]: a CCR, read in one walk together with its check.
//! - [`client`]: the client's state machines of section 7.
//! - [`answer`]: the CCA, and what a server asks for by itself (RAR, ASR).
//! - [`session`]: the server's state machine of section 7.
//! - [`write_request`]: the CCR, as a client writes it.
//! - [`money`]: amounts, and their conversion into integer minor units.

pub mod answer;
pub mod client;
mod money;
pub mod request;
pub mod session;
pub mod write_request;

pub use money::{Money, MoneyError, Rounding};
pub use request::CreditControlRequest;

use crate::avp::AvpName;
use crate::dictionary::avp;

/// An Enumerated of the standard, with its value on the wire.
macro_rules! enumerated {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $value:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant = $value,)*
        }

        impl $name {
            /// As on the wire.
            pub const fn value(self) -> i32 {
                self as i32
            }

            /// From the wire; `None` for a value that the standard does not have.
            pub const fn from_value(value: i32) -> Option<$name> {
                match value {
                    $($value => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

enumerated! {
    /// CC-Request-Type (section 8.3).
    RequestType {
        /// The first of a session.
        Initial = 1,
        /// One in between.
        Update = 2,
        /// The last of a session.
        Termination = 3,
        /// A service without a session.
        Event = 4,
    }
}

enumerated! {
    /// Requested-Action (section 8.41).
    RequestedAction {
        /// Take the money.
        DirectDebiting = 0,
        /// Give it back.
        RefundAccount = 1,
        /// Is there enough?
        CheckBalance = 2,
        /// What would it cost?
        PriceEnquiry = 3,
    }
}

enumerated! {
    /// Subscription-Id-Type (section 8.47).
    SubscriptionKind {
        /// A telephone number.
        E164 = 0,
        /// The number of a SIM card.
        Imsi = 1,
        /// A SIP URI.
        SipUri = 2,
        /// A network access identifier.
        Nai = 3,
        /// One of the server's own.
        Private = 4,
    }
}

enumerated! {
    /// Tariff-Change-Usage (section 8.27).
    TariffChangeUsage {
        /// Used before the change.
        Before = 0,
        /// Used after it.
        After = 1,
        /// Used before or after.
        Indeterminate = 2,
    }
}

enumerated! {
    /// CC-Unit-Type (section 8.32).
    UnitType {
        /// CC-Time.
        Time = 0,
        /// CC-Money.
        Money = 1,
        /// CC-Total-Octets.
        TotalOctets = 2,
        /// CC-Input-Octets.
        InputOctets = 3,
        /// CC-Output-Octets.
        OutputOctets = 4,
        /// CC-Service-Specific-Units.
        Specific = 5,
    }
}

enumerated! {
    /// Credit-Control-Failure-Handling (section 8.14).
    FailureHandling {
        /// The service ends when there is no answer.
        Terminate = 0,
        /// It goes on.
        Continue = 1,
        /// Another server is asked; when it does not answer either, the service ends.
        RetryAndTerminate = 2,
    }
}

enumerated! {
    /// Direct-Debiting-Failure-Handling (section 8.15).
    DebitingFailureHandling {
        /// Not sent again, unless it was perhaps received: then it is kept and repeated with `T`.
        TerminateOrBuffer = 0,
        /// The service is given.
        Continue = 1,
    }
}

enumerated! {
    /// CC-Session-Failover (section 8.4).
    SessionFailover {
        /// The session stays with its server.
        NotSupported = 0,
        /// It may go to another.
        Supported = 1,
    }
}

enumerated! {
    /// Check-Balance-Result (section 8.6).
    CheckBalanceResult {
        /// There is enough.
        EnoughCredit = 0,
        /// There is not.
        NoCredit = 1,
    }
}

/// An amount of service; what is `None` is not spoken of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// CC-Time, in seconds.
    pub time_s: Option<u32>,
    /// CC-Money.
    pub money: Option<Money>,
    /// CC-Total-Octets.
    pub total_octets: Option<u64>,
    /// CC-Input-Octets.
    pub input_octets: Option<u64>,
    /// CC-Output-Octets.
    pub output_octets: Option<u64>,
    /// CC-Service-Specific-Units, such as messages.
    pub specific: Option<u64>,
}

impl Units {
    /// Nothing is spoken of: in a request, the server decides.
    pub const fn is_empty(&self) -> bool {
        self.time_s.is_none()
            && self.money.is_none()
            && self.total_octets.is_none()
            && self.input_octets.is_none()
            && self.output_octets.is_none()
            && self.specific.is_none()
    }

    /// So many service-specific units.
    pub const fn of_specific(units: u64) -> Units {
        Units {
            time_s: None,
            money: None,
            total_octets: None,
            input_octets: None,
            output_octets: None,
            specific: Some(units),
        }
    }
}

/// The AVP that a kind of subscription has within Subscription-Id-Extension (section 8.58).
const EXTENSIONS: [(AvpName, SubscriptionKind); 5] = [
    (avp::SUBSCRIPTION_ID_E164, SubscriptionKind::E164),
    (avp::SUBSCRIPTION_ID_IMSI, SubscriptionKind::Imsi),
    (avp::SUBSCRIPTION_ID_SIP_URI, SubscriptionKind::SipUri),
    (avp::SUBSCRIPTION_ID_NAI, SubscriptionKind::Nai),
    (avp::SUBSCRIPTION_ID_PRIVATE, SubscriptionKind::Private),
];

/// Who is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subscription<'a> {
    /// What kind of name it is.
    pub kind: SubscriptionKind,
    /// The name.
    pub data: &'a str,
}

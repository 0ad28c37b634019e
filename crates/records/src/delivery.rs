use crate::{AlertNo, EndpointNo, Timestamp};
use serde::{Deserialize, Serialize};

/// The state of one endpoint of one alert, as stored and reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Key.
    pub alert: AlertNo,
    /// Key.
    pub endpoint: EndpointNo,
    /// How far it got.
    pub state: DeliveryState,
    /// Attempts that were begun, as people count them.
    pub attempts: u8,
    /// The number of the last attempt that was begun or given back; numbers are never reused.
    pub last_attempt: u8,
    /// Parts of the last attempt.
    pub parts: u8,
    /// Which of them the carrier took, in the form of `parts_delivered`.
    pub parts_accepted: u16,
    /// Which of them the network delivered: bit 0 is part 1; a part above 16 counts as the 16th.
    pub parts_delivered: u16,
    /// The route of the last attempt.
    pub route: Option<String>,
    /// Why it is where it is.
    pub reason: Reason,
    /// The carrier's or our words, where there are any beyond the reason's.
    pub detail: String,
    /// First written.
    pub submitted: Option<Timestamp>,
    /// Taken by the carrier.
    pub accepted: Option<Timestamp>,
    /// Said to have arrived.
    pub delivered: Option<Timestamp>,
    /// When what holds it ends, if that is a moment: a retry, quiet hours.
    pub due: Option<Timestamp>,
    /// What the person said.
    pub answer: Option<Answer>,
}

/// How far a delivery got. The names are those of the report's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum DeliveryState {
    /// Will be sent.
    Planned = 0,
    /// Waits for something: quiet hours, an earlier device, a retry's time, the sender.
    Held = 1,
    /// Written, or about to be.
    Submitted = 2,
    /// The fate of its last attempt is not known.
    Unknown = 3,
    /// The carrier has it.
    Accepted = 4,
    /// The device has it.
    Delivered = 5,
    /// The person answered.
    Answered = 6,
    /// It did not get through, or was not sent in the end.
    Failed = 7,
    /// It was left out, for the reason given.
    Excluded = 8,
}

impl DeliveryState {
    /// All, in the order of a report.
    pub const ALL: [DeliveryState; 9] = [
        DeliveryState::Planned,
        DeliveryState::Held,
        DeliveryState::Submitted,
        DeliveryState::Accepted,
        DeliveryState::Delivered,
        DeliveryState::Answered,
        DeliveryState::Failed,
        DeliveryState::Unknown,
        DeliveryState::Excluded,
    ];
    /// The state's name.
    pub fn name(self) -> &'static str {
        match self {
            DeliveryState::Planned => "planned",
            DeliveryState::Held => "held",
            DeliveryState::Submitted => "submitted",
            DeliveryState::Unknown => "unknown",
            DeliveryState::Accepted => "accepted",
            DeliveryState::Delivered => "delivered",
            DeliveryState::Answered => "answered",
            DeliveryState::Failed => "failed",
            DeliveryState::Excluded => "excluded",
        }
    }
}

impl std::str::FromStr for DeliveryState {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        DeliveryState::ALL.into_iter().find(|state| state.name() == text).ok_or_else(|| {
            format!(
                "state {text:?} is unknown; states are {}",
                DeliveryState::ALL.map(DeliveryState::name).join(", ")
            )
        })
    }
}

/// Why a delivery is where it is; `words` is what people read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Reason {
    /// Nothing to explain.
    None = 0,
    /// Quiet hours of the recipient.
    QuietHours,
    /// The alert's own start.
    NotBefore,
    /// An earlier device of the same person is tried first.
    EarlierDevice,
    /// A failed try will be repeated.
    RetryDue,
    /// The carrier said no.
    Refused,
    /// The carrier took it and the network lost it.
    NotDelivered,
    /// The peer went silent after we wrote.
    PeerSilent,
    /// The sender cancelled the alert before it was sent.
    Cancelled,
    /// The alert's time ran out before it was sent.
    Expired,
    /// No route of the right mode takes this address.
    NoRoute,
    /// Tried as often as the rules allow.
    AttemptsUsedUp,
    /// The person opted out.
    OptedOut,
    /// The device is switched off.
    DeviceDisabled,
    /// The recipient has no device on the channels of this alert.
    NoDevice,
    /// The audience's own exclusion list.
    ExcludedBySender,
    /// The address cannot be one.
    InvalidAddress,
    /// An earlier device was enough.
    NotNeeded,
    /// An exercise, and this person does not take part.
    NotParticipant,
    /// The audience names somebody nobody knows.
    UnknownRecipient,
    /// The text could not be rendered for this person.
    NotRendered,
    /// Sent again after an unknown outcome.
    Resent,
    /// So many people had answered that the alert was over before it was sent.
    EnoughAnswers,
}

impl Reason {
    /// What people read.
    pub fn words(self) -> &'static str {
        match self {
            Reason::None => "",
            Reason::QuietHours => "waits for the end of the recipient's quiet hours",
            Reason::NotBefore => "waits for the alert's start",
            Reason::EarlierDevice => "waits for an earlier device of the same person",
            Reason::RetryDue => "failed for now, will be tried again",
            Reason::Refused => "refused by the carrier",
            Reason::NotDelivered => "taken by the carrier, not delivered by the network",
            Reason::PeerSilent => "written, but the carrier went silent: nobody knows",
            Reason::Cancelled => "not sent: the alert was cancelled",
            Reason::Expired => "not sent: the alert's time ran out",
            Reason::NoRoute => "not sent: no route takes this address",
            Reason::AttemptsUsedUp => "tried as often as the rules allow",
            Reason::OptedOut => "left out: opted out",
            Reason::DeviceDisabled => "left out: the device is switched off",
            Reason::NoDevice => "left out: no device on the channels of this alert",
            Reason::ExcludedBySender => "left out: excluded by the sender",
            Reason::InvalidAddress => "left out: the address cannot be one",
            Reason::NotNeeded => "not sent: an earlier device was enough",
            Reason::NotParticipant => "left out: an exercise, and the person does not take part",
            Reason::UnknownRecipient => "left out: nobody is known by this name",
            Reason::NotRendered => "not sent: the text could not be made for this person",
            Reason::Resent => "sent again after an unknown outcome",
            Reason::EnoughAnswers => "not sent: enough people had answered",
        }
    }
    /// The reason with this number, as stored.
    pub fn from_number(number: u8) -> Option<Reason> {
        ALL_REASONS.get(usize::from(number)).copied()
    }
}

const ALL_REASONS: [Reason; 23] = [
    Reason::None,
    Reason::QuietHours,
    Reason::NotBefore,
    Reason::EarlierDevice,
    Reason::RetryDue,
    Reason::Refused,
    Reason::NotDelivered,
    Reason::PeerSilent,
    Reason::Cancelled,
    Reason::Expired,
    Reason::NoRoute,
    Reason::AttemptsUsedUp,
    Reason::OptedOut,
    Reason::DeviceDisabled,
    Reason::NoDevice,
    Reason::ExcludedBySender,
    Reason::InvalidAddress,
    Reason::NotNeeded,
    Reason::NotParticipant,
    Reason::UnknownRecipient,
    Reason::NotRendered,
    Reason::Resent,
    Reason::EnoughAnswers,
];

/// What a human said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The choice's key, if it was one.
    pub key: Option<String>,
    /// What they said, or the choice's label.
    pub text: String,
    /// By which way: `sms`, `mail`, `link`, `api`.
    pub via: String,
    /// When.
    pub at: Timestamp,
}

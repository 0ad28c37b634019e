use crate::{AlertId, AlertNo, Approval, ChannelNumber, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Beginning of a note that stays with an alert to its end, whatever else is to be noted.
pub const BUS_LOST: &str = "The bus was lost";
/// Beginning of the note of an alert that ended since enough people had made a choice.
pub const ENOUGH_ANSWERS: &str = "enough people answered";

/// What one sender wants known, as accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    /// Inside.
    pub no: AlertNo,
    /// Outside.
    pub id: AlertId,
    /// Whose it is.
    pub account: String,
    /// The id of the token that submitted it.
    pub token: String,
    /// When it was accepted.
    pub created: Timestamp,
    /// Where it is on its way.
    pub state: AlertState,
    /// Raised by every change of state or text; gateways compare it.
    pub version: u32,
    /// What was asked for, defaults filled in.
    pub request: AlertRequest,
    /// By which door it came.
    pub origin: Origin,
    /// Why it is in its state, where there is something to say.
    pub note: String,
    /// Who wrote it, and the approval that it needs; nothing where it needs none and no user wrote it.
    #[serde(default)]
    pub approval: Option<Box<Approval>>,
}

impl Alert {
    /// Nothing that it needs before it is sent is missing.
    pub fn may_send(&self) -> bool {
        self.approval.as_ref().is_none_or(|approval| approval.may_send())
    }

    /// It is a message stream: nobody sent it.
    pub fn is_stream(&self) -> bool {
        matches!(self.origin, Origin::Standing { .. })
    }

    /// Notes why it is in its state, or that there is nothing to say. What is to be known to the end stays.
    pub fn set_note(&mut self, note: &str) {
        self.note = noted(&self.note, note);
    }
}

fn noted(before: &str, note: &str) -> String {
    match before.find(BUS_LOST).map(|at| &before[at..]) {
        Some(lasting) if note.is_empty() => lasting.to_owned(),
        Some(lasting) => format!("{note}. {lasting}"),
        None => note.to_owned(),
    }
}

/// The way an alert came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// `POST /api/v1/alerts`.
    Api,
    /// CAP, with the original octets as text.
    Cap(String),
    /// Nobody sent it: messages of platforms stand in it, those from this index of the topic of intake on,
    /// until the next one of the same account, mode and lane.
    Standing {
        /// The first index.
        intake_from: u64,
    },
    /// A reply to what a person wrote from a device: to that one address, and in no list.
    Reply,
    /// A user who signed in.
    Console,
    /// Another system, by a hook.
    Hook,
    /// A person, by a word from their own device.
    Device,
    /// A schedule, at its time.
    Schedule,
    /// The server itself, to tell approvers and administrators; in no list.
    Notice,
    /// A test of a route or of a device; in no list, and answered by nobody.
    Test {
        /// By this route alone; nothing: as an alert would go.
        route: Option<String>,
    },
}

impl Origin {
    /// Its name in the API.
    pub fn name(&self) -> &'static str {
        match self {
            Origin::Api => "api",
            Origin::Cap(_) => "cap",
            Origin::Standing { .. } => "standing",
            Origin::Reply => "reply",
            Origin::Console => "console",
            Origin::Hook => "hook",
            Origin::Device => "device",
            Origin::Schedule => "schedule",
            Origin::Notice => "notice",
            Origin::Test { .. } => "test",
        }
    }

    /// Nobody submits it: the server made it, of its own accord or for a platform. Lists leave it out.
    pub fn is_internal(&self) -> bool {
        matches!(self, Origin::Standing { .. } | Origin::Reply | Origin::Notice | Origin::Test { .. })
    }
}

/// States of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertState {
    /// On disk.
    Accepted,
    /// The audience is being expanded.
    Solving,
    /// A second person has to say yes.
    AwaitingApproval,
    /// On its way.
    Running,
    /// Stopped by the sender, can go on.
    Paused,
    /// Every endpoint is in a state that will not change by our doing.
    Done,
    /// Stopped by the sender for good.
    Cancelled,
    /// Its time ran out.
    Expired,
}

impl AlertState {
    /// All of them.
    pub const ALL: [AlertState; 8] = [
        AlertState::Accepted,
        AlertState::Solving,
        AlertState::AwaitingApproval,
        AlertState::Running,
        AlertState::Paused,
        AlertState::Done,
        AlertState::Cancelled,
        AlertState::Expired,
    ];
    /// The state's name in the API.
    pub fn name(self) -> &'static str {
        match self {
            AlertState::Accepted => "accepted",
            AlertState::Solving => "solving",
            AlertState::AwaitingApproval => "awaiting_approval",
            AlertState::Running => "running",
            AlertState::Paused => "paused",
            AlertState::Done => "done",
            AlertState::Cancelled => "cancelled",
            AlertState::Expired => "expired",
        }
    }
    /// Nothing more will be sent.
    pub fn is_final(self) -> bool {
        matches!(self, AlertState::Done | AlertState::Cancelled | AlertState::Expired)
    }
}

/// An alert as submitted (CONTRACT.md gives the JSON). Doors parse and validate it; what is absent
/// there is filled in with its default here, except where the default depends on something else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlertRequest {
    /// Subject line.
    pub headline: Option<String>,
    /// What is said, unless `texts` has something better for the channel and language.
    pub text: Option<String>,
    /// Text per channel and per language.
    pub texts: Texts,
    /// Whom it names.
    pub audience: Vec<AudienceEntry>,
    /// Whom it leaves out: entries of the same form, without constraints.
    pub exclude: Vec<String>,
    /// Channels it may use; empty: all of the recipient's.
    pub channels: Vec<ChannelNumber>,
    /// Which of a recipient's devices, in what order.
    pub strategy: Strategy,
    /// Ask for an answer.
    pub require_answer: bool,
    /// What can be answered; empty with `require_answer`: anything is an answer.
    pub choices: Vec<Choice>,
    /// How far a delivery must get to count.
    pub terminal: Terminal,
    /// Nothing is sent before.
    pub not_before: Option<Timestamp>,
    /// Nothing is tried after.
    pub expires: Timestamp,
    /// Which lane.
    pub priority: Priority,
    /// What to do with an attempt whose fate nobody knows.
    pub on_unknown: OnUnknown,
    /// Who wants to be told.
    pub callback: Option<CallbackRequest>,
    /// Shown as sender, where the route allows it.
    pub sender: Option<String>,
    /// Live or drill.
    pub mode: Mode,
    /// Only recipients who take part in exercises.
    #[serde(default)]
    pub participants_only: bool,
    /// What some answers mean.
    #[serde(default)]
    pub answer_rules: AnswerRules,
    /// The earlier alert that it goes on with: a follow-up, a correction, an all-clear.
    #[serde(default)]
    pub follows: Option<AlertId>,
    /// Shown at once and not kept (SMS class 0).
    pub flash: bool,
    /// Links to pictures and documents.
    pub resources: Vec<String>,
    /// Files that go with it where a channel carries files.
    #[serde(default)]
    pub attachments: Vec<Attachment>,
    /// CAP areas and geocodes: people whose position or attribute fits are in the audience entry `area`. JSON
    /// of doors and engine.
    pub area: Option<AreaRequest>,
}

/// What some answers to an alert mean.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRules {
    /// Keys of the choices by which people call for help.
    #[serde(default)]
    pub needs_help: Vec<String>,
    /// When enough have answered.
    #[serde(default)]
    pub stop_when: Option<StopWhen>,
}

/// Once so many people made a choice, an alert is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopWhen {
    /// The key of the choice.
    pub choice: String,
    /// So many, at least 1.
    pub people: u32,
}

/// A file that an alert carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its name, without any path.
    pub name: String,
    /// Such as `audio/wav`.
    pub media_type: String,
    /// Octets.
    pub size: u64,
    /// BLAKE3 of its content, in hexadecimal digits: where it is kept.
    pub blake3: String,
}

/// Where the audience is, when an entry of it is `area`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct AreaRequest {
    /// Rings of (lat, lon), closed.
    pub polygons: Vec<Vec<(f64, f64)>>,
    /// (lat, lon, radius in km).
    pub circles: Vec<(f64, f64, f64)>,
    /// Values of the recipient attribute named by `geocode_attribute` that are inside.
    pub geocodes: Vec<String>,
    /// The attribute that holds a recipient's geocodes (several with `;`).
    pub geocode_attribute: Option<String>,
    /// In words.
    pub description: String,
    /// The named areas of the audience, as they were when the alert was accepted; the entry `area` does not
    /// mean them.
    #[serde(default)]
    pub named: Vec<NamedArea>,
}

impl AreaRequest {
    /// It has nothing by which an entry `area` could find anybody.
    pub fn is_empty(&self) -> bool {
        self.polygons.is_empty() && self.circles.is_empty() && self.geocodes.is_empty()
    }

    /// The named area with this id.
    pub fn named(&self, id: &str) -> Option<&NamedArea> {
        self.named.iter().find(|area| area.id == id)
    }
}

/// An area that is kept under a name: whoever is in it is in the audience entry `area:ID`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct NamedArea {
    /// As an audience names it.
    pub id: String,
    /// Rings of (lat, lon), closed.
    pub polygons: Vec<Vec<(f64, f64)>>,
    /// (lat, lon, radius in km).
    pub circles: Vec<(f64, f64, f64)>,
}

/// One entry of the audience with the constraints that hold for it alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AudienceEntry {
    /// `all`, `group:G`, `group:G/channel`, `recipient:R`, `CHANNEL:ADDRESS`, `area`, `area:ID`.
    pub to: String,
    /// Its own strategy.
    pub strategy: Option<Strategy>,
    /// Its own end.
    pub expires: Option<Timestamp>,
}

/// Text per channel, and per language and channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Texts {
    /// For who has no language, or one without a text.
    pub default: ChannelTexts,
    /// By BCP 47 tag, lower case.
    pub languages: BTreeMap<String, ChannelTexts>,
}

/// The texts of one language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ChannelTexts {
    /// For channels without a text of their own.
    pub text: Option<String>,
    /// Subject line for those that have one.
    pub headline: Option<String>,
    /// Texts of channels' own.
    pub own: BTreeMap<ChannelNumber, OwnText>,
}

impl ChannelTexts {
    /// A channel's own text, if it has one.
    pub fn own(&self, channel: ChannelNumber) -> Option<&OwnText> {
        self.own.get(&channel)
    }

    /// The first words there are: for lists.
    pub fn first(&self) -> Option<&str> {
        let own = || self.own.values().find_map(|own| own.subject.as_deref().or(own.text.as_deref()));
        self.headline.as_deref().or(self.text.as_deref()).or_else(own)
    }
}

/// A channel's own text, in the parts that the channel has. An absent part is made from the general text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct OwnText {
    /// Subject.
    pub subject: Option<String>,
    /// Plain text.
    pub text: Option<String>,
    /// HTML.
    pub html: Option<String>,
    /// As it is read out.
    pub spoken: Option<String>,
}

impl OwnText {
    /// A text alone.
    pub fn of_text(text: impl Into<String>) -> OwnText {
        OwnText { text: Some(text.into()), ..OwnText::default() }
    }
}

/// Which of a recipient's devices are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strategy {
    /// All at once.
    All,
    /// The first; the next when it fails or is not delivered in time.
    FirstReachable,
    /// The first; the next after so many seconds without an answer.
    EscalateAfter {
        /// Seconds, at least 1.
        seconds: u32,
    },
}

/// Something that can be answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What is typed: `1`.
    pub key: String,
    /// What it means.
    pub label: String,
}

/// How far a delivery must get to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Terminal {
    /// The carrier took it.
    Accepted,
    /// The network says the device has it.
    Delivered,
    /// The person answered.
    Answered,
}

/// The alert's lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Life safety: first of all, through quiet hours.
    Emergency,
    /// Before routine.
    Urgent,
    /// The rest.
    Routine,
}

/// What to do when nobody knows what became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnUnknown {
    /// Try again: a second copy is better than none.
    Resend,
    /// Leave it: a second copy is worse.
    Hold,
}

/// Real or practice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// By live routes.
    Live,
    /// By drill routes only, marked as an exercise.
    Drill,
}

/// Whom to tell, when, in what form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallbackRequest {
    /// http or https.
    pub url: String,
    /// Seconds between progress reports.
    pub every_s: u32,
    /// XML instead of JSON.
    pub xml: bool,
    /// What they want to hear of; empty: everything.
    pub events: Vec<CallbackEvent>,
}

/// What an observer can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallbackEvent {
    /// The report so far.
    Progress,
    /// Somebody answered.
    Answer,
    /// It is over.
    Done,
}

#[cfg(test)]
mod tests {
    use super::{BUS_LOST, noted};

    #[test]
    fn a_note_of_a_lost_bus_stays_whatever_is_noted_behind_it() {
        let lost = format!("{BUS_LOST} at noon");
        for (before, note, after) in [
            ("", "its time ran out", "its time ran out".to_owned()),
            ("its time ran out", "", String::new()),
            (&lost, "", lost.clone()),
            (&lost, "cancelled", format!("cancelled. {lost}")),
            (&format!("cancelled. {lost}"), "its time ran out", format!("its time ran out. {lost}")),
        ] {
            assert_eq!(noted(before, note), after, "{before:?} {note:?}");
        }
    }
}

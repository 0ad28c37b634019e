//! The way of an alert: solve (who), plan (which devices, when, in what order and pace), dispatch (onto the
//! bus), record (what became of it), report.
//!
//! One task owns all that changes (the hot state); everyone else sends it a message through [`Engine`].
//! What decides is pure: lists and `now` in, lists out.
//!
//! Invariants worth naming:
//! - SQL is the snapshot: each fold writes what changed together with how far the topic of outcomes is
//!   folded, so a start is rows, plus the outcomes after that index, plus the segments nobody acknowledged.
//! - A delivery changes in one place, `LiveAlert::edit`, and counts, dispatch and the list of what SQL lacks
//!   move with it.
//! - An attempt's number is never used twice for one delivery.

mod alert_evidence;
mod api;
mod approval;
mod audience;
mod directory;
mod dispatch;
mod forecast;
mod inbound_text;
mod messages;
mod nearest;
mod plan;
mod previews;
mod privacy;
mod record;
pub mod report;
mod run;
mod services;
mod shared;
mod solve;
#[cfg(test)]
mod testing;

pub use alert_evidence::{AlertEvidence, EvidenceExport};
pub use api::*;
pub use approval::{
    ApprovalDecision, ApprovalPolicy, ApprovalRefusal, ApprovalRule, ApprovalSubject, ApprovalVerb,
    OriginKind, REMIND_S,
};
pub use audience::{
    AudienceCount, AudienceDevice, AudienceError, AudienceFilter, AudienceOverlap, AudiencePage,
    AudiencePerson, Audiences, COUNTS_AT_ONCE, EntryCount, WhyNamed,
};
pub use directory::{DirectoryCache, DirectoryCounts};
pub use dispatch::{TextCache, without_values};
pub use forecast::*;
pub use inbound_text::{Service, ServiceWord, StopReading, is_stop_word, read_service, read_stop};
pub use messages::{
    INTAKE_WAITING_MAX, MessageCourse, MessageSearch, MessageView, Messages, MessagesFound, Steered,
    Unroutable,
};
pub use placeholders::literal as literal_text;
pub use plan::{PlanVerdict, RaisedLimit, ReachTarget, Replayed, ReplayedRoute, RouteFact, Without};
pub use previews::{AlertPreview, AlertPreviews, PREVIEWS_MAX, PreviewRequest, PreviewedText};
pub use privacy::{Erased, ForgetElsewhere, ForgottenPerson, PersonExport, Privacy};
pub use run::{
    AlertChange, AlertFeed, AlertPeople, AlertStory, AnswerFilter, Callbacks, ConfirmationTimes, CurvePoint,
    Engine, FeedItems, Forecasts, GATEWAYS, Health, MarkKind, MatchedEntry, PeopleFilter, PeoplePage,
    PersonPlace, Question, RECORDED_BY, ReplayRequest, RouteError, RoutePoint, RouteStanding, RouteStatus,
    RouteSubstitute, RouteTest, Routes, Stops, StoryMark, TEST_LASTS_S, WhyConstraints, WhyPerson,
};
pub use services::{
    CODE_MINUTES, ChatBot, ChatLink, CodeResult, GroupStanding, JoinRequest, JoinResult, Joining,
    LoginDevice, Logins, OwnPage, PageAct, PageGroup, PageView, PreparedAlert, RefusedDevice, ServiceRules,
    WaitingDevice,
};
pub use shared::{Leader, Node};

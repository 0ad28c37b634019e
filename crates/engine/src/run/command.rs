//! Commands of the engine's actor.

use super::alert_feeds::AlertFeed;
use super::forecasting::ForecastingCommand;
use super::message_query::MessageLook;
use super::people::PeopleQuestion;
use super::route_activity::RoutePoint;
use super::route_states::RouteStatus;
use crate::api::{EngineError, Event, Keywords, MessageClientSettings, Report, Steer};
use crate::approval::{ApprovalDecision, ApprovalPolicy};
use crate::messages::{MessageFilter, Steered};
use crate::plan::Classifier;
use crate::record::LiveAlert;
use records::{
    Alert, AlertNo, AlertRequest, Answer, CallbackRequest, ChannelNumber, Choice, Delivery, DeliveryState,
    EndpointNo, MessageId, Route, ServiceCall, Timestamp,
};
use std::sync::Arc;
use tokio::sync::{broadcast, oneshot};

/// Where the answer goes.
pub type Reply<T> = oneshot::Sender<Result<T, EngineError>>;

/// A message to the actor.
pub enum ActorCommand {
    /// A door stored an alert.
    Accepted { alert: Box<Alert>, solved: Option<Reply<Solved>> },
    /// A solve is through, that an actor of this epoch began, by these routes.
    Solved {
        no: AlertNo,
        epoch: u64,
        classifier: Arc<Classifier>,
        result: Result<(Box<LiveAlert>, u64), EngineError>,
    },
    /// Look at an alert. The actor answers for those in memory.
    Look { no: AlertNo, reply: oneshot::Sender<Option<Look>> },
    /// Some of its deliveries.
    Deliveries { no: AlertNo, page: DeliveryPage, reply: oneshot::Sender<Option<Vec<Delivery>>> },
    /// A question about the people of an alert, or a change of what is known of them.
    People { no: AlertNo, question: PeopleQuestion },
    /// Take a person's words out of these deliveries, and them out of what it asked for. The reply is false
    /// if that has to wait until the alert has left memory.
    Forget {
        no: AlertNo,
        endpoints: Vec<EndpointNo>,
        request: Option<Box<AlertRequest>>,
        reply: oneshot::Sender<bool>,
    },
    /// Change its course.
    Steer { no: AlertNo, verb: Steer, reply: Reply<Alert> },
    /// Decide about one that waits for approval.
    Decide { no: AlertNo, decision: Box<ApprovalDecision>, reply: Reply<Alert> },
    /// Follow it.
    Watch { no: AlertNo, reply: oneshot::Sender<Option<broadcast::Receiver<Event>>> },
    /// Follow all alerts and routes of an account.
    Follow { account: String, reply: oneshot::Sender<AlertFeed> },
    /// An observer came.
    Observe { no: AlertNo, observer: u64, request: CallbackRequest },
    /// An observer went.
    Unobserve { no: AlertNo, observer: u64 },
    /// Routes changed.
    Routes { routes: Vec<Route>, reply: Reply<()> },
    /// Clients or keywords changed.
    Clients { clients: Vec<MessageClientSettings>, keywords: Keywords, reply: oneshot::Sender<()> },
    /// Rules of approval changed.
    ApprovalRules { policy: ApprovalPolicy, reply: oneshot::Sender<()> },
    /// These numbers were opted out since then by an operator or a file, of one sender or all; SQL has it.
    OptOut { account: String, numbers: Vec<String>, sender: Option<String>, at: Timestamp },
    /// These numbers were opted in again; SQL has it. The process that leads alone is told.
    OptIn { account: String, numbers: Vec<String> },
    /// A service call of nobody who is known: it is taken like any other message.
    Declined(Box<ServiceCall>),
    /// Headlines of running alerts that wait for an answer from one of these addresses.
    Asked { account: String, addresses: Vec<(ChannelNumber, String)>, reply: oneshot::Sender<Vec<String>> },
    /// Somebody is there now at an address of a channel on which people come and go.
    Present { channel: ChannelNumber, address: String },
    /// How does a message stand? The actor answers for those in memory.
    Message { account: String, id: MessageId, reply: Reply<Option<MessageLook>> },
    /// Cancel a message.
    CancelMessage { account: String, id: MessageId, reply: Reply<Steered> },
    /// Cancel all such messages.
    CancelMessages { account: String, wanted: MessageFilter, reply: Reply<u64> },
    /// Replace a message: a record of intake.
    ReplaceMessage { account: String, id: MessageId, change: Box<records::Intake>, reply: Reply<Steered> },
    /// What forecasts ask of it.
    Forecasting(ForecastingCommand),
    /// How do routes stand, and what did they do?
    OfRoutes(RouteQuestion),
    /// How things stand.
    Health { reply: oneshot::Sender<Health> },
    /// Fold and end.
    Stop { reply: oneshot::Sender<()> },
}

/// What is asked of routes.
pub enum RouteQuestion {
    /// How does each stand?
    States { reply: oneshot::Sender<Vec<RouteStatus>> },
    /// What did one do lately?
    History { name: String, reply: oneshot::Sender<Option<Vec<RoutePoint>>> },
}

/// A page of deliveries: of one state or any, from an endpoint on, so many.
#[derive(Debug, Clone, Copy)]
pub struct DeliveryPage {
    pub state: Option<DeliveryState>,
    pub from: EndpointNo,
    pub limit: usize,
}

/// An alert that was solved.
#[derive(Debug, Clone)]
pub struct Solved {
    /// As it is now.
    pub alert: Alert,
    /// Endpoints that are not excluded.
    pub endpoints: u32,
    /// Left out, by reason.
    pub excluded: Vec<(String, u64)>,
}

/// An alert in memory, as seen from outside.
pub struct Look {
    /// With its state of now.
    pub alert: Alert,
    /// How far it is.
    pub report: Arc<Report>,
}

/// What an answer page shows.
#[derive(Debug, Clone)]
pub struct Question {
    /// Subject.
    pub headline: String,
    /// The text, in the person's language.
    pub text: String,
    /// What can be answered; empty: free text.
    pub choices: Vec<Choice>,
    /// Their answer before.
    pub answered: Option<Answer>,
    /// An answer is still taken.
    pub open: bool,
    /// In a drill: the word for it in the person's language.
    pub drill: Option<&'static str>,
    /// Of the text.
    pub language: Option<String>,
}

/// How the engine stands.
#[derive(Debug, Clone, Default)]
pub struct Health {
    /// Each configured route with the health its gateway published last.
    pub routes: Vec<(Route, Option<records::RouteHealth>)>,
    /// Records of outcomes that are not folded into memory yet.
    pub backlog: u64,
    /// Records of intake that are in no message stream yet.
    pub intake: u64,
    /// Alerts in memory.
    pub alerts: usize,
    /// Alerts that are not final.
    pub running: usize,
    /// Deliveries in memory.
    pub deliveries: usize,
    /// Carrier ids known.
    pub carrier_ids: usize,
    /// Receipts that belonged to nothing.
    pub unmatched_receipts: u64,
}

//! Requests to the leading process and its responses, as they stand on the bus.

use crate::api::{EngineError, Problem, Steer};
use crate::messages::{MessageFilter, Steered};
use crate::run::{MessageLook, Solved};
use records::{
    Alert, AlertNo, AlertState, CallbackRequest, ChannelNumber, Delivery, Intake, MessageId, RosterEntry,
    Timestamp,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// First octet of each: who does not know it does not read on.
const FORMAT: u8 = 2;
/// Why an answer can be of no use.
const NEWER: &str = "a process of another version leads; try again when all are of one";

/// A request, and where its response goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcRequest {
    /// The name of the process that sends it: the response goes to [`records::answers_topic`] of it.
    pub from: String,
    /// Its number for it.
    pub id: u64,
    pub call: RpcCall,
}

/// A call of the leader.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RpcCall {
    /// Respond when it is solved.
    Solve { no: AlertNo },
    /// Change its course.
    Steer { no: AlertNo, verb: Steer },
    /// An observer came.
    Observe { no: AlertNo, observer: u64, request: CallbackRequest },
    /// An observer went.
    Unobserve { no: AlertNo, observer: u64 },
    /// How does a message stand?
    Message { account: String, id: MessageId },
    /// Cancel a message.
    CancelMessage { account: String, id: MessageId },
    /// Cancel all such messages.
    CancelMessages { account: String, wanted: MessageFilter },
    /// Replace a message.
    ReplaceMessage { account: String, id: MessageId, change: Box<Intake> },
    /// Numbers were opted out, of one sender or all.
    OptOut { account: String, numbers: Vec<String>, sender: Option<String>, at: Timestamp },
    /// Somebody is there now.
    Present { channel: ChannelNumber, address: String },
}

/// The response to the request with this number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcResponse {
    pub id: u64,
    pub result: Result<RpcResult, RpcError>,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RpcResult {
    Solved { alert: Box<Alert>, endpoints: u32, excluded: Vec<(String, u64)> },
    Alert(Box<Alert>),
    Message(Option<Box<RpcMessage>>),
    Steered(Steered),
    Count(u64),
    Done,
}

/// A message in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcMessage {
    delivery: Delivery,
    lapsed: bool,
    entry: Option<RosterEntry>,
}

/// An [`EngineError`], as it travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RpcError {
    Unprocessable(Vec<Problem>),
    KeyTaken,
    NotFound,
    WrongState { state: String, verb: String },
    DiskFull,
    Busy(String),
    Internal(String),
}

impl RpcRequest {
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }
    /// Nothing if it is damaged or of a newer format.
    pub fn decode(octets: &[u8]) -> Option<RpcRequest> {
        decode(octets)
    }
}

impl RpcResponse {
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }
    /// Nothing if it is damaged or of a newer format.
    pub fn decode(octets: &[u8]) -> Option<RpcResponse> {
        decode(octets)
    }
}

fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    // Only a type without a known length fails; none of these is one. An empty record is read as damaged.
    postcard::to_extend(value, vec![FORMAT]).unwrap_or_default()
}

fn decode<T: DeserializeOwned>(octets: &[u8]) -> Option<T> {
    let (format, rest) = octets.split_first()?;
    if *format != FORMAT {
        return None;
    }
    postcard::from_bytes(rest).ok()
}

impl From<MessageLook> for RpcMessage {
    fn from(look: MessageLook) -> RpcMessage {
        RpcMessage { delivery: look.delivery, lapsed: look.lapsed, entry: look.entry }
    }
}

impl From<RpcMessage> for MessageLook {
    fn from(looked: RpcMessage) -> MessageLook {
        MessageLook { delivery: looked.delivery, lapsed: looked.lapsed, entry: looked.entry }
    }
}

impl From<Solved> for RpcResult {
    fn from(solved: Solved) -> RpcResult {
        RpcResult::Solved {
            alert: Box::new(solved.alert),
            endpoints: solved.endpoints,
            excluded: solved.excluded,
        }
    }
}

impl From<EngineError> for RpcError {
    fn from(error: EngineError) -> RpcError {
        match error {
            EngineError::Unprocessable(problems) => RpcError::Unprocessable(problems),
            EngineError::KeyTaken => RpcError::KeyTaken,
            EngineError::NotFound => RpcError::NotFound,
            EngineError::WrongState { state, verb } => {
                RpcError::WrongState { state: state.to_owned(), verb: verb.to_owned() }
            }
            // Decisions are made where the leader is; no other process asks for one.
            EngineError::Approval(refusal) => RpcError::Busy(refusal.to_string()),
            EngineError::DiskFull => RpcError::DiskFull,
            EngineError::Busy(why) => RpcError::Busy(why),
            EngineError::Internal(why) => RpcError::Internal(why),
        }
    }
}

impl From<RpcError> for EngineError {
    fn from(refusal: RpcError) -> EngineError {
        match refusal {
            RpcError::Unprocessable(problems) => EngineError::Unprocessable(problems),
            RpcError::KeyTaken => EngineError::KeyTaken,
            RpcError::NotFound => EngineError::NotFound,
            RpcError::WrongState { state, verb } => {
                EngineError::WrongState { state: state_name(&state), verb: verb_name(&verb) }
            }
            RpcError::DiskFull => EngineError::DiskFull,
            RpcError::Busy(why) => EngineError::Busy(why),
            RpcError::Internal(why) => EngineError::Internal(why),
        }
    }
}

/// An answer that is none of those that can be.
pub fn not_understood() -> EngineError {
    EngineError::Busy(NEWER.to_owned())
}

fn state_name(name: &str) -> &'static str {
    let all = AlertState::ALL.map(AlertState::name);
    all.into_iter().chain(["standing", "over"]).find(|known| *known == name).unwrap_or("in another state")
}

fn verb_name(name: &str) -> &'static str {
    let all = Steer::ALL.map(Steer::name);
    all.into_iter().chain(["answer"]).find(|known| *known == name).unwrap_or("change")
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::AreaRequest;

    #[test]
    fn questions_and_answers_are_read_as_they_were_written_and_others_are_not() {
        let ask = RpcRequest {
            from: "a".into(),
            id: u64::MAX,
            call: RpcCall::Steer { no: AlertNo(7), verb: Steer::RetryFailed },
        };
        assert_eq!(RpcRequest::decode(&ask.encode()), Some(ask.clone()));
        let octets = ask.encode();
        for cut in 0..octets.len() {
            assert_eq!(RpcRequest::decode(&octets[..cut]), None, "cut at {cut}");
        }
        let mut newer = octets;
        newer[0] = FORMAT + 1;
        assert_eq!(RpcRequest::decode(&newer), None);
    }

    #[test]
    fn an_alert_with_an_area_is_read_as_it_was_written_whatever_it_lacks() {
        for area in [None, Some(AreaRequest::default())] {
            let mut request = crate::testing::request("x");
            request.area = area;
            let alert = Box::new(crate::testing::alert(1, request));
            let response = RpcResponse { id: 1, result: Ok(RpcResult::Alert(alert)) };
            assert_eq!(RpcResponse::decode(&response.encode()), Some(response));
        }
    }

    #[test]
    fn what_the_leader_refuses_is_refused_in_the_same_words_elsewhere() {
        let problem = Problem { field: "text".into(), reason: "is missing".into() };
        let errors = [
            EngineError::Unprocessable(vec![problem]),
            EngineError::KeyTaken,
            EngineError::NotFound,
            EngineError::WrongState { state: AlertState::Done.name(), verb: Steer::RetryFailed.name() },
            EngineError::WrongState { state: "standing", verb: Steer::Cancel.name() },
            EngineError::DiskFull,
            EngineError::Busy("later".into()),
            EngineError::Internal("broken".into()),
        ];
        for error in errors {
            let answered = RpcResponse { id: 1, result: Err(error.clone().into()) };
            let heard = RpcResponse::decode(&answered.encode()).unwrap();
            assert_eq!(EngineError::from(heard.result.unwrap_err()), error);
        }
    }
}

use crate::{Act, StoreError};
use futures_util::future::BoxFuture;
use records::{
    Alert, AlertId, AlertNo, AlertState, Approval, EndpointNo, Lane, Mode, RosterBlock, Timestamp,
};

/// How long an idempotency key is kept, seconds.
pub(crate) const KEY_KEPT_S: i64 = 24 * 60 * 60;
/// Keys past their time removed by each alert that brings one.
pub(crate) const OLD_KEYS_REMOVED: i64 = 4;

/// Alerts.
pub trait Alerts {
    /// Stores a new alert, synced to disk before this resolves, and gives it its number. With an idempotency
    /// key seen within 24 h the earlier alert comes back instead, if the body's hash is the same.
    fn accept_alert<'a>(
        &'a self,
        alert: Alert,
        key: Option<IdempotencyKey>,
    ) -> BoxFuture<'a, Result<Accepted, StoreError>>;
    /// The same; `act`, with the alert's id as its object, is noted in the audit trail in the same
    /// transaction if the alert is new.
    fn accept_noted_alert<'a>(
        &'a self,
        alert: Alert,
        key: Option<IdempotencyKey>,
        act: Act,
    ) -> BoxFuture<'a, Result<Accepted, StoreError>>;
    /// By its outside id.
    fn alert<'a>(&'a self, account: &'a str, id: AlertId)
    -> BoxFuture<'a, Result<Option<Alert>, StoreError>>;
    /// By its inside number.
    fn alert_by_no(&self, no: AlertNo) -> BoxFuture<'_, Result<Option<Alert>, StoreError>>;
    /// Newest first, older than `before` (an inside number) if given. Standing alerts are left out: nobody
    /// sent them.
    fn alerts_before<'a>(
        &'a self,
        account: &'a str,
        before: Option<AlertNo>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>>;
    /// The standing alerts of an account that can hold the message with this index on the topic of intake: of
    /// each class the one with the greatest `intake_from` up to it.
    fn standing_alerts_of<'a>(
        &'a self,
        account: &'a str,
        index: u64,
    ) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>>;
    /// Every alert that is not final, of every account: what a start has to pick up.
    fn unfinished_alerts(&self) -> BoxFuture<'_, Result<Vec<Alert>, StoreError>>;
    /// Every alert that asks for an answer and takes one after `now`, final or not, of every account, the
    /// oldest first: whose answer it is must be known after a start too.
    fn asking_alerts(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<Alert>, StoreError>>;
    /// Notes a change of state. Resolves when synced.
    fn set_alert_state<'a>(
        &'a self,
        no: AlertNo,
        state: AlertState,
        version: u32,
        note: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Changes the approval of an alert together with its state, by compare-and-set: false if the alert or
    /// its approval is not as it was seen, and nothing is written then. The same change a second time is
    /// true. Resolves when synced.
    fn change_approval(
        &self,
        no: AlertNo,
        seen: SeenAlert,
        changed: ApprovalChange,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, StoreError>>;
    /// Alerts that wait for approval, the oldest first, behind `after`: of an account, or of all.
    fn alerts_awaiting_approval<'a>(
        &'a self,
        account: Option<&'a str>,
        after: AlertNo,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>>;
    /// When an alert became final; nothing while it is not.
    fn alert_ended(&self, no: AlertNo) -> BoxFuture<'_, Result<Option<Timestamp>, StoreError>>;
    /// Stores what solve found and moves the alert from solving to `then`, in one transaction per block and
    /// one for the move; a roster of an earlier, interrupted solve is removed first.
    fn put_roster(
        &self,
        no: AlertNo,
        blocks: Vec<RosterBlock>,
        then: AlertState,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), StoreError>>;
    /// Adds blocks to a roster that is too large for one piece; `first` removes what an interrupted solve
    /// left. The caller moves the state with [`Alerts::set_alert_state`] when the last block is in.
    fn add_roster_blocks(
        &self,
        no: AlertNo,
        first: bool,
        blocks: Vec<RosterBlock>,
    ) -> BoxFuture<'_, Result<(), StoreError>>;
    /// One block, by the number of an endpoint in it. On the calling thread; blocks are small.
    fn roster_block(&self, no: AlertNo, of: EndpointNo) -> Result<Option<RosterBlock>, StoreError>;
    /// How many endpoints the roster has.
    fn roster_len(&self, no: AlertNo) -> BoxFuture<'_, Result<u32, StoreError>>;
    /// Removes alerts (with rosters and deliveries) that became final before `before`, at most `limit`.
    /// Resolves to those removed.
    fn remove_alerts_before(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AlertNo>, StoreError>>;
    /// Final alerts that became final before `before`, oldest first: for export before removal.
    fn final_alerts_before(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Alert>, StoreError>>;
    /// A CAP message of the account by its (sender, identifier): the alerts that carry it, newest first.
    fn alerts_of_cap<'a>(
        &'a self,
        account: &'a str,
        sender: &'a str,
        identifier: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Alert>, StoreError>>;
    /// Ties an alert to the CAP message it came from.
    fn tie_cap<'a>(
        &'a self,
        no: AlertNo,
        account: &'a str,
        sender: &'a str,
        identifier: &'a str,
        sent: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// An alert as it was seen by who changes its approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenAlert {
    /// The alert's version.
    pub version: u32,
    /// Its approval's revision; 0 for one without.
    pub revision: u32,
}

impl SeenAlert {
    /// As this one is.
    pub fn of(alert: &Alert) -> SeenAlert {
        let revision = alert.approval.as_ref().map_or(0, |approval| approval.revision);
        SeenAlert { version: alert.version, revision }
    }
}

/// What becomes of an alert whose approval changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalChange {
    /// Its state.
    pub state: AlertState,
    /// Its version.
    pub version: u32,
    /// Why it is in its state.
    pub note: String,
    /// Its approval, with a revision of its own.
    pub approval: Approval,
}

/// An idempotency key with the hash of the body it came with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// As the client sent it, at most 255 octets.
    pub key: String,
    /// SHA-256 of the body (and of what else decides its meaning).
    pub body_hash: [u8; 32],
    /// Whose it is.
    pub of: KeyOwner,
}

impl IdempotencyKey {
    /// The token of a key's row: empty for one of the whole account.
    pub(crate) fn token<'a>(&self, alert: &'a Alert) -> &'a str {
        match self.of {
            KeyOwner::Token => &alert.token,
            KeyOwner::Account => "",
        }
    }
}

/// Whose an idempotency key is: who else sends the same one means the same alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOwner {
    /// The token's that submits the alert: a client chose it.
    Token,
    /// The whole account's: the server made it of what the alert is, such as a CAP message.
    Account,
}

/// What [`Alerts::accept_alert`] did.
#[derive(Debug, Clone, PartialEq)]
pub enum Accepted {
    /// It is new.
    New(Alert),
    /// It came before, under the same key with the same body.
    Before(Alert),
    /// The key came before with another body.
    KeyTaken,
}

/// The class of a standing alert, as stored.
pub(crate) fn class(mode: Mode, lane: Lane) -> u8 {
    mode as u8 * Lane::ALL.len() as u8 + lane as u8
}

/// The state with this name.
pub(crate) fn state_named(name: &str) -> Option<AlertState> {
    use AlertState::{Accepted, AwaitingApproval, Cancelled, Done, Expired, Paused, Running, Solving};
    [Accepted, Solving, AwaitingApproval, Running, Paused, Done, Cancelled, Expired]
        .into_iter()
        .find(|state| state.name() == name)
}

/// The approval of an alert as it was stored.
pub(crate) fn approval_of(text: Option<&str>) -> Result<Option<Box<Approval>>, String> {
    text.map(|text| serde_json::from_str(text).map(Box::new).map_err(|error| error.to_string())).transpose()
}

/// What we made ourselves can be written as JSON; the error is for maps with odd keys.
pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Conflict { why: error.to_string() })
}

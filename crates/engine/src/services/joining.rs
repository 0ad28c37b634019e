//! Requests to join a group that an operator decides on.

use super::groups::shown;
use super::phrases::{Phrase, say};
use super::replies::{self, ReplyTo};
use crate::api::EngineError;
use crate::run::{Engine, bus_error, store_error};
use records::{ChannelNumber, Group, Mode, Recipient, ServiceCall, Timestamp};
use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};
use std::hash::Hasher;

/// The retained topic of requests: account, group and recipient to who asked.
const REQUESTS: &str = "group-requests";
/// Requests that wait at most.
const REQUESTS_MAX: usize = 100_000;
/// Times a record is read again since somebody else changed it.
const TRIES: usize = 8;

/// Somebody wants to join a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRequest {
    /// Whose group.
    pub account: String,
    /// The group's id.
    pub group: String,
    /// The recipient's id.
    pub recipient: String,
    /// When they asked.
    pub at: Timestamp,
    /// From which channel.
    pub channel: u8,
    /// From which address.
    pub address: String,
    /// Ours, as they wrote to it.
    pub ours: String,
    /// The route it came by.
    pub route: String,
    /// It came by a route of drills.
    pub is_drill: bool,
}

impl JoinRequest {
    /// Its id among those of the account: the same as long as it waits.
    pub fn id(&self) -> String {
        let mut hasher = FxHasher::default();
        hasher.write(self.group.as_bytes());
        hasher.write_u8(0xFF);
        hasher.write(self.recipient.as_bytes());
        format!("{:016x}", hasher.finish())
    }

    fn key(account: &str, group: &str, recipient: &str) -> String {
        format!("{account}/{group}/{recipient}")
    }

    fn reply_to(&self) -> ReplyTo {
        ReplyTo {
            account: self.account.clone(),
            mode: if self.is_drill { Mode::Drill } else { Mode::Live },
            channel: ChannelNumber(self.channel),
            address: self.address.clone(),
            ours: self.ours.clone(),
            route: self.route.clone(),
        }
    }
}

/// Requests of an engine's accounts.
pub struct Joining<'a> {
    engine: &'a Engine,
}

impl Joining<'_> {
    /// Of this engine.
    pub fn of(engine: &Engine) -> Joining<'_> {
        Joining { engine }
    }

    /// Notes that somebody wants to join.
    pub(super) async fn ask(
        &self,
        call: &ServiceCall,
        group: &Group,
        person: &Recipient,
    ) -> Result<(), EngineError> {
        let request = JoinRequest {
            account: call.account.clone(),
            group: group.id.clone(),
            recipient: person.id.clone(),
            at: call.inbound.at,
            channel: call.inbound.channel.0,
            address: call.inbound.from.clone(),
            ours: call.inbound.to.clone(),
            route: call.inbound.route.clone(),
            is_drill: call.mode == Mode::Drill,
        };
        self.note(&request).await
    }

    /// Notes a request; one of the same person to the same group is replaced.
    ///
    /// # Errors
    /// Too many wait; the bus's.
    pub async fn note(&self, request: &JoinRequest) -> Result<(), EngineError> {
        let requests = self.engine.parts().bus.retained(REQUESTS).map_err(bus_error)?;
        let key = JoinRequest::key(&request.account, &request.group, &request.recipient);
        if requests.value(&key).is_none() && requests.all().len() >= REQUESTS_MAX {
            let reason = format!("{REQUESTS_MAX} requests wait for a decision");
            return Err(EngineError::Internal(reason));
        }
        let value = serde_json::to_vec(request).map_err(|error| EngineError::Internal(error.to_string()))?;
        requests.set(&key, &records::with_form(&value)).await.map_err(bus_error)
    }

    /// Those that wait, the oldest first.
    ///
    /// # Errors
    /// The bus's.
    pub fn waiting(&self, account: &str) -> Result<Vec<JoinRequest>, EngineError> {
        let requests = self.engine.parts().bus.retained(REQUESTS).map_err(bus_error)?;
        let read = |octets: &[u8]| -> Option<JoinRequest> {
            serde_json::from_slice(records::behind_form("request to join", octets).ok()?).ok()
        };
        let all = requests.all().into_iter().filter_map(|(_, octets)| read(&octets));
        let mut waiting: Vec<JoinRequest> = all.filter(|request| request.account == account).collect();
        waiting.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.recipient.cmp(&b.recipient)));
        Ok(waiting)
    }

    /// Decides on one, and tells whoever asked.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] if they did not ask, or somebody decided before; the store's.
    pub async fn decide(
        &self,
        account: &str,
        id: &str,
        is_approved: bool,
    ) -> Result<JoinRequest, EngineError> {
        let found = self.waiting(account)?.into_iter().find(|one| one.id() == id);
        let request = found.ok_or(EngineError::NotFound)?;
        let (store, recipient) = (self.engine.store(), request.recipient.as_str());
        let group = store.group(account, &request.group).await.map_err(store_error)?;
        let (group, _) = group.ok_or(EngineError::NotFound)?;
        let join = |person: &mut Recipient| add(&mut person.groups, &group.id);
        let person = match is_approved {
            true => edit(self.engine, account, recipient, join).await?,
            false => {
                store.recipient(account, recipient).await.map_err(store_error)?.map(|(person, _)| person)
            }
        };
        let requests = self.engine.parts().bus.retained(REQUESTS).map_err(bus_error)?;
        requests.set(&JoinRequest::key(account, &group.id, recipient), &[]).await.map_err(bus_error)?;
        let Some(person) = person else { return Err(EngineError::NotFound) };
        let phrase = if is_approved { Phrase::Joined } else { Phrase::Rejected };
        let text = say(phrase, person.language.as_deref(), &[shown(&group)]);
        if let Err(error) = replies::send(self.engine, &request.reply_to(), text).await {
            tracing::warn!(%error, "whoever asked to join a group cannot be told of the decision");
        }
        Ok(request)
    }

    /// Forgets what a person asked for.
    ///
    /// # Errors
    /// The bus's.
    pub(crate) async fn forget(&self, account: &str, recipient: &str) -> Result<(), EngineError> {
        let requests = self.engine.parts().bus.retained(REQUESTS).map_err(bus_error)?;
        for request in self.waiting(account)?.into_iter().filter(|one| one.recipient == recipient) {
            let key = JoinRequest::key(account, &request.group, recipient);
            requests.set(&key, &[]).await.map_err(bus_error)?;
        }
        Ok(())
    }
}

/// Adds a group to those that somebody names.
pub(super) fn add(groups: &mut Vec<String>, id: &str) {
    if !groups.iter().any(|group| group == id) {
        groups.push(id.to_owned());
    }
}

/// Changes a person's record as it is now; nothing if there is none any more.
pub(super) async fn edit(
    engine: &Engine,
    account: &str,
    id: &str,
    change: impl Fn(&mut Recipient),
) -> Result<Option<Recipient>, EngineError> {
    let store = engine.store();
    for _ in 0..TRIES {
        let Some((before, version)) = store.recipient(account, id).await.map_err(store_error)? else {
            return Ok(None);
        };
        let mut person = before.clone();
        change(&mut person);
        if person == before {
            return Ok(Some(person));
        }
        let replaced = store.replace_recipient(account, person.clone(), version).await;
        if replaced.map_err(store_error)?.is_some() {
            return Ok(Some(person));
        }
    }
    Err(EngineError::Internal(format!("the record of recipient {id} changed {TRIES} times meanwhile")))
}

/// Takes somebody out of a group's own list of members.
pub(super) async fn leave_list(
    engine: &Engine,
    account: &str,
    group: &str,
    recipient: &str,
) -> Result<(), EngineError> {
    let store = engine.store();
    while let Some((mut group, version)) = store.group(account, group).await.map_err(store_error)? {
        let before = group.members.len();
        group.members.retain(|member| member != recipient);
        if group.members.len() == before {
            break;
        }
        let replaced = store.replace_group(account, group, version).await;
        if replaced.map_err(store_error)?.is_some() {
            break;
        }
    }
    Ok(())
}

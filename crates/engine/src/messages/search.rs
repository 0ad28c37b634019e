//! MessageSearch finds messages of an account by number or client, the newest first, in the rosters that SQL
//! has. There is no index of numbers: a search looks through a bounded number of messages and says where to
//! go on.

use super::{Messages, blocking};
use crate::api::{EngineError, Parts};
use crate::run::store_error;
use records::{
    Alert, AlertNo, EndpointNo, MessageClient, MessageId, Mode, Origin, ROSTER_BLOCK_ENDPOINTS, RosterEntry,
};
use std::sync::Arc;

/// Messages that one search looks through.
const LOOKED_MAX: usize = 20_480;
/// Empty message streams that are passed over for one that has messages.
const EMPTY_MAX: usize = 1_000;
/// Above every id: the store's numbers have a sign.
const NEWEST: u64 = i64::MAX as u64;
const BLOCK: u32 = ROSTER_BLOCK_ENDPOINTS as u32;

/// Which messages are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageSearch {
    /// To or from this number, with or without its `+`.
    pub number: Option<String>,
    /// Handed in by the client or platform of this name.
    pub client: Option<String>,
    /// Of this mode alone.
    pub mode: Option<Mode>,
    /// Older than this one.
    pub before: Option<MessageId>,
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessagesFound {
    /// The newest first.
    pub ids: Vec<MessageId>,
    /// Where the search goes on, before this one; nothing: there are no older messages.
    pub next: Option<MessageId>,
}

impl MessageSearch {
    fn fits(&self, entry: &RosterEntry) -> bool {
        let Some(message) = &entry.message else { return false };
        let is_number = |wanted: &String| {
            [&*entry.address, &*message.short.source.addr].iter().any(|own| plain(own) == plain(wanted))
        };
        let is_client = |wanted: &String| match &message.party {
            MessageClient::Smpp(name) | MessageClient::Platform(name) => name == wanted,
            MessageClient::House => false,
        };
        self.number.as_ref().is_none_or(is_number) && self.client.as_ref().is_none_or(is_client)
    }
}

fn plain(number: &str) -> &str {
    number.trim().trim_start_matches('+')
}

impl Messages {
    /// Looks for messages of an account, up to `limit`. A message can be found once SQL has it, about a
    /// second after it was taken.
    pub async fn search(
        &self,
        account: &str,
        wanted: &MessageSearch,
        limit: usize,
    ) -> Result<MessagesFound, EngineError> {
        let before = wanted.before.map_or(NEWEST, |id| id.0.min(NEWEST));
        let mut walk = StreamWalk::begin(&self.inner.parts, account, (wanted.mode, before)).await?;
        let (mut ids, mut last) = (Vec::new(), None);
        for _ in 0..LOOKED_MAX {
            let Some((id, entry)) = walk.next().await? else { return Ok(MessagesFound { ids, next: None }) };
            last = Some(id);
            if wanted.fits(&entry) {
                ids.push(id);
            }
            if ids.len() >= limit {
                break;
            }
        }
        Ok(MessagesFound { ids, next: last })
    }
}

/// Walks through all messages of an account, the newest first: at any time one block of one stream of each
/// class is in memory.
struct StreamWalk {
    parts: Arc<Parts>,
    account: String,
    streams: Vec<StreamPlace>,
}

/// Where the walk is in the streams of a class.
struct StreamPlace {
    stream: Alert,
    block: u32,
    /// Entries that were not seen yet, ids growing; never empty.
    entries: Vec<(MessageId, RosterEntry)>,
}

impl StreamPlace {
    fn newest(&self) -> Option<MessageId> {
        self.entries.last().map(|(id, _)| *id)
    }
}

impl StreamWalk {
    async fn begin(
        parts: &Arc<Parts>,
        account: &str,
        (mode, before): (Option<Mode>, u64),
    ) -> Result<StreamWalk, EngineError> {
        let mut walk = StreamWalk { parts: parts.clone(), account: account.to_owned(), streams: Vec::new() };
        let Some(newest) = before.checked_sub(1) else { return Ok(walk) };
        for stream in walk.streams_at(newest).await? {
            if mode.is_none_or(|mode| stream.request.mode == mode) {
                walk.open(stream, before).await?;
            }
        }
        Ok(walk)
    }

    async fn streams_at(&self, id: u64) -> Result<Vec<Alert>, EngineError> {
        self.parts.store.standing_alerts_of(&self.account, id).await.map_err(store_error)
    }

    /// The next message.
    async fn next(&mut self) -> Result<Option<(MessageId, RosterEntry)>, EngineError> {
        let Some(at) = (0..self.streams.len()).max_by_key(|at| self.streams[*at].newest()) else {
            return Ok(None);
        };
        let found = self.streams[at].entries.pop();
        if self.streams[at].entries.is_empty() {
            let done = self.streams.swap_remove(at);
            self.go_back(done).await?;
        }
        Ok(found)
    }

    /// Goes on with the block before, or with the stream before.
    async fn go_back(&mut self, done: StreamPlace) -> Result<(), EngineError> {
        let StreamPlace { stream, block, .. } = done;
        let found = match block.checked_sub(1) {
            Some(block) => self.block(stream.no, block, NEWEST).await?,
            None => Vec::new(),
        };
        if !found.is_empty() {
            self.streams.push(StreamPlace { stream, block: block - 1, entries: found });
            return Ok(());
        }
        match self.before(&stream).await? {
            Some(earlier) => self.open(earlier, NEWEST).await,
            None => Ok(()),
        }
    }

    /// Enters the newest stream of a class that has messages before an id.
    async fn open(&mut self, mut stream: Alert, before: u64) -> Result<(), EngineError> {
        for _ in 0..EMPTY_MAX {
            let (store, no) = (self.parts.store.clone(), stream.no);
            let found = blocking(move || last_block(&*store, no, before).map_err(store_error)).await?;
            if let Some(block) = found {
                let entries = self.block(no, block, before).await?;
                if !entries.is_empty() {
                    self.streams.push(StreamPlace { stream, block, entries });
                    return Ok(());
                }
            }
            match self.before(&stream).await? {
                Some(earlier) => stream = earlier,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// The stream of the same class before this one.
    async fn before(&self, stream: &Alert) -> Result<Option<Alert>, EngineError> {
        let Origin::Standing { intake_from } = stream.origin else { return Ok(None) };
        let Some(newest) = intake_from.checked_sub(1) else { return Ok(None) };
        let (mode, priority) = (stream.request.mode, stream.request.priority);
        let is_before = |other: &Alert| {
            other.no != stream.no && other.request.mode == mode && other.request.priority == priority
        };
        Ok(self.streams_at(newest).await?.into_iter().find(is_before))
    }

    /// Messages of a block before an id.
    async fn block(
        &self,
        no: AlertNo,
        block: u32,
        before: u64,
    ) -> Result<Vec<(MessageId, RosterEntry)>, EngineError> {
        let store = self.parts.store.clone();
        let read = move || store.roster_block(no, EndpointNo(block * BLOCK)).map_err(store_error);
        let entries = blocking(read).await?.map(|block| block.entries).unwrap_or_default();
        let with_id = |entry: RosterEntry| Some((entry.message.as_ref()?.id, entry));
        Ok(entries.into_iter().filter_map(with_id).filter(|(id, _)| id.0 < before).collect())
    }
}

/// The last block of a stream whose first message is before an id: ids grow with the endpoints.
fn last_block(store: &dyn store::Store, no: AlertNo, before: u64) -> Result<Option<u32>, store::StoreError> {
    let (mut low, mut high) = (0, u32::MAX / BLOCK);
    while low < high {
        let middle = low + (high - low) / 2;
        let block = store.roster_block(no, EndpointNo(middle * BLOCK))?;
        let first =
            block.and_then(|block| Some(block.entries.iter().find_map(|entry| entry.message.as_ref())?.id));
        if first.is_some_and(|first| first.0 < before) { low = middle + 1 } else { high = middle }
    }
    Ok(low.checked_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_same_with_and_without_its_plus() {
        for (own, wanted, is_same) in [
            ("+46701", "46701", true),
            ("46701", "+46701", true),
            ("46701", " 46701", true),
            ("+46701", "+46702", false),
            ("CITY", "CITY", true),
        ] {
            assert_eq!(plain(own) == plain(wanted), is_same, "{own} {wanted}");
        }
    }
}

//! Session of a person: the blocks it was shown, and what a typed line means by them.

use crate::topic::TopicToken;
use bus::{Bus, BusError, Topic};
use engine::Clock;
use futures_util::future::BoxFuture;
use records::{
    AlertNo, EndpointNo, Inbound, LineBlock, OUTCOMES, Outcome, Receipt, ReceiptState, channel_key,
};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Blocks that may wait to be written into one session.
const BLOCKS_MAX: usize = 64;
/// Deliveries that one line confirms at most; of more, the oldest stay unconfirmed.
const UNCONFIRMED_MAX: usize = 100;
/// Lines of a person in a minute at most.
const LINES_A_MINUTE: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// What became of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteResult {
    /// The socket has taken all its octets.
    Taken,
    /// The session ended before.
    Ended,
    /// Too many wait already.
    Full,
}

/// Hands blocks to an open session.
#[derive(Clone)]
pub struct SessionWriter {
    blocks: mpsc::Sender<QueuedBlock>,
}

impl SessionWriter {
    /// Hands it over at once; resolves when the socket has taken it.
    pub fn write(&self, block: Arc<LineBlock>) -> BoxFuture<'static, WriteResult> {
        let (taken, is_taken) = oneshot::channel();
        let handed = self.blocks.try_send(QueuedBlock { block, taken });
        Box::pin(async move {
            match handed {
                Ok(()) => is_taken.await.map_or(WriteResult::Ended, |()| WriteResult::Taken),
                Err(mpsc::error::TrySendError::Full(_)) => WriteResult::Full,
                Err(mpsc::error::TrySendError::Closed(_)) => WriteResult::Ended,
            }
        })
    }
}

/// A block on its way into a session.
pub(in crate::topic) struct QueuedBlock {
    block: Arc<LineBlock>,
    taken: oneshot::Sender<()>,
}

impl QueuedBlock {
    /// What is shown of it.
    pub(in crate::topic) fn lines(&self) -> &[String] {
        &self.block.lines
    }
}

/// An open session, as its connection has it.
pub(in crate::topic) struct PersonSession {
    pub(super) id: String,
    token: Option<Arc<TopicToken>>,
    blocks: mpsc::Receiver<QueuedBlock>,
    /// Written, as far as the socket has not taken it.
    writing: Vec<QueuedBlock>,
    unconfirmed: VecDeque<Arc<LineBlock>>,
    /// The last one that asks for an answer.
    asked: Option<Arc<LineBlock>>,
    lines: (Instant, u32),
    /// Its entry in the registry.
    entry: Option<Box<dyn Any + Send + Sync>>,
}

impl PersonSession {
    /// One that is not entered yet, and what blocks are handed to it by.
    pub(super) fn new(
        id: &str,
        token: Option<Arc<TopicToken>>,
        now: Instant,
    ) -> (PersonSession, SessionWriter) {
        let (sender, blocks) = mpsc::channel(BLOCKS_MAX);
        let session = PersonSession {
            id: id.to_owned(),
            token,
            blocks,
            writing: Vec::new(),
            unconfirmed: VecDeque::new(),
            asked: None,
            lines: (now, 0),
            entry: None,
        };
        (session, SessionWriter { blocks: sender })
    }

    /// The token that it ends with.
    pub(in crate::topic) fn token(&self) -> Option<&Arc<TopicToken>> {
        self.token.as_ref()
    }

    /// It is entered.
    pub(super) fn enter(&mut self, entry: Box<dyn Any + Send + Sync>) {
        self.entry = Some(entry);
    }

    /// The next block to write.
    pub(in crate::topic) async fn next_block(&mut self) -> QueuedBlock {
        match self.blocks.recv().await {
            Some(queued) => queued,
            // Nobody can write into it any more.
            None => std::future::pending().await,
        }
    }

    /// A block is in the output.
    pub(in crate::topic) fn note_written(&mut self, queued: QueuedBlock) {
        self.writing.push(queued);
    }

    /// The socket has taken the output.
    pub(in crate::topic) fn note_taken(&mut self) {
        for QueuedBlock { block, taken } in self.writing.drain(..) {
            if block.asks {
                self.asked = Some(Arc::clone(&block));
            }
            if self.unconfirmed.len() == UNCONFIRMED_MAX {
                self.unconfirmed.pop_front();
            }
            self.unconfirmed.push_back(block);
            // Who gave it up does not wait any more.
            let _ = taken.send(());
        }
    }

    /// Whether the person may type one more line now.
    pub(super) fn may_type(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.lines.0) >= MINUTE {
            self.lines = (now, 0);
        }
        self.lines.1 += 1;
        self.lines.1 <= LINES_A_MINUTE
    }

    /// Takes what a line confirms: everything that was shown since the last one.
    pub(super) fn confirmed(&mut self) -> Vec<Arc<LineBlock>> {
        self.unconfirmed.drain(..).collect()
    }

    /// What was not kept on record is confirmed by the next line.
    pub(super) fn put_back(&mut self, confirmed: Vec<Arc<LineBlock>>) {
        for block in confirmed.into_iter().rev() {
            self.unconfirmed.push_front(block);
        }
    }

    /// The delivery that a typed text answers, and its route.
    pub(super) fn asked(&self) -> Option<(&str, (AlertNo, EndpointNo))> {
        self.asked.as_ref().map(|block| (block.route.as_str(), block.of))
    }
}

/// The journal of outcomes, for what is typed.
pub(super) struct SessionOutcomes {
    topic: Arc<dyn Topic>,
    route: String,
    clock: Clock,
}

impl SessionOutcomes {
    /// See [`super::Logins::open`].
    pub(super) fn open(bus: &dyn Bus, route: &str, clock: Clock) -> Result<SessionOutcomes, BusError> {
        Ok(SessionOutcomes { topic: bus.topic(OUTCOMES)?, route: route.to_owned(), clock })
    }

    /// Appends what a line confirms and says; resolves when it is on record.
    pub(super) async fn append(
        &self,
        session: &PersonSession,
        confirmed: &[Arc<LineBlock>],
        text: Option<String>,
    ) -> Result<(), BusError> {
        let at = (self.clock)();
        let receipt = |block: &Arc<LineBlock>| {
            Outcome::Receipt(Receipt {
                route: block.route.clone(),
                keys: vec![channel_key(channels::LINE, block.of.0, block.of.1)],
                id: block.id.clone(),
                state: ReceiptState::Delivered,
                text: String::new(),
                at,
            })
        };
        let mut outcomes: Vec<Outcome> = confirmed.iter().map(receipt).collect();
        if let Some(text) = text {
            let asked = session.asked();
            outcomes.push(Outcome::Inbound(Inbound {
                channel: channels::LINE,
                route: asked.map_or(&*self.route, |(route, _)| route).to_owned(),
                from: session.id.clone(),
                to: String::new(),
                text,
                octets: None,
                of: asked.map(|(_, of)| of),
                at,
            }));
        }
        self.topic.append(&[&records::encode_outcomes(&outcomes)]).await.map(|_| ())
    }
}

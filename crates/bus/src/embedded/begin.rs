//! Beginning of a topic above indexes that another bus gave out.

use super::log::{DurabilityRule, Log, Opening};
use super::topic::GroupSource;
use super::{Embedded, OpenTopic, TOPICS, name, write};
use crate::BusError;

impl Embedded {
    /// See [`crate::Bus::begin`].
    pub(super) fn begin_topic(&self, name: &str, at: u64, record: &[u8]) -> Result<(), BusError> {
        let head = self.held(name, None)?.topic().head();
        if head > at {
            return Ok(());
        }
        if head > 0 {
            return Err(BusError::Moved { topic: name.to_owned(), head });
        }
        let folder = self.path(TOPICS).join(name::folder(name)?);
        let mut topics = write(&self.topics);
        // It has no record and no file: its handle would give out index 0.
        if let Some(empty) = topics.remove(name) {
            empty.close();
        }
        let opening = Opening { name: name.to_owned(), folder, cached: true, begin: at };
        let log = Log::open(&self.shared, opening)?;
        log.append_now(DurabilityRule::Any, &[record])?;
        log.sync()?;
        topics.insert(name.to_owned(), OpenTopic::Log(log));
        Ok(())
    }
}

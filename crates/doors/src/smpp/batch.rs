//! Messages that one wake-up of a session brought: appended together, answered together.

use super::message_control::MessageControl;
use engine::EngineError;
use records::MessageId;
use smpp::Status;
use smpp::pdu::RefusedBuf;
use std::sync::Arc;

/// A batch's memory is kept for the next one up to so many octets.
const KEPT_OCTETS: usize = 1 << 20;

/// Records in one buffer, and the requests that wait for them.
#[derive(Default)]
pub(super) struct SubmitBatch {
    /// The records, one behind the other.
    pub(super) octets: Vec<u8>,
    /// Where each ends.
    ends: Vec<u32>,
    pub(super) submits: Vec<PendingSubmit>,
}

/// A request that waits for its records.
pub(super) struct PendingSubmit {
    pub(super) sequence: u32,
    /// Its first record.
    pub(super) first: u32,
    /// Of a submit_multi: the refused destinations.
    pub(super) refused: Option<Box<RefusedBuf>>,
}

impl SubmitBatch {
    pub(super) fn is_empty(&self) -> bool {
        self.submits.is_empty()
    }

    /// Records in it.
    pub(super) fn len(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Ends the record that was written last.
    pub(super) fn close_record(&mut self) {
        self.ends.push(self.octets.len() as u32);
    }

    /// Empty again, and without memory that only a flood needs.
    pub(super) fn cleared(mut self) -> SubmitBatch {
        self.octets.clear();
        self.octets.shrink_to(KEPT_OCTETS);
        self.ends.clear();
        self.submits.clear();
        self
    }

    /// Hands the records over as one unit.
    pub(super) async fn accept(
        self,
        intake: Arc<dyn MessageControl>,
    ) -> (SubmitBatch, Result<MessageId, EngineError>) {
        let result = {
            let mut records: Vec<&[u8]> = Vec::with_capacity(self.ends.len());
            let mut start = 0;
            for &end in &self.ends {
                let end = end as usize;
                records.push(&self.octets[start..end]);
                start = end;
            }
            intake.accept(&records).await
        };
        (self, result)
    }
}

/// The status of a request that the engine could not carry out.
pub(super) fn status_of(error: &EngineError) -> Status {
    match error {
        EngineError::DiskFull => Status::RMSGQFUL,
        EngineError::Busy(_) => Status::RTHROTTLED,
        _ => Status::RSYSERR,
    }
}

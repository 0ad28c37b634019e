//! Questions to the far end of a route about entries that an earlier process perhaps wrote.

use super::RouteDispatcher;
use super::leased_segment::{ChannelEncoder, Job};

/// The entries of a route whose far end can be [asked](ChannelEncoder::askable). Sessions ask before they
/// write.
pub struct Questions<'a, C: ChannelEncoder> {
    dispatcher: &'a RouteDispatcher<C>,
}

impl<C: ChannelEncoder> Questions<'_, C> {
    /// Of this route.
    pub fn of(dispatcher: &RouteDispatcher<C>) -> Questions<'_, C> {
        Questions { dispatcher }
    }

    /// An entry to ask for. Its fate must be told by [`whole`](RouteDispatcher::whole): accepted if it is
    /// there, not tried if it is not, unknown if the far end cannot say; or it must be
    /// [given back](Questions::later).
    pub fn next(&self) -> Option<Job<C::Prepared>> {
        let mut state = self.dispatcher.state();
        while let Some(job) = state.queue.questions.pop_front() {
            if !job.leased.is_lost() {
                // An answer frees what an entry that was written takes.
                state.queue.out += u32::from(job.units);
                return Some(job);
            }
        }
        None
    }

    /// The far end was not reached: it is to be asked again. What is not asked for at the end of this process
    /// is for the next one.
    pub fn later(&self, job: Job<C::Prepared>) {
        let mut state = self.dispatcher.state();
        state.queue.out -= u32::from(job.units);
        state.queue.questions.push_back(job);
    }
}

//! Call cycles of one number: which ending leads to which next call, and when.
//!
//! A cycle is some calls with short waits, as the endings ask for them; cycles are an interval apart. Nothing
//! here keeps time: waits are counted from the end of the last call. [`CycleState`] is four octets.

use crate::endings::{AttemptEnding, EndingClass, PermanentFor, PersonEnding, count_words};
use std::fmt;
use std::time::Duration;

/// Calls of a cycle, at most.
pub const CALLS_MAX: u8 = 10;
/// Cycles, at most.
pub const CYCLES_MAX: u8 = 20;
/// Interval of cycles, at most: a day.
pub const INTERVAL_MAX: Duration = Duration::from_secs(86_400);
/// Octets of a [`CycleState`].
pub const STATE_OCTETS: usize = 4;

/// Plan of calls to a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CyclePlan {
    /// Calls of a cycle; 1 to [`CALLS_MAX`].
    pub calls: u8,
    /// Cycles; 1 to [`CYCLES_MAX`].
    pub cycles: u8,
    /// Wait between cycles, from the end of the last call.
    pub interval: Duration,
    /// Whether a call that was answered without a key is enough.
    pub no_key_is_enough: bool,
}

/// Reason for which a plan cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CyclePlanProblem {
    /// No call, or over [`CALLS_MAX`].
    Calls(u8),
    /// No cycle, or over [`CYCLES_MAX`].
    Cycles(u8),
    /// Over [`INTERVAL_MAX`].
    Interval(Duration),
}

impl fmt::Display for CyclePlanProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CyclePlanProblem::Calls(calls) => write!(f, "calls: {calls}; a cycle has 1 to {CALLS_MAX}"),
            CyclePlanProblem::Cycles(cycles) => write!(f, "cycles: {cycles}; give 1 to {CYCLES_MAX}"),
            CyclePlanProblem::Interval(interval) => {
                let (given, max) = (interval.as_secs(), INTERVAL_MAX.as_secs());
                write!(f, "interval: {given} s; cycles are at most {max} s apart")
            }
        }
    }
}

impl std::error::Error for CyclePlanProblem {}

/// Calls made so far to a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CycleState {
    /// Cycles that are over.
    pub cycles_over: u8,
    /// Calls of this cycle.
    pub calls: u8,
    /// Calls of all cycles.
    pub total: u8,
    /// Nothing follows.
    pub is_over: bool,
}

/// Step after a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextCall {
    /// The same number again, in this cycle.
    After(Duration),
    /// The first call of the next cycle.
    InNextCycle(Duration),
    /// Now, by another route: the call did not count. This route is in trouble.
    ByAnotherRoute,
    /// By a route with another caller number: from this one every call would end alike.
    ByAnotherCaller,
    /// The alert was stopped; the call did not count.
    Stopped,
    /// A person has it.
    Reached,
    /// None: the next device of the person follows.
    Over {
        /// For the record: "called 3 times: busy".
        words: String,
    },
}

impl CyclePlan {
    /// Checks the plan.
    ///
    /// # Errors
    /// The first field over its limit.
    pub fn check(&self) -> Result<(), CyclePlanProblem> {
        if self.calls == 0 || self.calls > CALLS_MAX {
            return Err(CyclePlanProblem::Calls(self.calls));
        }
        if self.cycles == 0 || self.cycles > CYCLES_MAX {
            return Err(CyclePlanProblem::Cycles(self.cycles));
        }
        if self.interval > INTERVAL_MAX {
            return Err(CyclePlanProblem::Interval(self.interval));
        }
        Ok(())
    }

    /// Notes the ending of a call, and names the next one.
    pub fn next(&self, state: &mut CycleState, ending: &AttemptEnding) -> NextCall {
        match ending.class {
            EndingClass::NotTried => return NextCall::Stopped,
            EndingClass::Route(_) => return NextCall::ByAnotherRoute,
            _ if state.is_over => return state.over(ending),
            _ => state.total = state.total.saturating_add(1),
        }
        state.calls = state.calls.saturating_add(1);
        match ending.class {
            EndingClass::Person(PersonEnding::Temporary { retry_after }) => {
                self.again(state, ending, Some(retry_after))
            }
            EndingClass::Person(PersonEnding::Declined) => self.again(state, ending, None),
            EndingClass::Person(PersonEnding::Permanent(scope)) => state.permanent(ending, scope),
            EndingClass::Answered { reached } if reached || self.no_key_is_enough => {
                state.is_over = true;
                NextCall::Reached
            }
            // Somebody or a machine has heard it: not again before the next cycle.
            _ => self.again(state, ending, None),
        }
    }

    /// Another call of this cycle, where one is left and may come; else the next cycle, else the end.
    fn again(&self, state: &mut CycleState, ending: &AttemptEnding, wait: Option<Duration>) -> NextCall {
        if let Some(wait) = wait
            && state.calls < self.calls
        {
            return NextCall::After(wait);
        }
        state.calls = 0;
        state.cycles_over = state.cycles_over.saturating_add(1);
        if state.cycles_over < self.cycles {
            return NextCall::InNextCycle(self.interval.max(wait.unwrap_or_default()));
        }
        state.over(ending)
    }
}

impl CycleState {
    fn permanent(&mut self, ending: &AttemptEnding, scope: PermanentFor) -> NextCall {
        match scope {
            PermanentFor::CallerNumber => {
                // The call by another one takes its place in the cycle.
                self.calls = self.calls.saturating_sub(1);
                NextCall::ByAnotherCaller
            }
            PermanentFor::Number => self.over(ending),
        }
    }

    /// No further call: its words. Also where a route with another caller number is wanted and there is none.
    pub fn over(&mut self, ending: &AttemptEnding) -> NextCall {
        self.is_over = true;
        let count = count_words(self.total.max(1));
        NextCall::Over { words: format!("called {count}: {}", ending.short) }
    }

    /// The state in octets.
    pub fn to_octets(self) -> [u8; STATE_OCTETS] {
        [self.cycles_over, self.calls, self.total, u8::from(self.is_over)]
    }

    /// The state of octets; `None` where no state has them.
    pub fn from_octets(octets: [u8; STATE_OCTETS]) -> Option<CycleState> {
        let [cycles_over, calls, total, is_over] = octets;
        let is_state = is_over <= 1 && cycles_over <= CYCLES_MAX && calls <= CALLS_MAX && calls <= total;
        is_state.then_some(CycleState { cycles_over, calls, total, is_over: is_over == 1 })
    }
}

#[cfg(test)]
mod tests;

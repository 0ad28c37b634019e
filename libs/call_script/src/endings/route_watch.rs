//! Watch over endings of a route: several numbers in a row with 403 are the route's trouble.

use super::{AttemptEnding, EndingClass, RouteTrouble};

/// Different numbers in a row with 403 that make it the route's trouble.
pub const FORBIDDEN_IN_A_ROW: usize = 3;

/// Codes of endings by 403.
const REFUSALS: [&str; 3] = ["voice:forbidden", "voice:barred", "voice:call_rejected"];
/// Codes of endings that show, beside an answer, that the route's calls arrive.
const CONNECTED: [&str; 4] = ["voice:busy", "voice:no_answer", "voice:declined", "voice:do_not_call"];

/// Endings of a route, in the order they come.
#[derive(Debug, Clone, Default)]
pub struct RouteWatch {
    /// Keys of different numbers with 403 since the last call that arrived.
    forbidden: Vec<u64>,
}

impl RouteWatch {
    /// Notes the ending of a call to a number, of which the caller gives a key. Returns the ending that
    /// holds: the same, or the route's trouble in its place.
    pub fn note(&mut self, number: u64, ending: AttemptEnding) -> AttemptEnding {
        if REFUSALS.contains(&ending.code) {
            return self.note_forbidden(number, ending);
        }
        let is_success = matches!(ending.class, EndingClass::Answered { .. });
        if is_success || CONNECTED.contains(&ending.code) {
            self.forbidden.clear();
        }
        ending
    }

    /// Keys of the numbers in the row: once the route is [in trouble](RouteWatch::is_in_trouble), their
    /// endings were its own, and they may be called by another route.
    pub fn refused_numbers(&self) -> &[u64] {
        &self.forbidden
    }

    /// The route refuses numbers.
    pub fn is_in_trouble(&self) -> bool {
        self.forbidden.len() >= FORBIDDEN_IN_A_ROW
    }

    fn note_forbidden(&mut self, number: u64, ending: AttemptEnding) -> AttemptEnding {
        if !self.is_in_trouble() && !self.forbidden.contains(&number) {
            self.forbidden.push(number);
        }
        if !self.is_in_trouble() {
            return ending;
        }
        AttemptEnding {
            class: EndingClass::Route(RouteTrouble::Forbidden),
            code: "voice:route_forbidden",
            short: "the route refuses calls",
            words: format!(
                "the carrier refused {FORBIDDEN_IN_A_ROW} different numbers in a row: {}; check caller \
                 number, contract and credit of the route with the carrier",
                ending.words
            ),
        }
    }
}

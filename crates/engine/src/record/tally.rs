//! Counts that move with each delivery, so that a report costs nothing however large the alert is.

use super::delivery_cell::{DeliveryCell, NO_ROUTE};
use super::missing_values::MissingValues;
use super::people::PeopleStates;
use crate::api::Counts;
use records::{DeliveryState, Reason, Terminal};

const STATES: usize = DeliveryState::ALL.len();
const CHANNELS: usize = channels::COUNT + 1;
const REASONS: usize = Reason::EnoughAnswers as usize + 1;

/// Deliveries by state.
pub type ByState = [u32; STATES];

/// The counts of one alert.
#[derive(Debug, Clone)]
pub struct Tally {
    /// By channel; the last is for persons without any device.
    pub channels: [ByState; CHANNELS],
    /// By the number of the route.
    pub routes: Vec<ByState>,
    /// By reason, of those that have one, and by channel as in `channels`.
    pub reasons: [[u32; REASONS]; CHANNELS],
    terminal: Terminal,
    reached: u32,
    /// When 50, 95, 99 % had reached the terminal state: offsets.
    pub times: [u32; 3],
    /// People whose text has nothing in place of a placeholder.
    pub missing_values: MissingValues,
    /// People by state.
    pub people: PeopleStates,
}

/// The shares whose times are reported.
const SHARES: [f64; 3] = [0.50, 0.95, 0.99];

impl Tally {
    /// Nobody yet.
    pub fn new(terminal: Terminal) -> Tally {
        Tally {
            channels: [[0; STATES]; CHANNELS],
            routes: Vec::new(),
            reasons: [[0; REASONS]; CHANNELS],
            terminal,
            reached: 0,
            times: [0; 3],
            missing_values: MissingValues::default(),
            people: PeopleStates::default(),
        }
    }

    /// One more delivery.
    pub fn add(&mut self, cell: &DeliveryCell) {
        self.channels[channel_row(cell)][cell.state as usize] += 1;
        self.reasons[channel_row(cell)][cell.reason as usize] += 1;
        self.reached += u32::from(self.counts_as_reached(cell.state));
        if let Some(row) = self.route_row(cell.route) {
            row[cell.state as usize] += 1;
        }
    }

    /// A delivery moved at `now` (an offset).
    pub fn moved(&mut self, before: &DeliveryCell, after: &DeliveryCell, now: u32) {
        let row = &mut self.channels[channel_row(before)];
        row[before.state as usize] -= 1;
        row[after.state as usize] += 1;
        let row = &mut self.reasons[channel_row(before)];
        row[before.reason as usize] -= 1;
        row[after.reason as usize] += 1;
        if let Some(row) = self.route_row(before.route) {
            row[before.state as usize] -= 1;
        }
        if let Some(row) = self.route_row(after.route) {
            row[after.state as usize] += 1;
        }
        let (had, has) = (self.counts_as_reached(before.state), self.counts_as_reached(after.state));
        if had != has {
            self.reached = if has { self.reached + 1 } else { self.reached - 1 };
            self.note_times(now);
        }
    }

    /// How far each had got when it was counted is not known at a start: the times are set from the rows'
    /// own.
    pub fn set_times(&mut self, mut reached_at: Vec<u32>) {
        reached_at.sort_unstable();
        let total = self.channels_total();
        for (time, needed) in self.times.iter_mut().zip(needed(total)) {
            *time = reached_at.get((needed as usize).wrapping_sub(1)).copied().unwrap_or(0);
        }
    }

    fn note_times(&mut self, now: u32) {
        let (reached, total) = (self.reached, self.channels_total());
        for (time, needed) in self.times.iter_mut().zip(needed(total)) {
            if *time == 0 && needed > 0 && reached >= needed {
                *time = now.max(1);
            }
        }
    }

    /// Deliveries in one state.
    pub fn in_state(&self, state: DeliveryState) -> u32 {
        self.channels.iter().map(|row| row[state as usize]).sum()
    }

    /// Deliveries that still have to reach the terminal state by our doing. What a network without receipts
    /// took is where it will stay, unless somebody answers.
    pub fn pending(&self, has_receipts: impl Fn(u16) -> bool) -> u32 {
        let waiting = [DeliveryState::Planned, DeliveryState::Held, DeliveryState::Submitted];
        let waiting: u32 = waiting.iter().map(|state| self.in_state(*state)).sum();
        let before_terminal = match self.terminal {
            Terminal::Accepted => 0,
            Terminal::Delivered => {
                let heard_of = self.routes.iter().enumerate().filter(|(no, _)| has_receipts(*no as u16));
                heard_of.map(|(_, row)| row[DeliveryState::Accepted as usize]).sum()
            }
            Terminal::Answered => {
                self.in_state(DeliveryState::Accepted) + self.in_state(DeliveryState::Delivered)
            }
        };
        waiting + before_terminal
    }

    /// All of them, as reported.
    pub fn total(&self) -> Counts {
        let mut sum = [0; STATES];
        for row in &self.channels {
            for (total, count) in sum.iter_mut().zip(row) {
                *total += count;
            }
        }
        counts(&sum)
    }

    fn channels_total(&self) -> u32 {
        let excluded = DeliveryState::Excluded as usize;
        self.channels
            .iter()
            .flat_map(|row| row.iter().enumerate())
            .filter(|(state, _)| *state != excluded)
            .map(|(_, n)| n)
            .sum()
    }

    fn counts_as_reached(&self, state: DeliveryState) -> bool {
        let least = match self.terminal {
            Terminal::Accepted => DeliveryState::Accepted,
            Terminal::Delivered => DeliveryState::Delivered,
            Terminal::Answered => DeliveryState::Answered,
        };
        (least..=DeliveryState::Answered).contains(&state)
    }

    fn route_row(&mut self, route: u16) -> Option<&mut ByState> {
        if route == NO_ROUTE {
            return None;
        }
        let at = usize::from(route);
        if self.routes.len() <= at {
            self.routes.resize(at + 1, [0; STATES]);
        }
        self.routes.get_mut(at)
    }
}

fn needed(total: u32) -> impl Iterator<Item = u32> {
    SHARES.into_iter().map(move |share| (f64::from(total) * share).ceil() as u32)
}

fn channel_row(cell: &DeliveryCell) -> usize {
    // Channels that a later version has count with those that have none.
    usize::from(cell.channel).min(CHANNELS - 1)
}

/// Counts as reported.
pub fn counts(row: &ByState) -> Counts {
    let of = |state: DeliveryState| u64::from(row[state as usize]);
    Counts {
        endpoints: row.iter().map(|&n| u64::from(n)).sum(),
        planned: of(DeliveryState::Planned),
        submitted: of(DeliveryState::Submitted),
        accepted: of(DeliveryState::Accepted),
        delivered: of(DeliveryState::Delivered),
        answered: of(DeliveryState::Answered),
        failed: of(DeliveryState::Failed),
        unknown: of(DeliveryState::Unknown),
        held: of(DeliveryState::Held),
        excluded: of(DeliveryState::Excluded),
    }
}

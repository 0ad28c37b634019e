//! ReadyIndex counts the deliveries of an alert that could be dispatched, by class of routes, with a cursor
//! to the first of each class.

/// See the module.
#[derive(Default)]
pub struct ReadyIndex {
    counts: Vec<u32>,
    total: u32,
    /// No delivery of the class before it is ready.
    cursors: Vec<u32>,
    /// The alert waits for its turn to dispatch to the class.
    in_turn: Vec<bool>,
}

impl ReadyIndex {
    /// There may be deliveries of this class.
    pub fn make_room(&mut self, class: u16) {
        if self.counts.len() <= usize::from(class) {
            self.counts.resize(usize::from(class) + 1, 0);
            self.cursors.resize(usize::from(class) + 1, 0);
            self.in_turn.resize(usize::from(class) + 1, false);
        }
    }

    /// A delivery became ready, or is no longer.
    pub fn note(&mut self, i: usize, class: u16, ready: bool) {
        let class = usize::from(class);
        if ready {
            self.counts[class] += 1;
            self.total += 1;
            self.cursors[class] = self.cursors[class].min(i as u32);
        } else {
            self.counts[class] -= 1;
            self.total -= 1;
        }
    }

    /// A delivery is of another class now.
    pub fn reclassify(&mut self, i: u32, from: u16, to: u16, ready: bool) {
        self.counts[usize::from(from)] -= u32::from(ready);
        self.counts[usize::from(to)] += u32::from(ready);
        let cursor = &mut self.cursors[usize::from(to)];
        *cursor = (*cursor).min(i);
    }

    /// Classes with a delivery that is ready.
    pub fn classes(&self) -> impl Iterator<Item = u16> + '_ {
        let any = if self.total == 0 { 0 } else { self.counts.len() };
        self.counts[..any].iter().enumerate().filter(|(_, ready)| **ready > 0).map(|(class, _)| class as u16)
    }

    /// A class with a delivery that is ready, whose turn the alert does not wait for yet: it does from now
    /// on.
    pub fn enter_turn(&mut self) -> Option<u16> {
        let class = self.classes().find(|class| !self.in_turn[usize::from(*class)])?;
        self.in_turn[usize::from(class)] = true;
        Some(class)
    }

    /// The alert does not wait for the turn of this class any more.
    pub fn leave_turn(&mut self, class: u16) {
        if let Some(in_turn) = self.in_turn.get_mut(usize::from(class)) {
            *in_turn = false;
        }
    }

    /// How many classes' turns the alert waits for.
    pub fn turns(&self) -> usize {
        self.in_turn.iter().filter(|in_turn| **in_turn).count()
    }

    /// How many of a class are ready.
    pub fn count(&self, class: u16) -> u32 {
        self.counts.get(usize::from(class)).copied().unwrap_or(0)
    }

    /// The first of a class that may be ready.
    pub fn cursor(&self, class: u16) -> usize {
        self.cursors[usize::from(class)] as usize
    }

    /// No delivery of the class before this one is ready.
    pub fn set_cursor(&mut self, class: u16, at: usize) {
        self.cursors[usize::from(class)] = at as u32;
    }
}

//! PeopleTimes holds when people were handed over or confirmed, in order: parts of them, and the curve.

/// Times of people, in order.
#[derive(Debug, Clone, Default)]
pub struct PeopleTimes {
    sorted: Vec<f64>,
    people: u64,
}

impl PeopleTimes {
    /// Of so many people, those that have a time.
    pub fn new(times: impl Iterator<Item = f64>, people: u64) -> PeopleTimes {
        let mut sorted: Vec<f64> = times.filter(|time| time.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        PeopleTimes { sorted, people }
    }

    /// People who have a time.
    pub fn reached(&self) -> u64 {
        self.sorted.len() as u64
    }

    /// When such a part (0 to 1) of all people had theirs; nothing: so many never do.
    pub fn at_part(&self, part: f64) -> Option<f64> {
        let needed = (self.people as f64 * part).ceil() as usize;
        self.sorted.get(needed.max(1) - 1).copied()
    }

    /// How many had theirs by then.
    pub fn by(&self, seconds: f64) -> u64 {
        self.sorted.partition_point(|time| *time <= seconds) as u64
    }

    /// When the last had theirs.
    pub fn last_s(&self) -> f64 {
        self.sorted.last().copied().unwrap_or(0.0)
    }

    /// Seconds and people by then, at most so many points, the last with all.
    pub fn curve(&self, points_max: usize) -> Vec<(f64, u64)> {
        let last = self.last_s();
        let steps = points_max.saturating_sub(1).max(1);
        let mut curve: Vec<(f64, u64)> = (0..=steps)
            .map(|step| last * step as f64 / steps as f64)
            .map(|seconds| (rounded(seconds), self.by(seconds)))
            .collect();
        if let Some(end) = curve.last_mut() {
            end.1 = self.reached();
        }
        curve.dedup();
        curve.truncate(points_max);
        curve
    }
}

/// Seconds as they are shown.
pub fn rounded(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

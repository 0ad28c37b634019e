//! UnfoldedCells marks the deliveries of an alert that SQL lacks: a bit each, and those that a fold is
//! taking.

/// See the module.
#[derive(Default)]
pub struct UnfoldedCells {
    dirty: Vec<u64>,
    dirty_count: usize,
    /// Bits that the fold under way has not taken yet.
    folding: Vec<u64>,
    fold_at: usize,
}

impl UnfoldedCells {
    /// So many deliveries, of which SQL has all.
    pub fn new(len: usize) -> UnfoldedCells {
        UnfoldedCells { dirty: vec![0; len.div_ceil(64)], ..UnfoldedCells::default() }
    }

    /// There are so many deliveries now.
    pub fn resize(&mut self, len: usize) {
        self.dirty.resize(len.div_ceil(64), 0);
    }

    /// A delivery changed.
    pub fn note(&mut self, i: usize) {
        let bit = 1 << (i % 64);
        let word = &mut self.dirty[i / 64];
        self.dirty_count += usize::from(*word & bit == 0);
        *word |= bit;
    }

    /// How many deliveries SQL lacks.
    pub fn count(&self) -> usize {
        self.dirty_count
    }

    /// Begins a fold of what SQL lacks now.
    pub fn begin_fold(&mut self) {
        let words = self.dirty.len();
        self.folding = std::mem::replace(&mut self.dirty, vec![0; words]);
        self.fold_at = 0;
        self.dirty_count = 0;
    }

    /// The next of the fold, in order; it stays the next until [`UnfoldedCells::take`].
    pub fn next(&mut self) -> Option<usize> {
        while let Some(&bits) = self.folding.get(self.fold_at) {
            if bits != 0 {
                return Some(self.fold_at * 64 + bits.trailing_zeros() as usize);
            }
            self.fold_at += 1;
        }
        self.folding = Vec::new();
        None
    }

    /// The fold takes the next.
    pub fn take(&mut self) {
        if let Some(bits) = self.folding.get_mut(self.fold_at) {
            *bits &= bits.wrapping_sub(1);
        }
    }

    /// Puts back what a fold did not take.
    pub fn abort_fold(&mut self) {
        let folding = std::mem::take(&mut self.folding);
        for (word, bits) in self.dirty.iter_mut().zip(folding) {
            self.dirty_count += (bits & !*word).count_ones() as usize;
            *word |= bits;
        }
    }
}

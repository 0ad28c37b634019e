//! All tests that cross crates: one binary.

//! Sets of foreign software that a test may start.
//!
//! `cargo xtask test` installs the sets of a group of tests just before the group runs, and names them in
//! `CAMPANILE_FOREIGN`. A test that starts other software by mistake would fail only on a machine without it;
//! by this it fails on every machine. A test run by `cargo test` alone may start all there is.

/// Names the sets, with commas between.
const ALLOWED: &str = "CAMPANILE_FOREIGN";

/// Every start of foreign software begins with this; `set` is one of `scripts/install-foreign`.
///
/// # Panics
/// The sets are named, and this is none of them.
pub fn needs(set: &str) {
    let Ok(allowed) = std::env::var(ALLOWED) else { return };
    assert!(
        is_among(set, &allowed),
        "this test starts foreign software of the set {set}, but runs where only these sets may: {allowed:?}. Give its \
         name what tools/xtask/src/groups.rs knows such tests by (docs/dev/testing.md)"
    );
}

fn is_among(set: &str, allowed: &str) -> bool {
    allowed.split(',').any(|one| one == set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_one_of_the_names_as_a_whole() {
        assert!(is_among("nats", "java,nats"));
        assert!(!is_among("nats", "java,nats-old") && !is_among("nats", ""));
    }
}

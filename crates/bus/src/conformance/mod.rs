//! Conformance suite checks every bus over the trait: an implementation gives a test bus, and each case is a
//! test of its own.
//!
//! ```ignore
//! mod conformance {
//!     crate::conformance::conform!(SomeGround::new());
//! }
//! ```
//! A case never asks for more than the trait promises: where servers stand behind a bus, what one handle did
//! may be seen by another a moment later, and a member may get its records a moment after they are ready.

pub(crate) mod groups;
pub(crate) mod keeping;
pub(crate) mod retained;
pub(crate) mod topics;

use crate::{Bus, Group, Leased, Record, Topic};
use std::sync::Arc;
use std::time::Duration;

/// Nothing in a case takes so long unless it never comes: machines stand still for many seconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// A lease that does not end during a case.
pub(crate) const LONG: Duration = Duration::from_secs(600);
/// A lease whose end a case waits for.
pub(crate) const SHORT: Duration = Duration::from_millis(200);

/// Where a case stands: topics of its own, and whoever carries them.
pub(crate) trait TestBus: Send + Sync {
    /// The bus. Called again it is the same topics: the same handle, or another's as a second process has it.
    fn bus(&self) -> Arc<dyn Bus>;
    /// All processes die without a word, the servers behind the bus too, and begin again. What was opened
    /// before is not used after.
    fn crash(&self);
    /// After a crash it is known at once which records above the low-water mark were acknowledged; else they
    /// may be told as open until they turn out not to come again.
    fn knows_gaps(&self) -> bool {
        true
    }
}

/// One test for each case; `$ground` is evaluated in each.
macro_rules! conform {
    ($ground:expr) => {
        $crate::conformance::conform! { @ $ground;
            topics: what_was_appended_is_read_back_in_its_order,
            topics: a_read_keeps_to_its_budget_and_gives_at_least_one_record,
            topics: a_glance_shows_what_a_read_gives_or_leaves_it_to_a_fetch,
            topics: a_reader_that_waits_is_woken_by_the_append,
            topics: appenders_at_once_get_dense_indexes_and_their_records_stay_together,
            topics: an_append_of_nothing_takes_no_index,
            topics: too_large_a_record_is_refused_and_the_largest_is_taken,
            topics: names_that_look_alike_are_different_topics,
            topics: names_that_cannot_be_one_are_refused,
            topics: topics_are_listed_by_how_they_begin,
            topics: a_removed_topic_is_gone_with_its_groups_and_may_begin_anew,
            topics: what_is_trimmed_is_never_missed_and_the_count_goes_on,
            topics: a_key_is_appended_once_and_says_where,
            topics: of_appends_at_once_under_one_key_one_counts,
            topics: an_append_at_the_head_fails_if_somebody_went_first,
            topics: of_appends_at_one_head_one_wins,
            topics: latest_counts_what_any_handle_appended_before,
            groups: each_record_goes_to_one_member_and_an_acknowledged_one_never_again,
            groups: a_released_record_comes_back_at_once_and_says_so,
            groups: an_expired_lease_goes_to_another,
            groups: a_lease_nobody_has_can_be_neither_renewed_nor_released,
            groups: a_renewed_lease_is_still_held,
            groups: ready_resolves_with_the_first_record,
            groups: groups_on_one_topic_do_not_know_each_other,
            groups: the_low_water_mark_stands_at_the_lowest_gap,
            groups: acknowledgements_survive_a_crash_after_a_flush,
            groups: what_a_dead_member_held_goes_to_another,
            groups: nothing_new_is_given_out_while_too_much_is_acknowledged_above_a_gap,
            groups: a_record_given_out_too_often_becomes_a_dead_letter,
            groups: a_record_whose_lease_ends_too_often_becomes_a_dead_letter,
            groups: without_a_place_for_dead_letters_a_record_is_given_out_on_and_on,
            keeping: what_was_acknowledged_survives_a_crash,
            keeping: keys_survive_a_crash,
            keeping: keys_of_trimmed_records_survive_a_crash,
            keeping: an_index_is_given_out_once_however_a_topic_is_kept,
            keeping: a_topic_begun_at_an_index_goes_on_from_there,
            keeping: each_limit_of_retention_holds_by_itself,
            keeping: settings_of_the_last_opening_hold,
            retained: the_last_value_of_each_key_is_seen_by_all_and_survives_a_crash,
            retained: who_waits_for_a_change_is_woken,
            retained: keys_of_any_text_are_kept_apart,
        }
    };
    (@ $ground:expr; $($part:ident: $case:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let ground = $ground;
                $crate::conformance::$part::$case(&ground).await;
            }
        )*
    };
}
pub(crate) use conform;

/// The future's value, which comes within [`PATIENCE`].
pub(crate) async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("never came: {what}"),
    }
}

/// Waits until it is so. For what no event tells.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    soon(what, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

/// Appends one record for each text, each for itself; the first one's index.
pub(crate) async fn append_each(topic: &dyn Topic, texts: &[&str]) -> u64 {
    let mut first = None;
    for text in texts {
        let index = soon("an append", topic.append(&[text.as_bytes()])).await.unwrap();
        first.get_or_insert(index);
    }
    first.unwrap_or_else(|| topic.head())
}

/// Everything from `from` on, by as many reads as it takes; indexes are dense.
pub(crate) fn all_from(topic: &dyn Topic, from: u64) -> Vec<Record> {
    let mut out: Vec<Record> = Vec::new();
    loop {
        let next = out.last().map_or(from, |last| last.index + 1);
        let records = topic.read(next, 100, 1 << 20).unwrap();
        if records.is_empty() {
            return out;
        }
        if !out.is_empty() {
            assert_eq!(records[0].index, next, "a gap");
        }
        assert!(records.windows(2).all(|pair| pair[1].index == pair[0].index + 1), "a gap in {records:?}");
        out.extend(records);
    }
}

/// Their octets as texts.
pub(crate) fn texts(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| String::from_utf8(record.octets.to_vec()).unwrap()).collect()
}

/// Takes exactly `count` records, waiting for them.
pub(crate) async fn take(group: &dyn Group, count: usize, lease: Duration) -> Vec<Leased> {
    let mut taken = Vec::new();
    soon("records of a group", async {
        while taken.len() < count {
            group.ready().await;
            taken.extend(group.take(count - taken.len(), lease).unwrap());
            if taken.len() < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    })
    .await;
    taken
}

/// Their indexes, sorted.
pub(crate) fn indexes(leased: &[Leased]) -> Vec<u64> {
    let mut indexes: Vec<u64> = leased.iter().map(|leased| leased.record.index).collect();
    indexes.sort_unstable();
    indexes
}

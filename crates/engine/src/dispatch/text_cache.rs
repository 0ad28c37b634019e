//! Compiled texts of alerts, by alert: compiled once, then shared by solve, dispatch, answer pages and
//! forecasts.

use super::wording::Wording;
use crate::api::Problem;
use records::{Alert, AlertNo, AlertRequest};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Alerts whose texts stay though nobody uses them; those in memory hold their own.
const KEPT_MAX: usize = 1_024;
/// Octets of the texts that stay, as the senders wrote them.
const KEPT_OCTETS_MAX: usize = 32 * 1024 * 1024;

/// The texts of alerts that are in use, and of the last ones that were.
#[derive(Clone, Default)]
pub struct TextCache {
    inner: Arc<TextCacheInner>,
}

#[derive(Default)]
struct TextCacheInner {
    known: Mutex<CachedTexts>,
    compiled: AtomicU64,
}

#[derive(Default)]
struct CachedTexts {
    by_alert: FxHashMap<AlertNo, Weak<Wording>>,
    /// The last ones, so that they stay.
    kept: VecDeque<Arc<Wording>>,
    kept_octets: usize,
    /// So many alerts are looked through for those nobody uses.
    look_at: usize,
}

impl TextCache {
    /// Compiles the texts of a request that is no alert yet.
    pub(crate) fn compile(&self, request: &AlertRequest) -> Result<Arc<Wording>, Vec<Problem>> {
        self.inner.compiled.fetch_add(1, Ordering::Relaxed);
        Wording::new(request).map(Arc::new)
    }

    /// Notes that these are the texts of an alert.
    pub(crate) fn keep(&self, no: AlertNo, wording: &Arc<Wording>) {
        let mut known = self.known();
        known.by_alert.insert(no, Arc::downgrade(wording));
        known.kept_octets += wording.octets();
        known.kept.push_back(wording.clone());
        while known.kept.len() > KEPT_MAX || (known.kept_octets > KEPT_OCTETS_MAX && known.kept.len() > 1) {
            let octets = known.kept.pop_front().map_or(0, |oldest| oldest.octets());
            known.kept_octets -= octets;
        }
        if known.by_alert.len() > known.look_at.max(2 * KEPT_MAX) {
            known.by_alert.retain(|_, wording| wording.strong_count() > 0);
            known.look_at = 2 * known.by_alert.len();
        }
    }

    /// The texts of an alert on record, read now if they are not known.
    pub(crate) fn of(&self, alert: &Alert) -> Arc<Wording> {
        if let Some(wording) = self.known().by_alert.get(&alert.no).and_then(Weak::upgrade) {
            return wording;
        }
        self.inner.compiled.fetch_add(1, Ordering::Relaxed);
        let wording = Arc::new(Wording::on_record(&alert.request));
        self.keep(alert.no, &wording);
        wording
    }

    /// How often texts were compiled.
    #[cfg(test)]
    pub(crate) fn compiled(&self) -> u64 {
        self.inner.compiled.load(Ordering::Relaxed)
    }

    fn known(&self) -> MutexGuard<'_, CachedTexts> {
        self.inner.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{alert, request};

    #[test]
    fn texts_are_compiled_once_for_an_alert_and_those_in_use_stay() {
        let cache = TextCache::default();
        let in_use = cache.of(&alert(1, request("one")));
        for no in 2..2 * KEPT_MAX as u64 {
            cache.of(&alert(no, request("another")));
        }
        let compiled = cache.compiled();
        assert!(Arc::ptr_eq(&in_use, &cache.of(&alert(1, request("one")))));
        cache.of(&alert(2 * KEPT_MAX as u64 - 1, request("another")));
        assert_eq!(cache.compiled(), compiled);
        cache.of(&alert(2, request("another")));
        assert_eq!(
            cache.compiled(),
            compiled + 1,
            "of what is neither in use nor among the last nothing is kept"
        );
    }
}

//! Places of what takes long, such as uploads: a limit over all, and one for each account or address, so that
//! none keeps the others out.

use crate::http::problem::{HttpProblem, HttpResult};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places, and who has them.
pub(crate) struct AccountPlaces {
    /// What takes one, for people.
    what: &'static str,
    /// Of whom each has a limit.
    each: &'static str,
    max: usize,
    taken: Mutex<HashMap<String, usize>>,
}

impl AccountPlaces {
    pub(crate) fn new(what: &'static str, max: usize) -> Arc<AccountPlaces> {
        AccountPlaces::by("account", what, max)
    }

    /// The same by another key than the account.
    pub(crate) fn by(each: &'static str, what: &'static str, max: usize) -> Arc<AccountPlaces> {
        Arc::new(AccountPlaces { what, each, max, taken: Mutex::default() })
    }

    /// Places that one account may have: three of four.
    pub(crate) fn of_account_max(&self) -> usize {
        self.max - self.max / 4
    }

    /// A place, if there is one.
    pub(crate) fn take(self: &Arc<AccountPlaces>, account: &str) -> HttpResult<AccountPlace> {
        let mut taken = self.lock();
        if taken.values().sum::<usize>() >= self.max {
            return Err(HttpProblem::busy(self.what, self.max));
        }
        let own = taken.entry(account.to_owned()).or_default();
        if *own >= self.of_account_max() {
            let what = format!("{} of one {}", self.what, self.each);
            return Err(HttpProblem::busy(&what, self.of_account_max()));
        }
        *own += 1;
        Ok(AccountPlace { places: self.clone(), account: account.to_owned() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the places, free again when it is dropped.
pub(crate) struct AccountPlace {
    places: Arc<AccountPlaces>,
    account: String,
}

impl Drop for AccountPlace {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        if let Some(own) = taken.get_mut(&self.account) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.account);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_account_takes_all_places_and_all_together_take_no_more_than_there_are() {
        let places = AccountPlaces::new("uploads", 4);
        let mut greedy: Vec<AccountPlace> = (0..3).map(|_| places.take("a").ok().unwrap()).collect();
        let refused = places.take("a").err().unwrap();
        assert_eq!(refused.detail(), "uploads of one account: at most 3 at once");
        let other = places.take("b").ok().unwrap();
        let refused = places.take("c").err().unwrap();
        assert_eq!(refused.detail(), "uploads: at most 4 at once");
        greedy.pop();
        assert!(places.take("c").is_ok(), "one is free again");
        drop((greedy, other));
        assert!(places.lock().is_empty());
    }
}

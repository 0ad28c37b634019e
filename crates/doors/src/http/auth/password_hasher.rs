//! Hashing of passwords: two at a time, away from the threads that serve requests, in a queue that ends.

use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use ring::rand::{SecureRandom, SystemRandom};
use sign_in::password::{self, PasswordMatch, SALT_OCTETS};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::Semaphore;

/// Passwords hashed at once: each takes 19 MiB and all of a processor.
const AT_ONCE: usize = 2;
/// Passwords that wait for their turn, some seconds of it.
const WAITING_MAX: usize = 256;

/// Hashes passwords.
pub(crate) struct PasswordHasher {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// Passwords hashed so far.
    count: Arc<AtomicU64>,
}

impl Default for PasswordHasher {
    fn default() -> PasswordHasher {
        PasswordHasher {
            places: Arc::new(Semaphore::new(AT_ONCE)),
            waiting: AtomicUsize::new(0),
            count: Arc::default(),
        }
    }
}

impl PasswordHasher {
    /// Compares a password with a stored hash; without one it takes the same time and finds nothing.
    pub(crate) async fn verify(&self, password: String, stored: Option<String>) -> HttpResult<PasswordMatch> {
        let verify = move || match stored {
            Some(stored) => password::verify(&password, &stored),
            None => Ok(password::verify_nobody(&password)),
        };
        self.run(verify).await?.map_err(failed)
    }

    /// Hashes a new password.
    pub(crate) async fn hash(&self, password: String) -> HttpResult<String> {
        let mut salt = [0; SALT_OCTETS];
        fill_random(&mut salt)?;
        self.run(move || password::hash(&password, salt)).await?.map_err(failed)
    }

    /// Passwords hashed so far.
    #[cfg(test)]
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    async fn run<T: Send + 'static>(&self, hash: impl FnOnce() -> T + Send + 'static) -> HttpResult<T> {
        let _waiting = QueuePlace::join(&self.waiting)?;
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(failed)?;
        let count = Arc::clone(&self.count);
        // The place goes with the work: a client that leaves does not free it early.
        let work = move || {
            let _place = place;
            count.fetch_add(1, Ordering::Relaxed);
            hash()
        };
        tokio::task::spawn_blocking(work).await.map_err(failed)
    }
}

/// A place in the queue.
struct QueuePlace<'a>(&'a AtomicUsize);

impl QueuePlace<'_> {
    fn join(count: &AtomicUsize) -> HttpResult<QueuePlace<'_>> {
        let place = QueuePlace(count);
        match count.fetch_add(1, Ordering::Relaxed) {
            before if before < WAITING_MAX => Ok(place),
            _ => Err(HttpProblem::busy("sign-ins that wait", WAITING_MAX)),
        }
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The errors of hashing say nothing of a password.
fn failed(error: impl std::fmt::Display) -> HttpProblem {
    HttpProblem::new(ProblemKind::Internal, format!("a password cannot be hashed: {error}"))
}

/// Fills octets from the system's generator.
pub(crate) fn fill_random(octets: &mut [u8]) -> HttpResult<()> {
    SystemRandom::new()
        .fill(octets)
        .map_err(|_| HttpProblem::new(ProblemKind::Internal, "the system's random number generator failed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_hash_is_of_its_password_alone_and_nobody_has_one() {
        let hasher = PasswordHasher::default();
        let hash = hasher.hash("seven green umbrellas".to_owned()).await.unwrap();
        for (password, stored, expected) in [
            ("seven green umbrellas", Some(hash.clone()), PasswordMatch::Right),
            ("seven red umbrellas", Some(hash), PasswordMatch::Wrong),
            ("seven green umbrellas", None, PasswordMatch::Wrong),
        ] {
            assert_eq!(hasher.verify(password.to_owned(), stored).await.unwrap(), expected, "{password}");
        }
        assert_eq!(hasher.count(), 4);
    }

    #[tokio::test]
    async fn the_queue_ends() {
        let count = AtomicUsize::new(WAITING_MAX - 1);
        let last = QueuePlace::join(&count).unwrap();
        assert!(QueuePlace::join(&count).is_err());
        drop(last);
        assert!(QueuePlace::join(&count).is_ok());
    }
}

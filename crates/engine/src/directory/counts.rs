//! Counts of an account's people, for who asks whether everything is ready: of the index in memory where it
//! is current, else of SQL, which fills the index.

use crate::api::{EngineError, Parts};
use crate::run::{Engine, store_error};
use records::Recipient;
use tokio::runtime::Handle;

/// How many people there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectoryCounts {
    /// All of them.
    pub people: u64,
    /// Those of whom no device is switched on.
    pub without_device: u64,
    /// Those who take part in drills that reach real devices.
    pub participants: u64,
}

impl DirectoryCounts {
    /// Of an account, now.
    ///
    /// # Errors
    /// The store's.
    pub async fn of(engine: &Engine, account: &str) -> Result<DirectoryCounts, EngineError> {
        let (parts, account, runtime) = (engine.parts().clone(), account.to_owned(), Handle::current());
        let counting = move || counted(&parts, &account, &runtime);
        let counted = tokio::task::spawn_blocking(counting).await;
        counted.map_err(|error| EngineError::Internal(error.to_string()))?
    }

    fn take(&mut self, person: &Recipient) {
        self.people += 1;
        self.without_device += u64::from(!person.devices.iter().any(|device| device.enabled));
        self.participants += u64::from(person.participant);
    }
}

/// On the calling thread.
fn counted(parts: &Parts, account: &str, runtime: &Handle) -> Result<DirectoryCounts, EngineError> {
    let mut counts = DirectoryCounts::default();
    let revision = || runtime.block_on(parts.store.directory_revision(account)).map_err(store_error);
    let before = revision()?;
    if let Some(index) = parts.directory.people(account, before) {
        let take = |person: Recipient, ()| {
            counts.take(&person);
            true
        };
        let read = index.each_matching(|_| Some(()), take);
        read.map_err(|error| EngineError::Internal(format!("people in memory: {error}")))?;
        return Ok(counts);
    }
    let mut filling = parts.directory.begin(account, before);
    let mut count = |people: &[Recipient]| {
        people.iter().for_each(|person| counts.take(person));
        true
    };
    match &mut filling {
        Some(filling) => parts.store.scan_encoded_recipients(account, &mut |people, encoded| {
            filling.take(encoded);
            count(people)
        }),
        None => parts.store.scan_recipients(account, &mut count),
    }
    .map_err(store_error)?;
    if let Some(filling) = filling {
        filling.end(revision()?);
    }
    Ok(counts)
}

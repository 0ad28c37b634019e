use std::fmt::Display;
use std::time::{Duration, Instant};

/// Between two looks at something that has no event to wait for.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Asks again and again until there is an answer.
///
/// # Panics
/// There is none after `limit`; the panic says what was last heard.
#[track_caller]
pub fn eventually<T, W: Display>(
    what: &str,
    limit: Duration,
    mut ask: impl AsyncFnMut() -> Result<T, W>,
) -> impl Future<Output = T> {
    let caller = std::panic::Location::caller();
    async move {
        let began = Instant::now();
        loop {
            let heard = match ask().await {
                Ok(answer) => return answer,
                Err(heard) => heard,
            };
            assert!(began.elapsed() < limit, "{caller}: {what}: not within {limit:?}; last heard: {heard}");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Waits for a future, not for ever.
///
/// # Panics
/// It is not ready after `limit`.
#[track_caller]
pub fn within<T>(what: &str, limit: Duration, future: impl Future<Output = T>) -> impl Future<Output = T> {
    let caller = std::panic::Location::caller();
    async move {
        match tokio::time::timeout(limit, future).await {
            Ok(value) => value,
            Err(_) => panic!("{caller}: {what}: not within {limit:?}"),
        }
    }
}

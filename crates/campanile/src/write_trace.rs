//! Write stamps: for who measures from outside whether routes keep their limits, each write of a gateway is
//! noted in a file.

use gateway::WriteObserver;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Names the file; nothing is noted without it.
const FILE: &str = "CAMPANILE_WRITE_STAMPS";

/// Who notes the writes, if the environment asks for it.
///
/// # Errors
/// The file cannot be made.
pub(crate) fn write_observer() -> Result<Option<WriteObserver>, String> {
    let Some(path) = std::env::var_os(FILE) else { return Ok(None) };
    // The wall clock is read once: so stamps of several processes on one machine lie on one line, and none
    // runs backwards.
    let born = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let noted = noting(Path::new(&path), Instant::now(), born);
    Ok(Some(noted.map_err(|error| format!("{FILE}: {}: {error}", path.display()))?))
}

/// A line for each write: the route, how many messages, and nanoseconds since 1970 before and after the
/// write. `born` since 1970 the clock showed `start`.
fn noting(path: &Path, start: Instant, born: Duration) -> io::Result<WriteObserver> {
    let file = File::options().create(true).append(true).open(path)?;
    let since =
        move |at: Instant| (born + at.checked_duration_since(start).unwrap_or(Duration::ZERO)).as_nanos();
    Ok(Arc::new(move |route: &str, messages, before, after| {
        // One append a line: several cores may write, and whoever measures kills this process when it has
        // seen enough.
        let line = format!("{route} {messages} {} {}\n", since(before), since(after));
        if let Err(error) = (&file).write_all(line.as_bytes()) {
            tracing::error!(%error, "a write stamp could not be written");
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_write_is_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stamps");
        let start = Instant::now();
        let write_observer = noting(&path, start, Duration::from_secs(2)).unwrap();
        write_observer("a", 3, start + Duration::from_nanos(5), start + Duration::from_nanos(9));
        write_observer("b", 1, start, start + Duration::from_secs(1));
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "a 3 2000000005 2000000009\nb 1 2000000000 3000000000\n"
        );
        assert!(noting(&folder.path().join("no/where"), start, Duration::ZERO).is_err());
    }
}

//! Write stamps: for who measures from outside whether routes keep their limits, each write of a gateway is noted in a file.

use gateway::Witness;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Names the file; nothing is noted without it.
const FILE: &str = "CAMPANILE_WRITE_STAMPS";

/// Who notes the writes, if the environment asks for it.
///
/// # Errors
/// The file cannot be made.
pub(crate) fn witness() -> Result<Option<Witness>, String> {
    let Some(path) = std::env::var_os(FILE) else { return Ok(None) };
    let noted = noting(Path::new(&path), Instant::now());
    Ok(Some(noted.map_err(|error| format!("{FILE}: {}: {error}", path.display()))?))
}

/// A line for each write: the route, how many messages, and nanoseconds since `start` before and after the write.
fn noting(path: &Path, start: Instant) -> io::Result<Witness> {
    let file = File::options().create(true).append(true).open(path)?;
    let since = move |at: Instant| at.checked_duration_since(start).unwrap_or(Duration::ZERO).as_nanos();
    Ok(Arc::new(move |route: &str, messages, before, after| {
        // One append a line: several cores may write, and whoever measures kills this process when it has seen enough.
        let line = format!("{route} {messages} {} {}\n", since(before), since(after));
        if let Err(error) = (&file).write_all(line.as_bytes()) {
            tracing::error!(%error, "a write stamp is lost");
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
        let witness = noting(&path, start).unwrap();
        witness("a", 3, start + Duration::from_nanos(5), start + Duration::from_nanos(9));
        witness("b", 1, start, start + Duration::from_secs(1));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a 3 5 9\nb 1 0 1000000000\n");
        assert!(noting(&folder.path().join("no/where"), start).is_err());
    }
}

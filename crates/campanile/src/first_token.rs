//! The first admin token on standard output, and what is said where there is none.

use crate::server::{RunningServer, wall_clock};
use doors::http::AdminToken;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

/// The device number of /dev/null: major 1, minor 3, on every Linux.
const NULL_DEVICE: u64 = 0x103;

/// How somebody gets in who has no token.
const REMEDY: &str = "while no server runs: campanile token create --role admin --data DIR";

/// Prints the line that the first start says.
///
/// # Errors
/// Standard output cannot be written, or leads nowhere.
pub(crate) fn print(token: &str) -> io::Result<()> {
    print_line(&format!("admin token: {token}\n"))
}

/// Prints a line with a secret that is shown this once: unlike other output it must arrive.
///
/// # Errors
/// Standard output cannot be written, or leads nowhere.
pub(crate) fn print_line(line: &str) -> io::Result<()> {
    let stdout = io::stdout();
    let kept = std::fs::File::from(stdout.as_fd().try_clone_to_owned()?);
    if kept.metadata()?.rdev() == NULL_DEVICE {
        return Err(io::Error::other("standard output is closed or /dev/null"));
    }
    let mut out = stdout.lock();
    out.write_all(line.as_bytes())?;
    out.flush()
}

impl RunningServer {
    /// Makes the first admin token, if there is none. `tell` gets it before it is on record. A server
    /// without an admin token runs, for platforms and their doors need none; its log and its answers say
    /// how to make one.
    ///
    /// # Errors
    /// The store's, in words.
    pub async fn ensure_admin_token(
        &mut self,
        tell: impl FnOnce(&str) -> io::Result<()>,
    ) -> Result<(), String> {
        // Whoever reads the printed token may show it before it is on record: the door waits for it then.
        if let Some(door) = &self.doors.http {
            door.set_without_admin(true);
        }
        let found = doors::http::ensure_admin_token(&self.store, wall_clock(), tell).await;
        let is_without = match found.map_err(|error| error.to_string())? {
            AdminToken::Known => false,
            AdminToken::Made(secret) => {
                self.admin_token = Some(secret);
                false
            }
            AdminToken::Missing => {
                tracing::warn!("there is no admin token: make one {REMEDY}");
                true
            }
            AdminToken::NotTold(error) => {
                tracing::error!(
                    %error,
                    "the first admin token cannot be printed on standard output, so there is none: the next start \
                     prints one; or make one {REMEDY}"
                );
                true
            }
        };
        if let Some(door) = &self.doors.http {
            door.set_without_admin(is_without);
        }
        Ok(())
    }
}

//! The first admin token on standard output, and what is said where there is none.

use crate::server::{RunningServer, wall_clock};
use doors::http::{AdminOnRecord, AdminRecord, AdminToken};
use engine::Leader;
use records::Role;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use store::SharedStore;
use tokio::sync::watch;

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

/// Makes the first admin token of a store, where there is none, and tells a door what it knows.
struct FirstToken {
    store: SharedStore,
    admin: AdminRecord,
}

impl FirstToken {
    /// The secret, if one was made.
    async fn ensure(
        &self,
        tell: impl FnOnce(&str) -> io::Result<()>,
    ) -> Result<Option<String>, store::StoreError> {
        // Whoever reads the printed token may show it before it is on record: the door waits for it then.
        self.admin.set(AdminOnRecord::Coming);
        let found = doors::http::ensure_admin_token(&self.store, wall_clock(), tell).await;
        let (known, secret) = match found {
            Ok(AdminToken::Known) => (AdminOnRecord::Known, Ok(None)),
            Ok(AdminToken::Made(secret)) => (AdminOnRecord::Known, Ok(Some(secret))),
            Ok(AdminToken::Missing) => {
                tracing::warn!("there is no admin token: make one {REMEDY}");
                (AdminOnRecord::Missing, Ok(None))
            }
            Ok(AdminToken::NotTold(error)) => {
                tracing::error!(
                    %error,
                    "the first admin token cannot be printed on standard output, so there is none: the next start \
                     prints one; or make one {REMEDY}"
                );
                (AdminOnRecord::Missing, Ok(None))
            }
            Err(error) => (AdminOnRecord::Missing, Err(error)),
        };
        self.admin.set(known);
        secret
    }

    /// The same as soon as this process leads: of several processes one tells a token.
    async fn ensure_as_leader(
        self,
        mut leader: watch::Receiver<Leader>,
        tell: impl FnOnce(&str) -> io::Result<()>,
    ) {
        if leader.wait_for(|leader| *leader == Leader::Here).await.is_err() {
            return; // the engine has ended
        }
        if let Err(error) = self.ensure(tell).await {
            tracing::error!(%error, "whether there is an admin token cannot be read; without one: {REMEDY}");
        }
    }
}

impl RunningServer {
    /// Makes the first admin token, if there is none. `tell` gets it before it is on record. Of several
    /// processes the leading one does it; one that follows does when it comes to lead. A server without an
    /// admin token runs, for platforms and their doors need none; its log and its answers say how to make
    /// one.
    ///
    /// # Errors
    /// The store's, in words.
    pub async fn ensure_admin_token(
        &mut self,
        tell: impl FnOnce(&str) -> io::Result<()> + Send + 'static,
    ) -> Result<(), String> {
        let admin = self.doors.http.as_ref().map(|door| door.admin_record()).unwrap_or_default();
        let first = FirstToken { store: self.store.clone(), admin };
        if self.engine.leader() == Leader::Here {
            self.admin_token = first.ensure(tell).await.map_err(|error| error.to_string())?;
            return Ok(());
        }
        let tokens = self.store.tokens(None).await.map_err(|error| error.to_string())?;
        let has_admin = tokens.iter().any(|token| token.role == Role::Admin && token.revoked.is_none());
        first.admin.set(match has_admin {
            true => AdminOnRecord::Known,
            false if tokens.is_empty() => AdminOnRecord::Coming,
            false => AdminOnRecord::Missing,
        });
        let waiting = first.ensure_as_leader(self.engine.term_changed(), tell);
        self.keepers.first_token = Some(tokio::spawn(waiting));
        Ok(())
    }
}

//! Secrets of this installation: made once, kept in the data folder, readable by its owner alone.

use std::io::Write;
use std::path::Path;

/// Octets of one secret.
const SECRET_OCTETS: usize = 32;
const FILE: &str = "keys";

/// The secrets, each for one purpose.
pub struct Keys {
    /// Signs answer links.
    pub links: [u8; SECRET_OCTETS],
    /// Signs the tags of mail addresses.
    pub tags: [u8; SECRET_OCTETS],
    /// Signs callbacks, unless the config names another.
    pub webhooks: [u8; SECRET_OCTETS],
    /// They were made at this start.
    pub are_new: bool,
}

impl Keys {
    /// Reads the file, or makes it.
    pub fn open(data: &Path) -> Result<Keys, String> {
        let path = data.join(FILE);
        let says = |error: std::io::Error| format!("the secrets in {}: {error}", path.display());
        match std::fs::read(&path) {
            Ok(octets) => Keys::of(&octets).ok_or_else(|| {
                format!("{} is damaged: it should hold {} octets; restore it from a backup, or remove it (then links and addresses in messages already sent stop working)", path.display(), 3 * SECRET_OCTETS)
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let octets = Keys::random()?;
                write_private(&path, &octets).map_err(says)?;
                let made = Keys::of(&octets).map(|keys| Keys { are_new: true, ..keys });
                made.ok_or_else(|| "no secrets could be made".to_owned())
            }
            Err(error) => Err(says(error)),
        }
    }

    /// The file's octets, made if there is none: for a bus that takes them over.
    pub fn octets(data: &Path) -> Result<Vec<u8>, String> {
        Keys::open(data)?;
        let path = data.join(FILE);
        std::fs::read(&path).map_err(|error| format!("the secrets in {}: {error}", path.display()))
    }

    /// The secret of callbacks, in the form of Standard Webhooks: `whsec_` and base64.
    pub fn webhook_secret(&self) -> gateway::Secret {
        use base64::Engine as _;
        let secret = base64::engine::general_purpose::STANDARD.encode(self.webhooks);
        gateway::Secret::from(format!("whsec_{secret}"))
    }

    /// The secret that signs callbacks of an account: of the config's, else of this installation's.
    pub fn account_callbacks(&self, configured: Option<gateway::Secret>) -> doors::http::CallbackSecrets {
        let whole = configured.unwrap_or_else(|| self.webhook_secret());
        std::sync::Arc::new(move |account| {
            gateway::notice::account_secret(&whole, account).ok().map(|secret| secret.reveal().to_owned())
        })
    }

    /// What processes vouch with for a caller they pass on: made of another, for it needs to be remembered
    /// nowhere.
    pub fn forwarding(&self) -> [u8; SECRET_OCTETS] {
        self.made(b"campanile: callers passed on between processes")
    }

    /// By which the stops of forgotten people are known: made of another likewise. Who has the database has
    /// not this.
    pub fn stops(&self) -> [u8; SECRET_OCTETS] {
        self.made(b"campanile: stops of forgotten people")
    }

    /// Under which the secrets of users' one-time codes are sealed: made of another likewise. Who has the
    /// database has not this.
    pub fn users(&self) -> [u8; SECRET_OCTETS] {
        self.made(b"campanile: secrets of users")
    }

    /// Signs evidence of alerts: made of another likewise.
    pub fn evidence(&self) -> Result<evidence::SigningKey, String> {
        let seed = self.made(b"campanile: evidence of alerts");
        evidence::SigningKey::from_seed(&seed).map_err(|error| error.to_string())
    }

    fn made(&self, purpose: &[u8]) -> [u8; SECRET_OCTETS] {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &self.links);
        let made = ring::hmac::sign(&key, purpose);
        let mut secret = [0; SECRET_OCTETS];
        secret.copy_from_slice(made.as_ref());
        secret
    }

    /// What signs that entries of the audit trail were dropped: made of another, likewise.
    pub fn audit(&self) -> store::AuditKey {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &self.links);
        let made = ring::hmac::sign(&key, b"campanile: entries dropped from the audit trail");
        let mut secret = [0; SECRET_OCTETS];
        secret.copy_from_slice(made.as_ref());
        store::AuditKey(secret)
    }

    /// New ones, as octets.
    pub fn random() -> Result<Vec<u8>, String> {
        random(3 * SECRET_OCTETS)
    }

    /// From octets.
    pub fn of(octets: &[u8]) -> Option<Keys> {
        let (links, rest) = octets.split_first_chunk::<SECRET_OCTETS>()?;
        let (tags, rest) = rest.split_first_chunk::<SECRET_OCTETS>()?;
        let webhooks: &[u8; SECRET_OCTETS] = rest.try_into().ok()?;
        Some(Keys { links: *links, tags: *tags, webhooks: *webhooks, are_new: false })
    }
}

/// Octets of chance.
pub(crate) fn random(octets: usize) -> Result<Vec<u8>, String> {
    use ring::rand::SecureRandom;
    let mut secret = vec![0; octets];
    let filled = ring::rand::SystemRandom::new().fill(&mut secret);
    filled.map_err(|_| "the operating system returned no random numbers".to_owned())?;
    Ok(secret)
}

fn write_private(path: &Path, octets: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let unfinished = path.with_extension("new");
    let _ = std::fs::remove_file(&unfinished);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    file.write_all(octets)?;
    file.sync_all()?;
    std::fs::rename(&unfinished, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_made_once_kept_private_and_a_damaged_file_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let first = Keys::open(dir.path()).unwrap();
        let again = Keys::open(dir.path()).unwrap();
        assert_eq!((first.links, first.tags, first.webhooks), (again.links, again.tags, again.webhooks));
        assert_ne!(first.links, first.tags);
        assert_eq!((first.are_new, again.are_new), (true, false));
        assert_eq!((first.stops(), first.users()), (again.stops(), again.users()));
        assert!(![first.links, first.forwarding(), first.stops()].contains(&first.users()));
        assert!(![first.links, first.forwarding()].contains(&first.stops()), "each secret has one purpose");
        let evidence = |keys: &Keys| keys.evidence().unwrap().public();
        assert_eq!(evidence(&first), evidence(&again));
        let mode = std::fs::metadata(dir.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::write(dir.path().join(FILE), b"short").unwrap();
        assert!(Keys::open(dir.path()).err().unwrap().contains("damaged"));
    }
}

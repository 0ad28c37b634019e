//! Rules changed by API beside the config: tariffs, and peers that may connect. One file in the ledger's
//! folder, replaced as a whole.
//!
//! Tariffs of the API stand in the place of the config's, all of them, until they are taken away again; peers
//! of the API are let in beside the config's. The config's can be changed meanwhile, and hold again as soon
//! as the API's are taken away.

use super::tariff_spec::TariffSpec;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Who may connect, besides those of the config.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PeerSpec {
    /// Its name here.
    pub id: String,
    /// Its DiameterIdentity; `*` stands for any part of it. Empty: any.
    pub origin_host: String,
    /// Its realm, likewise.
    pub realm: String,
    /// From where: addresses and networks; empty: from anywhere.
    pub allowed_ips: Vec<String>,
    /// Only by TLS.
    pub tls: bool,
}

/// The file's content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuntimeSettings {
    /// Grows with each change.
    pub version: u64,
    /// None: the config's hold.
    pub tariffs: Option<Vec<TariffSpec>>,
    pub peers: Vec<PeerSpec>,
}

/// The settings and their file.
#[derive(Debug)]
pub struct RuntimeRules {
    path: Option<PathBuf>,
    settings: Mutex<RuntimeSettings>,
}

/// The file's name in the ledger's folder.
const FILE: &str = "settings.json";
/// Form of the file. Raised with the first release that writes what an earlier one cannot read.
const SETTINGS_FORM: u64 = 1;
const NOWHERE: &str =
    "processes that share PostgreSQL take prices and peers from their configs: change those, and reload";

impl RuntimeRules {
    /// Reads them; where there is no file there were no changes.
    ///
    /// # Errors
    /// The file cannot be read or understood.
    pub fn open(folder: &Path) -> io::Result<RuntimeRules> {
        let path = folder.join(FILE);
        let settings = match fs::read(&path) {
            Ok(octets) => read(&octets).map_err(|why| {
                io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()))
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => RuntimeSettings::default(),
            Err(error) => return Err(error),
        };
        Ok(RuntimeRules { path: Some(path), settings: Mutex::new(settings) })
    }

    /// Of a ledger without a folder: nothing can be changed.
    pub fn nowhere() -> RuntimeRules {
        RuntimeRules { path: None, settings: Mutex::default() }
    }

    /// As they are now.
    pub fn get(&self) -> RuntimeSettings {
        self.lock().clone()
    }

    /// Changes them: `change` sees them as they are and may refuse. On disk before this returns.
    ///
    /// # Errors
    /// What `change` said, or the disk; that of a ledger without a folder is [`io::ErrorKind::Unsupported`].
    pub fn change<E: From<io::Error>>(
        &self,
        change: impl FnOnce(&mut RuntimeSettings) -> Result<(), E>,
    ) -> Result<RuntimeSettings, E> {
        let Some(path) = &self.path else {
            // Each of several processes would have others.
            return Err(io::Error::new(io::ErrorKind::Unsupported, NOWHERE).into());
        };
        let mut held = self.lock();
        let mut new = held.clone();
        change(&mut new)?;
        new.version += 1;
        write(path, &new)?;
        *held = new.clone();
        Ok(new)
    }

    fn lock(&self) -> MutexGuard<'_, RuntimeSettings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file: its form beside the settings.
#[derive(Serialize)]
struct Form<'a> {
    form: u64,
    #[serde(flatten)]
    settings: &'a RuntimeSettings,
}

/// Reads the file's octets. One without a form is of the first.
fn read(octets: &[u8]) -> Result<RuntimeSettings, String> {
    let damaged =
        |error: serde_json::Error| format!("{error}; restore it from a copy, or remove it to begin anew");
    let mut value: serde_json::Value = serde_json::from_slice(octets).map_err(damaged)?;
    let form = value.as_object_mut().and_then(|object| object.remove("form"));
    match form.as_ref().and_then(serde_json::Value::as_u64) {
        Some(form) if form > SETTINGS_FORM => Err(format!(
            "its form is {form}, which was written by a newer version of campanile: this one reads forms up to {SETTINGS_FORM}; \
             use the newer one"
        )),
        _ => serde_json::from_value(value).map_err(damaged),
    }
}

fn write(path: &Path, settings: &RuntimeSettings) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = fs::File::create(&new)?;
    file.write_all(&serde_json::to_vec_pretty(&Form { form: SETTINGS_FORM, settings })?)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    path.parent().map_or(Ok(()), super::log::sync_folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_there_at_the_next_start_and_what_was_refused_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let kept = RuntimeRules::open(folder.path()).unwrap();
        assert_eq!(kept.get(), RuntimeSettings::default());
        let peer = PeerSpec { id: "smf".into(), origin_host: "smf.*".into(), ..PeerSpec::default() };
        let add = |settings: &mut RuntimeSettings| {
            settings.peers.push(peer.clone());
            Ok::<(), io::Error>(())
        };
        assert_eq!(kept.change(add).unwrap().version, 1);
        let refused = |settings: &mut RuntimeSettings| {
            settings.peers.clear();
            Err(io::Error::other("no"))
        };
        kept.change(refused).unwrap_err();
        assert_eq!(RuntimeRules::open(folder.path()).unwrap().get(), kept.get());
        assert_eq!(kept.get().peers, [peer]);
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert!(text.starts_with("{\n  \"form\": 1,"), "{text}");
        fs::write(folder.path().join(FILE), text.replace("\"form\": 1", "\"form\": 2, \"new\": 7")).unwrap();
        let why = RuntimeRules::open(folder.path()).unwrap_err().to_string();
        assert!(why.contains("settings.json") && why.contains("newer version"), "{why}");
        fs::write(folder.path().join(FILE), "{\"peer\": []}").unwrap();
        let why = RuntimeRules::open(folder.path()).unwrap_err().to_string();
        assert!(why.contains("settings.json") && why.contains("peer"), "{why}");
    }

    #[test]
    fn a_ledger_without_a_folder_takes_no_change() {
        let kept = RuntimeRules::nowhere();
        let add = |settings: &mut RuntimeSettings| {
            settings.peers.push(PeerSpec::default());
            Ok::<(), io::Error>(())
        };
        assert_eq!(kept.change(add).unwrap_err().kind(), io::ErrorKind::Unsupported);
        assert_eq!(kept.get(), RuntimeSettings::default());
    }
}

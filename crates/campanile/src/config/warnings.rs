//! Warnings about a good config: what others on the machine or on the network could read.

use super::Config;
use settings::SecretSources;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What everybody on the machine may do with a file.
const EVERYBODY: u32 = 0o007;
/// Keys that are named in one warning.
const KEYS_SHOWN: usize = 3;

/// What is said of a config that was read from `file`.
pub(super) fn of(config: &Config, secrets: &SecretSources, file: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    warnings.extend(open_config(config, secrets, file));
    warnings.extend(secrets.files.iter().filter(|file| is_open(file)).map(|file| {
        let file = file.display();
        format!("{file} holds a secret, and everybody on this machine can read it: chmod 600 {file}")
    }));
    warnings.extend(doors(config).into_iter().filter_map(|(key, listen)| {
        let is_far = listen.is_some_and(|listen| !listen.ip().is_loopback());
        let listen = listen.filter(|_| is_far)?;
        Some(format!(
            "{key}: {listen} is beyond loopback and without TLS: passwords, tokens and texts can be read on the way; \
             use TLS here or in a proxy before it"
        ))
    }));
    warnings
}

fn is_open(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|found| found.mode() & EVERYBODY != 0)
}

fn open_config(config: &Config, secrets: &SecretSources, file: &Path) -> Option<String> {
    // The name of a local file is none.
    let is_secret = |key: &&String| *key != "store.url" || config.store.url.reveal().contains("://");
    let written: Vec<&str> = secrets.written.iter().filter(is_secret).map(String::as_str).collect();
    let first = written.first().filter(|_| is_open(file))?;
    let shown = written.iter().take(KEYS_SHOWN).copied().collect::<Vec<_>>().join(", ");
    let more = if written.len() > KEYS_SHOWN { ", …" } else { "" };
    let (key, file) = (first.rsplit('.').next().unwrap_or(first), file.display());
    Some(format!(
        "{file} holds secrets ({shown}{more}), and everybody on this machine can read it: chmod 640 {file}, or put \
         them into files of their own ({key}_file)"
    ))
}

/// Listening addresses without TLS, by their keys.
fn doors(config: &Config) -> Vec<(&'static str, Option<SocketAddr>)> {
    let http = &config.http;
    let smtp = config.smtp.as_ref().filter(|smtp| smtp.tls_cert.is_none());
    let smpp = config.smpp.as_ref().filter(|smpp| !smpp.tls_only);
    let topics = config.topics.as_ref().filter(|topics| !topics.tls_only);
    let diameter = config.diameter.as_ref().filter(|diameter| !diameter.tls_only);
    vec![
        ("http.listen", http.tls_cert.is_none().then_some(http.listen)),
        ("smtp.listen", smtp.map(|smtp| smtp.listen)),
        ("smpp.listen", smpp.map(|smpp| smpp.listen)),
        ("topics.listen", topics.map(|topics| topics.listen)),
        ("diameter.listen", diameter.map(|diameter| diameter.listen)),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::parse_all;
    use super::*;
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;

    fn warnings(folder: &Path, text: &str, mode: u32) -> Vec<String> {
        let file = folder.join("campanile.toml");
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let (config, secrets, problems) = parse_all(text, "campanile.toml", folder, &BTreeMap::new());
        assert!(problems.is_empty(), "{problems}");
        of(&config, &secrets, &file)
    }

    #[test]
    fn a_config_with_a_secret_that_everybody_can_read_is_warned_of() {
        let folder = tempfile::tempdir().unwrap();
        let platform = "[[platform]]\nusername = \"a\"\npassword = \"secret\"\n";
        for (mode, count) in [(0o644, 1), (0o604, 1), (0o640, 0), (0o600, 0)] {
            let warnings = warnings(folder.path(), platform, mode);
            assert_eq!(warnings.len(), count, "{mode:o}: {warnings:?}");
            for warning in warnings {
                assert!(
                    warning.contains("platform[0].password") && warning.contains("password_file"),
                    "{warning}"
                );
                assert!(!warning.contains("secret)"), "{warning}");
            }
        }
        let none = ["", "[store]\nurl = \"sqlite:other.db\"\n"];
        assert!(none.iter().all(|text| warnings(folder.path(), text, 0o644).is_empty()));
    }

    #[test]
    fn a_secret_file_that_everybody_can_read_is_warned_of() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("pw");
        std::fs::write(&secret, "secret\n").unwrap();
        let platform = "[[platform]]\nusername = \"a\"\npassword_file = \"pw\"\n";
        for (mode, count) in [(0o644, 1), (0o600, 0)] {
            std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(mode)).unwrap();
            let warnings = warnings(folder.path(), platform, 0o644);
            assert_eq!(warnings.len(), count, "{mode:o}: {warnings:?}");
            assert!(warnings.iter().all(|warning| warning.contains("/pw holds a secret")));
        }
    }

    #[test]
    fn a_door_beyond_loopback_without_tls_is_warned_of_by_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let cases = [
            ("[http]\nlisten = \"0.0.0.0:8080\"\n", &["http.listen"][..]),
            ("[http]\nlisten = \"[::]:8080\"\n", &["http.listen"]),
            ("[http]\nlisten = \"127.0.0.1:8080\"\n[smpp]\nlisten = \"127.9.9.9:2775\"\n", &[]),
            ("[smtp]\ndomain = \"in.test\"\nlisten = \"0.0.0.0:25\"\n", &["smtp.listen"]),
            (
                "[smpp]\nlisten = \"10.0.0.1:2775\"\n[topics]\nlisten = \"10.0.0.1:12345\"\n",
                &["smpp.listen", "topics.listen"],
            ),
        ];
        for (text, keys) in cases {
            let warnings = warnings(folder.path(), text, 0o600);
            let found: Vec<&str> =
                warnings.iter().map(|warning| warning.split(':').next().unwrap_or_default()).collect();
            assert_eq!(found, keys, "{text}");
        }
    }
}

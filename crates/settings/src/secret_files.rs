//! Files of secrets: every key of a secret has a twin, `password_file` beside `password`, that names a file
//! with it, so that a configuration need hold no secret.

use crate::node::{Node, NodeValue, TableEntry, join};
use crate::outline::{KeyDoc, Outline};
use crate::problem::{Place, Problems};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What the name of a twin ends with.
const SUFFIX: &str = "_file";
/// Begins a name that systemd gave a file by `LoadCredential=`.
const CREDENTIAL: &str = "credential:";
/// Octets of a file of a secret.
const SECRET_OCTETS_MAX: u64 = 64 * 1024;
/// Stands for a secret that is required and could not be read, so that it is not reported a second time.
const UNREAD: &str = "unread";

/// Where files of secrets are looked for.
#[derive(Debug, Clone, Copy)]
pub struct SecretFiles<'a> {
    /// Relative paths are below this folder.
    pub base: &'a Path,
    /// systemd's folder of credentials, `$CREDENTIALS_DIRECTORY`.
    pub credentials: Option<&'a Path>,
}

/// Where secrets came from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretSources {
    /// Paths of keys whose secret stands in the configuration file itself, such as `route[0].password`.
    pub written: Vec<String>,
    /// Files that were read.
    pub files: Vec<PathBuf>,
}

/// Puts the secrets of files in the place of the keys that name them. A line's end at the end of a file is
/// cut. A file that is missing, too long or no text is a problem at its key.
pub fn read_secret_files(
    root: &mut Node,
    outline: &Outline,
    files: SecretFiles<'_>,
    problems: &mut Problems,
) -> SecretSources {
    let mut reader = Reader { files, problems, sources: SecretSources::default() };
    reader.node(root, outline, "");
    reader.sources
}

struct Reader<'a> {
    files: SecretFiles<'a>,
    problems: &'a mut Problems,
    sources: SecretSources,
}

impl Reader<'_> {
    fn node(&mut self, node: &mut Node, outline: &Outline, path: &str) {
        let entries = match &mut node.kind {
            NodeValue::Table(entries) => entries,
            NodeValue::List(items) => {
                for (n, item) in items.iter_mut().enumerate() {
                    self.node(item, outline, &format!("{path}[{n}]"));
                }
                return;
            }
            _ => return,
        };
        let of_variants = outline.variants.iter().flat_map(|variant| &variant.outline.keys);
        let mut seen = BTreeSet::new();
        for key in outline.keys.iter().chain(of_variants).filter(|key| seen.insert(key.name)) {
            if key.schema.is_secret() {
                self.secret(entries, key, path);
            } else if let Some(entry) = entries.get_mut(key.name)
                && let Some(section) = key.schema.section()
            {
                self.node(&mut entry.node, &section, &join(path, key.name));
            }
        }
    }

    fn secret(&mut self, entries: &mut BTreeMap<String, TableEntry>, key: &KeyDoc, path: &str) {
        let twin_name = format!("{}{SUFFIX}", key.name);
        let twin = entries.remove(&twin_name);
        let is_from_environment = |entry: &TableEntry| matches!(entry.place, Place::Environment(_));
        let (twin, own) = match (twin, entries.get(key.name)) {
            (Some(twin), Some(own)) if is_from_environment(own) && !is_from_environment(&twin) => {
                (None, Some(own))
            }
            (Some(twin), Some(own)) if is_from_environment(&twin) && !is_from_environment(own) => {
                (Some(twin), None)
            }
            found => found,
        };
        match (twin, own) {
            (None, None) => {}
            (None, Some(own)) => {
                if matches!(own.place, Place::File { .. }) {
                    self.sources.written.push(join(path, key.name));
                }
            }
            (Some(twin), Some(_)) => {
                let reason = format!("excludes {}: one of them must go", key.name);
                self.problems.add(twin.place, &join(path, &twin_name), reason);
            }
            (Some(twin), None) => {
                let secret = self.read(&twin.node).map_err(|reason| {
                    self.problems.add(twin.place.clone(), &join(path, &twin_name), reason);
                });
                if let Some(text) = secret.ok().or(key.is_required.then(|| UNREAD.to_owned())) {
                    let node = Node { place: twin.node.place, kind: NodeValue::Text(text) };
                    entries.insert(key.name.to_owned(), TableEntry { place: twin.place, node });
                }
            }
        }
    }

    fn read(&mut self, node: &Node) -> Result<String, String> {
        let (NodeValue::Text(name) | NodeValue::Word(name)) = &node.kind else {
            return Err(format!("must be the path of a file, not {}", node.kind_in_words()));
        };
        let path = self.path(name)?;
        let failed = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
        let length = std::fs::metadata(&path).map_err(failed)?.len();
        if length > SECRET_OCTETS_MAX {
            return Err(format!(
                "{} has {length} octets, over the limit of {SECRET_OCTETS_MAX} for a secret",
                path.display()
            ));
        }
        let text = std::fs::read_to_string(&path).map_err(failed)?;
        let secret = text.strip_suffix('\n').unwrap_or(&text);
        let secret = secret.strip_suffix('\r').unwrap_or(secret).to_owned();
        if secret.is_empty() {
            return Err(format!("{} is empty", path.display()));
        }
        self.sources.files.push(path);
        Ok(secret)
    }

    fn path(&self, name: &str) -> Result<PathBuf, String> {
        let Some(credential) = name.strip_prefix(CREDENTIAL) else {
            if name.is_empty() {
                return Err("is empty: the path of a file is needed".to_owned());
            }
            return Ok(self.files.base.join(name));
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if credential.is_empty() || credential.starts_with('.') || !credential.chars().all(is_plain) {
            return Err(format!(
                "{credential:?} is not the name of a credential: letters, digits, -, _ and . (not first)"
            ));
        }
        let folder = self.files.credentials.ok_or_else(|| {
            format!(
                "the credential {credential} is not there: $CREDENTIALS_DIRECTORY is not set; systemd sets it for a \
                 unit with LoadCredential={credential}:FILE"
            )
        })?;
        Ok(folder.join(credential))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Secret, Section, ValueFormat, overlay, parse};

    crate::section! {
        /// A house.
        House {
            /// Its key.
            key: Secret = Secret::default(),
            /// A spare one.
            spare: Option<Secret> = None,
            /// Its doors.
            door: Vec<Door> = Vec::new(),
        }
    }

    crate::section! {
        /// A door.
        Door {
            /// Its code.
            #[manual(required, example = "1234")]
            code: Secret = Secret::default(),
        }
    }

    struct Found {
        house: House,
        sources: SecretSources,
        problems: Vec<String>,
    }

    fn read(folder: &Path, text: &str, environment: &[(&str, &str)], credentials: Option<&Path>) -> Found {
        let mut problems = Problems::new("c.toml");
        let mut root = parse(text, &mut problems);
        let environment: BTreeMap<String, String> =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        overlay(&mut root, "X__", &environment, &mut problems);
        let files = SecretFiles { base: folder, credentials };
        let sources = read_secret_files(&mut root, &House::outline(), files, &mut problems);
        let house = House::read(&root, "", &mut problems).unwrap_or_default();
        Found { house, sources, problems: problems.to_string().lines().map(str::to_owned).collect() }
    }

    fn written(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, octets) in files {
            std::fs::write(folder.path().join(name), octets).unwrap();
        }
        folder
    }

    #[test]
    fn a_secret_is_read_from_the_file_its_twin_names_without_the_lines_end() {
        let folder = written(&[("a", b"one\n"), ("b", b"two\r\n"), ("c", b" three \n\n"), ("d", b"four")]);
        let text =
            "key_file = \"a\"\nspare_file = \"b\"\n[[door]]\ncode_file = \"c\"\n[[door]]\ncode = \"x\"\n";
        let absolute = folder.path().join("d");
        let found = read(folder.path(), text, &[("X__DOOR__1__CODE_FILE", absolute.to_str().unwrap())], None);
        assert_eq!(found.problems, Vec::<String>::new());
        assert_eq!(found.house.key.reveal(), "one");
        assert_eq!(found.house.spare.unwrap().reveal(), "two");
        let codes: Vec<&str> = found.house.door.iter().map(|door| door.code.reveal()).collect();
        assert_eq!(codes, [" three \n", "four"], "one line's end is cut; the environment goes over the file");
        assert_eq!((found.sources.files.len(), found.sources.written.len()), (4, 0));
    }

    #[test]
    fn a_credential_is_looked_for_where_systemd_keeps_it() {
        let folder = written(&[("pw", b"secret\n")]);
        let elsewhere = Path::new("/nonexistent");
        let text = "key_file = \"credential:pw\"\n";
        let found = read(elsewhere, text, &[], Some(folder.path()));
        assert_eq!((found.house.key.reveal(), found.problems.len()), ("secret", 0));
        let found = read(elsewhere, text, &[], None);
        assert!(found.problems[0].contains("LoadCredential=pw:FILE"), "{:?}", found.problems);
        for name in ["", "../pw", ".", "a/b"] {
            let found =
                read(elsewhere, &format!("key_file = \"credential:{name}\"\n"), &[], Some(folder.path()));
            assert!(found.problems[0].contains("is not the name of a credential"), "{:?}", found.problems);
        }
    }

    #[test]
    fn what_is_wrong_with_a_file_is_a_problem_of_its_key_once() {
        let long = vec![b'x'; 70_000];
        let folder = written(&[("empty", b"\n"), ("long", &long), ("octets", b"\xff\xfe")]);
        let cases = [
            ("key_file = \"missing\"", "c.toml:1:1: key_file: ", "missing cannot be read"),
            ("key_file = \"empty\"", "c.toml:1:1: key_file: ", "is empty"),
            ("key_file = \"\"", "c.toml:1:1: key_file: ", "is empty"),
            ("key_file = \"long\"", "c.toml:1:1: key_file: ", "over the limit of 65536"),
            ("key_file = \"octets\"", "c.toml:1:1: key_file: ", "cannot be read"),
            ("key_file = 7", "c.toml:1:1: key_file: ", "not an integer"),
            ("key = \"a\"\nkey_file = \"b\"", "c.toml:2:1: key_file: ", "excludes key"),
            (
                "[[door]]\ncode_file = \"missing\"",
                "c.toml:2:1: door[0].code_file: ",
                "missing cannot be read",
            ),
            ("key_fil = \"a\"", "c.toml:1:1: key_fil: ", "is unknown"),
        ];
        for (text, place, reason) in cases {
            let found = read(folder.path(), text, &[], None);
            assert_eq!(found.problems.len(), 1, "{text}: {:?}", found.problems);
            let problem = &found.problems[0];
            assert!(problem.starts_with(place) && problem.contains(reason), "{problem}");
        }
        let found = read(folder.path(), "[[door]]\ncode_file = \"missing\"", &[], None);
        assert_eq!(found.house.door[0].code.reveal(), UNREAD, "it is not asked for a second time");
    }

    #[test]
    fn secrets_in_the_file_itself_are_told_and_those_of_the_environment_are_not() {
        let folder = written(&[]);
        let text = "key = \"a\"\n[[door]]\ncode = \"b\"\n";
        let found = read(folder.path(), text, &[("X__SPARE", "c"), ("X__DOOR__0__CODE", "d")], None);
        assert_eq!(found.sources.written, ["key"]);
        let text = "key_file = \"missing\"\n";
        let found = read(folder.path(), text, &[("X__KEY", "e")], None);
        assert_eq!(
            (found.house.key.reveal(), found.problems.len()),
            ("e", 0),
            "the environment goes over the file"
        );
    }
}

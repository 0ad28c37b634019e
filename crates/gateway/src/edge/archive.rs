//! Archive for a site: one tar file, the same octets whenever it is made of the same alert and text.
//!
//! ```text
//! manifest.json       what it is, and every file with its size and BLAKE3
//! alert.txt           the text, as rendered for the site
//! alert.xml           CAP 1.2
//! attachments/NAME    each attachment
//! ```

use crate::documents::{AttachedFile, DocumentSet};
use records::AlertId;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Component, Path, PathBuf};

/// The form of an archive.
const VERSION: u32 = 1;
/// What tells what the rest is. The first of all.
const MANIFEST: &str = "manifest.json";
/// The text.
const TEXT: &str = "alert.txt";
/// CAP.
const CAP: &str = "alert.xml";
/// The folder of attachments.
const ATTACHMENTS: &str = "attachments";
/// Octets of a manifest at most.
const MANIFEST_OCTETS_MAX: u64 = 1 << 20;
/// Files of an archive at most, attachments and the three of its own.
const FILES_MAX: usize = 64;
/// Hexadecimal digits of an archive's hash in its name: enough that no two texts of an alert share them.
const HASH_CHARS: usize = 16;
/// What the folder is called in which an archive is unpacked before it is in its place.
const UNFINISHED: &str = ".unpacking-";
/// The end of an archive's name.
const SUFFIX: &str = ".tar";

/// An archive on this machine.
#[derive(Debug, PartialEq, Eq)]
pub struct PackedArchive {
    /// What it is called at the sites: `alert-ID-HASH.tar`.
    pub name: String,
    /// Octets.
    pub size: u64,
}

/// Makes the archive of an alert at `path`.
///
/// # Errors
/// A file that cannot be read or written, or an attachment that is not what it was.
pub fn pack(path: &Path, alert: AlertId, text: &str, documents: &DocumentSet) -> io::Result<PackedArchive> {
    let text = format!("{}\n", text.trim_end());
    let manifest = manifest(alert, &text, documents);
    let mut tar = tar::Builder::new(Hashed {
        to: BufWriter::new(File::create(path)?),
        hash: blake3::Hasher::new(),
        size: 0,
    });
    for (name, octets) in [(MANIFEST, manifest.as_bytes()), (TEXT, text.as_bytes()), (CAP, &documents.cap)] {
        tar.append_data(&mut header(octets.len() as u64), name, octets)?;
    }
    for attached in &documents.attachments {
        let file = Checked::open(attached)?;
        let name = format!("{ATTACHMENTS}/{}", attached.name);
        tar.append_data(&mut header(attached.size), name, file)?;
    }
    let mut written = tar.into_inner()?;
    written.flush()?;
    let hash = written.hash.finalize().to_hex();
    Ok(PackedArchive { name: format!("alert-{alert}-{}{SUFFIX}", &hash[..HASH_CHARS]), size: written.size })
}

/// What the archive says of itself.
fn manifest(alert: AlertId, text: &str, documents: &DocumentSet) -> String {
    let file = |name: &str, kind: &str, octets: &[u8]| json!({"name": name, "type": kind, "size": octets.len(), "blake3": blake3::hash(octets).to_hex().as_str()});
    let mut files =
        vec![file(TEXT, "text/plain", text.as_bytes()), file(CAP, "application/cap+xml", &documents.cap)];
    files.extend(documents.attachments.iter().map(|attached| {
        json!({"name": format!("{ATTACHMENTS}/{}", attached.name), "type": attached.media_type,
               "size": attached.size, "blake3": attached.blake3})
    }));
    let manifest = json!({
        "version": VERSION, "alert": alert.to_string(), "mode": documents.mode, "priority": documents.priority,
        "headline": documents.headline, "text": text.trim_end(), "sent": documents.sent, "expires": documents.expires,
        "links": documents.links, "files": files,
    });
    format!("{manifest:#}\n")
}

/// Nothing of this machine or moment is in it.
fn header(size: u64) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_size(size);
    header.set_mode(0o644);
    header.set_mtime(0);
    header
}

/// An attachment that is read as far as it was promised, and must be what was promised.
struct Checked {
    file: io::Take<BufReader<File>>,
    hash: blake3::Hasher,
    blake3: String,
    name: String,
}

impl Checked {
    fn open(attached: &AttachedFile) -> io::Result<Checked> {
        let said = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", attached.name));
        let file = File::open(&attached.file).map_err(said)?;
        if file.metadata()?.len() != attached.size {
            return Err(changed(&attached.name));
        }
        Ok(Checked {
            file: BufReader::new(file).take(attached.size),
            hash: blake3::Hasher::new(),
            blake3: attached.blake3.clone(),
            name: attached.name.clone(),
        })
    }
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.hash.update(&buffer[..read]);
        if read == 0 && !buffer.is_empty() && self.hash.finalize().to_hex().as_str() != self.blake3 {
            return Err(changed(&self.name));
        }
        Ok(read)
    }
}

fn changed(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{name}: the file has changed since it was attached"))
}

/// Hashes and counts what is written.
struct Hashed<W> {
    to: W,
    hash: blake3::Hasher,
    size: u64,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let written = self.to.write(octets)?;
        self.hash.update(&octets[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Unpacks the archive at `path` into a folder beside it, called as the archive without its `.tar`, and
/// answers with that. The folder is there whole, on disk, or not at all; one that is there already is left as
/// it is.
///
/// # Errors
/// In words: no archive, one that does not agree with itself, or a disk that does not take it.
pub fn unpack(path: &Path) -> Result<PathBuf, String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = name.strip_suffix(SUFFIX).filter(|stem| !stem.is_empty() && !stem.starts_with('.'));
    let stem = stem.ok_or_else(|| {
        format!("{name:?} is not an archive of an alert: its name does not end with {SUFFIX}")
    })?;
    let folder = path.with_file_name(stem);
    if folder.exists() {
        return Ok(folder);
    }
    let unfinished = path.with_file_name(format!("{UNFINISHED}{stem}"));
    let said = |error: io::Error| format!("{name} cannot be unpacked: {error}");
    // What an interrupted one left.
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(said)?;
    }
    fs::create_dir(&unfinished).map_err(said)?;
    let unpacked = unpack_into(path, &unfinished).and_then(|()| {
        fs::rename(&unfinished, &folder)?;
        sync(path.parent().unwrap_or(Path::new(".")))
    });
    if unpacked.is_err() {
        // The error at hand says more than one of this.
        let _ = fs::remove_dir_all(&unfinished);
    }
    unpacked.map(|()| folder).map_err(said)
}

fn sync(folder: &Path) -> io::Result<()> {
    // "" is where we are.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

fn wrong(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

fn unpack_into(path: &Path, folder: &Path) -> io::Result<()> {
    let mut tar = tar::Archive::new(BufReader::new(File::open(path)?));
    let mut promised: Option<BTreeSet<(String, u64, String)>> = None;
    for (count, entry) in tar.entries()?.enumerate() {
        let mut entry = entry?;
        if count >= FILES_MAX {
            return Err(wrong(format!("it has more than {FILES_MAX} files")));
        }
        let name = plain_name(&entry)?;
        let Some(promised) = &mut promised else {
            promised = Some(read_manifest(&mut entry, &name, folder)?);
            continue;
        };
        let place = folder.join(&name);
        if let Some(above) = place.parent() {
            fs::create_dir_all(above)?;
        }
        // Never over another file of the archive.
        let mut file = File::create_new(&place)?;
        let mut hashed = Hashed { to: &mut file, hash: blake3::Hasher::new(), size: 0 };
        io::copy(&mut entry, &mut hashed)?;
        let found = (name, hashed.size, hashed.hash.finalize().to_hex().to_string());
        if !promised.remove(&found) {
            return Err(wrong(format!("{} does not match {MANIFEST}", found.0)));
        }
        file.sync_all()?;
    }
    match promised {
        None => Err(wrong("it is empty")),
        Some(rest) => match rest.first() {
            Some((name, ..)) => Err(wrong(format!("{name} is missing"))),
            None => [folder.join(ATTACHMENTS), folder.to_owned()]
                .iter()
                .filter(|folder| folder.exists())
                .try_for_each(|folder| sync(folder)),
        },
    }
}

/// The entry's name: a plain file at the top or in the folder of attachments.
fn plain_name<R: Read>(entry: &tar::Entry<'_, R>) -> io::Result<String> {
    let path = entry.path()?;
    let named = path.to_str().filter(|_| entry.header().entry_type().is_file()).and_then(|name| {
        let parts: Option<Vec<&str>> = path
            .components()
            .map(|part| match part {
                Component::Normal(part) => part.to_str(),
                _ => None,
            })
            .collect();
        matches!(parts?.as_slice(), [_] | [ATTACHMENTS, _]).then(|| name.to_owned())
    });
    named.ok_or_else(|| wrong(format!("{} is not a plain file in its folder", path.display())))
}

fn read_manifest(
    entry: &mut impl Read,
    name: &str,
    folder: &Path,
) -> io::Result<BTreeSet<(String, u64, String)>> {
    if name != MANIFEST {
        return Err(wrong(format!("it begins with {name}, not with {MANIFEST}")));
    }
    let mut octets = Vec::new();
    entry.take(MANIFEST_OCTETS_MAX).read_to_end(&mut octets)?;
    let manifest: Value = serde_json::from_slice(&octets)?;
    if manifest["version"] != VERSION {
        return Err(wrong(format!(
            "it has version {}, this program supports {VERSION}",
            manifest["version"]
        )));
    }
    let file = |file: &Value| {
        Some((file["name"].as_str()?.to_owned(), file["size"].as_u64()?, file["blake3"].as_str()?.to_owned()))
    };
    let files: Option<BTreeSet<_>> =
        manifest["files"].as_array().and_then(|files| files.iter().map(file).collect());
    let files = files.ok_or_else(|| wrong(format!("{MANIFEST} names no files")))?;
    let mut kept = File::create_new(folder.join(MANIFEST))?;
    kept.write_all(&octets)?;
    kept.sync_all()?;
    Ok(files)
}

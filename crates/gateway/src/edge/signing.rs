//! The key that signs what is pushed: made once, kept in a file that its owner alone can read.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Reads the file, or makes it with a key that nobody has had before. Tells the log which public key sites
/// may trust.
pub(super) fn open(path: &Path) -> Result<[u8; 32], String> {
    let key = match path.exists() {
        true => read_signing_key(path)?,
        false => make(path)?,
    };
    let signer = hex(&paced_udp::push::public_key(&key));
    tracing::info!(signer, "archives are signed: sites may trust this signer alone");
    Ok(key)
}

/// Reads a signing key of 64 hexadecimal digits.
///
/// # Errors
/// In words: the file cannot be read, or holds no such key.
pub fn read_signing_key(path: &Path) -> Result<[u8; 32], String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let octet = |pair: &[u8]| {
        let digit = |octet: u8| char::from(octet).to_digit(16);
        Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8)
    };
    let digits = text.trim().as_bytes();
    let octets: Option<Vec<u8>> = digits.chunks_exact(2).map(octet).collect();
    let key = octets.filter(|_| digits.len() == 64).and_then(|octets| octets.try_into().ok());
    key.ok_or_else(|| {
        format!(
            "{} holds no key of 64 hexadecimal digits: put the right one there, or remove it",
            path.display()
        )
    })
}

fn make(path: &Path) -> Result<[u8; 32], String> {
    let key = paced_udp::push::fresh_signing_key();
    let write = || {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
        writeln!(file, "{}", hex(&key))?;
        file.sync_all()?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    match write() {
        Ok(()) => Ok(key),
        // Another route of this process was a moment before.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => read_signing_key(path),
        Err(error) => Err(format!("{} cannot be made: {error}", path.display())),
    }
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let key = open(&path).unwrap();
        assert_eq!(open(&path), Ok(key));
        for wrong in ["", "00", &"zz".repeat(32), &"0".repeat(65)] {
            std::fs::write(&path, wrong).unwrap();
            assert!(open(&path).unwrap_err().contains("64 hexadecimal digits"), "{wrong:?}");
        }
    }
}

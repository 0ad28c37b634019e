//! Manifest of a push: name, size and hashes of the file, signed by its sender.

use std::fs::File;
use std::io::{self, Read};

use blake3::hazmat::{ChainingValue, HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use super::layout::Layout;

/// Octets of a hash.
pub const HASH_LEN: usize = 32;
/// Octets of a file name at most.
pub const NAME_LEN_MAX: usize = 200;
/// Octets of a manifest at most: the hashes of two million blocks.
pub const MANIFEST_LEN_MAX: usize = 64 << 20;

const MAGIC: &[u8; 8] = b"CPNLPSH1";
const SIGNED_AS: &[u8] = b"campanile push manifest 1\0";

/// What a push is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The file's name, without any path.
    pub name: String,
    /// How it is cut.
    pub layout: Layout,
    /// BLAKE3 of the whole file.
    pub whole: [u8; HASH_LEN],
    /// Of each block: its chaining value in the whole file's tree, so that these give `whole`.
    pub blocks: Vec<[u8; HASH_LEN]>,
}

/// Why octets are no manifest, each with words for the one who sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError(pub String);

fn wrong<T>(words: impl Into<String>) -> Result<T, ManifestError> {
    Err(ManifestError(words.into()))
}

impl Manifest {
    /// Reads `file` once, from where it stands, and describes it under `name`.
    pub fn of(file: &mut File, name: String, symbol_max: usize) -> io::Result<Self> {
        let invalid = |words: String| io::Error::new(io::ErrorKind::InvalidInput, words);
        check_name(&name).map_err(|error| invalid(error.0))?;
        let layout = Layout::for_path(file.metadata()?.len(), symbol_max);
        let layout = layout.map_err(|error| invalid(error.to_string()))?;
        let mut octets = vec![0; layout.block_size() as usize];
        let mut blocks = Vec::with_capacity(layout.blocks() as usize);
        for block in 0..layout.blocks() {
            let part = &mut octets[..layout.block_len(block)];
            file.read_exact(part)?;
            blocks.push(block_hash(&layout, block, part));
        }
        let only = &octets[..layout.block_len(0)];
        let whole = whole_hash(&blocks).unwrap_or_else(|| *blake3::hash(only).as_bytes());
        Ok(Self { name, layout, whole, blocks })
    }

    /// The octets that are signed.
    pub fn write(&self) -> Vec<u8> {
        let mut octets = Vec::with_capacity(64 + self.name.len() + self.blocks.len() * HASH_LEN);
        octets.extend_from_slice(MAGIC);
        octets.extend_from_slice(&(self.name.len() as u16).to_be_bytes());
        octets.extend_from_slice(self.name.as_bytes());
        octets.extend_from_slice(&self.layout.size().to_be_bytes());
        octets.extend_from_slice(&self.layout.block_size().to_be_bytes());
        octets.extend_from_slice(&(self.layout.symbol_size() as u16).to_be_bytes());
        octets.extend_from_slice(&self.whole);
        self.blocks.iter().for_each(|hash| octets.extend_from_slice(hash));
        octets
    }

    /// Reads what [`Manifest::write`] wrote, and checks that it agrees with itself.
    pub fn read(octets: &[u8]) -> Result<Self, ManifestError> {
        let mut rest = octets;
        if take::<8>(&mut rest)? != *MAGIC {
            return wrong("this is no manifest of a push, or one of another version");
        }
        let name_len = usize::from(u16::from_be_bytes(take(&mut rest)?));
        let Some((name, mut rest)) = rest.split_at_checked(name_len) else {
            return wrong("the manifest is cut off");
        };
        let Ok(name) = std::str::from_utf8(name) else { return wrong("the file name is not UTF-8") };
        check_name(name)?;
        let size = u64::from_be_bytes(take(&mut rest)?);
        let block_size = u32::from_be_bytes(take(&mut rest)?);
        let symbol_size = u16::from_be_bytes(take(&mut rest)?);
        let whole = take(&mut rest)?;
        let layout =
            Layout::new(size, block_size, symbol_size).map_err(|error| ManifestError(error.to_string()))?;
        if rest.len() as u64 != u64::from(layout.blocks()) * HASH_LEN as u64 {
            return wrong(format!(
                "{} blocks are said, the hashes are of {}",
                layout.blocks(),
                rest.len() / HASH_LEN
            ));
        }
        let blocks: Vec<[u8; HASH_LEN]> =
            rest.chunks_exact(HASH_LEN).map(|hash| std::array::from_fn(|at| hash[at])).collect();
        let known = if blocks.is_empty() { Some(*blake3::hash(b"").as_bytes()) } else { whole_hash(&blocks) };
        if known.is_some_and(|known| known != whole) {
            return wrong("the hashes of the blocks do not give the hash of the whole");
        }
        Ok(Self { name: name.to_owned(), layout, whole, blocks })
    }

    /// Whether these octets are the block.
    pub fn holds(&self, block: u32, octets: &[u8]) -> bool {
        if octets.len() != self.layout.block_len(block) {
            return false;
        }
        // One block alone is a whole file, whose hash cannot be told from the block's chaining value.
        let alone = self.blocks.len() == 1;
        block_hash(&self.layout, block, octets) == self.blocks[block as usize]
            && (!alone || *blake3::hash(octets).as_bytes() == self.whole)
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], ManifestError> {
    match rest.split_first_chunk::<N>() {
        Some((head, tail)) => {
            *rest = tail;
            Ok(*head)
        }
        None => wrong("the manifest is cut off"),
    }
}

/// A name that stays in the folder it is put into, and is not hidden there.
pub fn check_name(name: &str) -> Result<(), ManifestError> {
    let parts = |letter: char| matches!(letter, '/' | '\\' | ':') || letter.is_control();
    if name.is_empty() || name.len() > NAME_LEN_MAX {
        return wrong(format!("a file name has 1 to {NAME_LEN_MAX} octets"));
    }
    if name.starts_with('.') || name.contains(parts) {
        return wrong("a file name begins with no dot and has no path parts and no control characters");
    }
    Ok(())
}

fn block_hash(layout: &Layout, block: u32, octets: &[u8]) -> ChainingValue {
    let mut hasher = blake3::Hasher::new();
    hasher.set_input_offset(layout.offset(block));
    hasher.update(octets);
    hasher.finalize_non_root()
}

/// The root over subtrees: blocks are of one size, a power of two, but for the last. None for less than two.
fn whole_hash(blocks: &[ChainingValue]) -> Option<[u8; HASH_LEN]> {
    if blocks.len() < 2 {
        return None;
    }
    let (left, right) = blocks.split_at(left_count(blocks.len()));
    Some(*merge_subtrees_root(&subtree(left), &subtree(right), Mode::Hash).as_bytes())
}

fn subtree(blocks: &[ChainingValue]) -> ChainingValue {
    if let [only] = blocks {
        return *only;
    }
    let (left, right) = blocks.split_at(left_count(blocks.len()));
    merge_subtrees_non_root(&subtree(left), &subtree(right), Mode::Hash)
}

/// The greatest power of two below `count`, which is 2 at least.
fn left_count(count: usize) -> usize {
    count.next_power_of_two() / 2
}

/// Signs a manifest's octets.
pub fn sign(key: &SigningKey, octets: &[u8]) -> [u8; 64] {
    key.sign(&[SIGNED_AS, octets].concat()).to_bytes()
}

/// Whether the holder of `key` signed a manifest's octets.
pub fn signed_by(key: &[u8; 32], octets: &[u8], signature: &[u8; 64]) -> bool {
    let signature = Signature::from_bytes(signature);
    VerifyingKey::from_bytes(key)
        .is_ok_and(|key| key.verify_strict(&[SIGNED_AS, octets].concat(), &signature).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    fn manifest(size: usize) -> (Vec<u8>, Manifest) {
        let octets: Vec<u8> = (0..size).map(|at| (at * 7 % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&octets).unwrap();
        file.rewind().unwrap();
        (octets, Manifest::of(&mut file, "a name.bin".into(), usize::MAX).unwrap())
    }

    #[test]
    fn hashes_of_blocks_give_the_hash_that_everybody_computes() {
        for size in [0, 1, 1024, 1025, 262_143, 262_144, 262_145, 1_048_576, 1_048_577, 2_400_001] {
            let (octets, manifest) = manifest(size);
            assert_eq!(manifest.whole, *blake3::hash(&octets).as_bytes(), "{size}");
            assert_eq!(Manifest::read(&manifest.write()).as_ref(), Ok(&manifest));
            for block in 0..manifest.layout.blocks() {
                let from = manifest.layout.offset(block) as usize;
                let part = &octets[from..from + manifest.layout.block_len(block)];
                assert!(manifest.holds(block, part));
                assert!(!manifest.holds(block, &part[1..]));
            }
        }
    }

    #[test]
    fn a_manifest_that_was_changed_is_refused_or_not_signed() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let octets = manifest(600_000).1.write();
        let signature = sign(&key, &octets);
        let public = key.verifying_key().to_bytes();
        assert!(signed_by(&public, &octets, &signature));
        for at in 0..octets.len() {
            let mut changed = octets.clone();
            changed[at] ^= 1;
            assert!(!signed_by(&public, &changed, &signature));
            let Ok(read) = Manifest::read(&changed) else { continue };
            assert_eq!(read.write(), changed, "octet {at}");
        }
        for len in 0..octets.len() {
            assert!(Manifest::read(&octets[..len]).is_err());
        }
    }

    #[test]
    fn names_with_path_parts_are_refused() {
        for name in ["", ".", "..", ".hidden", "a/b", "../a", "a\\b", "c:d", "a\0b", "a\nb", &"x".repeat(201)]
        {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        for name in ["a", "alert-2026.tar.gz", "Ä ö.txt", &"x".repeat(200)] {
            assert!(check_name(name).is_ok(), "{name:?}");
        }
    }
}

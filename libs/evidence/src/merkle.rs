//! Merkle tree over SHA-256 (RFC 9162, section 2.1): leaves hashed under 0x00, nodes under 0x01, inclusion
//! proofs.

use sha2::{Digest, Sha256};

/// Octets of a hash.
pub const HASH_OCTETS: usize = 32;
/// A hash of a leaf or of a node.
pub type Hash = [u8; HASH_OCTETS];
/// Hashes of a proof at most: a tree has at most 2^64 leaves.
pub const PROOF_HASHES_MAX: usize = 64;

const LEAF: u8 = 0x00;
const NODE: u8 = 0x01;

/// Hash of a leaf, whose data are these pieces one behind the other.
pub fn leaf_hash(pieces: &[&[u8]]) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([LEAF]);
    pieces.iter().for_each(|piece| hasher.update(piece));
    hasher.finalize().into()
}

fn node_hash(left: &Hash, right: &Hash) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([NODE]);
    hasher.update(left);
    hasher.update(right);
    hasher.finalize().into()
}

/// Head of a tree without leaves.
pub fn empty_root() -> Hash {
    Sha256::digest([]).into()
}

/// Builds the head of a tree leaf by leaf, in memory that grows with the logarithm of their number.
#[derive(Debug, Clone, Default)]
pub struct TreeBuilder {
    /// Heads of the full trees that are not joined yet, the largest first: one for each bit of `size`.
    heads: Vec<Hash>,
    size: u64,
}

impl TreeBuilder {
    /// Appends the hash of a leaf.
    pub fn push(&mut self, leaf: Hash) {
        let mut head = leaf;
        let mut bits = self.size;
        while bits & 1 == 1 {
            if let Some(left) = self.heads.pop() {
                head = node_hash(&left, &head);
            }
            bits >>= 1;
        }
        self.heads.push(head);
        self.size += 1;
    }

    /// How many leaves there are.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Head of the tree of all leaves so far.
    pub fn root(&self) -> Hash {
        let mut heads = self.heads.iter().rev();
        let Some(last) = heads.next() else { return empty_root() };
        heads.fold(*last, |right, left| node_hash(left, &right))
    }
}

/// A tree in memory, of which each leaf has its proof. Leaves may be heads of full trees of one size (only
/// the last may be smaller): then a proof goes on where a proof within such a tree ends.
#[derive(Debug, Clone)]
pub struct Tree {
    /// From the leaves up; a node without a neighbour is on the next level as it is.
    levels: Vec<Vec<Hash>>,
}

impl Tree {
    /// Of the hashes of its leaves.
    pub fn new(leaves: Vec<Hash>) -> Tree {
        let mut levels = vec![leaves];
        while let Some(level) = levels.last().filter(|level| level.len() > 1) {
            let join = |pair: &[Hash]| match pair {
                [left, right] => node_hash(left, right),
                [alone, ..] => *alone,
                [] => empty_root(),
            };
            let next = level.chunks(2).map(join).collect();
            levels.push(next);
        }
        Tree { levels }
    }

    /// Head of the tree.
    pub fn root(&self) -> Hash {
        self.levels.last().and_then(|level| level.first()).copied().unwrap_or_else(empty_root)
    }

    /// Inclusion proof of a leaf; nothing: there is no such leaf.
    pub fn proof(&self, index: usize) -> Option<Vec<Hash>> {
        self.levels.first().filter(|leaves| index < leaves.len())?;
        let levels = self.levels.iter().enumerate();
        Some(levels.filter_map(|(height, level)| level.get((index >> height) ^ 1).copied()).collect())
    }
}

/// Whether a proof leads from a leaf to the head of a tree (RFC 9162, section 2.1.3.2).
pub fn is_included(leaf: &Hash, index: u64, size: u64, proof: &[Hash], root: &Hash) -> bool {
    if index >= size || proof.len() > PROOF_HASHES_MAX {
        return false;
    }
    let (mut node, mut last) = (index, size - 1);
    let mut head = *leaf;
    for step in proof {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            head = node_hash(step, &head);
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            head = node_hash(&head, step);
        }
        node >>= 1;
        last >>= 1;
    }
    last == 0 && head == *root
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;
    use proptest::prelude::*;

    /// Leaves of the test data of Certificate Transparency (RFC 6962), in hexadecimal.
    const LEAVES: [&str; 8] =
        ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
    /// Heads of the trees of the first one, two, … of them.
    const ROOTS: [&str; 8] = [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    /// Index, size, proof.
    const PROOFS: [(usize, usize, &[&str]); 5] = [
        (0, 1, &[]),
        (
            0,
            8,
            &[
                "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
            ],
        ),
        (
            5,
            8,
            &[
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            ],
        ),
        (2, 3, &["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"]),
        (
            1,
            5,
            &[
                "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            ],
        ),
    ];

    fn hash(text: &str) -> Hash {
        hex::array(text).unwrap()
    }

    fn known(size: usize) -> Vec<Hash> {
        let octets = |text: &'static str| {
            (0..text.len()).step_by(2).map(move |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        };
        LEAVES[..size].iter().map(|leaf| leaf_hash(&[&octets(leaf).collect::<Vec<_>>()])).collect()
    }

    fn numbered(size: usize) -> Vec<Hash> {
        (0..size).map(|n| leaf_hash(&[&n.to_be_bytes()])).collect()
    }

    fn built(leaves: &[Hash]) -> TreeBuilder {
        let mut builder = TreeBuilder::default();
        leaves.iter().for_each(|leaf| builder.push(*leaf));
        builder
    }

    #[test]
    fn heads_are_those_of_certificate_transparency() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(TreeBuilder::default().root(), hash(empty));
        assert_eq!(Tree::new(Vec::new()).root(), hash(empty));
        for (size, root) in (1..).zip(ROOTS) {
            let leaves = known(size);
            assert_eq!(built(&leaves).root(), hash(root), "{size}");
            assert_eq!(Tree::new(leaves).root(), hash(root), "{size}");
        }
    }

    #[test]
    fn proofs_are_those_of_certificate_transparency() {
        for (index, size, proof) in PROOFS {
            let expected: Vec<Hash> = proof.iter().map(|text| hash(text)).collect();
            let leaves = known(size);
            let leaf = leaves[index];
            assert_eq!(Tree::new(leaves).proof(index), Some(expected.clone()), "{index} of {size}");
            let root = hash(ROOTS[size - 1]);
            assert!(is_included(&leaf, index as u64, size as u64, &expected, &root), "{index} of {size}");
        }
        assert_eq!(Tree::new(known(3)).proof(3), None);
    }

    #[test]
    fn a_proof_goes_on_from_a_part_of_the_tree_to_the_whole() {
        const PART: usize = 8;
        for size in 1..70 {
            let leaves = numbered(size);
            let parts: Vec<Tree> = leaves.chunks(PART).map(|part| Tree::new(part.to_vec())).collect();
            let whole = Tree::new(parts.iter().map(Tree::root).collect());
            assert_eq!(whole.root(), built(&leaves).root(), "{size}");
            for (index, leaf) in leaves.iter().enumerate() {
                let mut proof = parts[index / PART].proof(index % PART).unwrap();
                proof.extend(whole.proof(index / PART).unwrap());
                let root = whole.root();
                assert!(is_included(leaf, index as u64, size as u64, &proof, &root), "{index} of {size}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases::times(256)))]

        #[test]
        fn every_leaf_has_a_proof_that_holds_and_no_other(
            size in 1_usize..300, pick in any::<prop::sample::Index>(),
            octet in any::<prop::sample::Index>(), mask in 1_u8..=255, other in 0_u64..600,
        ) {
            let (leaves, index) = (numbered(size), pick.index(size));
            let builder = built(&leaves);
            let (tree, root) = (Tree::new(leaves.clone()), builder.root());
            let proof = tree.proof(index).unwrap();
            let (leaf, at, size) = (leaves[index], index as u64, builder.size());
            prop_assert!(is_included(&leaf, at, size, &proof, &root));
            let changed = |hash: &Hash| {
                let mut changed = *hash;
                changed[octet.index(HASH_OCTETS)] ^= mask;
                changed
            };
            prop_assert!(!is_included(&changed(&leaf), at, size, &proof, &root));
            prop_assert!(!is_included(&leaf, at, size, &proof, &changed(&root)));
            prop_assert!(other == at || !is_included(&leaf, other, size, &proof, &root));
            for step in 0..proof.len() {
                let mut proof = proof.clone();
                proof[step] = changed(&proof[step]);
                prop_assert!(!is_included(&leaf, at, size, &proof, &root));
            }
            let longer = [proof.clone(), vec![leaf]].concat();
            prop_assert!(!is_included(&leaf, at, size, &longer, &root));
            if let Some((_, shorter)) = proof.split_last() {
                prop_assert!(!is_included(&leaf, at, size, shorter, &root));
            }
        }
    }
}

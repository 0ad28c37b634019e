//! Line of an export: a leaf with its content, or with its hash alone, and its inclusion proof.

use crate::canonical::{self, INTEGER_MAX, canonical};
use crate::hex;
use crate::merkle::{self, Hash, PROOF_HASHES_MAX};
use crate::statement::{Fields, Statement};
use serde_json::{Value, json};

/// Octets of a salt: nobody tries them all.
pub const SALT_OCTETS: usize = 16;
/// Octets of a line, and of a header, at most.
pub const LINE_OCTETS_MAX: usize = 1 << 20;

/// A leaf as an export shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaf {
    /// With what it says.
    Content {
        /// Drawn for this leaf.
        salt: [u8; SALT_OCTETS],
        /// An object, in canonical form.
        content: String,
    },
    /// What it said was erased, or is withheld.
    Erased(Hash),
}

impl Leaf {
    /// Its hash in the tree.
    pub fn hash(&self) -> Hash {
        match self {
            Leaf::Content { salt, content } => leaf_of(salt, content),
            Leaf::Erased(hash) => *hash,
        }
    }
}

/// The hash of a leaf: of its salt and its content in canonical form.
pub fn leaf_of(salt: &[u8; SALT_OCTETS], content: &str) -> Hash {
    merkle::leaf_hash(&[salt, content.as_bytes()])
}

/// A leaf at its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its place, from 0 on.
    pub index: u64,
    /// What it says.
    pub leaf: Leaf,
    /// Leads from its hash to the head of the tree.
    pub proof: Vec<Hash>,
}

impl Line {
    /// As a line of an export, without its end.
    pub fn to_text(&self) -> String {
        let proof: Vec<String> = self.proof.iter().map(|hash| hex::text(hash)).collect();
        let mut value = json!({"index": self.index.min(INTEGER_MAX), "proof": proof});
        match &self.leaf {
            Leaf::Content { salt, content } => {
                value["content"] = serde_json::from_str(content).unwrap_or_default();
                value["salt"] = hex::text(salt).into();
            }
            Leaf::Erased(hash) => value["hash"] = hex::text(hash).into(),
        }
        canonical(&value).unwrap_or_default()
    }

    /// Reads what [`Line::to_text`] wrote. Nothing is verified.
    ///
    /// # Errors
    /// In words.
    pub fn parse(text: &str) -> Result<Line, String> {
        if text.len() > LINE_OCTETS_MAX {
            return Err(format!("it is longer than {LINE_OCTETS_MAX} octets"));
        }
        let mut fields = Fields::of(canonical::parse(text)?, "the line")?;
        let index = fields.number("index")?;
        let proof = proof(fields.take("proof")?)?;
        let leaf = match fields.has("hash") {
            true => Leaf::Erased(hex::array(&fields.text("hash")?).ok_or("hash is no hash")?),
            false => {
                let salt = hex::array(&fields.text("salt")?);
                let content = fields.take("content")?;
                if !content.is_object() {
                    return Err("content is no object".to_owned());
                }
                let content = canonical(&content).ok_or("content is not canonical")?;
                Leaf::Content { salt: salt.ok_or("salt is no salt")?, content }
            }
        };
        fields.end()?;
        Ok(Line { index, leaf, proof })
    }

    /// Whether it is in the tree of a statement.
    pub fn is_in(&self, statement: &Statement) -> bool {
        merkle::is_included(&self.leaf.hash(), self.index, statement.size, &self.proof, &statement.root)
    }
}

fn proof(value: Value) -> Result<Vec<Hash>, String> {
    let Value::Array(items) = value else { return Err("proof is no list".to_owned()) };
    if items.len() > PROOF_HASHES_MAX {
        return Err(format!("proof has more than {PROOF_HASHES_MAX} hashes"));
    }
    let hash = |item: &Value| item.as_str().and_then(hex::array).ok_or("proof has what is no hash");
    Ok(items.iter().map(hash).collect::<Result<_, _>>()?)
}

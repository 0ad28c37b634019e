//! Statement that names the head of a tree, and the header of an export: the statement with its signature.

use crate::canonical::{self, INTEGER_MAX, canonical};
use crate::hex;
use crate::key::{PublicKey, SIGNATURE_OCTETS, SigningKey};
use crate::merkle::Hash;
use crate::{EvidenceError, LINE_OCTETS_MAX};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// The form of statements and lines.
pub const FORMAT: &str = "campanile-evidence-1";
/// How leaves and nodes are hashed.
const TREE: &str = "rfc9162-sha256";

/// What is signed: the head of the tree of one version of an alert's evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Whose alert.
    pub account: String,
    /// The alert's id.
    pub alert: String,
    /// When the tree was built; RFC 3339.
    pub made: String,
    /// Head of the tree.
    pub root: Hash,
    /// Leaves of the tree.
    pub size: u64,
    /// From 1 on; a later one has what came after the one before.
    pub version: u64,
}

impl Statement {
    /// The octets that are signed and time-stamped, with the id of the key.
    fn text(&self, key: &str) -> String {
        let value = json!({
            "account": self.account,
            "alert": self.alert,
            "format": FORMAT,
            "key": key,
            "made": self.made,
            "root": hex::text(&self.root),
            "size": self.size.min(INTEGER_MAX),
            "tree": TREE,
            "version": self.version.min(INTEGER_MAX),
        });
        canonical(&value).unwrap_or_default()
    }

    /// Signs it.
    pub fn sign(self, key: &SigningKey) -> EvidenceHeader {
        let id = key.public().id();
        let signature = key.sign(self.text(&id).as_bytes());
        EvidenceHeader { statement: self, key: id, signature, timestamp: None }
    }
}

/// The first line of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceHeader {
    /// What is signed.
    pub statement: Statement,
    /// Id of the key that signed it.
    pub key: String,
    /// Over [`EvidenceHeader::signed`].
    pub signature: [u8; SIGNATURE_OCTETS],
    /// Token of a time-stamping authority over [`EvidenceHeader::signed`]; nothing: there is none (yet).
    pub timestamp: Option<Vec<u8>>,
}

impl EvidenceHeader {
    /// The octets that are signed and time-stamped.
    pub fn signed(&self) -> String {
        self.statement.text(&self.key)
    }

    /// As a line of an export, without its end.
    pub fn to_text(&self) -> String {
        let statement: Value = serde_json::from_str(&self.signed()).unwrap_or_default();
        let mut value = json!({"signature": STANDARD.encode(self.signature), "statement": statement});
        if let Some(token) = &self.timestamp {
            value["timestamp"] = STANDARD.encode(token).into();
        }
        canonical(&value).unwrap_or_default()
    }

    /// Reads what [`EvidenceHeader::to_text`] wrote. Nothing is verified.
    ///
    /// # Errors
    /// [`EvidenceError::Header`].
    pub fn parse(text: &str) -> Result<EvidenceHeader, EvidenceError> {
        read(text).map_err(EvidenceError::Header)
    }

    /// Whether this key signed it.
    ///
    /// # Errors
    /// [`EvidenceError::OtherKey`], [`EvidenceError::Signature`].
    pub fn check(&self, key: &PublicKey) -> Result<(), EvidenceError> {
        let given = key.id();
        if self.key != given {
            return Err(EvidenceError::OtherKey { signed: self.key.clone(), given });
        }
        match key.has_signed(self.signed().as_bytes(), &self.signature) {
            true => Ok(()),
            false => Err(EvidenceError::Signature),
        }
    }
}

fn read(text: &str) -> Result<EvidenceHeader, String> {
    if text.len() > LINE_OCTETS_MAX {
        return Err(format!("it is longer than {LINE_OCTETS_MAX} octets"));
    }
    let value = canonical::parse(text)?;
    let mut fields = Fields::of(value, "the header")?;
    let signature = fields.base64("signature")?;
    let timestamp = fields.has("timestamp").then(|| fields.base64("timestamp")).transpose()?;
    let mut statement = Fields::of(fields.take("statement")?, "statement")?;
    fields.end()?;
    let format = statement.text("format")?;
    if format != FORMAT {
        return Err(format!("its format is {format:?}, and this version reads {FORMAT:?}"));
    }
    if statement.text("tree")? != TREE {
        return Err(format!("statement.tree is not {TREE:?}"));
    }
    let root = statement.text("root")?;
    let header = EvidenceHeader {
        key: statement.text("key")?,
        statement: Statement {
            account: statement.text("account")?,
            alert: statement.text("alert")?,
            made: statement.text("made")?,
            root: hex::array(&root).ok_or("statement.root is no hash")?,
            size: statement.number("size")?,
            version: statement.number("version")?,
        },
        signature: signature
            .try_into()
            .map_err(|_| format!("signature has not {SIGNATURE_OCTETS} octets"))?,
        timestamp,
    };
    statement.end()?;
    Ok(header)
}

/// Members of an object, each taken once.
pub(crate) struct Fields {
    members: Map<String, Value>,
    of: &'static str,
}

impl Fields {
    pub(crate) fn of(value: Value, of: &'static str) -> Result<Fields, String> {
        match value {
            Value::Object(members) => Ok(Fields { members, of }),
            _ => Err(format!("{of} is no object")),
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    pub(crate) fn take(&mut self, name: &str) -> Result<Value, String> {
        self.members.remove(name).ok_or_else(|| format!("{} has no {name}", self.of))
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<String, String> {
        match self.take(name)? {
            Value::String(text) => Ok(text),
            _ => Err(format!("{name} of {} is no text", self.of)),
        }
    }

    pub(crate) fn number(&mut self, name: &str) -> Result<u64, String> {
        self.take(name)?.as_u64().ok_or_else(|| format!("{name} of {} is no number from 0 on", self.of))
    }

    /// In the one form that base64 of these octets has.
    fn base64(&mut self, name: &str) -> Result<Vec<u8>, String> {
        let text = self.text(name)?;
        let octets = STANDARD.decode(&text).ok().filter(|octets| STANDARD.encode(octets) == text);
        octets.ok_or_else(|| format!("{name} of {} is no base64", self.of))
    }

    /// Nothing else may be there: it would not be verified.
    pub(crate) fn end(self) -> Result<(), String> {
        match self.members.keys().next() {
            Some(name) => Err(format!("{} has {name:?}, which nobody verifies", self.of)),
            None => Ok(()),
        }
    }
}

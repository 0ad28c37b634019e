//! Reads what authorities really send, and lists what is wrong with it.

mod alert;
mod decode;
mod survey;
mod tree;
mod values;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::alert::Alert;
use crate::limits::{ALERTS_MAX, DEPTH_MAX, DOCUMENT_OCTETS_MAX, ELEMENTS_MAX, SHAPES_MAX, VERTICES_MAX};
use crate::problem::{CapProblem, Rule};
use survey::Problems;
pub(crate) use tree::is_allowed;
use tree::{Element, Namespace};

/// An alert that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedAlert {
    /// What it says.
    pub alert: Alert,
    /// What is wrong with it; at most [`PROBLEMS_MAX`](crate::PROBLEMS_MAX).
    pub problems: Vec<CapProblem>,
    /// The version it was written in, by its namespace.
    pub version: CapVersion,
    /// It carries an XML signature (not verified here).
    pub has_signature: bool,
}

/// A version of the standard, by the namespace of the alert; without one 1.2 is assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CapVersion {
    /// `http://www.incident.com/cap/1.0`
    V1_0,
    /// `urn:oasis:names:tc:emergency:cap:1.1`
    V1_1,
    /// `urn:oasis:names:tc:emergency:cap:1.2`
    V1_2,
}

/// Why a document was not read at all.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// Over [`DOCUMENT_OCTETS_MAX`].
    TooLarge {
        /// Its size.
        octets: usize,
    },
    /// An encoding that is not known here, or text that does not follow its own.
    Encoding(String),
    /// A document type declaration: CAP needs none, and it is the way in for entities.
    Doctype,
    /// A reference to an entity other than the five of XML.
    Entity(String),
    /// Over [`DEPTH_MAX`].
    TooDeep,
    /// Over [`ELEMENTS_MAX`].
    TooManyElements,
    /// Over [`VERTICES_MAX`].
    TooManyVertices,
    /// Over [`SHAPES_MAX`].
    TooManyShapes,
    /// Over [`ALERTS_MAX`].
    TooManyAlerts,
    /// No well-formed XML: the parser's words.
    Malformed(String),
    /// XML without an alert, or an alert without any element of CAP.
    NothingRecognized,
    /// Any of the above, and where.
    At {
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        refusal: Box<ReadError>,
    },
}

impl ReadError {
    /// The stable name, for machines.
    pub fn code(&self) -> &'static str {
        match self {
            ReadError::TooLarge { .. } => "too-large",
            ReadError::Encoding(_) => "encoding",
            ReadError::Doctype => "doctype",
            ReadError::Entity(_) => "entity",
            ReadError::TooDeep => "too-deep",
            ReadError::TooManyElements => "too-many-elements",
            ReadError::TooManyVertices => "too-many-vertices",
            ReadError::TooManyShapes => "too-many-shapes",
            ReadError::TooManyAlerts => "too-many-alerts",
            ReadError::Malformed(_) => "malformed",
            ReadError::NothingRecognized => "nothing-recognized",
            ReadError::At { refusal, .. } => refusal.code(),
        }
    }

    fn at(self, line: usize) -> ReadError {
        ReadError::At { line, refusal: Box::new(self) }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::TooLarge { octets } => {
                write!(f, "the document has {octets} octets, more than {DOCUMENT_OCTETS_MAX}")
            }
            ReadError::Encoding(what) => f.write_str(what),
            ReadError::Doctype => f.write_str("a document type declaration is not allowed; leave it out"),
            ReadError::Entity(name) => {
                write!(f, "entity {name:?} is not known; write the character itself or its number")
            }
            ReadError::TooDeep => write!(f, "elements are nested deeper than {DEPTH_MAX}"),
            ReadError::TooManyElements => write!(f, "more than {ELEMENTS_MAX} elements"),
            ReadError::TooManyVertices => {
                write!(f, "more than {VERTICES_MAX} vertices in all polygons together")
            }
            ReadError::TooManyShapes => write!(f, "more than {SHAPES_MAX} polygons and circles together"),
            ReadError::TooManyAlerts => {
                write!(f, "more than {ALERTS_MAX} alerts; send them in several documents")
            }
            ReadError::Malformed(what) => write!(f, "not well-formed XML: {what}"),
            ReadError::NothingRecognized => {
                f.write_str("no CAP alert in it: the root element must be `alert`")
            }
            ReadError::At { line, refusal } => write!(f, "line {line}: {refusal}"),
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads the first alert of a document; a problem says if there are more.
///
/// # Errors
/// What [`ReadError`] lists; everything else is read as well as it can be and listed.
pub fn read(octets: &[u8]) -> Result<ParsedAlert, ReadError> {
    let mut readings = read_all(octets)?;
    let others = readings.len() - 1;
    let mut first = readings.swap_remove(0);
    if others > 0 {
        let message = format!("the document holds {others} more alerts, which were not read here");
        first.problems.push(CapProblem { path: "alert".to_string(), rule: Rule::Envelope, message });
    }
    Ok(first)
}

/// Reads all alerts of a document: one by itself, or those in an envelope (`alerts`, EDXL-DE, a feed). At
/// least one.
///
/// # Errors
/// What [`ReadError`] lists; everything else is read as well as it can be and listed.
pub fn read_all(octets: &[u8]) -> Result<Vec<ParsedAlert>, ReadError> {
    read_all_as(octets, None)
}

/// The same of a document whose transport says how it is encoded: the `charset` of a Content-Type. A byte
/// order mark outranks it; it outranks the document's own declaration.
///
/// # Errors
/// Those of [`read_all`].
pub fn read_all_as(octets: &[u8], charset: Option<&str>) -> Result<Vec<ParsedAlert>, ReadError> {
    if octets.len() > DOCUMENT_OCTETS_MAX {
        return Err(ReadError::TooLarge { octets: octets.len() });
    }
    let decoded = decode::decode(octets, charset)?;
    let root = tree::parse(&decoded.text)?;
    let mut alerts = Vec::new();
    find_alerts(&root, &mut alerts);
    if alerts.len() > ALERTS_MAX {
        return Err(ReadError::TooManyAlerts);
    }
    let mut budget = values::Budget::default();
    let mut readings = Vec::new();
    for alert in alerts {
        if let Some(reading) = read_element(alert, &root, decoded.foreign, &mut budget)? {
            readings.push(reading);
        }
    }
    if readings.is_empty() { Err(ReadError::NothingRecognized) } else { Ok(readings) }
}

/// The document's text in UTF-8, as it is kept: decoded as [`read_all_as`] does, and with a declaration that
/// names UTF-8 if it named another encoding.
///
/// # Errors
/// [`ReadError::Encoding`].
pub fn utf8_text(octets: &[u8], charset: Option<&str>) -> Result<String, ReadError> {
    decode::as_utf8(octets, charset)
}

/// Alerts at any depth (which is bounded), but not inside each other.
fn find_alerts<'a>(element: &'a Element, alerts: &mut Vec<&'a Element>) {
    if element.name == "alert" && element.namespace.is_cap() {
        alerts.push(element);
        return;
    }
    element.children.iter().for_each(|child| find_alerts(child, alerts));
}

/// `None` if the element holds nothing of CAP.
fn read_element(
    element: &Element,
    root: &Element,
    foreign_encoding: Option<&str>,
    budget: &mut values::Budget,
) -> Result<Option<ParsedAlert>, ReadError> {
    let mut problems = Problems::new();
    if let Some(encoding) = foreign_encoding {
        problems.add(Rule::Encoding, format!("is written in {encoding}, not in UTF-8"));
    }
    if !std::ptr::eq(element, root) && !matches!(root.name.as_str(), "EDXLDistribution" | "feed") {
        problems.add(Rule::Envelope, format!("stands inside `{}`, not by itself", root.name));
    }
    let version = match element.namespace {
        Namespace::Cap(version) => version,
        Namespace::None => {
            problems.add(Rule::Namespace, "has no namespace, read as CAP 1.2".to_string());
            CapVersion::V1_2
        }
        Namespace::CapLike | Namespace::Signature | Namespace::Foreign => {
            problems.add(Rule::Namespace, "has a namespace of no known version, read as CAP 1.2".to_string());
            CapVersion::V1_2
        }
    };
    if !element.children.iter().any(|child| survey::is_known(survey::ALERT, child)) {
        return Ok(None);
    }
    let has_signature = element.children.iter().any(|child| child.namespace == Namespace::Signature);
    let alert = alert::AlertReader { version, problems: &mut problems, budget }.alert(element)?;
    Ok(Some(ParsedAlert { alert, problems: problems.into_list(), version, has_signature }))
}

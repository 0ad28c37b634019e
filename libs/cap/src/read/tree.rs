//! XML as a small tree, within limits and without anything that could expand.

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::{NsReader, XmlVersion};

use super::{CapVersion, ReadError};
use crate::limits::{DEPTH_MAX, ELEMENTS_MAX};

/// How namespaces of CAP begin.
const CAP_LIKE: &[&str] = &["urn:oasis:names:tc:emergency:cap:", "http://www.incident.com/cap/"];

/// Where an element's name belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Namespace {
    Cap(CapVersion),
    /// One of CAP's that is none of its published versions.
    CapLike,
    None,
    /// An XML signature (section 3.3.4.1).
    Signature,
    Foreign,
}

impl Namespace {
    /// Whether an element of this namespace may be one of CAP's; one without a namespace may.
    pub(super) fn is_cap(self) -> bool {
        matches!(self, Namespace::Cap(_) | Namespace::CapLike | Namespace::None)
    }
}

/// An element with its own text (that of its children is theirs) and its children.
#[derive(Debug)]
pub(super) struct Element {
    /// Without its prefix.
    pub(super) name: String,
    pub(super) namespace: Namespace,
    /// Trimmed; without the characters that XML forbids.
    pub(super) text: String,
    /// The text held a character that XML forbids.
    pub(super) had_forbidden: bool,
    pub(super) children: Vec<Element>,
}

/// Reads the document's root.
pub(super) fn parse(text: &str) -> Result<Element, ReadError> {
    let mut reader = NsReader::from_str(text);
    let mut builder = Builder::default();
    loop {
        let event = reader.read_resolved_event();
        let done = match event {
            Ok((namespace, event)) => builder.take(kind(&namespace), event),
            Err(error) => Err(ReadError::Malformed(error.to_string())),
        };
        match done {
            Ok(false) => {}
            Ok(true) => return builder.root.ok_or(ReadError::NothingRecognized),
            Err(refusal) => return Err(refusal.at(line(text, reader.buffer_position()))),
        }
    }
}

fn line(text: &str, position: u64) -> usize {
    let end = usize::try_from(position).unwrap_or(usize::MAX).min(text.len());
    1 + text.as_bytes()[..end].iter().filter(|&&b| b == b'\n').count()
}

fn kind(namespace: &ResolveResult<'_>) -> Namespace {
    match namespace {
        ResolveResult::Bound(name) => match name.as_ref() {
            "urn:oasis:names:tc:emergency:cap:1.2" => Namespace::Cap(CapVersion::V1_2),
            "urn:oasis:names:tc:emergency:cap:1.1" => Namespace::Cap(CapVersion::V1_1),
            "http://www.incident.com/cap/1.0" => Namespace::Cap(CapVersion::V1_0),
            "http://www.w3.org/2000/09/xmldsig#" => Namespace::Signature,
            other if CAP_LIKE.iter().any(|start| other.starts_with(start)) => Namespace::CapLike,
            _ => Namespace::Foreign,
        },
        ResolveResult::Unbound => Namespace::None,
        ResolveResult::Unknown(_) => Namespace::None,
    }
}

#[derive(Default)]
struct Builder {
    open: Vec<Element>,
    root: Option<Element>,
    elements: usize,
}

impl Builder {
    /// Takes one event; true at the end of the document.
    fn take(&mut self, namespace: Namespace, event: Event<'_>) -> Result<bool, ReadError> {
        match event {
            Event::Start(start) => self.open(namespace, &start)?,
            Event::Empty(start) => {
                self.open(namespace, &start)?;
                self.close();
            }
            Event::End(_) => self.close(),
            Event::Text(text) => self.text(&text.xml_content(XmlVersion::Explicit1_0))?,
            Event::CData(text) => self.text(&text.xml_content(XmlVersion::Explicit1_0))?,
            Event::GeneralRef(reference) => {
                let resolved = match reference.resolve_char_ref() {
                    Ok(Some(character)) => character.to_string(),
                    Ok(None) => resolve_predefined_entity(&reference)
                        .ok_or_else(|| ReadError::Entity(reference.chars().take(40).collect()))?
                        .to_string(),
                    Err(error) => return Err(ReadError::Malformed(error.to_string())),
                };
                self.text(&resolved)?;
            }
            Event::DocType(_) => return Err(ReadError::Doctype),
            Event::Comment(_) | Event::PI(_) | Event::Decl(_) => {}
            Event::Eof => return self.end(),
        }
        Ok(false)
    }

    fn open(&mut self, namespace: Namespace, start: &BytesStart<'_>) -> Result<(), ReadError> {
        self.elements += 1;
        if self.elements > ELEMENTS_MAX {
            return Err(ReadError::TooManyElements);
        }
        if self.open.len() >= DEPTH_MAX {
            return Err(ReadError::TooDeep);
        }
        if self.open.is_empty() && self.root.is_some() {
            return Err(ReadError::Malformed("a second root element".to_string()));
        }
        self.open.push(Element {
            name: start.local_name().as_ref().to_string(),
            namespace,
            text: String::new(),
            had_forbidden: false,
            children: Vec::new(),
        });
        Ok(())
    }

    /// The reader has checked that the names match.
    fn close(&mut self) {
        let Some(mut element) = self.open.pop() else { return };
        let trimmed = element.text.trim();
        if trimmed.len() != element.text.len() {
            element.text = trimmed.to_string();
        }
        match self.open.last_mut() {
            Some(parent) => parent.children.push(element),
            None => self.root = Some(element),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), ReadError> {
        match self.open.last_mut() {
            Some(element) => {
                let before = element.text.len();
                element.text.extend(text.chars().filter(|&c| is_allowed(c)));
                element.had_forbidden |= element.text.len() - before != text.len();
                Ok(())
            }
            None if text.trim().is_empty() => Ok(()),
            None => Err(ReadError::Malformed("text outside the root element".to_string())),
        }
    }

    fn end(&self) -> Result<bool, ReadError> {
        match self.open.last() {
            Some(element) => {
                Err(ReadError::Malformed(format!("the document ends inside `{}`", element.name)))
            }
            None => Ok(true),
        }
    }
}

/// The characters of XML 1.0 (section 2.2).
pub(crate) fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

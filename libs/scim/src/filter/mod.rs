//! Filters (RFC 7644 3.4.2.2): text to a tree, the tree against a resource, and the forms an index answers.
//!
//! ```text
//! filter   = and *( "or" and )
//! and      = factor *( "and" factor )
//! factor   = "not" "(" filter ")" / "(" filter ")" / path "pr" / path op value
//!          / path "[" filter "]" [ "." sub ( "pr" / op value ) ]
//! ```
//!
//! Names and operators are read in any case. `emails[type eq "work"].value co "x"` is read as
//! `emails[type eq "work" and value co "x"]`. A comparison with a complex attribute is one with its `value`.

pub(crate) mod check;
pub(crate) mod evaluate;
mod index;
mod parse;
mod write;

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;

pub use index::{IndexKey, IndexLookup};
pub(crate) use parse::FilterReader;

use crate::path::AttrPath;
use crate::{Object, ResourceKind, ScimError, ScimType};
use serde_json::Number;
use std::fmt;

/// A filter that was read. At most [`FILTER_DEPTH_MAX`] deep, with at most [`FILTER_TERMS_MAX`] terms.
///
/// [`FILTER_DEPTH_MAX`]: crate::limits::FILTER_DEPTH_MAX
/// [`FILTER_TERMS_MAX`]: crate::limits::FILTER_TERMS_MAX
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterExpr {
    /// All of them; two or more.
    And(Vec<FilterExpr>),
    /// One of them at least; two or more.
    Or(Vec<FilterExpr>),
    /// Not so.
    Not(Box<FilterExpr>),
    /// `pr`: the attribute has a value.
    Present(AttrPath),
    /// A comparison of an attribute with a value.
    Compare(AttrPath, CompareOp, CompareValue),
    /// One element of a multi-valued attribute for which the filter in brackets holds. There are no further
    /// brackets in it, and its names are sub-attributes.
    Values(AttrPath, Box<FilterExpr>),
}

/// A comparison (RFC 7644 Table 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `eq`.
    Equal,
    /// `ne`.
    NotEqual,
    /// `co`.
    Contains,
    /// `sw`.
    StartsWith,
    /// `ew`.
    EndsWith,
    /// `gt`.
    Greater,
    /// `ge`.
    GreaterOrEqual,
    /// `lt`.
    Less,
    /// `le`.
    LessOrEqual,
}

/// A value that an attribute is compared with: any JSON value but arrays and objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompareValue {
    /// `null`: `eq null` holds where there is no value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string, without its quotes and escapes.
    String(Box<str>),
}

/// A text that is no filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterFault {
    /// The octet at which it is wrong, counted from 0.
    pub at: usize,
    /// What is wrong.
    pub reason: FilterReason,
}

/// Reasons of a [`FilterFault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterReason {
    /// Over [`FILTER_OCTETS_MAX`](crate::limits::FILTER_OCTETS_MAX) octets.
    TooLong,
    /// Over [`FILTER_DEPTH_MAX`](crate::limits::FILTER_DEPTH_MAX) parentheses.
    TooDeep,
    /// Over [`FILTER_TERMS_MAX`](crate::limits::FILTER_TERMS_MAX) terms.
    TooManyTerms,
    /// Neither an attribute's path nor a parenthesis.
    NoPath,
    /// No operator after a path.
    NoOperator,
    /// No value after an operator.
    NoValue,
    /// A string without its second quote, or with an escape that JSON does not have.
    BadString,
    /// A parenthesis or bracket that is not closed.
    NotClosed,
    /// `not` without `(`.
    NotWithoutParenthesis,
    /// Brackets within brackets.
    NestedBrackets,
    /// A path in brackets that has a URN or a sub-attribute.
    PathInBrackets,
    /// Something after the end.
    Trailing,
}

impl FilterExpr {
    /// Reads a filter.
    ///
    /// # Errors
    /// The first thing that is not as the grammar has it, with its place.
    pub fn parse(text: &str) -> Result<FilterExpr, FilterFault> {
        parse::filter(text)
    }

    /// Refuses a filter that makes no sense for any of `kinds`: an attribute that none of them has, one that
    /// is never returned, a comparison that its type does not have (RFC 7644 3.4.2.2: `gt` of a Boolean).
    ///
    /// # Errors
    /// `invalidFilter`, with the attribute.
    pub fn check(&self, kinds: &[ResourceKind]) -> Result<(), ScimError> {
        check::filter(self, kinds)
    }

    /// Whether it holds for a resource. An attribute that the resource does not have, or that `kind` does not
    /// know, is one without a value; so is one that is never returned.
    ///
    /// Time: terms × values of the attributes that they name.
    pub fn matches(&self, kind: ResourceKind, resource: &Object) -> bool {
        evaluate::matches(self, kind, resource)
    }

    /// The unique attribute by which a store finds all resources for which the filter can hold.
    /// `userName eq "x"`, and `id eq "x" and members eq "y"`, whose second half remains to be evaluated.
    pub fn index_lookup(&self, kind: ResourceKind) -> Option<IndexLookup<'_>> {
        index::lookup(self, kind)
    }
}

impl CompareOp {
    /// All operators, with how they are written.
    pub const ALL: [(CompareOp, &'static str); 9] = [
        (CompareOp::Equal, "eq"),
        (CompareOp::NotEqual, "ne"),
        (CompareOp::Contains, "co"),
        (CompareOp::StartsWith, "sw"),
        (CompareOp::EndsWith, "ew"),
        (CompareOp::Greater, "gt"),
        (CompareOp::GreaterOrEqual, "ge"),
        (CompareOp::Less, "lt"),
        (CompareOp::LessOrEqual, "le"),
    ];

    /// How it is written.
    pub fn as_str(self) -> &'static str {
        CompareOp::ALL.iter().find(|(op, _)| *op == self).map_or("eq", |(_, text)| text)
    }

    /// Whether it compares an order.
    pub fn is_ordering(self) -> bool {
        use CompareOp::*;
        matches!(self, Greater | GreaterOrEqual | Less | LessOrEqual)
    }
}

impl fmt::Display for FilterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use crate::limits::{FILTER_DEPTH_MAX, FILTER_OCTETS_MAX, FILTER_TERMS_MAX};
        write!(f, "at octet {}: ", self.at)?;
        match self.reason {
            FilterReason::TooLong => write!(f, "at most {FILTER_OCTETS_MAX} octets are taken"),
            FilterReason::TooDeep => write!(f, "at most {FILTER_DEPTH_MAX} parentheses may be open at once"),
            FilterReason::TooManyTerms => write!(f, "at most {FILTER_TERMS_MAX} comparisons are taken"),
            FilterReason::NoPath => f.write_str("the path of an attribute is expected, such as userName"),
            FilterReason::NoOperator => {
                f.write_str("an operator is expected: eq, ne, co, sw, ew, gt, ge, lt, le or pr")
            }
            FilterReason::NoValue => {
                f.write_str("a value is expected: a string in double quotes, a number, true, false or null")
            }
            FilterReason::BadString => {
                f.write_str("the string is not closed, or has an escape JSON does not have")
            }
            FilterReason::NotClosed => f.write_str("a parenthesis or bracket is not closed"),
            FilterReason::NotWithoutParenthesis => f.write_str("`not` is followed by a parenthesis"),
            FilterReason::NestedBrackets => f.write_str("brackets cannot stand within brackets"),
            FilterReason::PathInBrackets => f.write_str("in brackets only names of sub-attributes are taken"),
            FilterReason::Trailing => f.write_str("nothing is expected here but `and`, `or` or the end"),
        }
    }
}

impl std::error::Error for FilterFault {}

impl From<FilterFault> for ScimError {
    fn from(fault: FilterFault) -> ScimError {
        ScimError::new(ScimType::InvalidFilter, format!("the filter is not understood {fault}"))
    }
}

//! Problems of an alert, each with its place.

use std::fmt;

/// The kind of rule that is broken; its [`code`](Rule::code) is stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rule {
    /// A required element is not there.
    Missing,
    /// An element has no content.
    Empty,
    /// An element that may occur once occurs again.
    Repeated,
    /// Elements are not in the order of the schema.
    Order,
    /// An element that CAP does not know.
    Unknown,
    /// A value that is not one of the allowed words, or no number.
    Value,
    /// Characters that the element must not hold.
    Characters,
    /// A time in another form than `YYYY-MM-DDThh:mm:ss±hh:mm`, UTC being `-00:00`.
    TimeForm,
    /// Times that contradict each other.
    TimeOrder,
    /// Longer than advised.
    Length,
    /// A polygon that is not closed.
    OpenRing,
    /// A shape that cannot be read, or holds nobody.
    Shape,
    /// References that are missing, not triples, or to the alert itself.
    References,
    /// An element that needs another one (restriction, addresses, altitude).
    Companion,
    /// The namespace is missing, older or unknown.
    Namespace,
    /// Another encoding than UTF-8.
    Encoding,
    /// More alerts in one envelope, of which the others were not read here.
    Envelope,
    /// More problems than are listed.
    More,
}

impl Rule {
    /// The stable name, for machines.
    pub fn code(self) -> &'static str {
        match self {
            Rule::Missing => "missing",
            Rule::Empty => "empty",
            Rule::Repeated => "repeated",
            Rule::Order => "order",
            Rule::Unknown => "unknown",
            Rule::Value => "value",
            Rule::Characters => "characters",
            Rule::TimeForm => "time-form",
            Rule::TimeOrder => "time-order",
            Rule::Length => "length",
            Rule::OpenRing => "open-ring",
            Rule::Shape => "shape",
            Rule::References => "references",
            Rule::Companion => "companion",
            Rule::Namespace => "namespace",
            Rule::Encoding => "encoding",
            Rule::Envelope => "envelope",
            Rule::More => "more",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// One thing that is wrong with an alert that was read nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapProblem {
    /// The element, as in `alert/info[2]/area[1]/polygon[3]`: what can occur several times is numbered from
    /// 1.
    pub path: String,
    /// The kind of rule.
    pub rule: Rule,
    /// What is wrong and what was made of it.
    pub message: String,
}

impl fmt::Display for CapProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.path, self.message, self.rule)
    }
}

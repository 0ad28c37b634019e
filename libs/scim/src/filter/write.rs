//! Writer of filters: what it writes is read back as the same tree.

use super::{CompareValue, FilterExpr};
use serde_json::Value;
use std::fmt;

impl fmt::Display for FilterExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilterExpr::And(parts) => joined(f, parts, " and "),
            FilterExpr::Or(parts) => joined(f, parts, " or "),
            FilterExpr::Not(inner) => write!(f, "not ({inner})"),
            FilterExpr::Present(path) => write!(f, "{path} pr"),
            FilterExpr::Compare(path, op, value) => write!(f, "{path} {} {value}", op.as_str()),
            FilterExpr::Values(path, inner) => write!(f, "{path}[{inner}]"),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, parts: &[FilterExpr], word: &str) -> fmt::Result {
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            f.write_str(word)?;
        }
        if matches!(part, FilterExpr::And(_) | FilterExpr::Or(_)) {
            write!(f, "({part})")?;
        } else {
            write!(f, "{part}")?;
        }
    }
    Ok(())
}

impl fmt::Display for CompareValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompareValue::Null => f.write_str("null"),
            CompareValue::Bool(value) => write!(f, "{value}"),
            CompareValue::Number(number) => write!(f, "{number}"),
            CompareValue::String(text) => write!(f, "{}", Value::from(&**text)),
        }
    }
}

//! Request read within limits: media types, body, JSON tree, fields, query, times.

pub(crate) mod body;
pub(crate) mod fields;
pub(crate) mod json;
pub(crate) mod negotiation;
pub(crate) mod query;
pub(crate) mod rest_of_body;
pub(crate) mod time_text;

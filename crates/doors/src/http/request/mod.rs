//! Request, read within limits and with every problem named: `Accept` ([`negotiation`]), the body ([`body`],
//! [`rest_of_body`]), its JSON tree ([`json`], [`fields`], [`time_text`]), and the query ([`query`]).

pub(crate) mod body;
pub(crate) mod fields;
pub(crate) mod json;
pub(crate) mod negotiation;
pub(crate) mod query;
pub(crate) mod rest_of_body;
pub(crate) mod time_text;

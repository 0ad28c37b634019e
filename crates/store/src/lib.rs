//! SQL: migrations and queries, a trait per aggregate.

//! The ways in: HTTP API.

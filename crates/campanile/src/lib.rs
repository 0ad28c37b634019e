//! Config, wiring, command line: the only crate that knows everyone.

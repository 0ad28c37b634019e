//! Drives a protocol machine over TCP and TLS: one runtime per core, accept, limits, timers, draining.

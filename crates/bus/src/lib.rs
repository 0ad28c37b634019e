//! Topics: append, read, consumer groups with leases, retained values, retention.

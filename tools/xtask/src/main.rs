//! tidy: edges, sizes, bans.

fn main() {}

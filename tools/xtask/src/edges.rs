//! Which of our crates may use which: the table of the house, as data. Normal and build dependencies are held to
//! it; a dev-dependency may be anything but what stands above all tests.

/// A crate and the crates of ours that it may use.
pub type Edge = (&'static str, &'static [&'static str]);

/// Every crate of the workspace has a row; a crate without one fails.
pub const EDGES: &[Edge] = &[
    ("smpp", &[]),
    ("smtp", &[]),
    ("diameter", &[]),
    ("cap", &[]),
    ("pace", &[]),
    ("records", &[]),
    ("settings", &[]),
    ("net", &["smpp", "smtp", "diameter", "cap", "pace"]),
    ("bus", &["records"]),
    ("store", &["records"]),
    ("cast", &["pace"]),
    ("engine", &["records", "bus", "store", "pace"]),
    ("charging", &["records", "settings", "bus", "store", "net", "diameter"]),
    (
        "gateway",
        &[
            "records", "settings", "bus", "net", "smpp", "smtp", "diameter", "cap", "pace", "cast",
            "charging", "sim",
        ],
    ),
    (
        "doors",
        &[
            "records", "settings", "bus", "store", "net", "smpp", "smtp", "diameter", "cap", "pace",
            "engine", "charging",
        ],
    ),
    ("sim", &["smpp", "smtp", "diameter", "cap", "pace", "net", "records"]),
    (
        "campanile",
        &[
            "smpp", "smtp", "diameter", "cap", "pace", "records", "settings", "net", "bus", "store", "cast",
            "engine", "charging", "gateway", "doors", "sim", "bench",
        ],
    ),
    (
        "bench",
        &[
            "smpp", "smtp", "diameter", "cap", "pace", "records", "settings", "net", "bus", "store", "cast",
            "engine", "charging", "gateway", "doors", "sim",
        ],
    ),
    (
        "it",
        &[
            "smpp",
            "smtp",
            "diameter",
            "cap",
            "pace",
            "records",
            "settings",
            "net",
            "bus",
            "store",
            "cast",
            "engine",
            "charging",
            "gateway",
            "doors",
            "sim",
            "bench",
            "servers",
            "campanile",
        ],
    ),
    ("servers", &[]),
    ("cases", &[]),
    ("xtask", &[]),
];

/// Above all tests: nobody may use these, not even for tests of their own.
pub const NOBODY_USES: &[&str] = &["it", "xtask"];

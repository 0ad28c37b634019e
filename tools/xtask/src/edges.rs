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
    ("channels", &["records"]),
    ("bus", &["records"]),
    ("store", &["records", "channels"]),
    ("cast", &["pace"]),
    ("engine", &["records", "channels", "bus", "store", "pace"]),
    ("charging", &["records", "channels", "settings", "bus", "store", "net", "diameter"]),
    (
        "gateway",
        &[
            "records", "channels", "settings", "bus", "net", "smpp", "smtp", "diameter", "cap", "pace",
            "cast", "charging", "sim",
        ],
    ),
    (
        "doors",
        &[
            "records", "channels", "settings", "bus", "store", "net", "smpp", "smtp", "diameter", "cap",
            "pace", "engine", "charging",
        ],
    ),
    ("plot", &[]),
    ("sim", &["smpp", "smtp", "diameter", "cap", "pace", "net", "records", "channels"]),
    (
        "campanile",
        &[
            "smpp", "smtp", "diameter", "cap", "pace", "records", "channels", "settings", "net", "bus",
            "store", "cast", "engine", "charging", "gateway", "doors", "sim", "plot",
        ],
    ),
    (
        "bench",
        &[
            "smpp", "smtp", "diameter", "cap", "pace", "records", "channels", "settings", "net", "bus",
            "store", "cast", "engine", "charging", "gateway", "doors", "sim", "plot",
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
            "channels",
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
            "servers",
            "campanile",
        ],
    ),
    ("servers", &[]),
    ("cases", &[]),
    ("xtask", &[]),
];

/// Programs and tests: nobody may use these, not even for tests of their own.
pub const NOBODY_USES: &[&str] = &["bench", "it", "xtask"];

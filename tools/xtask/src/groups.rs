//! Table of the groups of stories: which stories, side by side how many, with which foreign software, after
//! changes where.
//!
//! A story is a test of `tools/it`. It belongs to the first group one of whose patterns its path contains, so
//! the last group takes the rest. docs/dev/testing.md tells more.

/// Stories that run together.
#[derive(Debug)]
pub struct StoryGroup {
    /// As `cargo xtask test NAME` takes it.
    pub name: &'static str,
    /// Patterns of test paths.
    pub stories: &'static [&'static str],
    /// At most so many stories at a time.
    pub width: usize,
    /// Sets of `scripts/install-foreign`.
    pub foreign: &'static [&'static str],
    /// Folders and files; the group runs only when one of them differs from `tools/it/full-run`. Without any
    /// it runs always.
    pub only_after: &'static [&'static str],
}

/// Stories wait for most of their time: so many at a time keep two processors busy.
const WIDTH: usize = 8;

/// Harness and manifests, which every group depends on.
pub const OF_ALL: &[&str] =
    &["Cargo.lock", "tools/it/src", "tools/sim", "tools/servers", "scripts/install-foreign"];

/// All groups, in the order they run.
pub const GROUPS: &[StoryGroup] = &[
    StoryGroup {
        name: "guest",
        stories: &["charging::sctp::what_holds_by_tcp"],
        width: 1,
        foreign: &["guest"],
        only_after: &[
            "libs/diameter",
            "crates/net",
            "crates/charging/src/server",
            "tools/it/foreign/guest",
            "tools/it/tests/charging",
        ],
    },
    StoryGroup {
        name: "kamailio",
        stories: &["charging::calls::"],
        width: 4,
        foreign: &["kamailio"],
        only_after: &[
            "libs/diameter",
            "crates/charging",
            "crates/ledger",
            "tools/it/foreign/kamailio",
            "tools/it/tests/charging/calls.rs",
        ],
    },
    StoryGroup {
        name: "diameter",
        stories: &["charging::foreign::", "charging::connecting::freediameter"],
        width: 3,
        foreign: &["freediameter", "erlang"],
        only_after: &[
            "libs/diameter",
            "crates/net",
            "crates/charging/src/server",
            "tools/it/foreign/erlang",
            "tools/it/foreign/freediameter",
            "tools/it/tests/charging",
        ],
    },
    StoryGroup {
        name: "java",
        stories: &[
            "jsmpp",
            "cloudhopper",
            "platforms::a_message_to_several",
            "platforms::every_library",
            "platforms::long_messages",
            "platforms::receipts_and_words",
            "platforms::what_the_carrier_refuses",
            "platforms::what_waits",
            "foreign_smsc::a_long_reply",
            "gateway::a_reload",
            "foreign::every_foreign",
        ],
        width: 4,
        foreign: &["java", "npm", "python"],
        only_after: &[
            "libs/smpp",
            "crates/net",
            "crates/doors/src/smpp",
            "crates/gateway/src/sms",
            "tools/it/foreign",
            "tools/it/tests/foreign_smsc.rs",
            "tools/it/tests/gateway.rs",
            "tools/it/tests/foreign.rs",
            "tools/it/tests/platforms.rs",
        ],
    },
    StoryGroup {
        name: "some of several processes",
        stories: &["several::sharing::any_process", "several::devices::"],
        width: 1,
        foreign: &["nats", "postgresql", "python"],
        only_after: &[],
    },
    StoryGroup {
        name: "several",
        stories: &[
            "several::approved::",
            "several::cuts::",
            "several::elsewhere::",
            "several::faults::",
            "several::kills::",
            "several::ledger::",
            "several::migrate::",
            "several::pauses::",
            "several::sharing::",
        ],
        width: 2,
        foreign: &["nats", "postgresql"],
        only_after: &[
            "crates/bus/src/nats",
            "crates/campanile/src/pairing",
            "crates/campanile/src/storage.rs",
            "crates/charging",
            "crates/doors/src/http/approvals",
            "crates/doors/src/http/drafts",
            "crates/ledger",
            "crates/engine/src/approval",
            "crates/engine/src/shared",
            "crates/gateway",
            "crates/store/src/postgres",
            "crates/campanile/src/migrate",
            "tools/it/tests/several",
        ],
    },
    StoryGroup {
        name: "openapi",
        stories: &["api_description::a_client", "api_description::schemathesis"],
        width: 3,
        foreign: &["openapi"],
        only_after: &[],
    },
    StoryGroup {
        name: "messengers",
        stories: &["im::synapse", "im::telegram_test_api", "line::by_telnet", "services::every_word"],
        width: 2,
        foreign: &["messengers", "telnet"],
        only_after: &[],
    },
    StoryGroup {
        name: "foreign",
        stories: &[
            "balancer::",
            "cap_messages::",
            "deploy::",
            "evidence::evidence_is_time_stamped",
            "foreign_mail::",
            "foreign_smsc::",
            "gateway::an_emergency",
            "kannel::",
            "mqtt::",
            "oidc::",
            "foreign::",
            "ldap::",
            "pager::",
            "platforms::",
            "scim::scim2_tester",
            "webhook::",
        ],
        width: WIDTH,
        foreign: &[
            "haproxy",
            "kannel",
            "mosquitto",
            "nats",
            "npm",
            "opensmtpd",
            "openssl",
            "pager",
            "python",
            "scim",
            "slapd",
            "systemd",
            "xmllint",
        ],
        only_after: &[],
    },
    StoryGroup {
        name: "loaded",
        stories: &["attack::", "drills::a_forecast", "gateway::fifty_routes", "rate::", "udp::"],
        width: 1,
        foreign: &["iperf3", "strace"],
        only_after: &[],
    },
    StoryGroup { name: "plain", stories: &[""], width: WIDTH, foreign: &[], only_after: &[] },
];

/// Patterns of unit tests that need foreign software, with its sets.
pub const FOREIGN_TESTS: &[(&str, &[&str])] = &[
    ("nats::tests::", &["nats"]),
    ("over_nats", &["nats"]),
    ("postgres::tests::", &["postgresql"]),
    ("over_postgresql", &["postgresql"]),
    ("over_servers", &["nats", "postgresql"]),
    ("by_xmllint", &["xmllint"]),
    ("by_openssl", &["openssl"]),
    ("by_espeak_ng", &["espeak-ng"]),
];

/// Tests of seeds and properties that run with more of them after changes of their crate, and in
/// `make test-all`.
#[derive(Debug)]
pub struct Seeds {
    /// The crate.
    pub package: &'static str,
    /// Patterns of its tests.
    pub tests: &'static [&'static str],
    /// So many times the usual number.
    pub times: u32,
    /// As of a group.
    pub only_after: &'static [&'static str],
}

/// So many times the usual number, where all seeds run.
const ALL_SEEDS: u32 = 10;

/// Seeds and properties by crate.
pub const SEEDS: &[Seeds] = &[
    Seeds {
        package: "bus",
        tests: &["embedded::"],
        times: ALL_SEEDS,
        only_after: &["crates/bus/src/embedded"],
    },
    Seeds {
        package: "ledger",
        tests: &["properties::", "direct::"],
        times: ALL_SEEDS,
        only_after: &["crates/ledger"],
    },
    Seeds { package: "cap", tests: &[""], times: ALL_SEEDS, only_after: &["libs/cap"] },
    Seeds { package: "diameter", tests: &[""], times: ALL_SEEDS, only_after: &["libs/diameter"] },
    Seeds {
        package: "engine",
        tests: &["record::", "replay::files::", "audience_counts::files::"],
        times: ALL_SEEDS,
        only_after: &["crates/engine/src"],
    },
    Seeds { package: "mqtt", tests: &[""], times: ALL_SEEDS, only_after: &["libs/mqtt"] },
    Seeds { package: "pace", tests: &[""], times: ALL_SEEDS, only_after: &["libs/pace"] },
    Seeds { package: "sip", tests: &[""], times: ALL_SEEDS, only_after: &["libs/sip"] },
    Seeds { package: "smpp", tests: &[""], times: ALL_SEEDS, only_after: &["libs/smpp"] },
];

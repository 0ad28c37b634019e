mod doors;

use super::*;
use ::diameter::check::Strictness;
use settings::Outline;
use smpp::text::national::Language;
use std::time::Duration;

fn parsed(text: &str) -> Result<Config, Problems> {
    parse(text, "c.toml", Path::new("/data"), &BTreeMap::new())
}

fn problems(text: &str) -> Vec<String> {
    match parsed(text) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.to_string().lines().map(str::to_owned).collect(),
    }
}

fn with_environment(text: &str, pairs: &[(&str, &str)]) -> Result<Config, Problems> {
    let environment = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    parse(text, "c.toml", Path::new("/data"), &environment)
}

const ROUTE: &str =
    "[[route]]\nname = \"c\"\nchannel = \"sms\"\nmode = \"live\"\naddress = \"smsc.example:2775\"\n";

/// The manual with its examples.
fn whole_manual() -> String {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(rest) if !rest.is_empty() && !rest.starts_with(' ') => rest.to_owned(),
        _ => line.to_owned(),
    };
    manual().lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_manual_as_printed_is_what_holds_without_any_config() {
    assert_eq!(parsed(&manual()).unwrap(), Config::default());
    assert_eq!(parsed("").unwrap(), Config::default());
}

/// A generated file of the repository is up to date; with BLESS in the environment it is written.
fn is_generated(file: &str, generate: impl Fn(&str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let kept = std::fs::read_to_string(&path).unwrap();
    let generated = generate(&kept);
    if kept != generated && std::env::var_os("BLESS").is_some() {
        return std::fs::write(&path, generated).unwrap();
    }
    let command = "BLESS=1 cargo test --profile ci -p campanile --lib made_of_the_sections";
    assert!(kept == generated, "{} is not what the sections say; write it: {command}", path.display());
}

/// A drill route of the account of another route.
fn sharing(name: &str, channel: &str, of: &str, more: &str) -> String {
    format!(
        "[[route]]\nname = {name:?}\nchannel = {channel:?}\nmode = \"drill\"\naddress = \"x.example:2775\"\nshares = {of:?}\n{more}\n"
    )
}

#[test]
fn a_drill_route_may_share_the_account_of_a_live_one() {
    let config = parsed(&format!("{ROUTE}rate = 5\n{}", sharing("drill", "sms", "c", "rate = 5"))).unwrap();
    let records: Vec<_> = config.route.iter().filter_map(Route::record).collect();
    assert_eq!((records[0].shares.as_deref(), records[1].shares.as_deref()), (None, Some("c")));
}

#[test]
fn default_toml_is_made_of_the_sections() {
    is_generated("src/config/default.toml", |_| manual());
}

#[test]
fn the_documentation_is_made_of_the_sections() {
    is_generated("../../docs/configuration.md", |kept| {
        settings::manual::fill(kept, &Config::outline()).unwrap()
    });
}

#[test]
fn every_key_has_documentation_and_a_value_to_show() {
    fn walk(path: &str, outline: &Outline) {
        assert!(!outline.doc.is_empty(), "{path} has no documentation");
        outline.variants.iter().for_each(|variant| walk(path, &variant.outline));
        for key in outline.keys.iter() {
            let path = settings::join(path, key.name);
            assert!(!key.doc.is_empty(), "{path} has no documentation");
            match key.schema.section() {
                Some(section) => walk(&path, &section),
                None => assert!(key.example.is_some() || key.default.is_some(), "{path} needs an example"),
            }
        }
    }
    walk("", &Config::outline());
}

#[test]
fn the_manual_names_every_key_there_is() {
    let tree: toml::Table = whole_manual().parse().unwrap();
    let mut named = std::collections::BTreeSet::new();
    collect("", &toml::Value::Table(tree), &mut named);
    let known: std::collections::BTreeSet<String> = Config::outline().paths().into_iter().collect();
    let missing: Vec<_> = known.difference(&named).collect();
    assert!(missing.is_empty(), "not in the manual: {missing:?}");
    let unknown: Vec<_> = named.difference(&known).collect();
    assert!(unknown.is_empty(), "only in the manual: {unknown:?}");
}

fn collect(path: &str, value: &toml::Value, keys: &mut std::collections::BTreeSet<String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                collect(&settings::join(path, key), value, keys);
            }
        }
        toml::Value::Array(items) if items.first().is_some_and(toml::Value::is_table) => {
            items.iter().for_each(|item| collect(path, item, keys));
        }
        _ => drop(keys.insert(path.to_owned())),
    }
}

#[test]
fn the_manuals_examples_have_no_problem_but_what_is_not_there() {
    let found = problems(&whole_manual());
    let expected = ["No such file", "has no effect", "exclude each other", "there is no route"];
    let other: Vec<_> =
        found.iter().filter(|line| !expected.iter().any(|known| line.contains(known))).collect();
    assert!(other.is_empty(), "{other:#?}");
}

#[test]
fn every_problem_is_told_with_its_line_and_column() {
    let text = "[http]\nlisen = \"127.0.0.1:1\"\nburst = -1\n\n[bus]\nfsync = \"allways\"\n\n[[route]]\nname = \"c\"\n  chanel = \"sms\"\nmode = \"life\"\nrate = \"fast\"\n";
    let names: Vec<&str> = channels::names().collect();
    let (last, others) = names.split_last().unwrap();
    let channels = format!("is needed: {} or {last}", others.join(", "));
    assert_eq!(
        problems(text),
        [
            "c.toml:2:1: http.lisen: is unknown; did you mean listen?",
            "c.toml:3:9: http.burst: -1 is outside 0 to 4294967295",
            "c.toml:6:9: bus.fsync: \"allways\" is none of always, interval:5ms, os",
            "c.toml:8:1: route[0].address: is needed, or sim = true",
            &format!("c.toml:8:1: route[0].channel: {channels}"),
            "c.toml:10:3: route[0].chanel: is unknown; did you mean channel?",
            "c.toml:11:8: route[0].mode: \"life\" is none of live, drill; did you mean live?",
            "c.toml:12:8: route[0].rate: must be a number, not a text",
        ]
    );
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    let found = problems("[http]\nlisten = \n[store\nurl = \"sqlite:x\"\n");
    assert!(found.iter().any(|line| line.starts_with("c.toml:2:")), "{found:?}");
    assert!(found.iter().any(|line| line.starts_with("c.toml:3:")), "{found:?}");
}

#[test]
fn rules_that_a_key_alone_cannot_tell() {
    let route = |more: &str| format!("{ROUTE}{more}\n");
    let cases: Vec<(String, &str)> = vec![
        (format!("{ROUTE}{ROUTE}"), "route[1].name: \"c\" is the name of another route"),
        (route("sim = true"), "route[0].sim: excludes address: the simulator has its own"),
        (route("rate = -1"), "route[0].rate: -1 is not a rate: messages per second, 0 for unlimited"),
        (route("rate = nan"), "route[0].rate: NaN is not a rate: messages per second, 0 for unlimited"),
        (
            route("prefixes = [\"+46\", \"46\"]"),
            "route[0].prefixes[1]: \"46\" is no begin of a number, such as \"+46\"",
        ),
        (route("from = \"a@b.se\""), "route[0].from: is no key of channel sms"),
        (route("bandwidth = \"20M\""), "route[0].bandwidth: is no key of channel sms"),
        (
            ROUTE.replace("sms", "mail") + "from = \"a@b.se\"\nsystem_id = 5",
            "route[0].system_id: is no key of channel mail",
        ),
        (
            "[[edge.site]]\nname = \"n\"\naddress = \"127.0.0.1:1\"\n[[route]]\nname = \"e\"\nchannel = \"edge\"\nmode = \"live\"\nsim = true"
                .into(),
            "route[0].sim: is no key of channel edge",
        ),
        (route("window = 0"), "route[0].window: 0 is outside 1 to 10000"),
        (route("widow = 0"), "route[0].widow: is unknown; did you mean window?"),
        (
            route("languages = [\"hindi\", \"turkisch\"]"),
            "route[0].languages[1]: \"turkisch\" is none of turkish, spanish, portuguese, bengali, gujarati, hindi, kannada, malayalam, oriya, punjabi, tamil, telugu, urdu; did you mean turkish?",
        ),
        (
            route("charset = \"latin1\"\nlanguages = [\"turkish\"]"),
            "route[0].languages: tables of languages need charset gsm7",
        ),
        (route("weight = 0"), "route[0].weight: must be at least 1"),
        (ROUTE.replace("sms\"", "fax\""), "route[0].channel: channel fax is not built yet"),
        (
            ROUTE.replace("smsc.example:2775", "smsc.example"),
            "route[0].address: \"smsc.example\" is not host:port",
        ),
        (
            ROUTE.replace("\"c\"", "\"c d\""),
            "route[0].name: \"c d\" may have letters, digits, -, _ and . (not first) only",
        ),
        ("[http]\ntls_cert = \"x\"".into(), "http.tls_cert: needs tls_key beside it"),
        (
            "[http]\npublic_url = \"alerts.example\"".into(),
            "http.public_url: \"alerts.example\" does not begin with https:// or http://",
        ),
        ("[smtp]".into(), "smtp.domain: is needed: replies come to answers+TAG@domain"),
        ("[engine]\nretry_after = [\"0s\"]".into(), "engine.retry_after[0]: must be at least 1s"),
        ("[retention]\nexport_dir = \"x\"".into(), "retention.export_dir: has no effect without days"),
        ("[retention]\nexports = 9".into(), "retention.exports: has no effect without export_dir"),
        ("[retention]\nattachments = 40".into(), "retention.attachments: must be 0 (never) or at least 41: an alert lasts up to 40 days"),
        ("[retention]\naudit = 36501".into(), "retention.audit: must be at most 36500 days"),
        (
            "[recipients]\nregion = \"XX\"".into(),
            "recipients.region: region \"XX\" is unknown: two letters of ISO 3166-1, such as SE",
        ),
        (
            "banana = 1".into(),
            "banana: is unknown; known are http, store, bus, node, smtp, route, engine, recipients, retention, callback, outbound, timestamp, log, cap, smpp, platform, keyword, optout, organisation, map, oidc, approval, services, send, directory, topics, edge, diameter, charging",
        ),
    ];
    each_alone(cases);
}

#[test]
fn routes_that_share_what_is_no_account_of_theirs_are_told_what_to_write() {
    let route = |more: &str| format!("{ROUTE}{more}\n");
    let cases: Vec<(String, &str)> = vec![
        (route("shares = \"d\""), "route[0].shares: there is no route \"d\""),
        (route("shares = \"c\""), "route[0].shares: \"c\" is the route itself: leave shares out"),
        (
            format!("{ROUTE}{}", sharing("b", "sms", "c", "rate = 1.5")),
            "route[1].shares: \"c\" has rate = 0, this route 1.5: they are one account, so write the same in both",
        ),
        (
            format!("{ROUTE}{}{}", sharing("b", "sms", "c", ""), sharing("a", "sms", "b", "")),
            "route[2].shares: \"b\" shares the limit of \"c\" itself: name the route that has the account",
        ),
        (
            format!("{ROUTE}{}", sharing("b", "mail", "c", "from = \"a@b.se\"")),
            "route[1].shares: \"c\" is of channel sms: only routes of one channel share an account",
        ),
    ];
    each_alone(cases);
}

#[test]
fn an_audience_gets_the_verdict_that_an_alert_gets() {
    let cases: Vec<(String, &str)> = vec![
        (
            "[[cap.sender]]\nsender = \"s\"\naudience = [\"areas\"]".into(),
            "cap.sender[0].audience[0]: \"areas\" is not an audience; did you mean area? write all, area, area:ID, group:G, group:G/channel, recipient:R, alert:ID/received or CHANNEL:ADDRESS",
        ),
        (
            "[[cap.sender]]\nsender = \"s\"\naudience = [\"sms:+999123456789\"]".into(),
            "cap.sender[0].audience[0]: +999123456789 does not begin with a country code",
        ),
        (
            "[[cap.sender]]\nsender = \"s\"\naudience = [\"group:g/fax\"]".into(),
            "cap.sender[0].audience[0]: channel fax is not built yet",
        ),
    ];
    each_alone(cases);
}

#[test]
fn charging_must_make_sense() {
    let cases: Vec<(String, &str)> = vec![
        (
            "[charging]\nmode = \"diameter\"".into(),
            "charging.mode: \"diameter\" needs [diameter], and in it a [[diameter.peer]] with address and charging = 1: the charging server",
        ),
        (
            "[charging]\nkeep_records = \"2h\"\n[store]\nurl = \"postgres://u:p@h/d\"\n[bus]\nurl = \"nats://h:4222\"".into(),
            "charging.keep_records: is for a ledger on this machine's disk",
        ),
        (
            "[charging]\ndefault_account = {balance = -1}".into(),
            "charging.default_account: balance and limit must be at least 0",
        ),
        (
            "[charging.quota]\nseconds = 0".into(),
            "charging.quota.seconds: must be at least 1",
        ),
        (
            "[charging.quota]\nunits_max = 0".into(),
            "charging.quota.units_max: must be at least 1; without it there is no bound",
        ),
        (
            "[charging.quota]\noctets = 6\noctets_max = 5".into(),
            "charging.quota.octets: 6 is over octets_max, 5",
        ),
        (
            "[charging]\n[[charging.tariff]]\nprefix = \"46x\"".into(),
            "charging.tariff[0].prefix: \"46x\" is not up to 16 digits",
        ),
        (
            "[charging]\n[[charging.tariff]]\nhours = \"8-9\"".into(),
            "charging.tariff[0].hours: \"8-9\" is not like 08:00-18:00",
        ),
        (
            "[charging]\n[[charging.tariff]]\ndays = [\"friday\"]".into(),
            "charging.tariff[0].days: \"friday\" is none of mon, tue, wed, thu, fri, sat, sun",
        ),
        (
            "[charging]\nshards = 33\n[store]\nurl = \"postgres://u:p@h/d\"\n[bus]\nurl = \"nats://h:4222\""
                .into(),
            "charging.shards: at most 32 where processes share PostgreSQL: each is a connection of each process",
        ),
    ];
    each_alone(cases);
    let mode = |mode: &str| parsed(&format!("[charging]\nmode = \"{mode}\"")).unwrap();
    assert_eq!(mode("off").charging.as_ref().unwrap().mode, ChargingMode::Off);
    let servers = "[store]\nurl = \"postgres://u:p@h/d\"\n[bus]\nurl = \"nats://h:4222\"";
    let shared = "[charging]\nmode = \"ledger\"\n[diameter]\norigin_host = \"a\"\norigin_realm = \"b\"";
    assert!(
        parsed(&format!("{shared}\n{servers}")).is_ok(),
        "processes that share a database share the ledger"
    );
    let elsewhere = "[charging]\nmode = \"diameter\"\n[diameter]\norigin_host = \"a\"\norigin_realm = \"b\"\n\
         [[diameter.peer]]\norigin_host = \"o\"\nrealm = \"r\"\naddress = \"h:1\"\ncharging = 1";
    assert!(parsed(&format!("{elsewhere}\n{servers}")).is_ok(), "and pay at others' servers as one client");
    // The engine keeps outcomes until they are settled, where they are.
    assert_eq!(mode("off").engine_settings().outcome_groups, [""; 0]);
    assert_eq!(mode("ledger").engine_settings().outcome_groups, ["charging"]);
}

#[test]
fn the_credit_control_server_must_make_sense() {
    let cases: Vec<(String, &str)> = vec![
        (
            "[diameter]\norigin_realm = \"example\"".into(),
            "diameter.origin_host: is needed: a name such as ocs.example",
        ),
        (
            "[diameter]\norigin_host = \"a b\"\norigin_realm = \"example\"".into(),
            "diameter.origin_host: must be a name of letters, digits, hyphens and points, at most 255 octets",
        ),
        (
            "[diameter]\norigin_host = \"a\"\norigin_realm = \"b\"\nlisten = \"0.0.0.0:3868\"".into(),
            "diameter.peer: is needed where the server listens beyond this machine: [[diameter.peer]] says who may connect",
        ),
        (
            "[diameter]\norigin_host = \"a\"\norigin_realm = \"b\"\nreconnect = \"1s\"".into(),
            "diameter.reconnect: must be at least 2s",
        ),
    ];
    each_alone(cases);
    let node = "[diameter]\norigin_host = \"a\"\norigin_realm = \"b\"";
    for (more, strictness) in [("", Strictness::Strict), ("\nstrict = false", Strictness::Lenient)] {
        let config = parsed(&format!("{node}{more}")).unwrap();
        let server = config.diameter.as_ref().unwrap().server(Path::new("."), None);
        assert_eq!(server.strictness, strictness, "{more}");
    }
}

#[test]
fn peers_of_the_credit_control_server_must_make_sense() {
    let peer = |keys: &str| {
        format!("[diameter]\norigin_host = \"a\"\norigin_realm = \"b\"\n[[diameter.peer]]\n{keys}")
    };
    let cases: Vec<(String, &str)> = vec![
        (
            peer("realm = \"c\"\naddress = \"d:1\""),
            "diameter.peer[0].origin_host: is needed in full, without *, where address says to connect: by it it is known who is there",
        ),
        (
            peer("origin_host = \"*.c\"\naddress = \"d:1\""),
            "diameter.peer[0].origin_host: is needed in full, without *, where address says to connect: by it it is known who is there",
        ),
        (peer("origin_host = \"c\"\naddress = \"d\""), "diameter.peer[0].address: \"d\" is not host:port"),
        (
            peer("origin_host = \"c\"\naddress = \"d:1\"\ncharging = 1\n[charging]\nmode = \"diameter\""),
            "diameter.peer[0].realm: is needed in full, without *, of a charging server: requests are addressed to it",
        ),
        (
            peer("origin_host = \"c\"\ncharging = 1"),
            "diameter.peer[0].charging: has no effect without address: it is for a peer that this server connects to",
        ),
        (
            peer("origin_host = \"c\"\naddress = \"d:1\"\nserver_name = \"e\""),
            "diameter.peer[0].server_name: has no effect without tls = true",
        ),
        (
            peer(
                "origin_host = \"c\"\naddress = \"d:1\"\n[[diameter.peer]]\norigin_host = \"C\"\naddress = \"e:1\"",
            ),
            "diameter.peer[1].origin_host: \"C\" is already the origin_host of another peer with an address",
        ),
        (
            peer(
                "origin_host = \"c\"\nrealm = \"r\"\naddress = \"d:1\"\ncharging = 1\n[[diameter.peer]]\norigin_host = \"e\"\nrealm = \"r\"\naddress = \"e:1\"\ncharging = 1\n[charging]\nmode = \"diameter\"",
            ),
            "diameter.peer[1].charging: is the number of another charging server",
        ),
    ];
    each_alone(cases);
}

#[test]
fn topics_and_routes_to_them_must_make_sense() {
    let cases: Vec<(String, &str)> = vec![
        ("[topics]\nmax_topic = 4".into(), "topics.max_topic: 4 is outside 5 to 150"),
        ("[topics]\nmax_message = 3".into(), "topics.max_message: 3 is outside 4 to 65536"),
        ("[topics]\ntls_only = true".into(), "topics.listen: listen or listen_tls is needed"),
        (
            "[topics]\nlisten_tls = \"127.0.0.1:1\"".into(),
            "topics.listen_tls: tls_cert and tls_key are needed",
        ),
        ("[topics]\ntls_cert = \"c\"".into(), "topics.tls_cert: needs tls_key beside it"),
        ("[topics]\nidle = \"500ms\"".into(), "topics.idle: must be at least 1s"),
        ("[topics]\ndurability = \"ram\"".into(), "topics.durability: \"ram\" is none of memory, os, disk"),
        (
            "[[route]]\nname = \"b\"\nchannel = \"topic\"\nmode = \"live\"".into(),
            "route[0].channel: a route of channel topic needs a section [topics]: without it no client can read the topics",
        ),
        (
            "[topics]\n[[route]]\nname = \"b\"\nchannel = \"topic\"\nmode = \"live\"\naddress = \"x:1\""
                .into(),
            "route[0].address: is no key of channel topic",
        ),
        (
            "[[route]]\nname = \"b\"\nchannel = \"line\"\nmode = \"live\"".into(),
            "route[0].channel: a route of channel line needs a section [topics]: people log in at that door",
        ),
        (
            "[topics]\n[[route]]\nname = \"b\"\nchannel = \"line\"\nmode = \"live\"\ntake_within = \"2m\""
                .into(),
            "route[0].take_within: must be 100ms to 60s",
        ),
    ];
    each_alone(cases);
}

#[test]
fn platforms_clients_and_keywords_must_make_sense() {
    let cases: Vec<(String, &str)> = vec![
        ("[[platform]]\nusername = \"a\"".into(), "platform[0].password: is needed"),
        (
            "[[platform]]\nusername = \"a\"\npassword = \"b\"\nallowed_ips = [\"10.0.0.0/33\"]".into(),
            "platform[0].allowed_ips[0]: \"10.0.0.0/33\" is not an address or network such as 10.0.0.0/8",
        ),
        (
            "[[platform]]\nusername = \"a\"\npassword = \"b\"\ncallback = \"ftp://x\"".into(),
            "platform[0].callback: does not begin with http:// or https://",
        ),
        ("[smpp]\ntls_key = \"k.pem\"".into(), "smpp.tls_key: needs tls_cert beside it"),
        (
            format!("[[smpp.client]]\nsystem_id = \"a\"\npassword = \"{}\"", "p".repeat(65)),
            "smpp.client[0].password: it has 65 octets, over the limit of 64",
        ),
        (
            "[[smpp.client]]\nsystem_id = \"a\"\npassword = \"b\"\nroutes = [\"c\"]".into(),
            "smpp.client[0].routes[0]: there is no route \"c\"",
        ),
        (
            "[[keyword]]\nwords = [\"STOP\"]".into(),
            "keyword[0].action: is needed: such as stop, help, text or join",
        ),
        ("[[keyword]]\naction = \"stop\"".into(), "keyword[0].words: has 0 words; it needs 1 to 100"),
    ];
    each_alone(cases);
}

#[test]
fn rules_for_servers_that_several_processes_share() {
    let shared = |bus: &str, node: &str| {
        format!("[store]\nurl = \"postgres://x\"\n[bus]\nurl = \"nats://x\"\n{bus}\n[node]\n{node}\n")
    };
    let cases: Vec<(String, &str)> = vec![
        (
            "[store]\nurl = \"postgres:x\"".into(),
            "store.url: must be sqlite:FILE or postgres://USER:PASSWORD@HOST/DATABASE",
        ),
        ("[bus]\nurl = \"amqp://x\"".into(), "bus.url: must be file:FOLDER or nats://HOST:PORT"),
        (
            "[store]\nurl = \"postgres://x\"".into(),
            "store.url: PostgreSQL and NATS belong together: one process keeps both on its own disk (sqlite:FILE, file:FOLDER), several share both (postgres://…, nats://…)",
        ),
        (
            "[bus]\nurl = \"nats://x\"".into(),
            "bus.url: PostgreSQL and NATS belong together: one process keeps both on its own disk (sqlite:FILE, file:FOLDER), several share both (postgres://…, nats://…)",
        ),
        (shared("replicas = 2", ""), "bus.replicas: 2 is none of 1, 3, 5"),
        (shared("username = \"u\"", ""), "bus.username: username and password belong together"),
        (
            shared("token = \"t\"\ncredentials = \"c\"", ""),
            "bus.token: username, token and credentials exclude each other",
        ),
        (
            shared("prefix = \"a.b\"", ""),
            "bus.prefix: \"a.b\" is not a valid name: use letters, digits, - and _, at most 40",
        ),
        (shared("", "lease = \"1s\""), "node.lease: 1s is not 2s to 2m"),
        (shared("", "address = \"here\""), "node.address: \"here\" is not host:port"),
        (shared("", "gateways = [\"c\"]"), "node.gateways[0]: there is no route \"c\""),
        (
            "[node]\nlease = \"10s\"".into(),
            "node.lease: has no effect in a process without a shared PostgreSQL and NATS",
        ),
        ("[bus]\nreplicas = 3".into(), "bus.replicas: has no effect without bus.url = \"nats://…\""),
    ];
    each_alone(cases);
}

/// Each text has this problem, with its place, and no other.
fn each_alone(cases: Vec<(String, &str)>) {
    for (text, expected) in cases {
        let found = problems(&text);
        assert_eq!(found.len(), 1, "{text}\n{found:#?}");
        let (place, reason) = found[0].split_once(": ").unwrap();
        assert_eq!(reason, expected, "{text}");
        assert!(place.starts_with("c.toml:"), "{place}");
    }
}

#[test]
fn tls_files_must_be_there_and_are_looked_for_below_the_data_folder() {
    let found = problems("[http]\ntls_cert = \"no.pem\"\ntls_key = \"/no.key\"");
    assert!(found[0].contains("http.tls_cert") && found[0].contains("/data/no.pem"), "{found:?}");
}

#[test]
fn the_environment_goes_over_the_file_also_into_lists() {
    let config = with_environment(
        ROUTE,
        &[
            ("CAMPANILE__HTTP__LISTEN", "0.0.0.0:80"),
            ("CAMPANILE__ROUTE__0__RATE", "5"),
            ("CAMPANILE__ROUTE__0__PASSWORD", "12345"),
            ("CAMPANILE__ROUTE__0__PREFIXES", "+46,+47"),
            ("CAMPANILE__ROUTE__0__SOURCE__ADDR", "CITY"),
            ("CAMPANILE__ROUTE__1__NAME", "d"),
            ("CAMPANILE__ROUTE__1__CHANNEL", "mail"),
            ("CAMPANILE__ROUTE__1__MODE", "drill"),
            ("CAMPANILE__ROUTE__1__SIM", "true"),
            ("CAMPANILE__ROUTE__1__FROM", "a@b.se"),
            ("CAMPANILE__ENGINE__RETRY_AFTER", "[\"1s\", \"2s\"]"),
            ("CAMPANILE__ENGINE__ENDPOINTS_MAX", "7"),
            ("CAMPANILE_TOKEN", "is another thing"),
        ],
    )
    .unwrap();
    assert_eq!(config.http.listen.to_string(), "0.0.0.0:80");
    let [sms, mail] = &config.route[..] else { panic!("two routes") };
    assert_eq!((sms.common.rate, sms.common.name.as_str(), sms.common.prefixes.len()), (5.0, "c", 2));
    let keys = sms.own.as_ref().unwrap().get::<gateway::sms::SmsKeys>().unwrap();
    assert_eq!(keys.password.reveal(), "12345");
    assert_eq!(keys.source.addr, "CITY");
    assert!(mail.common.sim && mail.record().unwrap().simulated);
    assert_eq!(config.engine.retry_after, [Duration::from_secs(1), Duration::from_secs(2)]);
    assert_eq!(config.engine_settings().endpoints_max, 7);
}

#[test]
fn a_problem_of_the_environment_names_its_variable() {
    let cases = [
        (
            "CAMPANILE__HTTP__LISEN",
            "x",
            "environment CAMPANILE__HTTP__LISEN: http.lisen: is unknown; did you mean listen?",
        ),
        (
            "CAMPANILE_LOG",
            "inof",
            "environment CAMPANILE_LOG: log.filter: \"inof\" is no level: off, error, warn, info, debug, trace are, or PART=LEVEL such as \"info,gateway=debug\"; did you mean info?",
        ),
        (
            "CAMPANILE_LOG_FORMAT",
            "xml",
            "environment CAMPANILE_LOG_FORMAT: log.format: \"xml\" is none of text, json",
        ),
        (
            "CAMPANILE__ROUTE__0__RATE",
            "fast",
            "environment CAMPANILE__ROUTE__0__RATE: route[0].rate: must be a number, not a text",
        ),
        (
            "CAMPANILE__ROUTE__2__RATE",
            "1",
            "environment CAMPANILE__ROUTE__2__RATE: route.2.rate: the list has 1 entries: the next is 1",
        ),
        (
            "CAMPANILE__BUS__FSYNC__X",
            "1",
            "environment CAMPANILE__BUS__FSYNC__X: bus.fsync.x: there is no \"x\" in a text",
        ),
    ];
    let text = format!("[bus]\nfsync = \"os\"\n{ROUTE}");
    for (name, value, expected) in cases {
        let problems = with_environment(&text, &[(name, value)]).unwrap_err();
        assert_eq!(problems.to_string(), expected);
    }
}

#[test]
fn a_secret_that_cannot_sign_is_refused_without_being_shown() {
    let found = problems("[callback]\nsecret = \"hunter2\"\n");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("callback.secret") && !found[0].contains("hunter2"), "{found:?}");
    assert_eq!(
        problems("[callback]\nsecret = \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"\n"),
        Vec::<String>::new()
    );
}

#[test]
fn a_secret_is_never_shown() {
    let config = parsed(&format!("{ROUTE}password = \"hunter2\"")).unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
    let long = problems(&format!("{ROUTE}password = \"{}\"", "hunter2-".repeat(9)));
    assert_eq!(long.len(), 1);
    assert!(long[0].contains("password") && !long[0].contains("hunter2"), "{long:?}");
}

#[test]
fn a_route_tells_its_gateway_and_the_engine_what_they_need() {
    let config = parsed(&format!(
        "{ROUTE}rate = 5\nwindow = 7\nlanguages = [\"spanish\", \"urdu\"]\nvalidity = \"1h\"\ntls = true\nserver_name = \"smsc\"\n\
         [[route]]\nname = \"relay\"\nchannel = \"mail\"\nmode = \"drill\"\naddress = \"r:25\"\nfrom = \"a@b.se\"\ntls = \"starttls\"\n\
         [smtp]\ndomain = \"reply.b.se\"\n"
    ))
    .unwrap();
    let around = config.surroundings(Path::new("/data")).unwrap();
    let settings = |place: usize| config.route[place].settings(&around).unwrap().unwrap();
    let sms = settings(0).get::<gateway::sms::SmsRoute>().cloned().unwrap();
    assert_eq!((sms.rate, sms.window, sms.validity_s), (5.0, 7, Some(3600)));
    assert_eq!(sms.languages, [Language::Spanish, Language::Urdu]);
    assert_eq!(sms.tls.unwrap().server_name.as_deref(), Some("smsc"));
    let mail = settings(1).get::<gateway::mail::MailRoute>().cloned().unwrap();
    assert_eq!(
        (mail.address.as_str(), mail.drill, mail.tls),
        ("r:25", true, gateway::mail::TlsMode::StartTls)
    );
    assert_eq!(mail.domain.as_deref(), Some("reply.b.se"));
    let records: Vec<_> = config.route.iter().filter_map(Route::record).collect();
    assert!(records[0].receipts && !records[1].receipts);
}

#[test]
fn a_route_of_instant_messages_takes_the_addresses_of_its_network() {
    let route = |keys: &str| format!("[[route]]\nname = \"m\"\nchannel = \"im\"\nmode = \"live\"\n{keys}\n");
    let matrix = "protocol = \"matrix\"\nhomeserver = \"https://m.example\"\naccess_token = \"t\"\n";
    let telegram = "protocol = \"telegram\"\ntoken = \"1:t\"\n";
    for (keys, prefixes, receipts) in [
        (matrix.to_owned(), "matrix:", true),
        (telegram.to_owned(), "telegram:", false),
        (format!("{telegram}prefixes = [\"telegram:-\"]"), "telegram:-", false),
        ("protocol = \"matrix\"\nsim = true".to_owned(), "matrix:", true),
    ] {
        let record = parsed(&route(&keys)).unwrap().route[0].record().unwrap();
        assert_eq!((record.prefixes, record.receipts), (vec![prefixes.to_owned()], receipts), "{keys}");
    }
    for (keys, expected) in [
        ("", "route[0].protocol: is needed: matrix or telegram"),
        ("protocol = \"xmpp\"", "route[0].protocol: xmpp is not built yet: matrix and telegram are"),
        ("protocol = \"telegram\"", "route[0].token: is needed, or sim = true"),
        (&format!("{telegram}prefixes = [\"@a\"]"), "does not begin with matrix: or telegram:"),
    ] {
        let found = problems(&route(keys));
        assert!(found.iter().any(|line| line.contains(expected)), "{keys}: {found:#?}");
    }
}

#[test]
fn a_reload_names_what_only_a_restart_applies() {
    let setup = |text: &str| parsed(text).unwrap().setup(Path::new("/data")).unwrap();
    let old = setup(ROUTE);
    assert_eq!(old.needs_restart(&setup(&ROUTE.replace("smsc.example", "other.example"))), [""; 0]);
    let new = "[http]\nlisten = \"127.0.0.1:9\"\n[bus]\nfsync = \"os\"\n[retention]\ndays = 3\n";
    assert_eq!(old.needs_restart(&setup(new)), ["[http]", "bus.fsync", "[retention]"]);
}

#[test]
fn edge_sites_are_known_where_the_config_has_some_and_a_reload_applies_them() {
    let site = |name: &str| format!("[[edge.site]]\nname = \"{name}\"\naddress = \"127.0.0.1:4810\"\n");
    let west = |text: &str| {
        let known = parsed(text).unwrap().address_defaults();
        channels::address(channels::EDGE, "west", &known)
    };
    assert!(west(&format!("{ROUTE}{}", site("north"))).unwrap_err().contains("which has north:"));
    assert!(west(&format!("{ROUTE}{}{}", site("north"), site("west"))).is_ok());
    assert!(west(ROUTE).is_ok(), "others have the sites");
    let setup = |text: &str| parsed(text).unwrap().setup(Path::new("/data")).unwrap();
    let (old, new) =
        (setup(ROUTE), setup(&format!("{ROUTE}{}[recipients]\nregion = \"SE\"\n", site("north"))));
    assert_ne!(old.defaults, new.defaults);
    assert_eq!(old.needs_restart(&new), [""; 0]);
}

#[test]
fn a_host_name_is_an_address_to_listen_on_at_every_door() {
    let text = "[http]\nlisten = \"localhost:1\"\n[smtp]\nlisten = \"localhost:2\"\ndomain = \"a.example\"\n[smpp]\nlisten = \"localhost:3\"\n\
                [topics]\nlisten = \"localhost:4\"\n[diameter]\nlisten = \"localhost:5\"\norigin_host = \"o.example\"\norigin_realm = \"example\"\n";
    let config = parse(text, "c.toml", Path::new("."), &BTreeMap::new()).unwrap();
    let doors = [
        config.http.listen,
        config.smtp.unwrap().listen,
        config.smpp.unwrap().listen,
        config.topics.unwrap().listen,
        config.diameter.unwrap().listen,
    ];
    assert_eq!(doors.map(|door| door.to_string()), [1, 2, 3, 4, 5].map(|port| format!("127.0.0.1:{port}")));
}

#[test]
fn a_server_starts_with_the_default_where_the_log_alone_is_wrong_and_says_so() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("c.toml");
    std::fs::write(&file, "[log]\nfilter = \"loud\"\n").unwrap();
    assert!(load(Some(&file), data.path()).is_err());
    let (config, warnings) = load_to_serve(Some(&file), data.path()).unwrap();
    assert_eq!(config.log.filter, "info");
    assert!(
        matches!(&warnings[..], [one] if one.contains("c.toml:2:") && one.contains("log.filter: \"loud\" is no level")),
        "{warnings:?}"
    );
    std::fs::write(&file, "[log]\nfilter = \"loud\"\n[http]\nburst = -1\n").unwrap();
    assert!(load_to_serve(Some(&file), data.path()).is_err());
}

#[test]
fn slips_that_would_silence_the_log_or_paint_a_sender_are_told() {
    let cases: Vec<(String, &str)> = vec![
        (
            "[log]\nfilter = \"loud\"".into(),
            "log.filter: \"loud\" is no level: off, error, warn, info, debug, trace are, or PART=LEVEL such as \"info,gateway=debug\"",
        ),
        (
            "[log]\nfilter = \"info,gatway=debug\"".into(),
            "log.filter: \"gatway\" in \"gatway=debug\" is no part of the program; did you mean gateway?",
        ),
        (
            "[http]\nlisten = \"localhost\"".into(),
            "http.listen: \"localhost\" is not address:port, such as 127.0.0.1:8080 or localhost:8080",
        ),
        (
            "[[platform]]\nusername = \"p\"\npassword = \"p\"\nsender = \"A\\nB\"".into(),
            "platform[0].sender: has a control character",
        ),
    ];
    each_alone(cases);
}

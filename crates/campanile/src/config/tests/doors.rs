//! Tests of the keys of doors: each wrong one is told by its name.

use super::each_alone;

#[test]
fn bounds_balancers_and_times_of_doors_must_make_sense() {
    let cases: Vec<(String, &str)> = vec![
        (
            "[smtp]\ndomain = \"in.test\"\nproxy_from = [\"x\"]".into(),
            "smtp.proxy_from[0]: \"x\" is not an address or network such as 10.0.0.0/8",
        ),
        (
            "[smpp]\nproxy_from = [\"x\"]".into(),
            "smpp.proxy_from[0]: \"x\" is not an address or network such as 10.0.0.0/8",
        ),
        (
            "[topics]\nproxy_from = [\"x\"]".into(),
            "topics.proxy_from[0]: \"x\" is not an address or network such as 10.0.0.0/8",
        ),
        (
            "[http]\ntrusted_proxies = [\"x\"]".into(),
            "http.trusted_proxies[0]: \"x\" is not an address or network such as 10.0.0.0/8",
        ),
        (
            "[smtp]\ndomain = \"in.test\"\nconnections_per_address_max = 0".into(),
            "smtp.connections_per_address_max: 0 admits no connection; at least 1",
        ),
        (
            "[smpp]\nconnections_per_address_max = 0".into(),
            "smpp.connections_per_address_max: 0 admits no connection; at least 1",
        ),
        (
            "[topics]\nconnections_max = 0".into(),
            "topics.connections_max: 0 admits no connection; at least 1",
        ),
        (
            "[smtp]\ndomain = \"in.test\"\nauthserv_id = \"mx.city.test\"".into(),
            "smtp.authserv_id: needs authserv_from beside it",
        ),
        (
            "[smtp]\ndomain = \"in.test\"\nauthserv_from = [\"10.0.0.25\"]".into(),
            "smtp.authserv_from: needs authserv_id beside it",
        ),
        (
            "[smtp]\ndomain = \"in.test\"\nauthserv_id = \"mx; x\"\nauthserv_from = [\"10.0.0.25\"]".into(),
            "smtp.authserv_id: is no id of a server, such as mx.city.example",
        ),
        (
            "[smtp]\ndomain = \"in.test\"\nauthserv_id = \"mx\"\nauthserv_from = [\"x\"]".into(),
            "smtp.authserv_from[0]: \"x\" is not an address or network such as 10.0.0.0/8",
        ),
        ("[smtp]\ndomain = \"in.test\"\ntls_cert = \"x\"".into(), "smtp.tls_cert: needs tls_key beside it"),
        (
            "[smtp]\ndomain = \"in.test\"\nmail_timeout = \"2h\"".into(),
            "smtp.mail_timeout: 7200 s is outside 1s to 1h",
        ),
        ("[http]\nhead_timeout = \"0s\"".into(), "http.head_timeout: 0 s is outside 1s to 1h"),
    ];
    each_alone(cases);
}

use super::*;
use proptest::prelude::*;

fn allowing(allow: &[&str]) -> OutboundPolicy {
    OutboundPolicy::new(&allow.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>()).unwrap()
}

/// Special and public addresses in turn: the first and the last of each network, and what lies beside it.
#[test]
fn a_special_address_is_not_called_and_its_public_neighbour_is() {
    let special = [
        "0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.255.255.255",
        "169.254.0.0 169.254.169.254 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.192 192.0.2.1 192.88.99.1",
        "192.168.0.0 192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.9 203.0.113.255 224.0.0.1",
        "239.255.255.255 240.0.0.1 255.255.255.255",
        ":: ::1 ::ffff:127.0.0.1 ::ffff:10.1.2.3 ::127.0.0.1 ::8.8.8.8 64:ff9b::127.0.0.1 64:ff9b::10.0.0.1",
        "64:ff9b:1::1 100::1 2001::1 2001:2::1 2001:10::1 2001:1ff:ffff::1 2001:db8::1 2002:7f00:1::1",
        "2002:a00:1::1 2002:a9fe:a9fe::1 3fff::1 3fff:fff:ffff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254",
        "fe80::1 fec0::1 ff02::1 ff0e::1 ::ffff:0:127.0.0.1",
    ];
    let public = [
        "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255",
        "169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.88.98.255 192.167.255.255 192.169.0.0",
        "198.17.255.255 198.20.0.0 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255",
        "2001:200::1 2001:db7::1 2001:db9::1 2606:4700::1 2a00:1450::1 3ffe::1 ::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8 2002:808:808::1",
    ];
    let policy = OutboundPolicy::default();
    for (list, expected) in [(special.join(" "), false), (public.join(" "), true)] {
        for ip in list.split(' ') {
            assert_eq!(policy.allows_address(ip.parse().unwrap()), expected, "{ip}");
        }
    }
}

#[test]
fn a_host_that_is_not_public_is_refused_in_every_way_of_writing_it() {
    let hosts = [
        "127.0.0.1 127.0.0.1. 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 0x7F.0.0.0x1",
        "0 0.0.0.0 0x0 10.1 167772161 169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376",
        "192.168.1 0xc0a80101 100.100.100.200 [::] [::1] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1]",
        "[::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:0001] [::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::127.0.0.1]",
        "[2002:7f00:0001::] [fe80::1] [fd00:ec2::254] %31%32%37.0.0.1 １２７.0.0.1 127。0。0。1 ①②⑦.0.0.1",
        "localhost LOCALHOST localhost. lOcAlHoSt. a.localhost x.y.localhost. localhost.localdomain",
        "ip6-localhost ip6-loopback printer.local metadata.google.internal. db.internal nas.home.arpa",
        "user:secret@127.0.0.1 public.example@127.0.0.1 127.0.0.1:80 [::1]:8080 LOCAL\u{ad}HOST",
    ];
    let policy = OutboundPolicy::default();
    for host in hosts.join(" ").split(' ') {
        for url in [format!("http://{host}/a"), format!("HTTPS://{host}?b"), format!("http:\\\\{host}\\a")] {
            let judged = policy.judge_text(&url);
            let refused = matches!(judged, Err(OutboundRefusal::Address(_) | OutboundRefusal::Name(_)));
            assert!(refused, "{url}: {judged:?}");
        }
    }
}

#[test]
fn a_public_host_is_called_and_what_is_no_url_is_not() {
    let policy = OutboundPolicy::default();
    for host in ["hooks.example", "8.8.8.8", "[2606:4700::1]:444", "localhost.example", "notlocal", "1.1"] {
        assert_eq!(policy.judge_text(&format!("https://{host}/")), Ok(OutboundTarget::Judged), "{host}");
    }
    for url in ["", "hooks.example", "ftp://hooks.example/", "file:///etc/passwd", "http://", "http://./"] {
        assert_eq!(policy.judge_text(url), Err(OutboundRefusal::NoUrl), "{url}");
    }
    for url in ["gopher://127.0.0.1/", "http://256.256.256.256/", "http://[::1/", "http://a b/"] {
        assert_eq!(policy.judge_text(url), Err(OutboundRefusal::NoUrl), "{url}");
    }
}

#[test]
fn what_the_operator_lists_is_called_and_nothing_beside_it() {
    let cases = [
        (&["127.0.0.0/8"][..], "http://127.9.9.9/", true),
        (&["127.0.0.0/8"], "http://[::ffff:127.0.0.1]/", true),
        (&["127.0.0.0/8"], "http://2130706433/", true),
        (&["127.0.0.0/8"], "http://[::1]/", false),
        (&["127.0.0.0/8"], "http://localhost:8080/", true),
        (&["10.0.0.0/8"], "http://localhost:8080/", false),
        (&["10.0.0.0/8"], "http://10.1.2.3/", true),
        (&["10.0.0.0/8"], "http://[64:ff9b::10.1.2.3]/", true),
        (&["10.0.0.0/8"], "http://11.1.2.3/", true),
        (&["10.0.0.0/8"], "http://192.168.0.1/", false),
        (&["10.0.0.5"], "http://10.0.0.5/", true),
        (&["10.0.0.5"], "http://10.0.0.6/", false),
        (&["fd00::/8"], "http://[fd12::1]/", true),
        (&["[fd12::1]"], "http://[fd12::1]/", true),
        (&["hooks.internal"], "http://hooks.internal:99/", true),
        (&["Hooks.Internal."], "http://hooks.internal./", true),
        (&["hooks.internal"], "http://a.hooks.internal/", false),
        (&["hooks.internal"], "http://hooks.internal.evil.local/", false),
        (&["*.city.internal"], "http://a.b.city.internal/", true),
        (&["*.city.internal"], "http://city.internal/", false),
        (&["*.city.internal"], "http://evilcity.internal/", false),
        (&["0.0.0.0/0", "::/0"], "http://[::1]:1/", true),
        (&["0.0.0.0/0", "::/0"], "http://db.internal/", true),
    ];
    for (allow, url, expected) in cases {
        assert_eq!(allowing(allow).judge_text(url).is_ok(), expected, "{allow:?} {url}");
    }
    // A listed name goes to whatever it resolves to; another one to public addresses and listed networks.
    let policy = allowing(&["hooks.internal", "10.0.0.0/8"]);
    assert_eq!(policy.judge_text("http://hooks.internal/"), Ok(OutboundTarget::Named));
    assert_eq!(policy.judge_text("http://db.internal/"), Ok(OutboundTarget::Judged));
}

#[test]
fn an_entry_that_is_neither_a_network_nor_a_name_is_named() {
    for entry in
        ["", "*", "*.", "http://a.example", "a.example:80", "10.0.0.0/33", "a b", "127.1", "a/b", "."]
    {
        let list = ["10.0.0.0/8".to_owned(), entry.to_owned()];
        let wrong = OutboundPolicy::new(&list).unwrap_err();
        assert_eq!(wrong.len(), 1, "{entry}");
        assert_eq!(wrong[0].0, 1);
        assert!(wrong[0].1.contains(&format!("{entry:?}")), "{}", wrong[0].1);
    }
}

#[test]
fn a_url_of_the_configuration_is_trusted_at_its_host_and_port_alone() {
    let urls = ["http://127.0.0.1:9000/in?from=%p&text=%b", "https://Platform.internal/dlr", "http://%p/"];
    let policy = OutboundPolicy::default().trusting(urls);
    for (url, expected) in [
        ("http://127.0.0.1:9000/other", true),
        ("http://2130706433:9000/other", true),
        ("https://127.0.0.1:9000/other", true),
        ("http://127.0.0.1:9001/in", false),
        ("http://127.0.0.2:9000/in", false),
        ("https://platform.internal:443/x", true),
        ("http://platform.internal/x", false),
        ("http://46701234567/", false),
    ] {
        assert_eq!(policy.judge_text(url) == Ok(OutboundTarget::Named), expected, "{url}");
    }
}

#[test]
fn a_refusal_names_the_key_that_would_allow_it() {
    let policy = OutboundPolicy::default();
    for url in ["http://127.0.0.1:1/", "http://localhost/"] {
        let words = policy.judge_text(url).unwrap_err().to_string();
        assert!(words.contains("[outbound] allow"), "{words}");
    }
    assert!(OutboundRefusal::Resolved.to_string().contains("[outbound] allow"));
}

proptest! {
    /// An IPv4 address is judged alike in every form: dotted, as numbers of any base and fewer parts, and in
    /// the IPv6 addresses that stand for it.
    #[test]
    fn an_address_is_judged_alike_in_all_its_forms(value: u32) {
        let policy = OutboundPolicy::default();
        let ip = Ipv4Addr::from(value);
        let [a, b, c, d] = ip.octets();
        let expected = policy.allows_address(ip.into());
        let (high, low) = (value >> 16, value & 0xffff);
        let forms = [
            format!("{ip}"),
            format!("{ip}."),
            format!("{value}"),
            format!("{value:#x}"),
            format!("0{value:o}"),
            format!("{a}.{}", value & 0xff_ffff),
            format!("{a:#x}.{b}.{low}"),
            format!("0{a:o}.{b:#X}.0{c:o}.{d}"),
            format!("[::ffff:{ip}]"),
            format!("[::ffff:{high:x}:{low:x}]"),
            format!("[64:ff9b::{ip}]"),
            format!("[2002:{high:x}:{low:x}::1]"),
        ];
        for form in forms {
            prop_assert_eq!(policy.judge_text(&format!("http://{form}/")).is_ok(), expected, "{}", form);
        }
    }

    /// Nothing that a client may write brings the judge down, and no host that it lets through is ours.
    #[test]
    fn any_text_is_judged(text in "(http://)?[0-9a-fx.:\\[\\]@%/\\\\]{0,40}") {
        let policy = OutboundPolicy::default();
        if policy.judge_text(&text).is_ok() {
            let url = Url::parse(&text).unwrap();
            let ip = match url.host().unwrap() {
                Host::Ipv4(ip) => IpAddr::from(ip),
                Host::Ipv6(ip) => ip.into(),
                Host::Domain(_) => return Ok(()),
            };
            prop_assert!(!ip.is_loopback() && !ip.is_unspecified() && !ip.is_multicast(), "{}", text);
        }
    }
}

#[test]
fn a_url_without_tls_is_for_what_is_listed_and_not_for_all_that_is_public() {
    let policy =
        allowing(&["10.0.0.0/8", "*.hooks.example", "127.0.0.1"]).trusting(["http://own.example:81/x"]);
    for (url, expected) in [
        ("http://10.1.2.3/", true),
        ("http://[::ffff:10.1.2.3]/", true),
        ("http://a.hooks.example./", true),
        ("http://localhost:8080/", true),
        ("http://own.example:81/y", true),
        ("http://own.example/", false),
        ("http://hooks.example/", false),
        ("http://8.8.8.8/", false),
        ("http://[::1]/", false),
        ("http://public.example/", false),
    ] {
        assert_eq!(policy.allows_plain(&Url::parse(url).unwrap()), expected, "{url}");
    }
    assert!(!OutboundPolicy::default().allows_plain(&Url::parse("http://localhost/").unwrap()));
}

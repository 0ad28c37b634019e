//! CER and CEA, in both roles, and everything that goes wrong before a connection is open.

use super::pair::*;
use crate::dictionary::avp;
use crate::header::CommandFlags;
use crate::peer::{Application, Capabilities, Connection, End, Event, Start};
use crate::result_code;
use crate::write::Writer;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A CER with these AVPs behind the mandatory ones but the one left out.
fn cer(left_out: &str, more: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::request(&mut out, 257, 0, CommandFlags(0), 0x11, 0x22);
    if left_out != "Origin-Host" {
        writer.identity(avp::ORIGIN_HOST, "client.example");
    }
    if left_out != "Origin-Realm" {
        writer.identity(avp::ORIGIN_REALM, "example");
    }
    if left_out != "Host-IP-Address" {
        writer.address(avp::HOST_IP_ADDRESS, crate::avp::Address::Ip(LOCAL));
    }
    if left_out != "Vendor-Id" {
        writer.u32(avp::VENDOR_ID, 0);
    }
    if left_out != "Product-Name" {
        writer.utf8(avp::PRODUCT_NAME, "test");
    }
    more(&mut writer);
    writer.finish();
    out
}

fn credit_control(writer: &mut Writer<'_>) {
    writer.u32(avp::AUTH_APPLICATION_ID, 4);
}

fn listening() -> (Connection, Instant) {
    let now = Instant::now();
    (Connection::listening(Arc::new(config("server.example")), start(1), now), now)
}

/// What a listening connection answers to these octets: its Result-Code and its Failed-AVP.
fn refusal(octets: &[u8]) -> (u32, Vec<u8>) {
    let (mut connection, now) = listening();
    let seen = input(&mut connection, octets, now);
    let out = output(&mut connection);
    let [cea] = messages(&out)[..] else { panic!("one CEA") };
    assert_eq!((cea.header.command, cea.header.hop_by_hop, cea.header.end_to_end), (257, 0x11, 0x22));
    let result_code = code(&cea);
    assert_eq!(seen, [Seen::Event(Event::Ended(End::RefusedByUs { result_code }))]);
    assert_eq!(cea.header.flags.is_error(), result_code / 1_000 == 3);
    for name in [avp::ORIGIN_HOST, avp::ORIGIN_REALM, avp::HOST_IP_ADDRESS, avp::VENDOR_ID, avp::PRODUCT_NAME]
    {
        assert!(cea.find(name).is_some(), "{name}");
    }
    let failed = cea.find(avp::FAILED_AVP).map_or(Vec::new(), |failed| failed.data.to_vec());
    (result_code, failed)
}

fn asked(octets: &[u8]) -> Capabilities {
    let (mut connection, now) = listening();
    match &input(&mut connection, octets, now)[..] {
        [Seen::Event(Event::Asked(capabilities))] => (**capabilities).clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_peer_is_asked_for_and_let_in() {
    let mut pair = Pair::new(config("client.example"), config("server.example"));
    let (_, server) = pair.exchange();
    let [Seen::Event(Event::Asked(client))] = &server[..] else { panic!("{server:?}") };
    assert_eq!((&client.origin_host[..], &client.origin_realm[..]), ("client.example", "example"));
    assert_eq!(
        (client.origin_state_id, &client.applications[..], &client.common[..]),
        (Some(100), &[4][..], &[4][..])
    );
    assert_eq!(client.host_addresses, [LOCAL]);
    assert!(!pair.server.is_usable());
    pair.server.accept(pair.now);
    let (client, _) = pair.exchange();
    let [Seen::Event(Event::Opened(server))] = &client[..] else { panic!("{client:?}") };
    assert_eq!(server.origin_host, "server.example");
    assert!(pair.server.is_usable() && pair.client.is_usable());
}

#[test]
fn no_common_application_is_5010() {
    assert_eq!(refusal(&cer("", |_| {})).0, 5010);
    assert_eq!(refusal(&cer("", |writer| writer.u32(avp::AUTH_APPLICATION_ID, 16_777_238))).0, 5010);
}

#[test]
fn an_application_counts_wherever_it_is_advertised_and_a_relay_has_all() {
    for advertise in [
        |writer: &mut Writer<'_>| writer.u32(avp::AUTH_APPLICATION_ID, 4),
        |writer: &mut Writer<'_>| writer.u32(avp::ACCT_APPLICATION_ID, 4),
        |writer: &mut Writer<'_>| {
            writer.group(avp::VENDOR_SPECIFIC_APPLICATION_ID, |group| {
                group.u32(avp::VENDOR_ID, 10_415);
                group.u32(avp::AUTH_APPLICATION_ID, 4);
            });
        },
        |writer: &mut Writer<'_>| writer.u32(avp::AUTH_APPLICATION_ID, 0xffff_ffff),
    ] {
        let capabilities = asked(&cer("", advertise));
        assert!(capabilities.common.contains(&4), "{capabilities:?}");
    }
    let relay = asked(&cer("", |writer| writer.u32(avp::AUTH_APPLICATION_ID, 0xffff_ffff)));
    assert!(relay.is_relay);
}

#[test]
fn a_relay_of_ours_has_every_application_in_common() {
    let mut relay = config("relay.example");
    relay.identity.applications = vec![Application::auth(0xffff_ffff)];
    let mut other = config("client.example");
    other.identity.applications = vec![Application { id: 77, is_accounting: true, vendor: 9 }];
    let pair = Pair::open_with(other, relay);
    assert!(pair.client.is_usable());
}

#[test]
fn what_is_missing_is_5005_with_a_zero_filled_example() {
    let (code, failed) = refusal(&cer("Origin-Host", credit_control));
    assert_eq!((code, failed), (5005, vec![0, 0, 1, 8, 0x40, 0, 0, 9, 0, 0, 0, 0]));
    let (code, failed) = refusal(&cer("Vendor-Id", credit_control));
    assert_eq!((code, failed), (5005, vec![0, 0, 1, 10, 0x40, 0, 0, 12, 0, 0, 0, 0]));
    for name in ["Origin-Realm", "Host-IP-Address", "Product-Name"] {
        assert_eq!(refusal(&cer(name, credit_control)).0, 5005, "{name}");
    }
}

#[test]
fn a_value_its_type_cannot_have_is_named() {
    let (code, failed) = refusal(&cer("", |writer| writer.octet_string(avp::AUTH_APPLICATION_ID, &[0, 4])));
    assert_eq!((code, &failed[..4]), (5014, &[0, 0, 1, 2][..]));
    let (code, _) = refusal(&cer("Origin-Host", |writer| writer.octet_string(avp::ORIGIN_HOST, b"a host")));
    assert_eq!(code, 5004);
}

#[test]
fn an_unknown_avp_with_the_m_bit_is_5001_and_a_wrong_bit_keeps_nobody_out() {
    let unknown = crate::avp::AvpName::ietf(3_999_999);
    let (code, failed) = refusal(&cer("", |writer| {
        credit_control(writer);
        writer.raw(unknown, crate::avp::AvpFlags::MANDATORY, &[1, 2, 3, 4]);
    }));
    assert_eq!((code, &failed[8..]), (5001, &[1, 2, 3, 4][..]));
    asked(&cer("Product-Name", |writer| {
        writer.raw(avp::PRODUCT_NAME, crate::avp::AvpFlags::MANDATORY, b"sloppy");
        writer.raw(avp::AUTH_APPLICATION_ID, crate::avp::AvpFlags::NONE, &[0, 0, 0, 4]);
    }));
}

#[test]
fn no_common_security_is_5017_but_on_a_connection_that_is_secure_already() {
    let tls = |writer: &mut Writer<'_>| {
        credit_control(writer);
        writer.u32(avp::INBAND_SECURITY_ID, 1);
    };
    assert_eq!(refusal(&cer("", tls)).0, 5017);
    let both = |writer: &mut Writer<'_>| {
        tls(writer);
        writer.u32(avp::INBAND_SECURITY_ID, 0);
    };
    asked(&cer("", both));
    let now = Instant::now();
    let secured = Start { is_secured: true, ..start(1) };
    let mut connection = Connection::listening(Arc::new(config("server.example")), secured, now);
    assert!(matches!(input(&mut connection, &cer("", tls), now)[..], [Seen::Event(Event::Asked(_))]));
}

#[test]
fn an_unknown_peer_is_refused_by_our_caller_with_3010() {
    let mut pair = Pair::new(config("client.example"), config("server.example"));
    pair.exchange();
    pair.server.refuse(result_code::UNKNOWN_PEER, "no such peer is configured", pair.now);
    let (client, server) = pair.exchange();
    let refused = End::RefusedByPeer { result_code: 3010 };
    assert_eq!(client, [Seen::Event(Event::Ended(refused))]);
    let refused = End::RefusedByUs { result_code: 3010 };
    assert_eq!(server, [Seen::Event(Event::Ended(refused))]);
}

#[test]
fn anything_but_a_cer_closes_a_connection_that_is_not_open() {
    let mut ccr = Vec::new();
    Writer::request(&mut ccr, 272, 4, CommandFlags(0), 1, 1).finish();
    let mut dwr = Vec::new();
    Writer::request(&mut dwr, 280, 0, CommandFlags(0), 1, 1).finish();
    for octets in [&ccr, &dwr] {
        let (mut connection, now) = listening();
        assert_eq!(input(&mut connection, octets, now), [Seen::Event(Event::Ended(End::NotCapabilities))]);
        assert_eq!(output(&mut connection), []);
        let (mut connection, now) = listening();
        input(&mut connection, &cer("", credit_control), now);
        assert_eq!(input(&mut connection, octets, now), [Seen::Event(Event::Ended(End::NotCapabilities))]);
        let mut client = Connection::connecting(Arc::new(config("c")), start(1), None, now);
        assert_eq!(input(&mut client, octets, now), [Seen::Event(Event::Ended(End::NotCapabilities))]);
    }
}

#[test]
fn a_cer_that_does_not_come_and_a_cea_that_does_not_come_are_timed() {
    let (mut connection, now) = listening();
    let limit = config("s").capabilities;
    connection.handle_timeout(now + limit - Duration::from_millis(1));
    assert_eq!(events(&mut connection), []);
    let mut client = Connection::connecting(Arc::new(config("c")), start(1), None, now);
    let (mut undecided, _) = listening();
    input(&mut undecided, &cer("", credit_control), now);
    for connection in [&mut connection, &mut client, &mut undecided] {
        output(connection);
        assert_eq!(connection.poll_timeout().map(|at| at <= now + limit * 2), Some(true));
        connection.handle_timeout(now + limit * 2);
        assert_eq!(events(connection), [Seen::Event(Event::Ended(End::NoCapabilities))]);
    }
}

#[test]
fn who_answers_under_another_name_is_not_whom_we_meant() {
    for (expected, end) in [("SERVER.example", None), ("other.example", Some(End::WrongPeer))] {
        let mut pair = Pair::new(config("client.example"), config("server.example"));
        pair.client =
            Connection::connecting(Arc::new(config("client.example")), start(1), Some(expected), pair.now);
        pair.exchange();
        pair.server.accept(pair.now);
        let (client, _) = pair.exchange();
        match (end, &client[..]) {
            (None, [Seen::Event(Event::Opened(_))]) => {}
            (Some(end), [Seen::Event(Event::Ended(ended))]) => assert_eq!(end, *ended),
            (_, seen) => panic!("{seen:?}"),
        }
    }
}

#[test]
fn a_cea_without_a_common_application_ends_the_connection() {
    // A server that lets in whom it should not.
    let now = Instant::now();
    let mut other = config("client.example");
    other.identity.applications = vec![Application::auth(9)];
    let mut client = Connection::connecting(Arc::new(other), start(1), None, now);
    let octets = output(&mut client);
    let mut cea = Vec::new();
    let mut writer = Writer::answer(&mut cea, &messages(&octets)[0].header);
    writer.u32(avp::RESULT_CODE, 2001);
    writer.identity(avp::ORIGIN_HOST, "server.example");
    writer.identity(avp::ORIGIN_REALM, "example");
    writer.address(avp::HOST_IP_ADDRESS, crate::avp::Address::Ip(LOCAL));
    writer.u32(avp::VENDOR_ID, 0);
    writer.utf8(avp::PRODUCT_NAME, "test");
    writer.u32(avp::AUTH_APPLICATION_ID, 4);
    writer.finish();
    let seen = input(&mut client, &cea, now);
    assert_eq!(seen, [Seen::Event(Event::Ended(End::NoCommonApplication))]);
}

#[test]
fn a_second_cer_on_an_open_connection_is_answered_and_changes_nothing() {
    let mut pair = Pair::open();
    assert_eq!(input(&mut pair.server, &cer("", credit_control), pair.now), []);
    let octets = output(&mut pair.server);
    let [cea] = messages(&octets)[..] else { panic!() };
    assert_eq!((cea.header.command, code(&cea)), (257, 5012));
    assert!(pair.server.is_usable());
}

#[test]
fn a_cea_to_another_cer_or_without_a_result_code_ends_the_connection() {
    for (change, end) in [(1, End::NotCapabilities), (0, End::BadCapabilities)] {
        let now = Instant::now();
        let mut client = Connection::connecting(Arc::new(config("client.example")), start(1), None, now);
        let octets = output(&mut client);
        let mut header = messages(&octets)[0].header;
        header.hop_by_hop ^= change;
        let mut cea = Vec::new();
        Writer::answer(&mut cea, &header).finish();
        assert_eq!(input(&mut client, &cea, now), [Seen::Event(Event::Ended(end))]);
        assert_eq!(client.poll_timeout(), None);
    }
}

#[test]
fn a_decision_that_nobody_asked_for_changes_nothing() {
    let (mut connection, now) = listening();
    connection.accept(now);
    connection.refuse(3010, "nobody asked", now);
    assert_eq!((events(&mut connection), output(&mut connection)), (vec![], vec![]));
    input(&mut connection, &cer("", credit_control), now);
    connection.accept(now);
    output(&mut connection);
    connection.accept(now);
    connection.refuse(3010, "it is too late", now);
    assert!(connection.is_usable());
    assert_eq!(output(&mut connection), []);
}

#[test]
fn what_is_not_open_is_not_disconnected_but_ended() {
    let (mut connection, now) = listening();
    connection.disconnect(crate::peer::Cause::REBOOTING, now);
    assert_eq!(events(&mut connection), [Seen::Event(Event::Ended(End::Aborted))]);
    let mut pair = Pair::open();
    request(&mut pair.client, 1, pair.now).unwrap();
    pair.client.abort(pair.now);
    assert_eq!(output(&mut pair.client), [], "an aborted connection says no word more");
    assert!(matches!(
        events(&mut pair.client)[..],
        [Seen::Event(Event::Unanswered(_)), Seen::Event(Event::Ended(End::Aborted))]
    ));
}

#[test]
fn our_capabilities_say_all_that_is_configured() {
    let mut config = config("client.example");
    config.identity.applications.push(Application { id: 16_777_236, is_accounting: false, vendor: 10_415 });
    config.identity.applications.push(Application { id: 3, is_accounting: true, vendor: 0 });
    config.identity.supported_vendors = vec![10_415];
    config.identity.firmware_revision = Some(7);
    config.identity.host_addresses = vec![LOCAL, "::1".parse().unwrap()];
    let now = Instant::now();
    let octets = output(&mut Connection::connecting(Arc::new(config), start(1), None, now));
    let [cer] = messages(&octets)[..] else { panic!() };
    crate::check::check(&cer).expect("it keeps to its grammar");
    let client = asked(&octets);
    assert_eq!(client.applications, [4, 16_777_236, 3]);
    assert_eq!((client.firmware_revision, client.host_addresses.len()), (Some(7), 2));
    assert_eq!(cer.find(avp::SUPPORTED_VENDOR_ID).unwrap().u32(), Ok(10_415));
}

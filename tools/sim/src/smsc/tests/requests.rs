//! Tests of a peer's requests: accounts and modes of a bind, queries, cancels, replacements, broadcasts,
//! outbind, TLS.

use super::super::*;
use super::client::{Client, Got, message, wide};
use smpp::pdu::Body;
use smpp::pdu::{
    Address, BindMode, BroadcastSm, CancelBroadcastSm, CancelSm, Command, Destination, DestinationBuf,
    QueryBroadcastSm, QueryBroadcastSmResp, QuerySm, QuerySmResp, ReplaceSm, SubmitMulti, Version,
};
use smpp::session::Config;
use smpp::status::Status;
use smpp::tlv::{Tag, TlvBuf};
use std::time::Duration;

async fn start(scenario: &str) -> Smsc {
    Smsc::start(Scenario::from_toml(scenario).unwrap()).await.unwrap()
}

#[tokio::test]
async fn each_version_and_each_mode_is_bound() {
    let smsc = start("").await;
    for version in [Version::V3_3, Version::V3_4, Version::V5_0] {
        for mode in [BindMode::Transmitter, BindMode::Receiver, BindMode::Transceiver] {
            let mut client = Client::connect(&smsc, Config { version, ..wide() }).await;
            assert_eq!(client.bind("esme", "", mode).await, Got::Bound(version), "{mode:?}");
            let info = smsc.sessions().pop().unwrap();
            assert_eq!((info.mode, info.version), (Some(mode.into()), Some(version.0)));
            if mode.transmits() {
                assert_eq!(client.submit("46701", "x").await.status, Status::ROK);
            }
        }
    }
}

#[tokio::test]
async fn only_accounts_that_are_listed_may_bind_as_their_lines_say() {
    let smsc = start(
        r#"
        [[accounts]]
        system_id = "alice"
        password = "secret"
        binds_max = 1
        [[accounts]]
        system_id = "bob"
        modes = ["receiver"]
        "#,
    )
    .await;
    for (system_id, password, mode, refusal) in [
        ("eve", "secret", BindMode::Transceiver, Some(Status::RINVSYSID)),
        ("alice", "guess", BindMode::Transceiver, Some(Status::RINVPASWD)),
        ("bob", "", BindMode::Transmitter, Some(Status::RBINDFAIL)),
        ("bob", "anything", BindMode::Receiver, None),
    ] {
        let mut client = Client::connect(&smsc, wide()).await;
        let expected = refusal.map_or(Got::Bound(Version::V3_4), Got::BindRefused);
        assert_eq!(client.bind(system_id, password, mode).await, expected, "{system_id}");
    }
    let mut first = Client::connect(&smsc, wide()).await;
    assert_eq!(first.bind("alice", "secret", BindMode::Receiver).await, Got::Bound(Version::V3_4));
    let mut second = Client::connect(&smsc, wide()).await;
    let got = second.bind("alice", "secret", BindMode::Receiver).await;
    assert_eq!(got, Got::BindRefused(Status::RBINDFAIL), "one at a time");
    smsc.change(Scenario::from_toml("bind_errors = [{ status = \"RSYSERR\", share = 1.0 }]").unwrap())
        .unwrap();
    let mut third = Client::connect(&smsc, wide()).await;
    // The scenario is asked for at the read that brings the bind.
    assert_eq!(third.bind("alice", "", BindMode::Receiver).await, Got::BindRefused(Status::RSYSERR));
}

#[tokio::test]
async fn a_message_can_be_queried_replaced_and_cancelled_while_it_is_under_way() {
    let smsc = start("ids = \"hex\"\n[receipts]\ndelay = \"1h\"").await;
    let mut client = Client::transceiver(&smsc).await;
    let id = client.submit("46701", "first words").await.id;
    let source = Address::new(3, 0, b"71700");
    let query = QuerySm { message_id: id.as_bytes(), source, ..QuerySm::default() };
    let state = async |client: &mut Client, query: &QuerySm<'_>| {
        let answer = client.ask(query).await;
        assert_eq!(answer.status, Status::ROK);
        let response = QuerySmResp::decode_body(Command::QUERY_SM_RESP, &answer.body).unwrap();
        assert_eq!(response.message_id, query.message_id);
        (response.message_state, response.final_date.len())
    };
    assert_eq!(state(&mut client, &query).await, (1, 0));

    let replace = ReplaceSm {
        message_id: id.as_bytes(),
        source,
        registered_delivery: 1,
        short_message: b"other words",
        ..ReplaceSm::default()
    };
    assert_eq!(client.ask(&replace).await.status, Status::ROK);
    assert_eq!(smsc.messages(1)[0].text, "other words");
    let strangers = ReplaceSm { source: Address::new(3, 0, b"71701"), ..replace };
    assert_eq!(client.ask(&strangers).await.status, Status::RINVMSGID);

    let cancel = CancelSm { message_id: id.as_bytes(), source, ..CancelSm::default() };
    assert_eq!(client.ask(&cancel).await.status, Status::ROK);
    let receipt = client.letter().await;
    assert!(receipt.text.contains("stat:DELETED err:000 text:other words"), "{}", receipt.text);
    assert_eq!(state(&mut client, &query).await, (4, 16));
    assert_eq!(client.ask(&cancel).await.status, Status::RCANCELFAIL);
    assert_eq!(client.ask(&replace).await.status, Status::RREPLACEFAIL);
    let unknown = QuerySm { message_id: b"ffff", ..query };
    assert_eq!(client.ask(&unknown).await.status, Status::RQUERYFAIL);
    let mut other = Client::bound(&smsc, "other", BindMode::Transceiver).await;
    assert_eq!(other.ask(&query).await.status, Status::RQUERYFAIL, "another's message");
}

#[tokio::test]
async fn all_messages_between_two_addresses_are_cancelled_at_once_and_no_receipt_of_theirs_comes_after() {
    let smsc = start("[receipts]\ndelay = \"80ms\"").await;
    let mut client = Client::transceiver(&smsc).await;
    for _ in 0..3 {
        client.submit("46701", "x").await;
    }
    client.submit("46702", "y").await;
    let cancel = CancelSm {
        source: Address::new(3, 0, b"71700"),
        destination: Address::international(b"46701"),
        ..CancelSm::default()
    };
    assert_eq!(client.ask(&cancel).await.status, Status::ROK);
    let mut states = Vec::new();
    for _ in 0..4 {
        let letter = client.letter().await;
        states.push((letter.from, letter.receipted.unwrap().1));
    }
    let cancelled = ("46701".to_owned(), 4);
    assert_eq!(states, [cancelled.clone(), cancelled.clone(), cancelled, ("46702".to_owned(), 2)]);
    assert!(client.is_quiet_for(Duration::from_millis(100)).await);
    let letters = smsc.stats().letters;
    assert_eq!((letters.withdrawn, letters.waiting), (3, 0));
}

#[tokio::test]
async fn a_short_id_of_a_peer_of_version_3_3_is_known_again() {
    let smsc = start("").await;
    let mut client = Client::connect(&smsc, Config { version: Version::V3_3, ..wide() }).await;
    client.bind("old", "", BindMode::Transmitter).await;
    let id = client.submit("46701", "x").await.id;
    assert_eq!(id.len(), 8);
    let query = QuerySm { message_id: id.as_bytes(), ..QuerySm::default() };
    assert_eq!(client.ask(&query).await.status, Status::ROK);
}

#[tokio::test]
async fn a_broadcast_is_taken_queried_and_cancelled() {
    let smsc = start("[receipts]\ndelay = \"1h\"").await;
    let mut client = Client::connect(&smsc, Config { version: Version::V5_0, ..wide() }).await;
    client.bind("esme", "", BindMode::Transceiver).await;
    let mut tlvs = TlvBuf::new();
    tlvs.push(Tag::BROADCAST_AREA_IDENTIFIER, b"\x00harbour").unwrap();
    tlvs.push(Tag::BROADCAST_CONTENT_TYPE, &[1, 0, 0x10]).unwrap();
    tlvs.push_u16(Tag::BROADCAST_REP_NUM, 1);
    tlvs.push(Tag::BROADCAST_FREQUENCY_INTERVAL, &[8, 0, 10]).unwrap();
    tlvs.push(Tag::MESSAGE_PAYLOAD, b"Close windows").unwrap();
    let answer = client.ask(&BroadcastSm { tlvs: tlvs.as_tlvs(), ..BroadcastSm::default() }).await;
    assert_eq!(answer.status, Status::ROK);
    assert_eq!(smsc.messages(1)[0].text, "Close windows");
    let message_id = answer.id.as_bytes();
    let query = QueryBroadcastSm { message_id, ..QueryBroadcastSm::default() };
    let told = client.ask(&query).await;
    let told = QueryBroadcastSmResp::decode_body(Command::QUERY_BROADCAST_SM_RESP, &told.body).unwrap();
    assert_eq!(told.tlvs.find_u8(Tag::MESSAGE_STATE), Some(1));
    assert_eq!(told.tlvs.find(Tag::BROADCAST_AREA_IDENTIFIER), Some(&b"\x00harbour"[..]));
    let cancel = CancelBroadcastSm { message_id, ..CancelBroadcastSm::default() };
    assert_eq!(client.ask(&cancel).await.status, Status::ROK);
    assert_eq!(client.ask(&cancel).await.status, Status::RBCASTCANCELFAIL);
    assert_eq!(client.ask(&BroadcastSm::default()).await.status, Status::RMISSINGOPTPARAM);
}

#[tokio::test]
async fn submit_multi_goes_to_everybody_on_a_list() {
    let smsc = start("[lists]\neveryone = [\"46701\", \"+46702\"]").await;
    let mut client = Client::transceiver(&smsc).await;
    let mut destinations = DestinationBuf::new();
    destinations.push(Destination::List(b"everyone")).unwrap();
    destinations.push(Destination::Sme(Address::international(b"46703"))).unwrap();
    let multi = SubmitMulti {
        destinations: destinations.as_destinations(),
        short_message: b"to many",
        ..SubmitMulti::default()
    };
    assert_eq!(client.ask(&multi).await.status, Status::ROK);
    let to: Vec<String> = smsc.messages(9).into_iter().map(|message| message.to).collect();
    assert_eq!(to, ["+46701", "+46702", "+46703"]);
}

#[tokio::test]
async fn an_esme_that_listens_is_asked_to_bind() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let smsc = start(&format!("system_id = \"carrier\"\noutbind = [\"{address}\"]")).await;
    for _ in 0..2 {
        let (stream, _) = listener.accept().await.unwrap();
        let mut client = Client::over(stream, wide());
        assert_eq!(client.next().await, Got::Outbind("carrier".to_owned()));
        assert_eq!(client.bind("esme", "", BindMode::Receiver).await, Got::Bound(Version::V3_4));
        let text = "you have mail".to_owned();
        let (from, to) = ("46701".to_owned(), "71700".to_owned());
        smsc.inject(&Injection { from, to, text, account: None, long: None }).unwrap();
        assert_eq!(client.letter().await.text, "you have mail");
        drop(client);
        smsc.outbind(&address).await.unwrap();
    }
    assert!(smsc.outbind("127.0.0.1:1").await.is_err());
}

#[tokio::test]
async fn the_same_is_said_through_tls() {
    let smsc = start("[tls]\n[receipts]\ndelay = \"0\"").await;
    let mut roots = rustls::RootCertStore::empty();
    let pem = smsc.certificate().unwrap().as_bytes();
    for cert in
        <rustls::pki_types::CertificateDer<'_> as rustls::pki_types::pem::PemObject>::pem_slice_iter(pem)
    {
        roots.add(cert.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = tokio::net::TcpStream::connect(smsc.tls_address().unwrap()).await.unwrap();
    let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
    let stream = connector.connect(name, stream).await.unwrap();
    let mut client = Client::over(stream, wide());
    client.bind("esme", "", BindMode::Transceiver).await;
    let text = "y".repeat(150);
    for _ in 0..500 {
        client.send(&message("46701", &text)).await;
    }
    for _ in 0..500 {
        client.letter().await;
    }
    assert_eq!(smsc.stats().accepted, 500);
    assert!(smsc.sessions()[0].is_tls);
    // One that does not speak TLS is let go, and does no harm.
    let mut stranger =
        Client::over(tokio::net::TcpStream::connect(smsc.tls_address().unwrap()).await.unwrap(), wide());
    stranger.session.bind(&smpp::pdu::Bind::default(), std::time::Instant::now()).unwrap();
    assert!(matches!(stranger.next().await, Got::Closed(_)));
    assert_eq!(client.submit("46701", "x").await.status, Status::ROK);
}

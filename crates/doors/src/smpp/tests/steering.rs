//! query_sm, cancel_sm and replace_sm.

use super::client::message;
use super::test_door::{AT, TestDoor};
use ::smpp::Status;
use ::smpp::pdu::{Address, BindMode, Body, CancelSm, Command, QuerySm, QuerySmResp, ReplaceSm, Version};
use ::smpp::session::Config;
use engine::MessageView;
use records::{
    DlrRequest, DlrState, INTAKE, MessageClient, MessageId, RosterMessage, Short, ShortAddress, ShortText,
};

/// Of `Town`, in UCS-2.
fn view(id: u64, state: DlrState, is_final: bool) -> MessageView {
    let short = Short {
        source: ShortAddress { ton_npi: Some((5, 0)), addr: "Town".into() },
        text: ShortText::Octets { data_coding: 8, octets: [0, 65][..].into() },
        ..Short::default()
    };
    let message = RosterMessage {
        id: MessageId(id),
        party: MessageClient::Smpp("client-a".into()),
        at: AT,
        short,
        route: None,
        tell: DlrRequest::default(),
    };
    MessageView { state, is_final, at: Some(AT), error: 11, message, to: "+46701234567".into() }
}

async fn test_door() -> TestDoor {
    let test_door = TestDoor::new().await;
    let mut views = test_door.memory.views.lock().unwrap();
    for id in 1..=2 {
        views.insert(id, view(id, DlrState::Enroute, false));
    }
    views.insert(3, view(3, DlrState::Undeliverable, true));
    drop(views);
    test_door
}

fn town() -> Address<'static> {
    Address::alphanumeric(b"Town")
}

#[tokio::test]
async fn a_query_says_how_a_message_stands() {
    let test_door = test_door().await;
    let mut esme = test_door.bound(BindMode::Transceiver).await;
    let query = |message_id| QuerySm { message_id, source: town(), ..QuerySm::default() };
    let cases = [(&b"0000000000000001"[..], 1, &b""[..]), (b"0000000000000003", 5, b"261121234936500+")];
    for (id, state, date) in cases {
        let (status, _, body) = esme.ask(&query(id)).await;
        assert_eq!(status, Status::ROK);
        let answer = QuerySmResp::decode_body(Command::QUERY_SM_RESP, &body).unwrap();
        assert_eq!((answer.message_id, answer.message_state), (id, state));
        assert_eq!((answer.final_date, answer.error_code), (date, 11));
    }
    for (wrong, expected) in [
        (query(b"0000000000000009"), Status::RINVMSGID),
        (query(b"nonsense"), Status::RINVMSGID),
        (
            QuerySm { source: Address::alphanumeric(b"Village"), ..query(b"0000000000000001") },
            Status::RQUERYFAIL,
        ),
    ] {
        assert_eq!(esme.ask(&wrong).await.0, expected, "{wrong:?}");
    }
}

#[tokio::test]
async fn a_client_of_3_3_queries_by_its_short_id() {
    let test_door = test_door().await;
    let intake = test_door.bus.topic(INTAKE).unwrap();
    intake.append(&[b"0", b"1", b"2", b"3"]).await.unwrap();
    let config = Config { version: Version::V3_3, ..Config::default() };
    let mut esme = test_door.bound_as(BindMode::Transceiver, "client-a", config).await;
    let query = QuerySm { message_id: b"00000003", source: town(), ..QuerySm::default() };
    let (status, _, body) = esme.ask(&query).await;
    assert_eq!(status, Status::ROK);
    let answer = QuerySmResp::decode_body(Command::QUERY_SM_RESP, &body).unwrap();
    assert_eq!((answer.message_id, answer.message_state), (&b"00000003"[..], 5));
}

#[tokio::test]
async fn a_message_is_taken_back_by_its_id_or_all_by_their_address() {
    let test_door = test_door().await;
    let mut esme = test_door.bound(BindMode::Transceiver).await;
    let cancel = |message_id| CancelSm { message_id, source: town(), ..CancelSm::default() };
    let all =
        |addr| CancelSm { service_type: b"CMT", destination: Address::international(addr), ..cancel(b"") };
    let cases = [
        (cancel(b"0000000000000001"), Status::ROK),
        (cancel(b"0000000000000002"), Status::RCANCELFAIL),
        (cancel(b"0000000000000009"), Status::RINVMSGID),
        (all(b"46701234567"), Status::ROK),
        (all(b"46700000000"), Status::RCANCELFAIL),
        (all(b"nobody"), Status::RINVDSTADR),
    ];
    for (request, expected) in cases {
        assert_eq!(esme.ask(&request).await.0, expected, "{request:?}");
    }
    let party = r#"cancel all Smpp("client-a") "CMT" Town"#;
    let expected = [
        "cancel 1".to_owned(),
        "cancel 2".to_owned(),
        format!("{party} +46701234567"),
        format!("{party} +46700000000"),
    ];
    assert_eq!(*test_door.memory.steered.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_message_says_something_else_in_its_own_coding() {
    let test_door = test_door().await;
    let mut esme = test_door.bound(BindMode::Transceiver).await;
    let replace = |message_id| ReplaceSm {
        message_id,
        source: town(),
        validity_period: b"000000010000000R",
        short_message: b"\0B",
        ..ReplaceSm::default()
    };
    let cases = [
        (replace(b"0000000000000001"), Status::ROK),
        (replace(b"0000000000000002"), Status::RREPLACEFAIL),
        (replace(b"0000000000000009"), Status::RINVMSGID),
        (ReplaceSm { sm_default_msg_id: 3, ..replace(b"0000000000000001") }, Status::RINVDFTMSGID),
        (
            ReplaceSm { validity_period: b"250101000000000+", ..replace(b"0000000000000001") },
            Status::RINVEXPIRY,
        ),
        (
            ReplaceSm { schedule_delivery_time: b"990101000000000+", ..replace(b"0000000000000001") },
            Status::RINVSCHED,
        ),
        (
            ReplaceSm { source: Address::alphanumeric(b"Village"), ..replace(b"0000000000000001") },
            Status::RREPLACEFAIL,
        ),
    ];
    for (request, expected) in cases {
        assert_eq!(esme.ask(&request).await.0, expected, "{request:?}");
    }
    let steered = test_door.memory.steered.lock().unwrap().clone();
    let expected =
        format!("replace 1 Octets {{ data_coding: 8, octets: [0, 66] }} Some({:?}) None", AT.plus_s(3_600));
    assert_eq!((steered.len(), &steered[0]), (2, &expected));
    assert_eq!(esme.ask(&message()).await.0, Status::ROK, "the session goes on");
}

//! With the engine behind it.

use super::super::*;
use super::client::{Esme, message};
use super::test_door::{AT, client_a, quick};
use ::smpp::Status;
use ::smpp::pdu::{Bind, Body, CancelSm, Command, QuerySm, QuerySmResp, ReplaceSm, SubmitSm};
use ::smpp::session::Config;
use bus::embedded::{Fsync, Options};
use engine::{Engine, MessageClientSettings, Parts, UnitsEstimator};
use records::{MessageClient, Mode, Route};

/// Everything is one part.
struct Plain;

impl UnitsEstimator for Plain {
    fn units(&self, _: &Route, _: &records::Body) -> u32 {
        1
    }
}

fn route() -> Route {
    Route {
        name: "carrier".into(),
        channel: channels::SMS,
        mode: Mode::Live,
        rate: 100.0,
        simulated: false,
        prefixes: vec!["+46".into()],
        senders: Vec::new(),
        accounts: Vec::new(),
        weight: 1,
        cost: 0,
        priority: 0,
        validity_s: 3_600,
        window: 0,
        shares: None,
        receipts: true,
    }
}

#[tokio::test]
async fn a_message_is_queried_replaced_and_taken_back_and_its_receipt_bears_its_id() {
    let dir = tempfile::tempdir().unwrap();
    let bus = bus::embedded::open(dir.path().join("bus"), Options { fsync: Fsync::Os, ..Options::default() })
        .unwrap();
    let options = store::sqlite::SqliteOptions::default();
    let store = store::sqlite::open(&dir.path().join("campanile.db"), &options).unwrap();
    let party = MessageClientSettings {
        client: MessageClient::Smpp("client-a".into()),
        account: "account-a".into(),
        mode: Mode::Live,
        numbers: Vec::new(),
        routes: Vec::new(),
        callback: None,
        replies: false,
    };
    let clock: Clock = Arc::new(|| AT);
    let parts = Parts {
        texts: engine::TextCache::default(),
        directory: engine::DirectoryCache::default(),
        bus: Arc::clone(&bus),
        store,
        routes: vec![route()],
        weigher: Arc::new(Plain),
        links: Arc::new(crate::http::AnswerLinks::new(&[9; crate::http::LINK_KEY_OCTETS], None)),
        clock: Arc::clone(&clock),
        settings: engine::Settings::default(),
        clients: vec![party],
    };
    let engine = Engine::start(parts).await.unwrap();
    let deps = SmppDeps {
        intake: Arc::new(engine.messages()),
        clients: Arc::new(Clients::new(vec![client_a()]).unwrap()),
        bus: Arc::clone(&bus),
        clock,
        cores: Arc::new(Cores::new(1).unwrap()),
        gatekeeper: crate::Gatekeeper::default(),
    };
    let running = start(quick(), deps).await.unwrap();
    let mut esme = Esme::connect(running.address().unwrap(), Config::default()).await;
    esme.bind(&Bind { system_id: b"client-a", password: b"secret-a", ..Bind::default() }).await.unwrap();
    // It leaves in an hour, so that it can be steered.
    let later = SubmitSm { schedule_delivery_time: b"000000010000000R", registered_delivery: 1, ..message() };
    let (status, id, _) = esme.ask(&later).await;
    assert_eq!((status, id.len()), (Status::ROK, 16));
    let unroutable = SubmitSm { destination: ::smpp::pdu::Address::international(b"4712345678"), ..later };
    assert_eq!(esme.ask(&unroutable).await.0, Status::RINVDSTADR);
    let source = message().source;
    let query = QuerySm { message_id: id.as_bytes(), source, ..QuerySm::default() };
    let (status, _, body) = esme.ask(&query).await;
    assert_eq!(status, Status::ROK);
    let answer = QuerySmResp::decode_body(Command::QUERY_SM_RESP, &body).unwrap();
    assert!(answer.message_state <= 1 && answer.final_date.is_empty(), "{answer:?}");
    let short_message = b"Open your windows.";
    let replace = ReplaceSm { message_id: id.as_bytes(), source, short_message, ..ReplaceSm::default() };
    assert_eq!(esme.ask(&replace).await.0, Status::ROK);
    let cancel = CancelSm { message_id: id.as_bytes(), source, ..CancelSm::default() };
    assert_eq!(esme.ask(&cancel).await.0, Status::ROK);
    let receipt = esme.delivered().await;
    assert!(receipt.text().starts_with(&format!("id:{id} ")), "{}", receipt.text());
    assert!(receipt.text().contains("stat:DELETED"), "{}", receipt.text());
    assert!(receipt.text().contains("text:Open your windows."), "{}", receipt.text());
    esme.respond(receipt.sequence, Status::ROK).await;
    let (_, _, body) = esme.ask(&query).await;
    let answer = QuerySmResp::decode_body(Command::QUERY_SM_RESP, &body).unwrap();
    assert_eq!(answer.message_state, 4, "{answer:?}");
    assert_eq!(esme.ask(&cancel).await.0, Status::RCANCELFAIL);
    drop(esme);
    running.stop().await;
}

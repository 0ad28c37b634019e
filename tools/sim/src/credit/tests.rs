//! By the octet over sockets: what is charged, what comes twice, what is lost.

use super::{CreditServerOptions, Ocs, Stats};
use diameter::check::Origin;
use diameter::credit::request::ServiceControl;
use diameter::credit::request::UsedUnits;
use diameter::credit::write_request::{RequestToSend, ServiceToRequest};
use diameter::credit::{Money, RequestType, Subscription, SubscriptionKind, Units};
use diameter::dictionary::avp;
use diameter::frame::next_frame;
use diameter::message::Message;
use diameter::peer::{Application, Connection, ConnectionConfig, Event, Identity, Start};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const ORIGIN: Origin<'static> = Origin { host: "client.test", realm: "test" };
const ANN: [Subscription<'static>; 1] = [Subscription { kind: SubscriptionKind::E164, data: "46701740605" }];

type ClientEvent = (Option<u32>, Option<u32>, Option<Units>, bool);

struct Client(TcpStream);

impl Client {
    async fn open(ocs: &Ocs) -> Client {
        let mut stream = TcpStream::connect(ocs.address()).await.unwrap();
        let config =
            Arc::new(ConnectionConfig::new(Identity::new(ORIGIN.host, ORIGIN.realm, Application::auth(4))));
        let start = Start { local: [127, 0, 0, 1].into(), is_secured: false, watchdog: None, seed: 1 };
        let mut connection = Connection::connecting(config, start, None, Instant::now());
        let mut octets = Vec::new();
        connection.poll_transmit(&mut octets);
        stream.write_all(&octets).await.unwrap();
        let mut client = Client(stream);
        let cea = client.hear().await;
        connection.handle_input(&cea, Instant::now(), &mut |_, _| {});
        assert!(matches!(connection.poll_event(), Some(Event::Opened(_))));
        client
    }

    async fn hear(&mut self) -> Vec<u8> {
        let mut heard = Vec::new();
        while next_frame(&heard, u32::MAX).unwrap().is_none() {
            assert_ne!(self.0.read_buf(&mut heard).await.unwrap(), 0, "the connection ended");
        }
        heard
    }

    async fn answer(&mut self, request: &RequestToSend<'_>) -> Vec<u8> {
        let mut octets = Vec::new();
        request.write(1, 2, &mut octets);
        self.0.write_all(&octets).await.unwrap();
        self.hear().await
    }

    /// Result-Code, and each service's: what it is, what it gets, and whether there is more.
    async fn services(&mut self, request: &RequestToSend<'_>) -> (u32, Vec<ClientEvent>) {
        let heard = self.answer(request).await;
        let answer = Message::read(&heard).unwrap();
        diameter::check::check(&answer).unwrap();
        let groups = answer.avps().map(Result::unwrap);
        let services = groups.filter(|group| group.name == avp::MULTIPLE_SERVICES_CREDIT_CONTROL);
        let told = services.map(|group| {
            let service = ServiceControl::read(answer, group).unwrap();
            let units = service.granted.map(|granted| granted.units);
            let is_final = group.group().find_name(avp::FINAL_UNIT_INDICATION).is_some();
            (service.rating_group, service.result_code, units, is_final)
        });
        (answer.find(avp::RESULT_CODE).unwrap().u32().unwrap(), told.collect())
    }

    /// Result-Code, and what is granted.
    async fn ask(&mut self, request: &RequestToSend<'_>) -> (u32, Option<u64>) {
        let heard = self.answer(request).await;
        let answer = Message::read(&heard).unwrap();
        let granted = answer.find(avp::GRANTED_SERVICE_UNIT);
        let units = granted.and_then(|granted| granted.group().find_name(avp::CC_SERVICE_SPECIFIC_UNITS));
        let code = answer.find(avp::RESULT_CODE).unwrap().u32().unwrap();
        (code, units.map(|units| units.u64().unwrap()))
    }
}

fn request(kind: RequestType, number: u32, requested: Option<u64>) -> RequestToSend<'static> {
    RequestToSend {
        kind,
        number,
        action: None,
        subscriptions: &ANN,
        requested: requested.map(Units::of_specific),
        ..RequestToSend::debit("client.test;1;1", ORIGIN, "sim.example", Units::default())
    }
}

#[tokio::test]
async fn a_session_is_charged_once_however_often_it_is_said_and_grants_no_more_than_there_is() {
    let ocs =
        Ocs::start(CreditServerOptions { balance: 10, ..CreditServerOptions::default() }).await.unwrap();
    let mut client = Client::open(&ocs).await;
    let used = |units| {
        let units = Units::of_specific(units);
        [UsedUnits { units, tariff_usage: None, tariff_time_change: None, reporting_reason: None }]
    };
    assert_eq!(client.ask(&request(RequestType::Initial, 0, Some(4))).await, (2001, Some(4)));
    assert_eq!(client.ask(&request(RequestType::Initial, 0, Some(4))).await, (2001, Some(4)));
    assert_eq!(ocs.stats().reserved, 4);
    let three = used(3);
    let update = RequestToSend { used: &three, ..request(RequestType::Update, 1, Some(20)) };
    assert_eq!(client.ask(&update).await, (2001, Some(7)));
    let end = RequestToSend {
        used: &three,
        termination_cause: Some(1),
        ..request(RequestType::Termination, 2, None)
    };
    assert_eq!(client.ask(&end).await, (2001, None));
    assert_eq!(client.ask(&end).await, (2001, None));
    let late = RequestToSend { number: 3, ..end };
    assert_eq!(client.ask(&late).await, (5002, None));
    let stats = Stats { requests: 6, duplicates: 2, used: 6, ..Stats::default() };
    assert_eq!(ocs.stats(), stats);
}

#[tokio::test]
async fn each_service_of_a_session_is_granted_and_charged_by_itself() {
    let ocs =
        Ocs::start(CreditServerOptions { balance: 20, ..CreditServerOptions::default() }).await.unwrap();
    let mut client = Client::open(&ocs).await;
    let octets = |count| Units { total_octets: Some(count), ..Units::default() };
    let time = |seconds| Units { time_s: Some(seconds), ..Units::default() };
    let asks =
        |group, requested| ServiceToRequest { rating_group: Some(group), requested, ..Default::default() };
    let good = |group, units, is_final| (Some(group), Some(2001), Some(units), is_final);
    let with = |kind, number, services| RequestToSend {
        services,
        has_multiple_services: true,
        ..request(kind, number, None)
    };
    let first = [asks(1, Some(octets(4_500_000))), asks(2, Some(time(30)))];
    let told = client.services(&with(RequestType::Initial, 0, &first)).await;
    assert_eq!(told, (2001, vec![good(1, octets(4_500_000), false), good(2, time(15), true)]));
    assert_eq!(ocs.stats().reserved, 20);
    let used =
        |units| UsedUnits { units, tariff_usage: None, tariff_time_change: None, reporting_reason: None };
    let (one, two) = ([used(octets(4_000_001))], [used(time(15))]);
    let next = [ServiceToRequest { used: &one, ..asks(1, Some(octets(9_000_000))) }];
    let told = client.services(&with(RequestType::Update, 1, &next)).await;
    assert_eq!(told, (4012, vec![(Some(1), Some(4012), None, false)]));
    let unknown =
        [asks(3, Some(Units { money: Some(Money::from_minor_units(1, None)), ..Units::default() }))];
    assert_eq!(client.services(&with(RequestType::Update, 2, &unknown)).await, (5031, vec![]));
    let last = [ServiceToRequest { used: &two, ..asks(2, None) }];
    let end = RequestToSend { termination_cause: Some(1), ..with(RequestType::Termination, 3, &last) };
    assert_eq!(client.services(&end).await, (2001, vec![(Some(2), Some(2001), None, false)]));
    assert_eq!(ocs.stats(), Stats { requests: 4, used: 20, ..Stats::default() });
}

#[tokio::test]
async fn what_is_refused_moves_nothing_and_what_is_lost_was_done() {
    let refusing = CreditServerOptions { refused: 1.0, refused_with: 4012, ..CreditServerOptions::default() };
    let ocs = Ocs::start(refusing).await.unwrap();
    let mut client = Client::open(&ocs).await;
    assert_eq!(client.ask(&request(RequestType::Initial, 0, Some(4))).await, (4012, None));
    assert_eq!((ocs.stats().reserved, ocs.stats().refused), (0, 1));

    let losing = CreditServerOptions { lost: 1.0, ..CreditServerOptions::default() };
    let ocs = Ocs::start(losing).await.unwrap();
    let mut client = Client::open(&ocs).await;
    let initial = request(RequestType::Initial, 0, Some(4));
    let silence = tokio::time::timeout(Duration::from_millis(200), client.ask(&initial)).await;
    assert!(silence.is_err());
    assert_eq!((ocs.stats().reserved, ocs.stats().lost), (4, 1));
}

#[test]
fn options_that_cannot_be_are_named() {
    for (options, named) in [
        (CreditServerOptions { lost: 1.5, ..CreditServerOptions::default() }, "lost"),
        (CreditServerOptions { refused: -0.1, ..CreditServerOptions::default() }, "refused"),
        (CreditServerOptions { refused_with: 2001, ..CreditServerOptions::default() }, "refused_with"),
        (CreditServerOptions { origin_host: String::new(), ..CreditServerOptions::default() }, "origin_host"),
    ] {
        let error = options.check().unwrap_err();
        assert!(error.starts_with(named), "{error}");
    }
}

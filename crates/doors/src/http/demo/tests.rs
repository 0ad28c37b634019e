//! Carriers of a demonstration, and servers that are none.

use super::*;
use crate::http::tests::*;
use std::sync::Mutex;

/// Two carriers, of which one has no receipts to leave out.
pub(crate) struct TestDemo(Mutex<Vec<DemoCarrier>>);

impl Default for TestDemo {
    fn default() -> TestDemo {
        use CarrierBehaviour::{Down, Slow, WithoutReceipts, Works};
        let carrier = |name: &str, channel, can_be: &[CarrierBehaviour]| DemoCarrier {
            name: name.to_owned(),
            channel,
            behaviour: Works,
            since: None,
            can_be: can_be.to_vec(),
        };
        TestDemo(Mutex::new(vec![
            carrier("carrier-a", channels::SMS, &[Works, Down, Slow, WithoutReceipts]),
            carrier("relay", channels::MAIL, &[Works, Down, Slow]),
        ]))
    }
}

impl DemoCarriers for TestDemo {
    fn carriers(&self) -> Vec<DemoCarrier> {
        self.0.lock().unwrap().clone()
    }

    fn behave(&self, name: &str, behaviour: CarrierBehaviour, now: Timestamp) -> Result<(), String> {
        let mut carriers = self.0.lock().unwrap();
        let carrier = carriers.iter_mut().find(|carrier| carrier.name == name).ok_or("nobody")?;
        (carrier.behaviour, carrier.since) = (behaviour, Some(now));
        Ok(())
    }
}

#[tokio::test]
async fn an_operator_breaks_a_carrier_of_a_demonstration_and_mends_it() {
    let server = TestServer::open().await;
    server.people().await;
    let (status, demo) = server.get("/api/v1/demo").await;
    assert_eq!((status.as_u16(), &demo["people"]), (200, &json!(2)), "{demo}");
    let names: Vec<&str> =
        demo["carriers"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["carrier-a", "relay"]);
    let at = "/api/v1/demo/carriers/carrier-a";
    let (status, broken) = server.post(at, json!({"behaviour": "down"})).await;
    assert_eq!((status.as_u16(), &broken["behaviour"]), (200, &json!("down")), "{broken}");
    assert_eq!(broken["since"], "2026-11-18T06:26:40Z");
    assert_eq!(server.get("/api/v1/demo").await.1["carriers"][0], broken);
    let (status, mended) = server.post(at, json!({"behaviour": "works"})).await;
    assert_eq!((status.as_u16(), &mended["behaviour"]), (200, &json!("works")), "{mended}");
    server.close().await;
}

#[tokio::test]
async fn what_a_carrier_cannot_be_is_refused_with_what_it_can_be() {
    let server = TestServer::open().await;
    for (name, body, status, word) in [
        ("relay", json!({"behaviour": "without_receipts"}), 422, "works, down, slow"),
        ("relay", json!({"behaviour": "on fire"}), 422, "behaviour"),
        ("relay", json!({}), 422, "without_receipts"),
        ("relay", json!({"behaviour": "down", "until": "noon"}), 422, "until"),
        ("nobody", json!({"behaviour": "down"}), 404, "carrier-a, relay"),
    ] {
        let (found, problem) = server.post(&format!("/api/v1/demo/carriers/{name}"), body.clone()).await;
        assert_eq!(found, status, "{body}: {problem}");
        assert!(problem.to_string().contains(word), "{body}: {problem}");
    }
    let viewer = server.token(Role::Viewer).await;
    let request = server.anon(Method::POST, "/api/v1/demo/carriers/relay").bearer_auth(viewer);
    assert_eq!(said(request.json(&json!({"behaviour": "down"}))).await.0, 403);
    assert_eq!(server.get("/api/v1/demo").await.1["carriers"][1]["behaviour"], "works");
    server.close().await;
}

#[tokio::test]
async fn a_server_that_is_no_demonstration_has_nothing_to_break() {
    let mut server = TestServer::open().await;
    server.policies.server = Arc::default();
    let server = server.reopened().await;
    for request in [
        server.call(Method::GET, "/api/v1/demo"),
        server.call(Method::POST, "/api/v1/demo/carriers/relay").json(&json!({"behaviour": "down"})),
    ] {
        let (status, problem) = said(request).await;
        assert_eq!(status, 404, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains("campanile demo"), "{problem}");
    }
    server.close().await;
}

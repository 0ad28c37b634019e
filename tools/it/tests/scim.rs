//! SCIM 2.0 of the real program: PyPI's scim2-tester finds no fault, and what an identity provider does
//! reaches people over a crash.

use it::{Server, scim_checks};
use serde_json::{Value, json};

#[tokio::test]
async fn scim2_tester_finds_no_fault() {
    let server = Server::start("").await;
    let checks = scim_checks(&server, server.token()).await;
    let is_fault = |check: &&Value| matches!(check["status"].as_str(), Some("ERROR" | "CRITICAL"));
    let faults: Vec<&Value> = checks.iter().filter(is_fault).collect();
    assert!(faults.is_empty(), "{} of {} checks: {faults:#?}", faults.len(), checks.len());
    assert!(checks.len() > 20, "{checks:?}");
}

#[tokio::test]
async fn a_person_who_leaves_is_switched_off_before_the_answer_and_stays_so_over_a_crash() {
    let mut server = Server::start("").await;
    let user = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "mandy", "externalId": "e-1",
        "displayName": "Mandy", "active": true, "phoneNumbers": [{"type": "mobile", "value": "+46701000001"}],
    });
    let made = server.api().post("/scim/v2/Users", &user).await.expect(201);
    let path = format!("/scim/v2/Users/{}", made["id"].as_str().unwrap());
    let off = json!({
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        "Operations": [{"op": "Replace", "path": "active", "value": "False"}],
    });
    assert_eq!(server.api().patch(&path, &off).await.expect(200)["active"], false);
    server.kill9();
    server.restart().await;
    let person = server.api().get("/api/v1/recipients/e-1").await.expect(200);
    assert_eq!(
        (&person["devices"][0]["enabled"], &person["attributes"]["active"]),
        (&json!(false), &json!("false"))
    );
    let found = server.api().get("/scim/v2/Users?filter=userName%20eq%20%22mandy%22").await.expect(200);
    assert_eq!((&found["totalResults"], &found["Resources"][0]["active"]), (&json!(1), &json!(false)));
}

//! Tests of people of a group, of previews of rules, and of the search for people.

use crate::http::tests::*;

async fn made(server: &TestServer) {
    let people = json!([
        {"id": "ann", "name": "Ann Ek", "groups": ["staff"], "attributes": {"site": "north"}, "sms": "+46701000001"},
        {"id": "bo", "name": "Bo Öst", "attributes": {"site": "north"}, "mail": "bo@example.org"},
        {"id": "cy", "name": "Anna Cy", "attributes": {"site": "south"}},
        {"id": "dee", "name": "Dee", "devices": [{"channel": "sms", "address": "+46701000004", "verified": true}]},
    ]);
    assert_eq!(server.post("/api/v1/recipients", people).await.0, 200);
    for group in [
        json!({"id": "named", "members": ["cy"], "groups": ["staff"]}),
        json!({"id": "north", "rule": {"attribute": "site", "is": "north"}}),
        json!({"id": "all-sites", "groups": ["named", "north"]}),
    ] {
        assert_eq!(server.post("/api/v1/groups", group).await.0, 201);
    }
}

#[tokio::test]
async fn people_of_a_group_are_listed_with_what_makes_them_members() {
    let server = TestServer::open().await;
    made(&server).await;
    for (group, expected) in [
        ("staff", vec![("ann", "person", "staff")]),
        ("named", vec![("ann", "person", "staff"), ("cy", "group", "named")]),
        ("north", vec![("ann", "rule", "north"), ("bo", "rule", "north")]),
        ("all-sites", vec![("ann", "person", "staff"), ("bo", "rule", "north"), ("cy", "group", "named")]),
    ] {
        let mut found = Vec::new();
        let mut path = format!("/api/v1/groups/{group}/people?limit=2");
        loop {
            let (status, page) = server.get(&path).await;
            assert_eq!(status, 200, "{page}");
            found.extend(page["items"].as_array().unwrap().iter().cloned());
            let Some(next) = page["next"].as_str() else { break };
            path = format!("/api/v1/groups/{group}/people?limit=2&cursor={next}");
        }
        let found: Vec<(&str, &str, &str)> = found
            .iter()
            .map(|one| {
                (
                    one["recipient"]["id"].as_str().unwrap(),
                    one["by"].as_str().unwrap(),
                    one["group"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(found, expected, "{group}");
    }
    assert_eq!(server.get("/api/v1/groups/nobodys/people").await.0, 404);
    server.close().await;
}

#[tokio::test]
async fn a_preview_says_whom_a_rule_fits() {
    let server = TestServer::open().await;
    made(&server).await;
    let rule = json!({"rule": {"attribute": "site", "is": "north"}});
    let (status, preview) = server.post("/api/v1/groups:preview", rule).await;
    assert_eq!((status.as_u16(), &preview["count"]), (200, &json!(2)), "{preview}");
    assert_eq!(preview["examples"][0]["id"], "ann");
    for (body, field) in [(json!({}), "rule"), (json!({"rule": {"all": []}}), "rule.all")] {
        let (status, problem) = server.post("/api/v1/groups:preview", body).await;
        assert_eq!(status, 422, "{problem}");
        assert!(!reason(&problem, field).is_empty());
    }
    server.close().await;
}

#[tokio::test]
async fn people_are_searched_by_words_number_group_and_health() {
    let server = TestServer::open().await;
    made(&server).await;
    for (query, expected) in [
        ("q=ann", vec!["ann", "cy"]),
        ("q=ann%20ek", vec!["ann"]),
        ("q=%C3%B6st", vec!["bo"]),
        ("q=bo@", vec!["bo"]),
        ("q=%2B46701000001", vec!["ann"]),
        ("q=DE", vec!["dee"]),
        ("q=ann&group=staff", vec!["ann"]),
        ("group=all-sites", vec!["ann", "bo", "cy"]),
        ("health=no_device", vec!["cy"]),
        ("health=not_verified", vec!["ann", "bo"]),
        ("health=stopped", vec![]),
        ("health=bounced", vec![]),
        ("sort=name", vec!["ann", "cy", "bo", "dee"]),
    ] {
        let (status, found) = server.get(&format!("/api/v1/recipients?{query}")).await;
        assert_eq!(status, 200, "{query}: {found}");
        let ids: Vec<&str> =
            found["items"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
        assert_eq!((ids, &found["total"]), (expected.clone(), &json!(expected.len())), "{query}");
        assert_eq!(found["total_is_exact"], true);
    }
    let (_, page) = server.get("/api/v1/recipients?sort=name&limit=3").await;
    assert_eq!((page["items"].as_array().unwrap().len(), &page["total"]), (3, &json!(4)), "{page}");
    let next = page["next"].as_str().unwrap();
    let (_, rest) = server.get(&format!("/api/v1/recipients?sort=name&limit=3&cursor={next}")).await;
    assert_eq!((&rest["items"][0]["id"], &rest["next"]), (&json!("dee"), &Value::Null), "{rest}");
    let (_, plain) = server.get("/api/v1/recipients").await;
    assert_eq!(plain["total"], Value::Null, "a list is no search");
    for query in ["health=ill", "sort=age", "q=x&filter=y"] {
        assert_eq!(server.get(&format!("/api/v1/recipients?{query}")).await.0, 400, "{query}");
    }
    let stop = server.store.put_opt_outs("default", vec![(channels::SMS, "+46701000001".to_owned())], NOW);
    stop.await.unwrap();
    let (_, found) = server.get("/api/v1/recipients?health=stopped").await;
    assert_eq!((&found["items"][0]["id"], &found["total"]), (&json!("ann"), &json!(1)), "{found}");
    server.close().await;
}

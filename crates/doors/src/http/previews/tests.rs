use crate::http::tests::*;

const PREVIEW: &str = "/api/v1/alerts:preview";

fn of<'v>(preview: &'v Value, channel: &str, language: Option<&str>) -> &'v Value {
    let mut texts = preview["texts"].as_array().unwrap().iter();
    let found = texts.find(|one| one["channel"] == channel && one["language"].as_str() == language);
    found.unwrap_or_else(|| panic!("no {channel} {language:?} in {preview}"))
}

#[tokio::test]
async fn an_unfinished_alert_is_shown_as_each_channel_would_get_it() {
    let server = TestServer::open().await;
    server.people().await;
    let body = json!({"headline": "Fire", "text": "Fire in hall 2 – leave, {{name}}. https://x.example", "channels": ["sms", "mail"],
        "texts": {"sv": {"text": "Brand i hall 2, {{floor}}."}, "mail": {"html": "<p>Fire, {{name}}</p>"}}});
    let (status, preview) = server.post(PREVIEW, body).await;
    assert_eq!(status, 200, "{preview}");
    let sms = of(&preview, "sms", None);
    assert_eq!(sms["text"], "Fire in hall 2 – leave, Anna Ek. https://x.example");
    assert_eq!((&sms["route"], &sms["parts"]), (&json!("carrier"), &json!(1)));
    let encoding = &sms["encoding"];
    assert_eq!((&encoding["alphabet"], &encoding["left"]), (&json!("ucs2"), &json!(20)));
    assert_eq!(encoding["at_fault"], json!([{"letter": "–", "at": 15, "at_utf16": 15, "plain": "-"}]));
    let swedish = of(&preview, "sms", Some("sv"));
    assert_eq!(swedish["text"], "Brand i hall 2, floor.");
    assert_eq!(swedish["encoding"]["alphabet"], "gsm7");
    assert_eq!(preview["missing"], json!(["floor"]));
    assert_eq!(preview["filled_from"], "examples");
    let spoken = json!({"language": null, "text": "Fire in hall 2 – leave, Anna Ek."});
    assert_eq!(preview["spoken"][0], spoken);
    assert!(
        preview["problems"].as_array().unwrap().iter().any(|one| one["field"] == "audience"),
        "{preview}"
    );
    let (_, lint) = server.post(PREVIEW, json!({"text": "Fire"})).await;
    assert_eq!(lint["warnings"][0]["code"], "no_instruction", "{lint}");
    let mail = of(&preview, "mail", None);
    assert_eq!(mail["headline"], "Fire");
    let url = mail["html"]["url"].as_str().unwrap();
    let page = server.call(Method::GET, url).send().await.unwrap();
    assert_eq!(page.status(), 200);
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.starts_with("sandbox; default-src 'none'") && policy.ends_with("frame-ancestors 'self'"));
    assert_eq!(page.text().await.unwrap(), "<p>Fire, Anna Ek</p>");
    server.close().await;
}

#[tokio::test]
async fn a_person_is_shown_what_their_devices_would_get_and_what_is_missing() {
    let server = TestServer::open().await;
    server.people().await;
    let body = json!({"text": "Hi {{name}}, zone {{ugc}}", "mode": "drill", "audience": ["group:staff"]});
    let (status, preview) = server.post(&format!("{PREVIEW}?recipient=bo"), body.clone()).await;
    assert_eq!(status, 200, "{preview}");
    let sms = of(&preview, "sms", Some("sv"));
    assert_eq!(sms["text"], "[ÖVNING] Hi Bo, zone MDZ021");
    assert_eq!((&sms["address"], &sms["missing"]), (&json!("+46701000002"), &json!([])));
    assert_eq!(of(&preview, "mail", Some("sv"))["parts"], 0, "no route carries mail");
    let (_, preview) = server.post(&format!("{PREVIEW}?recipient=ann"), body.clone()).await;
    assert_eq!(of(&preview, "sms", Some("en"))["missing"], json!(["ugc"]));
    assert_eq!(server.post(&format!("{PREVIEW}?recipient=zoe"), body.clone()).await.0, 400);
    let token = server.token(Role::Submit).await;
    let by_submit = |path: String| server.anon(Method::POST, &path).bearer_auth(&token).json(&body);
    assert_eq!(said(by_submit(PREVIEW.to_owned())).await.0, 200);
    assert_eq!(said(by_submit(format!("{PREVIEW}?recipient=bo"))).await.0, 403, "no people for a submitter");
    server.close().await;
}

#[tokio::test]
async fn devices_of_the_audience_that_show_less_are_shown_too() {
    let server = TestServer::open().await;
    let device = json!({"channel": "sms", "address": "+46701000003", "profile": {"length": 30}});
    let person = json!({"id": "cy", "name": "Cy", "devices": [device]});
    assert_eq!(server.post("/api/v1/recipients", person).await.0, 201);
    let text = "There is smoke in the hall near the stairs. Leave by the north gate.";
    let body = json!({"text": text, "audience": ["recipient:cy"]});
    let (_, preview) = server.post(PREVIEW, body).await;
    let texts = preview["texts"].as_array().unwrap();
    let small: Vec<&Value> = texts.iter().filter(|one| !one["profile"].is_null()).collect();
    assert_eq!((small.len(), &small[0]["profile"]), (1, &json!({"length": 30})), "{preview}");
    assert!(small[0]["letters"].as_u64().unwrap() <= 30, "{preview}");
    server.close().await;
}

#[tokio::test]
async fn a_page_is_the_sessions_that_made_it() {
    let server = TestServer::open().await;
    let mut eva = server.signed_in("eva", json!({"roles": ["author"]})).await.in_space("drill");
    let body = json!({"text": "x", "channels": ["mail"], "texts": {"mail": {"html": "<script>1</script>"}}});
    let (status, preview) = eva.post(PREVIEW, body).await;
    assert_eq!(status, 200, "{preview}");
    let url = preview["texts"][0]["html"]["url"].as_str().unwrap().to_owned();
    let page = eva.request(Method::GET, &url).send().await.unwrap();
    assert_eq!(page.status(), 200);
    assert!(page.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    let mut again = crate::http::tests::browser::Browser::of(&server);
    again.sign_in("eva", crate::http::tests::browser::PASSWORD).await;
    assert_eq!(again.get(&url).await.0, 404, "another session");
    assert_eq!(server.get(&url).await.0, 404, "another caller");
    assert_eq!(server.anon(Method::GET, &url).send().await.unwrap().status(), 401);
    server.close().await;
}

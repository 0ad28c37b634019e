use super::conformance::Schemas;
use super::*;
use std::collections::BTreeSet;

#[test]
fn every_reference_leads_to_a_schema_and_every_schema_is_used() {
    let document = build();
    let text = document.to_string();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    assert!(!schemas.is_empty());
    for part in text.split("#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name} has no schema");
    }
    for name in schemas.keys() {
        assert!(text.contains(&format!("#/components/schemas/{name}\"")), "{name} is used nowhere");
    }
}

#[test]
fn every_channel_is_named_wherever_one_may_be_written() {
    let schemas = &build()["components"]["schemas"];
    let in_devices = &schemas["Device"]["properties"]["channel"];
    assert_eq!(in_devices["$ref"], "#/components/schemas/ChannelName");
    let in_alerts = &schemas["AlertRequest"]["properties"]["channels"];
    assert_eq!(in_alerts["items"], *in_devices);
    let address = schemas["DeviceBody"]["properties"]["address"]["description"].as_str().unwrap();
    for channel in channels::ALL {
        let name = channel.name();
        assert!(schemas["ChannelName"]["enum"].as_array().unwrap().contains(&name.into()), "{name}");
        assert!(in_alerts["description"].as_str().unwrap().contains(name), "{name}");
        assert!(address.contains(&format!("{name}: {}", channel.form())), "{name}");
        for body in ["RecipientBody", "NewRecipient"] {
            assert!(schemas[body]["properties"][name]["oneOf"].is_array(), "{name}");
        }
        for texts in ["ContentTexts", "ContentLanguageTexts"] {
            assert_eq!(schemas[texts]["properties"][name], channel.schema(), "{name}");
        }
        for texts in ["Texts", "LanguageTexts"] {
            let fits = |text: Value| {
                Schemas { is_closed: true }.fits(&schemas[texts]["properties"][name], &text, name)
            };
            assert_eq!((fits(json!("x")), fits(Value::Null)), (Ok(()), Ok(())), "{name}");
            assert!(fits(json!(1)).is_err(), "{name}");
        }
        let examples = schemas["AudienceEntry"]["oneOf"][0]["examples"].as_array().unwrap();
        assert!(examples.contains(&format!("{name}:{}", channel.example()).into()), "{name}");
    }
}

#[test]
fn operation_ids_are_unique_and_read_as_names_of_functions() {
    let ids: Vec<String> = ROWS.iter().map(operation_id).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    for id in &ids {
        assert!(id.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{id}");
    }
    for name in [
        "list_alert_deliveries",
        "cancel_alert",
        "create_token",
        "put_recipient",
        "delete_alert_observer",
        "import_recipients",
    ] {
        assert!(ids.iter().any(|id| id == name), "{name} is none of {ids:?}");
    }
}

#[test]
fn every_parameter_has_a_type_of_its_own() {
    let types = parsed(PARAMETERS);
    let is_known = |name: &str, path: &str| {
        types.contains_key(name) || types.keys().any(|key| *key == format!("{name} {path}"))
    };
    for row in ROWS.iter().filter(|row| !row.is_for_people) {
        let captures = row.path.split('{').skip(1).filter_map(|part| part.split('}').next());
        for name in row.query.iter().copied().chain(captures) {
            assert!(is_known(name, row.path), "{} {}: {name}", row.method, row.path);
        }
    }
}

/// Generators and validators differ in how they read it; a body is described without.
#[test]
fn no_schema_has_any_of() {
    assert!(!build().to_string().contains("\"anyOf\""));
}

#[test]
fn every_example_fits_its_schema() {
    let document = build();
    let mut count = 0;
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        for example in schema["examples"].as_array().into_iter().flatten() {
            assert_eq!(Schemas { is_closed: true }.fits(schema, example, name), Ok(()));
            count += 1;
        }
    }
    assert!(count > 5, "{count} examples");
}

#[test]
fn optional_members_of_a_body_may_be_null_and_needed_ones_may_not() {
    let schemas = &build()["components"]["schemas"];
    let fits =
        |name: &str, body: Value| Schemas { is_closed: false }.fits(&schemas[name], &body, name).is_ok();
    for (name, body, is_right) in [
        (
            "AlertRequest",
            json!({"audience": ["all"], "text": "x", "priority": null, "area": null, "callback": {"url": "https://x.example", "every": null}}),
            true,
        ),
        (
            "AlertRequest",
            json!({"audience": "all", "text": null, "texts": {"sv": {"sms": null, "text": "x"}, "de": "y"}}),
            true,
        ),
        ("AlertRequest", json!({"audience": null, "text": "x"}), true),
        ("AnswerRequest", json!({"alert": null, "text": "x"}), false),
        ("AlertRequest", json!({"audience": ["all"], "text": "x", "texts": {"sv": null}}), false),
        ("AlertRequest", json!({"audience": ["all"], "text": "x", "channels": ["smoke"]}), false),
        ("AlertRequest", json!({"audience": ["all"], "text": "x", "txt": "y"}), false),
        (
            "NewRecipient",
            json!({"id": 7, "groups": "staff", "attributes": {"floor": 2, "x": null}, "sms": ["+1"]}),
            true,
        ),
        ("NewRecipient", json!({"name": "Ann"}), false),
        (
            "RecipientBody",
            json!({"name": "Ann", "devices": [{"channel": "sms", "address": "+1", "enabled": null}]}),
            true,
        ),
        ("RecipientBody", json!({"devices": [{"channel": "sms", "address": null}]}), false),
        (
            "GroupBody",
            json!({"rule": {"any": [{"attribute": "a", "in": ["x"]}, {"not": {"attribute": "b", "exists": true}}]}}),
            true,
        ),
        ("GroupBody", json!({"rule": {"attribute": "a"}}), false),
    ] {
        assert_eq!(fits(name, body.clone()), is_right, "{name} {body}");
    }
}

#[tokio::test]
async fn an_answer_that_is_not_described_ends_its_connection() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let said = |health: Value| get(async move || axum::Json(health));
    for (health, is_right) in [
        (json!({"status": "ok"}), true),
        (json!({"status": "ill"}), false),
        (json!({"status": "ok", "x": 1}), false),
    ] {
        let router = Router::new().route("/healthz", said(health.clone()));
        let router = router.layer(axum::middleware::from_fn(super::conformance::check));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/healthz", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        assert_eq!(reqwest::get(url).await.is_ok(), is_right, "{health}");
        serving.abort();
    }
}

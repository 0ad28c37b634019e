//! Stories of whom the server calls for clients: not its own machine, unless its operator says so.

use crate::fixtures::{SOON, carrier, number};
use it::{Callbacks, SendSms, Server, escaped, eventually, platform, sms_route};
use serde_json::{Value, json};

/// Ways of writing a URL of this machine.
fn inner(port: u16) -> [String; 6] {
    [
        format!("http://127.0.0.1:{port}/in"),
        format!("http://[::ffff:127.0.0.1]:{port}/in"),
        format!("http://2130706433:{port}/in"),
        format!("http://0177.1:{port}/in"),
        format!("http://localhost.:{port}/in"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
    ]
}

fn alert(url: &str) -> Value {
    json!({"text": "x", "audience": [format!("sms:{}", number(1))], "callback": {"url": url, "events": ["done"]}})
}

#[tokio::test]
async fn nobody_has_the_server_call_its_own_machine_until_a_reload_allows_it() {
    let (carrier, callbacks) = (carrier().await, Callbacks::start().await);
    // The platform's own callback stands in the config: its host and port are trusted.
    let trusted = Callbacks::start().await;
    let config = sms_route("carrier", carrier.address(), "")
        + &platform("water", &format!("dlr_url = \"{}?own=%d\"", trusted.url()))
        + "[outbound]\nallow = []\n";
    let server = Server::start(&config).await;
    let (api, url) = (server.api(), callbacks.url());
    let port: u16 = url.split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap();
    let sendsms = SendSms::new(&format!("{}/cgi-bin/sendsms", server.url()), "water");
    let message = format!("to={}&from=7000&text=x&dlr-mask=31", escaped(&number(2)));
    let id = api.submit(&json!({"text": "x", "audience": [format!("sms:{}", number(1))]})).await;
    let observers = format!("/api/v1/alerts/{id}/observers");
    for url in inner(port) {
        let problem = api.post("/api/v1/alerts", &alert(&url)).await.expect_problem(422, "callback.url");
        assert!(problem.to_string().contains("[outbound] allow"), "{problem}");
        api.post(&observers, &json!({"url": url, "events": ["done"]})).await.expect_problem(422, "url");
        let (status, words) = sendsms.get(&format!("{message}&dlr-url={}", escaped(&url))).await;
        assert!(status == 400 && words.contains("DLR-URL"), "{url}: {status} {words}");
    }
    let (status, words) = sendsms.get(&message).await;
    assert_eq!(status, 202, "{words}");
    eventually("the config's own URL is called", SOON, async || match trusted.calls().len() {
        0 => Err("not yet"),
        _ => Ok(()),
    })
    .await;
    assert!(callbacks.calls().is_empty());

    let text = std::fs::read_to_string(server.config()).unwrap();
    std::fs::write(server.config(), text.replace("allow = []", "allow = [\"127.0.0.1\"]")).unwrap();
    let changed = api.post("/api/v1/reload", &json!({})).await.expect(200);
    assert!(changed.to_string().contains("called for clients"), "{changed}");
    api.submit(&alert(&url)).await;
    let (status, words) =
        sendsms.get(&format!("{message}&dlr-url={}", escaped(&format!("{url}?d=%d")))).await;
    assert_eq!(status, 202, "{words}");
    eventually("both are called", SOON, async || {
        let calls = callbacks.calls();
        let targets: Vec<&str> = calls.iter().map(|call| call.target.as_str()).collect();
        let all = targets.contains(&"/observer") && targets.iter().any(|target| target.contains("?d="));
        if all { Ok(()) } else { Err(format!("{targets:?}")) }
    })
    .await;
}

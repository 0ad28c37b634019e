//! Stories of the command line: every command against the real program.

use crate::fixtures::{SOON, carrier, count, number, phones_csv};
use it::{Api, Server, eventually, free_port, program, sms_route};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Runs the program to its end.
fn run(arguments: &[&str]) -> Output {
    Command::new(program()).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Runs a client command that has to succeed; returns its standard output.
fn client(server: &Server, arguments: &[&str]) -> String {
    let mut command = Command::new(program());
    command.env("CAMPANILE_URL", server.url()).env("CAMPANILE_TOKEN", server.token());
    let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// A simulated carrier as a process of its own, which says where it is.
struct SimProcess {
    child: Child,
    address: String,
    page: String,
}

impl SimProcess {
    fn start(arguments: &[&str]) -> SimProcess {
        let mut child = Command::new(program())
            .args(["sim", "smsc", "--listen", "127.0.0.1:0", "--page", "127.0.0.1:0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut after = |prefix: &str| {
            let line = lines.find(|line| line.starts_with(prefix)).unwrap_or_else(|| panic!("no {prefix:?}"));
            line[prefix.len()..].to_owned()
        };
        let (address, page) = (after("listening on "), after("page on "));
        SimProcess { child, address, page }
    }

    async fn stats(&self) -> Value {
        Api::new("", "").get(&format!("{}stats", self.page)).await.expect(200)
    }
}

impl Drop for SimProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_needs_nothing_but_the_command_line() {
    let carrier = SimProcess::start(&["--receipt-delay", "10ms"]);
    let server = Server::start(&sms_route("carrier", &carrier.address, "")).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("people.csv");
    std::fs::write(&file, phones_csv(40)).unwrap();
    let import = client(&server, &["recipients", "import", file.to_str().unwrap(), "--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&import).unwrap()["imported"], 40, "{import}");
    assert_eq!(
        client(&server, &["recipients", "export"]).lines().filter(|line| line.contains("+46")).count(),
        40
    );
    assert!(client(&server, &["recipients", "list"]).contains("p0000003"));

    let what = ["--audience", "all", "--text", "Hello {{name}}", "--terminal", "delivered"];
    let forecast = client(&server, &[&["forecast"], &what[..], &["--format", "json"]].concat());
    assert_eq!(serde_json::from_str::<Value>(&forecast).unwrap()["endpoints"], 40, "{forecast}");
    assert_eq!(carrier.stats().await["submits"], 0, "a forecast sends nothing");

    let sent = client(&server, &[&["alert", "send"], &what[..], &["--watch"]].concat());
    assert!(sent.contains("delivered"), "{sent}");
    let alerts = client(&server, &["alert", "list", "--format", "json"]);
    let id = alerts.split("\"id\":").nth(1).unwrap().split('"').nth(1).unwrap().to_owned();
    assert!(sent.contains(&id), "{sent} does not name {id}");
    let report: Value =
        serde_json::from_str(&client(&server, &["alert", "report", &id, "--format", "json"])).unwrap();
    assert_eq!(count(&report, "delivered"), 40, "{report}");
    assert!(client(&server, &["alert", "report", &id]).contains("delivered"));
    assert!(client(&server, &["alert", "report", &id, "--format", "xml"]).starts_with("<?xml"));
    assert_eq!(client(&server, &["alert", "report", &id, "--format", "csv"]).trim().lines().count(), 41);
    assert!(client(&server, &["alert", "show", &id]).contains("Hello {{name}}"));
    assert_eq!(carrier.stats().await["messages"], 40, "the carrier's own count agrees");

    let made =
        client(&server, &["token", "create", "--role", "viewer", "--name", "wall", "--format", "json"]);
    let token = serde_json::from_str::<Value>(&made).unwrap()["token"].as_str().unwrap().to_owned();
    let viewer = server.api().with_token(&token);
    assert_eq!(viewer.get("/api/v1/alerts").await.status, 200);
    assert_eq!(viewer.post(&format!("/api/v1/alerts/{id}:retry-failed"), &json!({})).await.status, 403);
}

#[tokio::test]
async fn a_client_command_that_fails_says_why_and_exits_with_1_and_wrong_usage_with_2() {
    let server = Server::start("").await;
    let url = server.url();
    let cases: [(&[&str], &str, i32, &str); 5] = [
        (&["alert", "send", "--audience", "all", "--text", "x"], server.token(), 1, "channels"),
        (&["alert", "list"], "cmp_wrong", 1, "token"),
        (&["alert", "report", "not-an-id"], server.token(), 1, ""),
        (&["alert", "sned"], server.token(), 2, "send"),
        (&["recipients", "import", "/nowhere.csv"], server.token(), 1, "/nowhere.csv"),
    ];
    for (arguments, token, code, words) in cases {
        let mut command = Command::new(program());
        let output = command
            .env("CAMPANILE_URL", &url)
            .env("CAMPANILE_TOKEN", token)
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(words), "{arguments:?}: {}", said(&output));
        assert!(output.stdout.is_empty(), "what failed is told on standard error");
    }
    let nobody = format!("http://127.0.0.1:{}", free_port());
    let output = Command::new(program())
        .env("CAMPANILE_URL", &nobody)
        .args(["alert", "list", "--token", "x"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains(&nobody), "{}", said(&output));
}

#[test]
fn the_default_config_is_its_own_manual_and_checks_clean() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("campanile.toml");
    let manual = run(&["config", "print-default"]);
    assert_eq!(manual.status.code(), Some(0));
    std::fs::write(&file, &manual.stdout).unwrap();
    let checked = check(&file);
    assert_eq!(checked.status.code(), Some(0), "{}", said(&checked));
}

fn check(file: &Path) -> Output {
    let data = file.parent().unwrap().join("data");
    run(&["check", "--config", file.to_str().unwrap(), "--data", data.to_str().unwrap()])
}

#[test]
fn every_problem_of_a_config_is_told_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("campanile.toml");
    let route = "[[route]]\nname = \"r\"\nchannel = \"sms\"\nmode = \"live\"\naddress = \"127.0.0.1:2775\"\nsystem_id = \"c\"\n";
    let cases = [
        ("[http]\nlisten = \"nowhere\"\n".to_owned(), vec![("2", "listen")]),
        ("[http]\nlissen = \"127.0.0.1:1\"\n".to_owned(), vec![("2", "listen")]),
        (format!("{route}rate = -5\n"), vec![("7", "rate")]),
        (route.replace("mode = \"live\"\n", ""), vec![("1", "mode")]),
        (route.replace("sms", "fax"), vec![("3", "channel fax is not built yet")]),
        (format!("{route}{route}"), vec![("8", "name")]),
        (
            "[diameter]\nlisten = \"127.0.0.1:3868\"\n".to_owned(),
            vec![("1", "origin_host"), ("1", "origin_realm")],
        ),
        ("[topics]\nmax_topic = 200\n".to_owned(), vec![("2", "max_topic")]),
        ("[http\n".to_owned(), vec![("1", "")]),
        (format!("{route}windo = 5\nsessions = 0\n"), vec![("7", "window"), ("8", "sessions")]),
    ];
    for (config, problems) in cases {
        std::fs::write(&file, &config).unwrap();
        let checked = check(&file);
        assert_eq!(checked.status.code(), Some(1), "{config}: {}", said(&checked));
        for (line, words) in problems {
            let found = said(&checked)
                .lines()
                .any(|told| told.contains(&format!(":{line}:")) && told.contains(words));
            assert!(found, "{config}: line {line} with {words:?} is not in {}", said(&checked));
        }
    }
}

#[test]
fn the_demo_accounts_for_everyone() {
    let listen = format!("127.0.0.1:{}", free_port());
    let output = run(&["demo", "--recipients", "400", "--exit", "--listen", &listen]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let text = said(&output);
    assert!(text.contains("Every one of the 400 people is accounted for"), "{text}");
    for word in ["answered", "delivered", "excluded", "simulated"] {
        assert!(text.contains(word), "no {word} in {text}");
    }
}

/// A demo that stays up, and what it has still to say. Nobody may close its standard output meanwhile.
struct DemoProcess {
    child: Child,
    lines: Box<dyn Iterator<Item = String>>,
}

impl DemoProcess {
    fn start(listen: &str) -> DemoProcess {
        let mut command = Command::new(program());
        command.args(["demo", "--recipients", "200", "--listen", listen]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        DemoProcess { child, lines: Box::new(lines) }
    }

    /// The last word of the next line that has these.
    fn said(&mut self, words: &str) -> String {
        let line = self.lines.find(|line| line.contains(words)).unwrap_or_else(|| panic!("no {words:?}"));
        line.split_whitespace().next_back().unwrap().to_owned()
    }
}

impl Drop for DemoProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn the_demo_signs_two_people_in_by_links_and_lets_them_break_a_carrier() {
    let listen = format!("127.0.0.1:{}", free_port());
    let mut demo = DemoProcess::start(&listen);
    let api = Api::new(&format!("http://{listen}"), &demo.said("with the token "));
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    for (roles, may_approve) in [("author", false), ("viewer", true)] {
        let link = demo.said("/auth/link/");
        let answer = client.get(&link).send().await.unwrap();
        assert_eq!((answer.status().as_u16(), &answer.headers()["location"]), (303, &"/".parse().unwrap()));
        let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let session = client.get(format!("{}/api/v1/session", api.url())).header("cookie", cookie);
        let session = api.send(session).await.expect(200);
        assert_eq!(session["user"]["spaces"], json!(["live", "drill"]), "{session}");
        let of_user: Vec<&str> =
            session["user"]["roles"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!((of_user.contains(&roles), of_user.contains(&"approver")), (true, may_approve));
        assert_eq!(session["organisation"], "Town of Harbourside", "{session}");
        assert_eq!(
            (&session["is_demo_server"], &session["spaces"]["live"]["simulated"]),
            (&json!(true), &json!(true))
        );
        assert_eq!(session["spaces"]["drill"], json!({"routes": 2, "simulated": true, "real_people": 0}));
        assert_eq!(client.get(&link).send().await.unwrap().status(), 404, "it counts once");
    }
    for (path, count) in [("/api/v1/templates", 4), ("/api/v1/areas", 3), ("/api/v1/schedules", 1)] {
        assert_eq!(api.get(path).await.expect(200)["items"].as_array().unwrap().len(), count, "{path}");
    }
    for template in ["leave-now", "stay-indoors", "night-staff", "systems-down"] {
        let template = api.get(&format!("/api/v1/templates/{template}")).await.expect(200);
        // An all-clear names nobody: it goes to those who got the alert.
        let of_alert = |problem: &Value| !problem["field"].as_str().unwrap().starts_with("all_clear.");
        assert!(!template["problems"].as_array().unwrap().iter().any(of_alert), "{template}");
        let reached = api.post("/api/v1/audience:count", &template["request"]).await.expect(200);
        assert!(reached["people"].as_u64().unwrap() > 0, "nobody is there: {template}");
    }
    let state = async |name: &str, wanted: &str| {
        eventually(&format!("{name} is {wanted}"), SOON, async || {
            let route = api.get(&format!("/api/v1/routes/{name}")).await.expect(200);
            if route["state"] == wanted { Ok(()) } else { Err(route) }
        })
        .await;
    };
    for (behaviour, wanted) in [("down", "down"), ("works", "up")] {
        let at = "/api/v1/demo/carriers/carrier-a";
        api.post(at, &json!({"behaviour": behaviour})).await.expect(200);
        state("carrier-a", wanted).await;
    }
}

#[tokio::test]
async fn a_reload_applies_what_changed_and_drops_no_session_that_did_not() {
    let (first, second) = (carrier().await, carrier().await);
    let one = sms_route("one", first.address(), "prefixes = [\"+46701740\"]");
    let mut server = Server::start(&one).await;
    let api = server.api();
    let config = std::fs::read_to_string(server.config()).unwrap();
    let up = async |carrier: &sim::smsc::Smsc| {
        eventually("a session is bound", SOON, async || {
            let sessions = carrier.stats().sessions;
            if sessions == 1 { Ok(()) } else { Err(sessions) }
        })
        .await;
    };
    up(&first).await;
    std::fs::write(
        server.config(),
        config.clone() + &sms_route("two", second.address(), "prefixes = [\"+467017406\"]"),
    )
    .unwrap();
    let changed = api.post("/api/v1/reload", &json!({})).await.expect(200);
    assert!(changed["changed"].to_string().contains("two"), "{changed}");
    up(&second).await;
    assert_eq!(first.stats().binds, 1, "the first route's session goes on");
    let id = api.submit(&json!({"text": "x", "audience": [format!("sms:{}", number(0))]})).await;
    api.done(&id, SOON).await;
    assert_eq!((first.stats().messages, second.stats().messages), (0, 1), "the longer prefix takes it");

    // A bad file changes nothing and says why.
    std::fs::write(server.config(), config.clone() + "[nonsense]\n").unwrap();
    let refused = api.post("/api/v1/reload", &json!({})).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    assert!(refused.text.contains("nonsense"), "{}", refused.text);
    assert_eq!(second.stats().sessions, 1);

    // SIGHUP does the same as the API: the second route goes.
    std::fs::write(server.config(), &config).unwrap();
    server.signal(libc::SIGHUP);
    eventually("the second route is unbound", SOON, async || {
        let sessions = second.stats().sessions;
        if sessions == 0 { Ok(()) } else { Err(sessions) }
    })
    .await;
    let id = api.submit(&json!({"text": "y", "audience": [format!("sms:{}", number(0))]})).await;
    api.done(&id, SOON).await;
    assert_eq!((first.stats().messages, first.stats().binds), (1, 1));
    assert_eq!(server.stop().await.code(), Some(0));
}

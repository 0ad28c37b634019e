use super::args::{Import, ServerArgs};
use super::*;
use clap::Parser;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ROOMS: InProcessCommands = InProcessCommands {
    serve: |serve| if serve.data.ends_with("bad") { Err("no such house".to_owned()) } else { Ok(()) },
    demo: |demo| Ok(demo.recipients != 13),
};

fn code(line: &str) -> ExitCode {
    let words = std::iter::once("campanile").chain(line.split_whitespace());
    run(words.map(std::ffi::OsString::from), &ROOMS)
}

#[test]
fn every_command_has_help_with_examples() {
    fn look(command: &clap::Command, path: &str) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let path = format!("{path} {}", sub.get_name());
            assert!(sub.get_about().is_some(), "{path} says nothing of itself");
            if sub.has_subcommands() {
                look(sub, &path);
                continue;
            }
            let help = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(
                help.contains("Example") && help.contains(&path),
                "{path} --help has no example of itself:\n{help}"
            );
        }
    }
    let command = Cli::command();
    command.clone().debug_assert();
    look(&command, "campanile");
}

#[test]
fn help_names_every_channel_where_it_names_channels() {
    let help = |path: &[&str]| {
        let mut command = Cli::command();
        let found = path.iter().fold(&mut command, |command, name| {
            command.find_subcommand_mut(name).unwrap_or_else(|| panic!("no command {name}"))
        });
        found.render_long_help().to_string()
    };
    let (import, send) = (help(&["recipients", "import"]), help(&["alert", "send"]));
    for channel in channels::ALL {
        let name = channel.name();
        assert!(import.split([',', '(', ';']).any(|word| word.trim() == name), "{name}: {import}");
        assert!(send.contains(&channels::entry(channel.number(), channel.example())), "{name}: {send}");
        assert!(send.contains("Use these channels only"), "{send}");
    }
}

#[test]
fn exit_codes_are_0_for_success_1_for_failure_2_for_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.toml");
    let good = folder.path().join("good.toml");
    std::fs::write(&bad, "[http]\nlisen = 1\n").unwrap();
    std::fs::write(&good, "[http]\nlisten = \"127.0.0.1:0\"\n").unwrap();
    let check = |file: &std::path::Path, more: &str| format!("check --config {} {more}", file.display());
    for (line, expected) in [
        ("version".to_owned(), 0),
        ("version --format json".to_owned(), 0),
        ("--help".to_owned(), 0),
        ("alert send --help".to_owned(), 0),
        ("config print-default".to_owned(), 0),
        ("openapi".to_owned(), 0),
        ("serve".to_owned(), 0),
        ("serve --data bad".to_owned(), 1),
        ("demo --exit".to_owned(), 0),
        ("demo --recipients 13".to_owned(), 1),
        ("demo --recipients 0".to_owned(), 2),
        (check(&good, ""), 0),
        (check(&good, "--format json"), 0),
        (check(&bad, ""), 1),
        (check(&bad, "--format json"), 1),
        (check(&folder.path().join("absent.toml"), ""), 1),
        ("ledger audit --data nowhere".to_owned(), 1),
        ("ledger".to_owned(), 2),
        ("verify /no/such/file --key 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".to_owned(), 1),
        ("verify /no/such/file --key short".to_owned(), 2),
        ("verify /no/such/file".to_owned(), 2),
        ("evidence key --url http://127.0.0.1:1 --token t".to_owned(), 1),
        ("udp send --rate 10G".to_owned(), 2),
        ("sim pager --listen x".to_owned(), 1),
        ("sim credit --listen x".to_owned(), 1),
        ("sim credit --lost 2".to_owned(), 1),
        ("bananas".to_owned(), 2),
        ("alert send".to_owned(), 2),
        ("alert send --text x --audience all --priority soon".to_owned(), 2),
        ("alert list --url ftp://x --token t".to_owned(), 2),
        ("token create --role king".to_owned(), 2),
        ("alert list --url http://127.0.0.1:1 --token t".to_owned(), 1),
        ("alert list --url https://127.0.0.1:1 --token t --ca-file /no/such/file".to_owned(), 2),
        ("recipients import / --token t".to_owned(), 1),
        ("help alert send".to_owned(), 0),
        ("help".to_owned(), 0),
    ] {
        assert_eq!(code(&line), ExitCode::from(expected), "{line}");
    }
}

#[test]
fn a_command_that_needs_a_token_says_so() {
    let server = ServerArgs { url: "http://127.0.0.1:1".to_owned(), token: None, ca_file: None };
    let Err(Failure::Usage(why)) = client::ApiClient::new(&server) else { panic!("there is no token") };
    assert!(why.contains("CAMPANILE_TOKEN"), "{why}");
    let server = ServerArgs { url: String::new(), token: Some("cmp_secret".to_owned()), ca_file: None };
    assert!(!format!("{server:?}").contains("cmp_secret"));
}

fn alert_request(line: &str) -> Result<Value, Failure> {
    let words: Vec<&str> = ["campanile", "forecast"].into_iter().chain(line.split('|')).collect();
    let CliCommand::Forecast(forecast) = Cli::try_parse_from(words).unwrap().command else {
        panic!("{line}")
    };
    forecast.alert.request(UNIX_EPOCH + Duration::from_secs(1_800_000_000))
}

#[test]
fn options_become_the_request_of_the_api() {
    let line = "--audience|group:staff|--audience|all|--exclude|group:leave|--text|Hello {{name}}|--headline|H|--channel|sms,mail|\
                --choice|1=I am safe|--choice|2 = I need help|--needs-help|2|--follows|0193|--strategy|escalate:5m|--terminal|answered|--expires|4h|\
                --not-before|2027-01-15T09:00:00+01:00|--priority|emergency|--on-unknown|hold|--sender|CITY|--mode|drill|--participants-only|--flash|\
                --callback|https://x.example/";
    assert_eq!(
        alert_request(line).unwrap(),
        json!({
            "audience": ["group:staff", "all"], "exclude": ["group:leave"], "text": "Hello {{name}}", "headline": "H",
            "channels": ["sms", "mail"], "require_answer": true,
            "choices": [{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need help", "needs_help": true}], "follows": "0193",
            "strategy": {"escalate_after": "5m"}, "terminal": "answered", "expires": "2027-01-15T12:00:00Z",
            "not_before": "2027-01-15T09:00:00+01:00", "priority": "emergency", "on_unknown": "hold", "sender": "CITY",
            "mode": "drill", "participants_only": true, "flash": true, "callback": {"url": "https://x.example/"},
        })
    );
    assert_eq!(alert_request("--audience|all|--text|x").unwrap(), json!({"audience": ["all"], "text": "x"}));
    for wrong in [
        "--choice|1",
        "--choice|=x",
        "--needs-help|3",
        "--strategy|some",
        "--strategy|escalate:soon",
        "--expires|tomorrow",
    ] {
        let result = alert_request(&format!("--audience|all|--text|x|{wrong}"));
        assert!(matches!(result, Err(Failure::Usage(_))), "{wrong}: {result:?}");
    }
}

#[test]
fn a_body_from_a_file_is_the_request_and_options_go_over_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alert.json");
    std::fs::write(&path, r#"{"text": "old", "audience": ["all"], "resources": ["https://x"]}"#).unwrap();
    let request = alert_request(&format!("--body|{}|--text|new", path.display())).unwrap();
    assert_eq!(request, json!({"text": "new", "audience": ["all"], "resources": ["https://x"]}));
    std::fs::write(&path, "[1]").unwrap();
    assert!(matches!(alert_request(&format!("--body|{}", path.display())), Err(Failure::Failed(_))));
}

#[test]
fn what_the_server_minds_becomes_sentences() {
    use reqwest::StatusCode as S;
    for (status, body, expected) in [
        (S::BAD_GATEWAY, "", "the server answered 502 Bad Gateway"),
        (S::BAD_GATEWAY, "<html>no</html>\n", "the server answered 502 Bad Gateway: <html>no</html>"),
        (
            S::NOT_FOUND,
            r#"{"type": "urn:x", "title": "There is no such thing", "status": 404, "detail": "no such alert"}"#,
            "There is no such thing: no such alert",
        ),
        (
            S::UNPROCESSABLE_ENTITY,
            r#"{"title": "Some fields are wrong", "detail": "text: is needed", "problems": [{"field": "text", "reason": "is needed"}]}"#,
            "Some fields are wrong: text: is needed",
        ),
        (
            S::UNPROCESSABLE_ENTITY,
            r#"{"title": "Some fields are wrong", "problems": [{"field": "a", "reason": "b"}, {"row": 3, "field": "sms", "reason": "d"}], "more_problems": 7}"#,
            "Some fields are wrong\n  a: b\n  row 3, sms: d\n  and 7 more",
        ),
    ] {
        assert_eq!(client::sentence(status, body), expected);
    }
}

/// A server that answers each connection with the next of some texts, and keeps what it was asked.
struct Fake {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    async fn start(answers: Vec<String>) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let keep = asked.clone();
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read_request(&mut stream).await;
                keep.lock().unwrap().push(request);
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Fake { url, asked }
    }

    fn server(&self) -> ServerArgs {
        ServerArgs { url: self.url.clone(), token: Some("cmp_t".to_owned()), ca_file: None }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// A request with its body, chunks and all.
async fn read_request(stream: &mut TcpStream) -> String {
    let mut octets = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.unwrap();
        octets.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&octets).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map(|n| n.parse::<usize>().unwrap());
        let whole = match length {
            Some(length) => body.len() >= length,
            None => !head.contains("transfer-encoding: chunked") || body.ends_with("0\r\n\r\n"),
        };
        if whole || read == 0 {
            return text;
        }
    }
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn command(line: &str, fake: &Fake) -> Outcome {
    let server = fake.server();
    let (url, token) = (server.url, server.token.unwrap());
    let words = std::iter::once("campanile").chain(line.split('|')).chain(["--url", &url, "--token", &token]);
    carry_out(Cli::try_parse_from(words).unwrap().command, &ROOMS)
}

/// Commands make their own runtime, so they run on a thread of their own.
async fn commanded(line: &str, fake: &Fake) -> Outcome {
    std::thread::scope(|scope| {
        let handle = scope.spawn(|| command(line, fake));
        tokio::task::block_in_place(|| handle.join().unwrap())
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_is_streamed_with_its_type_and_its_problems_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.csv");
    std::fs::write(&path, "id,sms\n1,+46701234567\n").unwrap();
    let rejected = r#"{"title": "Some fields are wrong", "imported": 0, "problem_count": 2, "problems": [{"row": 2, "field": "sms", "reason": "is no number"}]}"#;
    let fake = Fake::start(vec![
        answer("200 OK", r#"{"imported": 1, "problems": [], "problem_count": 0}"#),
        answer("422 Unprocessable Entity", rejected),
        answer("401 Unauthorized", r#"{"title": "The token is not valid", "detail": "no such token"}"#),
    ])
    .await;
    let line = format!("recipients|import|{}", path.display());
    assert_eq!(commanded(&line, &fake).await, Ok(()));
    let Err(Failure::Failed(why)) = commanded(&format!("{line}|--on-problem|skip"), &fake).await else {
        panic!()
    };
    assert!(why.starts_with("2 problems: nothing was imported"), "{why}");
    assert_eq!(
        commanded(&line, &fake).await,
        Err(Failure::Failed("The token is not valid: no such token".to_owned()))
    );
    let asked = fake.asked();
    assert!(
        asked[0].starts_with("POST /api/v1/recipients:import?on_problem=reject HTTP/1.1"),
        "{}",
        asked[0]
    );
    assert!(
        asked[0].contains("content-type: text/csv") && asked[0].contains("authorization: Bearer cmp_t"),
        "{}",
        asked[0]
    );
    assert!(asked[0].contains("+46701234567"), "{}", asked[0]);
    assert!(asked[1].starts_with("POST /api/v1/recipients:import?on_problem=skip"), "{}", asked[1]);
}

#[test]
fn what_a_file_holds_is_known_by_its_name_or_said() {
    for (name, kind, expected) in [
        ("p.csv", None, Some(("text/csv", None))),
        ("p.CSV.gz", None, Some(("text/csv", Some("gzip")))),
        ("p.ndjson.zst", None, Some(("application/x-ndjson", Some("zstd")))),
        ("p.jsonl", None, Some(("application/x-ndjson", None))),
        ("-", None, None),
        ("-", Some("csv"), Some(("text/csv", None))),
        ("p.txt", None, None),
    ] {
        let mut words = vec!["campanile", "recipients", "import", name];
        words.extend(kind.into_iter().flat_map(|kind| ["--type", kind]));
        let CliCommand::Recipients(Recipients::Import(import)) = Cli::try_parse_from(words).unwrap().command
        else {
            panic!()
        };
        let import: Import = import;
        assert_eq!(people::content(&import.file, import.kind).ok(), expected, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_is_checked_committed_as_it_was_seen_and_undone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, wrong) = (folder.path().join("people.csv"), folder.path().join("wrong.csv"));
    std::fs::write(&path, "id,Mobil\n1,+46701234567\n").unwrap();
    let job = |state: &str, wrong: u32| {
        json!({"id": "f/1", "state": state, "source": "file", "counts": {"wrong": wrong, "left_out": 0}})
            .to_string()
    };
    let seen = |state: &str, wrong: u32| {
        answer("200 OK", &job(state, wrong)).replacen("\r\n", "\r\netag: \"4\"\r\n", 1)
    };
    let fake = Fake::start(vec![
        answer("202 Accepted", &job("comparing", 0)),
        seen("comparing", 0),
        seen("ready", 0),
        answer("200 OK", "row,column,value,reason\r\n"),
        answer("200 OK", &job("committed", 0)),
        answer("202 Accepted", &job("comparing", 0)),
        seen("ready", 3),
        answer("200 OK", &job("undone", 0)),
    ])
    .await;
    let line = format!("import|check|{}|--mapping|Mobil:sms|--commit", path.display());
    let with_problems = format!("{line}|--problems|{}", wrong.display());
    assert_eq!(commanded(&with_problems, &fake).await, Ok(()));
    assert_eq!(std::fs::read_to_string(&wrong).unwrap(), "row,column,value,reason\r\n");
    let Err(Failure::Failed(why)) = commanded(&line, &fake).await else { panic!("rows are wrong") };
    assert!(why.contains("nothing was committed") && why.contains("commit f/1 --on-problem skip"), "{why}");
    assert_eq!(commanded("import|undo|f/1|--format|json", &fake).await, Ok(()));
    let asked = fake.asked();
    let begins = [
        "POST /api/v1/recipients:import?dry_run=true&on_problem=reject&mapping=Mobil%3Asms HTTP",
        "GET /api/v1/imports/f%2F1 HTTP",
        "GET /api/v1/imports/f%2F1 HTTP",
        "GET /api/v1/imports/f%2F1/problems.csv HTTP",
        "POST /api/v1/imports/f%2F1:commit HTTP",
        "POST /api/v1/recipients:import?dry_run=true",
        "GET /api/v1/imports/f%2F1 HTTP",
        "POST /api/v1/imports/f%2F1:undo HTTP",
    ];
    assert_eq!(asked.len(), begins.len());
    for (asked, begin) in asked.iter().zip(begins) {
        assert!(asked.starts_with(begin), "{begin}: {asked}");
    }
    assert!(asked[4].contains("if-match: \"4\""), "{}", asked[4]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watch_follows_to_the_end_also_over_a_broken_stream() {
    let report =
        |state: &str| format!(r#"{{"state": "{state}", "headline": "h", "counts": {{"endpoints": 2}}}}"#);
    let stream = |events: &str| {
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}")
    };
    let fake = Fake::start(vec![
        stream(&format!(": hello\n\nevent: progress\ndata: {}\n\n", report("running"))),
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned(),
        stream(&format!("event: answer\ndata: {{\"key\": \"1\"}}\n\nevent: done\ndata: {}\n\n", report("done"))),
        answer("404 Not Found", r#"{"title": "There is no such thing", "detail": "no such alert"}"#),
    ])
    .await;
    assert_eq!(commanded("alert|watch|a/b|--format|json", &fake).await, Ok(()));
    let asked = fake.asked();
    assert_eq!(asked.len(), 3);
    assert!(asked[0].starts_with("GET /api/v1/alerts/a%2Fb/events HTTP/1.1"), "{}", asked[0]);
    let missing = commanded("alert|watch|x", &fake).await;
    assert_eq!(missing, Err(Failure::Failed("There is no such thing: no such alert".to_owned())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_read_page_by_page() {
    let page = |ids: &[&str], next: Value| {
        let items: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
        answer("200 OK", &json!({"items": items, "next": next}).to_string())
    };
    let fake = Fake::start(vec![page(&["a", "b"], json!("c u")), page(&["c"], Value::Null)]).await;
    assert_eq!(
        commanded("recipients|list|--filter|group:staff|--limit|5|--format|json", &fake).await,
        Ok(())
    );
    let asked = fake.asked();
    assert!(asked[0].starts_with("GET /api/v1/recipients?limit=5&filter=group%3Astaff HTTP"), "{}", asked[0]);
    assert!(
        asked[1].starts_with("GET /api/v1/recipients?limit=3&filter=group%3Astaff&cursor=c%20u HTTP"),
        "{}",
        asked[1]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alert_is_sent_steered_and_reported() {
    let ok = |body: &str| answer("200 OK", body);
    let fake = Fake::start(vec![
        answer(
            "202 Accepted",
            r#"{"id": "a1", "state": "accepted", "problems": [{"field": "text", "reason": "is long"}]}"#,
        ),
        ok(r#"{"id": "a1", "state": "cancelled"}"#),
        ok("<report/>"),
        ok(r#"{"state": "done", "counts": {"endpoints": 1}}"#),
        answer("201 Created", r#"{"id": "t", "token": "cmp_x", "role": "submit", "account": "default"}"#),
    ])
    .await;
    for line in [
        "alert|send|--audience|all|--text|hello|--idempotency-key|k1|--sync",
        "alert|cancel|a1",
        "alert|report|a1|--format|xml",
        "alert|report|a1",
        "token|create|--role|submit|--name|door",
    ] {
        assert_eq!(commanded(line, &fake).await, Ok(()), "{line}");
    }
    let asked = fake.asked();
    assert!(
        asked[0].starts_with("POST /api/v1/alerts?mode=sync HTTP")
            && asked[0].contains("idempotency-key: k1")
    );
    assert!(asked[0].ends_with(r#"{"audience":["all"],"text":"hello"}"#), "{}", asked[0]);
    assert!(asked[1].starts_with("POST /api/v1/alerts/a1:cancel HTTP"), "{}", asked[1]);
    assert!(asked[2].contains("accept: application/xml"), "{}", asked[2]);
    assert!(asked[4].ends_with(r#"{"name":"door","role":"submit"}"#), "{}", asked[4]);
}

#[tokio::test]
async fn https_to_a_plain_door_is_told_with_the_remedy() {
    crate::server::choose_cryptography();
    for answer in [&[21, 3, 1, 0, 2, 2, 70][..], b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n"] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let door = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4_096]).await.unwrap();
            stream.write_all(answer).await.unwrap();
        });
        let server = ServerArgs { url, token: Some("cmp_t".to_owned()), ca_file: None };
        let failed = client::ApiClient::new(&server).unwrap().get("/healthz").await.unwrap_err();
        let Failure::Failed(why) = failed else { panic!("{failed:?}") };
        assert!(why.contains("this door speaks plain HTTP: use http://"), "{why}");
        door.await.unwrap();
    }
}

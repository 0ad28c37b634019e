//! Stories of what stays private: secrets in logs, the data folder's modes, files of secrets, tokens.

use crate::fixtures::{SOON, carrier_with, everybody_answers, number};
use it::{Api, SendSms, Server, Setup, escaped, eventually, free_port, platform, program, sms_route};
use serde_json::json;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// What must be in no log: passwords, tokens of queries and paths, texts, digits of numbers.
const SECRETS: [&str; 9] = [
    "s3cretpw",
    "t0psecret",
    "dlrs3cret",
    "XyzzyTokenOfAHookThatIsLong",
    "Words for nobody's eyes",
    "ann.private@",
    "46701740606",
    "46701740607",
    "cmp_",
];

#[tokio::test]
async fn a_whole_run_logs_no_secret_no_text_and_no_number_at_any_level() {
    for level in ["info", "debug"] {
        let carrier = carrier_with(everybody_answers("1")).await;
        let config = sms_route("carrier", carrier.address(), "") + &platform("water", "");
        let environment = vec![("CAMPANILE_LOG".to_owned(), level.to_owned())];
        let mut server = Server::start_with(Setup { config, environment, ..Setup::default() }).await;
        let (api, closed) = (server.api(), free_port());
        let people = json!([{"id": "ann", "name": "Ann", "devices": [
            {"channel": "sms", "address": number(1)}, {"channel": "mail", "address": "ann.private@city.example"}]}]);
        api.add_recipients(&people).await;
        let hook = format!(
            "http://hook:s3cretpw@127.0.0.1:{closed}/services/XyzzyTokenOfAHookThatIsLong?key=t0psecret"
        );
        let alert = json!({"text": "Words for nobody's eyes", "audience": ["recipient:ann"], "channels": ["sms"],
            "require_answer": true, "callback": {"url": hook, "events": ["done", "answer"]}});
        api.submit(&alert).await;
        let sendsms = SendSms::new(&format!("{}/cgi-bin/sendsms", server.url()), "water");
        let dlr = escaped(&format!("http://127.0.0.1:{closed}/dlr/%p?pw=dlrs3cret&to=%p&text=%b"));
        let text = escaped("Words for nobody's eyes");
        let to = escaped(&number(2));
        let query = format!("to={to}&from=7000&text={text}&dlr-mask=31&dlr-url={dlr}");
        assert_eq!(sendsms.get(&query).await.0, 202);
        api.get(&format!("/api/v1/recipients?filter=sms:{}", escaped(&number(1)))).await;
        api.get("/a/not-a-token").await;
        eventually("both calls are logged", SOON, async || {
            let log = server.whole_log();
            let words = ["the address did not accept the callback", "the platform could not be reached"];
            if words.iter().all(|words| log.contains(words)) { Ok(()) } else { Err(log) }
        })
        .await;
        server.stop().await;
        let log = server.whole_log();
        assert!(log.contains(&format!("http://127.0.0.1:{closed}/services/…?…")), "{log}");
        let found: Vec<&str> = SECRETS.into_iter().filter(|secret| log.contains(secret)).collect();
        assert!(found.is_empty(), "{level}: {found:?} in {log}");
    }
}

/// Entries that others may read, or folders that they may enter.
fn open_entries(path: &Path) -> Vec<String> {
    let mut open = Vec::new();
    let found = fs::symlink_metadata(path).unwrap();
    if found.mode() & 0o077 != 0 {
        open.push(format!("{} {:o}", path.display(), found.mode()));
    }
    if found.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| open.extend(open_entries(&entry.unwrap().path())));
    }
    open
}

fn loosen(path: &Path) {
    let is_folder = path.is_dir();
    fs::set_permissions(path, Permissions::from_mode(if is_folder { 0o755 } else { 0o644 })).unwrap();
    if is_folder {
        fs::read_dir(path).unwrap().for_each(|entry| loosen(&entry.unwrap().path()));
    }
}

#[tokio::test]
async fn nobody_else_reads_the_data_folder_and_a_start_closes_one_that_was_open() {
    let mut server = Server::start("").await;
    server.api().add_recipients(&json!([{"id": "ann", "name": "Ann"}])).await;
    assert_eq!(open_entries(server.data()), Vec::<String>::new());
    server.stop().await;
    loosen(server.data());
    server.restart().await;
    assert_eq!(open_entries(server.data()), Vec::<String>::new());
    assert!(server.whole_log().contains("others could read the server's data"), "{}", server.log());
}

fn check(config: &Path, credentials: Option<&Path>) -> (Option<i32>, String) {
    let mut command = Command::new(program());
    command.args(["check", "--config"]).arg(config).env_remove("CREDENTIALS_DIRECTORY");
    command.envs(credentials.map(|folder| ("CREDENTIALS_DIRECTORY", folder)));
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
}

#[tokio::test]
async fn a_password_comes_from_a_file_or_a_credential_and_check_says_what_is_wrong_or_open() {
    let folder = tempfile::tempdir().unwrap();
    let (config, secret) = (folder.path().join("c.toml"), folder.path().join("water"));
    let text = |name: &str| format!("[[platform]]\nusername = \"water\"\npassword_file = \"{name}\"\n");
    fs::write(&config, text("credential:water")).unwrap();
    let (code, words) = check(&config, Some(folder.path()));
    assert!(
        code == Some(1) && words.contains("password_file") && words.contains("/water cannot be read"),
        "{words}"
    );
    fs::write(&secret, "secret\n").unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o644)).unwrap();
    let (code, words) = check(&config, Some(folder.path()));
    assert!(
        code == Some(0) && words.contains("warning: ") && words.contains("/water holds a secret"),
        "{words}"
    );
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    let (code, words) = check(&config, Some(folder.path()));
    assert!(code == Some(0) && !words.contains("warning"), "{words}");
    let (code, words) = check(&config, None);
    assert!(code == Some(1) && words.contains("LoadCredential=water"), "{words}");
    let open =
        "[http]\nlisten = \"0.0.0.0:8080\"\n[[platform]]\nusername = \"water\"\npassword = \"secret\"\n";
    fs::write(&config, open).unwrap();
    fs::set_permissions(&config, Permissions::from_mode(0o644)).unwrap();
    let (code, words) = check(&config, None);
    assert_eq!((code, words.matches("warning: ").count()), (Some(0), 2), "{words}");

    // A platform signs in with the file's password.
    let carrier = carrier_with(everybody_answers("1")).await;
    let config = sms_route("carrier", carrier.address(), "") + &text(secret.to_str().unwrap());
    let server = Server::start(&config).await;
    let sendsms = SendSms::new(&format!("{}/cgi-bin/sendsms", server.url()), "water");
    let (status, words) = sendsms.get(&format!("to={}&text=x", escaped(&number(1)))).await;
    assert_eq!(status, 202, "{words}");
}

/// A server whose standard output leads somewhere of its own.
struct Unheard {
    child: Child,
    log: PathBuf,
    api: Api,
}

impl Unheard {
    async fn start(folder: &Path, stdout: impl Into<Stdio>) -> Unheard {
        let (port, log) = (free_port(), folder.join("log"));
        let child = Command::new(program())
            .args(["serve", "--data", "data"])
            .env("CAMPANILE__HTTP__LISTEN", format!("127.0.0.1:{port}"))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let server = Unheard { child, log, api: Api::new(&format!("http://127.0.0.1:{port}"), "cmp_none") };
        eventually("it says that it has no token", SOON, async || {
            let log = server.log();
            if log.contains("token create --role admin --data") { Ok(()) } else { Err(log) }
        })
        .await;
        server
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    fn stop(mut self) {
        let status = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(status.success() && self.child.wait().unwrap().success(), "{}", self.log());
    }
}

impl Drop for Unheard {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn make_token(folder: &Path) -> Output {
    let mut command = Command::new(program());
    command.args(["token", "create", "--role", "admin", "--data", "data", "--format", "json"]);
    command.current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

#[tokio::test]
async fn a_first_token_that_cannot_be_printed_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let full = || File::options().write(true).open("/dev/full").unwrap();
    for stdout in [Stdio::from(full()), Stdio::null()] {
        let server = Unheard::start(folder.path(), stdout).await;
        let refused = server.api.get("/api/v1/alerts").await.expect(401);
        assert!(refused["detail"].as_str().unwrap().contains("token create"), "{refused}");
        let output = make_token(folder.path());
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && words.contains("a server runs on"), "{words}");
        assert!(output.stdout.is_empty());
        server.stop();
    }
    // Nothing is on record: one may be made without a server, and then no start prints another.
    let output = make_token(folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let token = made["token"].as_str().unwrap();
    let mut server = Server::spawned(Setup { data: Some(folder.path().join("data")), ..Setup::default() });
    server.set_token(token);
    server.ready().await;
    let tokens = server.api().get("/api/v1/tokens").await.expect(200);
    assert_eq!(tokens["items"].as_array().map(Vec::len), Some(1), "{tokens}");
    server.stop().await;
    assert_eq!(server.said(), Vec::<String>::new());
}

#[tokio::test]
async fn a_start_after_one_that_could_not_print_prints_the_token() {
    let folder = tempfile::tempdir().unwrap();
    Unheard::start(folder.path(), Stdio::null()).await.stop();
    let setup = Setup { data: Some(folder.path().join("data")), ..Setup::default() };
    let server = Server::start_with(setup).await;
    server.api().get("/api/v1/tokens").await.expect(200);
}

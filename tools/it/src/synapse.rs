//! Synapse, the homeserver of Matrix that most people have: a venv's, with SQLite in a folder of its own; and
//! people who use it by the client-server API.

use crate::foreign::{folder, needs};
use crate::{eventually, free_port};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// It listens after so long.
const START_MAX: Duration = Duration::from_secs(120);
/// Password of everybody.
const PASSWORD: &str = "of everybody";

/// A homeserver `town.test` without limits of rates.
pub struct Synapse {
    child: Child,
    folder: TempDir,
    programs: PathBuf,
    port: u16,
}

/// Somebody with an account.
pub struct MatrixUser {
    client: Client,
    base: String,
    /// `@name:town.test`.
    pub id: String,
    /// Access token of a login with a device.
    pub token: String,
}

impl Synapse {
    /// Starts one. `more` is YAML behind its configuration.
    pub async fn start(more: &str) -> Synapse {
        needs("messengers");
        let programs = folder("messengers", "venv/installed").join("venv/bin");
        let folder = tempfile::Builder::new().prefix("campanile-it-synapse-").tempdir().unwrap();
        let port = free_port();
        let config = format!("{}{more}", configuration(folder.path(), port));
        std::fs::write(folder.path().join("homeserver.yaml"), config).unwrap();
        std::fs::write(folder.path().join("log.yaml"), log_configuration(folder.path())).unwrap();
        let homeserver = |arguments: &[&str]| {
            let log = std::fs::File::create(folder.path().join("out")).unwrap();
            let mut command = Command::new(programs.join("synapse_homeserver"));
            command.args(["-c", "homeserver.yaml"]).args(arguments).current_dir(folder.path());
            command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
            command
        };
        assert!(homeserver(&["--generate-keys"]).status().unwrap().success(), "no keys for Synapse");
        let child = homeserver(&[]).spawn().unwrap();
        let mut synapse = Synapse { child, folder, programs, port };
        let versions = format!("{}/_matrix/client/versions", synapse.url());
        let client = client();
        eventually("Synapse listens", START_MAX, async || {
            let said = std::fs::read_to_string(synapse.folder.path().join("out")).unwrap_or_default();
            assert!(synapse.child.try_wait().unwrap().is_none(), "Synapse ended:\n{said}");
            client.get(&versions).send().await.map_err(|error| format!("{error:?}"))
        })
        .await;
        synapse
    }

    /// Where its client API is.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Makes an account, by the shared secret, and logs in.
    pub async fn user(&self, name: &str) -> MatrixUser {
        let made = Command::new(self.programs.join("register_new_matrix_user"))
            .args(["-u", name, "-p", PASSWORD, "--no-admin", "-c", "homeserver.yaml"])
            .arg(self.url())
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
        let mut user =
            MatrixUser { client: client(), base: self.url(), id: String::new(), token: String::new() };
        let identifier = json!({"type": "m.id.user", "user": name});
        let body = json!({"type": "m.login.password", "identifier": identifier, "password": PASSWORD});
        let login = user.call(Method::POST, "login", &body).await;
        user.id = login["user_id"].as_str().unwrap().to_owned();
        user.token = login["access_token"].as_str().unwrap().to_owned();
        user
    }
}

impl Drop for Synapse {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            let lines: Vec<&str> = log.lines().rev().take(30).collect();
            eprintln!("--- Synapse said last, the newest first:\n{}", lines.join("\n"));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl MatrixUser {
    /// Calls the client API; `path` is behind its version.
    ///
    /// # Panics
    /// It is refused.
    pub async fn call(&self, method: Method, path: &str, body: &Value) -> Value {
        let url = format!("{}/_matrix/client/v3/{path}", self.base);
        let mut request = self.client.request(method.clone(), url).bearer_auth(&self.token);
        if method != Method::GET {
            request = request.json(body);
        }
        let answer = request.send().await.unwrap();
        let (status, body) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status} {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Accepts invitations until there was one; the room.
    pub async fn join_invited(&self, limit: Duration) -> String {
        // Without a place to go on from, Synapse repeats its first answer for two minutes.
        let since = std::sync::Mutex::new(String::new());
        let room = eventually("an invitation comes", limit, async || {
            let from = since.lock().unwrap().clone();
            let answer = self.call(Method::GET, &format!("sync?timeout=1000{from}"), &Value::Null).await;
            let next = answer["next_batch"].as_str().map(|next| format!("&since={next}"));
            *since.lock().unwrap() = next.unwrap_or_default();
            let invited =
                answer["rooms"]["invite"].as_object().and_then(|rooms| rooms.keys().next().cloned());
            invited.ok_or("none")
        })
        .await;
        self.call(Method::POST, &format!("rooms/{room}/join"), &json!({})).await;
        room
    }

    /// Texts of a room with their events, in their order, once there are so many.
    pub async fn texts(&self, room: &str, count: usize, limit: Duration) -> Vec<(String, String)> {
        eventually("messages are in the room", limit, async || {
            let answer =
                self.call(Method::GET, &format!("rooms/{room}/messages?dir=f&limit=100"), &Value::Null).await;
            let events = answer["chunk"].as_array().into_iter().flatten();
            let texts: Vec<(String, String)> = events
                .filter(|event| event["type"] == "m.room.message" && event["sender"] != *self.id)
                .map(|event| {
                    [&event["content"]["body"], &event["event_id"]].map(|it| it.as_str().unwrap().to_owned())
                })
                .map(|[text, event]| (text, event))
                .collect();
            if texts.len() >= count { Ok(texts) } else { Err(format!("{texts:?}")) }
        })
        .await
    }

    /// Reads up to an event.
    pub async fn read(&self, room: &str, event: &str) {
        self.call(Method::POST, &format!("rooms/{room}/receipt/m.read/{event}"), &json!({})).await;
    }

    /// Puts an event into a room.
    pub async fn send(&self, room: &str, kind: &str, transaction: &str, content: &Value) {
        self.call(Method::PUT, &format!("rooms/{room}/send/{kind}/{transaction}"), content).await;
    }
}

fn client() -> Client {
    // Whoever was first has chosen for the process.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().timeout(Duration::from_secs(60)).build().unwrap()
}

fn configuration(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    let free = "{per_second: 1000, burst_count: 1000}";
    format!(
        "server_name: town.test
pid_file: {folder}/pid
listeners:
  - {{port: {port}, tls: false, type: http, bind_addresses: ['127.0.0.1'], resources: [{{names: [client], compress: false}}]}}
database: {{name: sqlite3, args: {{database: {folder}/homeserver.db}}}}
media_store_path: {folder}/media
signing_key_path: {folder}/signing.key
log_config: {folder}/log.yaml
registration_shared_secret: shared
macaroon_secret_key: macaroon
form_secret: form
report_stats: false
trusted_key_servers: []
suppress_key_server_warning: true
presence: {{enabled: false}}
rc_message: {free}
rc_login: {{address: {free}, account: {free}}}
rc_invites: {{per_room: {free}, per_user: {free}, per_issuer: {free}}}
rc_joins: {{local: {free}}}
rc_room_creation: {free}
"
    )
}

fn log_configuration(folder: &Path) -> String {
    format!(
        "version: 1
formatters: {{plain: {{format: '%(asctime)s %(name)s %(levelname)s %(message)s'}}}}
handlers: {{file: {{class: logging.FileHandler, filename: {}/log, formatter: plain}}}}
root: {{level: INFO, handlers: [file]}}
",
        folder.display()
    )
}

//! A time-stamping authority: `openssl ts`, which nobody here wrote, behind a small HTTP server.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A root, an authority's certificate below it, and what the authority is allowed to sign.
const CONFIG: &str = "[req]
distinguished_name = dn
prompt = no
[dn]
CN = Root of the story
[root]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
[authority]
basicConstraints = critical,CA:FALSE
extendedKeyUsage = critical,timeStamping
[tsa]
serial = serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_alg = sha256
";

/// An authority on a port of its own. Dropping it ends it.
pub struct TimestampAuthority {
    work: Arc<Work>,
    address: SocketAddr,
    serving: JoinHandle<()>,
}

struct Work {
    folder: TempDir,
    is_up: AtomicBool,
}

impl TimestampAuthority {
    /// Starts one, which answers 503 until it is [`TimestampAuthority::open`].
    ///
    /// # Panics
    /// There is no openssl: `scripts/install-foreign openssl` installs it.
    pub async fn start() -> TimestampAuthority {
        let folder = tempfile::tempdir().unwrap();
        certificates(folder.path());
        let work = Arc::new(Work { folder, is_up: AtomicBool::new(false) });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/tsr", post(answer)).with_state(work.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        TimestampAuthority { work, address, serving }
    }

    /// From now on it answers.
    pub fn open(&self) {
        self.work.is_up.store(true, Ordering::Relaxed);
    }

    /// Where it takes requests.
    pub fn url(&self) -> String {
        format!("http://{}/tsr", self.address)
    }

    /// The certificate of its root.
    pub fn root(&self) -> PathBuf {
        self.work.folder.path().join("root.pem")
    }

    /// The last request that it answered.
    pub fn last_request(&self) -> PathBuf {
        self.work.folder.path().join("request.tsq")
    }
}

impl Drop for TimestampAuthority {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(State(work): State<Arc<Work>>, body: Bytes) -> Response {
    if !work.is_up.load(Ordering::Relaxed) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let folder = work.folder.path();
    fs::write(folder.join("request.tsq"), &body).unwrap();
    let arguments = "ts -reply -config c.cnf -section tsa -queryfile request.tsq -signer tsa.pem \
         -inkey tsa.key -out answer.tsr";
    let output = openssl(folder, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let octets = fs::read(folder.join("answer.tsr")).unwrap();
    ([(CONTENT_TYPE, "application/timestamp-reply")], octets).into_response()
}

fn certificates(folder: &Path) {
    fs::write(folder.join("c.cnf"), CONFIG).unwrap();
    fs::write(folder.join("serial"), "01\n").unwrap();
    for arguments in [
        "ecparam -name prime256v1 -genkey -noout -out root.key",
        "req -x509 -new -key root.key -config c.cnf -extensions root -days 30 -sha256 -out root.pem",
        "ecparam -name prime256v1 -genkey -noout -out tsa.key",
        "req -new -key tsa.key -config c.cnf -subj /CN=Authority -out tsa.csr",
        "x509 -req -in tsa.csr -CA root.pem -CAkey root.key -CAcreateserial -extfile c.cnf \
         -extensions authority -days 30 -sha256 -out tsa.pem",
    ] {
        let output = openssl(folder, arguments);
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Runs `openssl` in a folder.
///
/// # Panics
/// It is not there: `scripts/install-foreign openssl` installs it.
pub fn openssl(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new("openssl");
    command.current_dir(folder).args(arguments.split_whitespace());
    command.output().expect("openssl runs; scripts/install-foreign openssl installs it")
}

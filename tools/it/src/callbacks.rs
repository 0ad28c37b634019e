use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use serde_json::Value;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::task::JoinHandle;

/// One call, as it came.
#[derive(Debug, Clone)]
pub struct Call {
    /// Path and query.
    pub target: String,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: Vec<u8>,
    /// What it was answered with.
    pub answered: u16,
}

impl Call {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// A header's text.
    pub fn header(&self, name: &str) -> &str {
        let value =
            self.headers.get(name).unwrap_or_else(|| panic!("no header {name} in {:?}", self.headers));
        value.to_str().unwrap()
    }
}

/// A listener that keeps every call and answers 200, or what it is told to answer first.
pub struct Callbacks {
    address: SocketAddr,
    kept: Arc<Mutex<CallLog>>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct CallLog {
    calls: Vec<Call>,
    answers: VecDeque<u16>,
}

impl Callbacks {
    /// Listens on a free port.
    pub async fn start() -> Callbacks {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let kept: Arc<Mutex<CallLog>> = Arc::default();
        let router = Router::new().fallback(keep).with_state(kept.clone());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Callbacks { address, kept, task }
    }

    /// Where to call.
    pub fn url(&self) -> String {
        format!("http://{}/observer", self.address)
    }

    /// The next calls are answered with these, then with 200.
    pub fn answer_first(&self, statuses: &[u16]) {
        self.kept.lock().unwrap().answers.extend(statuses);
    }

    /// What it was told to answer first is forgotten; this is answered.
    pub fn answer_from_now(&self, status: u16) {
        self.kept.lock().unwrap().answers = VecDeque::from([status]);
    }

    /// All calls so far, in the order they came.
    pub fn calls(&self) -> Vec<Call> {
        self.kept.lock().unwrap().calls.clone()
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn keep(
    State(kept): State<Arc<Mutex<CallLog>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let mut kept = kept.lock().unwrap();
    let answered = kept.answers.pop_front().unwrap_or(200);
    kept.calls.push(Call { target: uri.to_string(), headers, body: body.to_vec(), answered });
    StatusCode::from_u16(answered).unwrap()
}

use crate::eventually;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Node has started after so long.
const START_MAX: Duration = Duration::from_secs(30);

/// What the SMSC does.
#[derive(Debug, Clone)]
pub struct NpmSmscOptions {
    /// From a submission to its receipt.
    pub receipt_after: Duration,
    /// Receipts name the message in their text alone, not in a parameter.
    pub text_receipts: bool,
    /// What everybody replies, and how long after the receipt.
    pub reply: Option<(String, Duration)>,
    /// What a bind must bring.
    pub password: String,
}

impl Default for NpmSmscOptions {
    fn default() -> Self {
        NpmSmscOptions {
            receipt_after: Duration::from_millis(100),
            text_receipts: false,
            reply: None,
            password: "secret".to_owned(),
        }
    }
}

/// An SMSC made of npm's `smpp` (peers/npm/smsc.js): it answers submissions, sends receipts and replies.
pub struct NpmSmsc {
    child: Child,
    events: Arc<Mutex<Vec<Value>>>,
    port: u16,
}

impl NpmSmsc {
    /// Starts one on a free port.
    pub async fn start(options: NpmSmscOptions) -> NpmSmsc {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/npm");
        assert!(folder.join("node_modules/smpp").exists(), "run scripts/install-test-peers first");
        let options = json!({
            "receipt_after_ms": options.receipt_after.as_millis() as u64,
            "text_receipts": options.text_receipts,
            "reply": options.reply.as_ref().map(|(text, _)| text),
            "reply_after_ms": options.reply.as_ref().map(|(_, after)| after.as_millis() as u64),
            "password": options.password,
        });
        let mut child = Command::new("node")
            .arg(folder.join("smsc.js"))
            .arg(options.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start node (run scripts/install-test-peers): {error}"));
        let events: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (output, kept) = (BufReader::new(child.stdout.take().unwrap()), events.clone());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                kept.lock().unwrap().push(serde_json::from_str(&line).unwrap());
            }
        });
        let mut smsc = NpmSmsc { child, events, port: 0 };
        let listening = eventually("npm's SMSC listens", START_MAX, async || {
            smsc.events("listening").into_iter().next().ok_or("nothing")
        });
        smsc.port = listening.await["port"].as_u64().unwrap() as u16;
        smsc
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// What happened so far of one kind: `listening`, `bind`, `submit`, `receipt` and `reply` (once they were answered),
    /// `unbind`.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        let events = self.events.lock().unwrap();
        events.iter().filter(|event| event["event"] == kind).cloned().collect()
    }
}

impl Drop for NpmSmsc {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

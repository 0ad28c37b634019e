//! Far ends by HTTP in Python: a receiver of webhooks, a carrier of short messages.

use crate::ForeignProgram;
use crate::foreign::{folder, needs};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The secret by which the receiver verifies.
pub const WEBHOOK_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A receiver that verifies with PyPI's standardwebhooks.
pub struct PythonReceiver {
    program: ForeignProgram,
    port: u16,
    scheme: &'static str,
}

impl PythonReceiver {
    /// Starts one.
    pub async fn start() -> PythonReceiver {
        PythonReceiver::started(&[], "http").await
    }

    /// Starts one with TLS: files of its certificate and of its key.
    pub async fn start_with_tls(cert: &Path, key: &Path) -> PythonReceiver {
        let options = [format!("cert={}", cert.display()), format!("key={}", key.display())];
        PythonReceiver::started(&options, "https").await
    }

    async fn started(options: &[String], scheme: &'static str) -> PythonReceiver {
        let mut command = script("receiver.py");
        command.arg(format!("secret={WEBHOOK_SECRET}")).args(options);
        let program = ForeignProgram::start("the receiver", command);
        let port = port_of(&program).await;
        PythonReceiver { program, port, scheme }
    }

    /// A URL of it.
    pub fn url(&self, path: &str) -> String {
        format!("{}://127.0.0.1:{}{path}", self.scheme, self.port)
    }

    /// The messages that came, repeats too.
    pub fn hooks(&self) -> Vec<Value> {
        self.program.events("hook")
    }

    /// What happened of another kind: `unsigned`, `posted`, `broken`.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        self.program.events(kind)
    }
}

/// A carrier that takes short messages by HTTP.
pub struct HttpCarrier {
    program: ForeignProgram,
    port: u16,
}

impl HttpCarrier {
    /// Starts one.
    pub async fn start() -> HttpCarrier {
        let program = ForeignProgram::start("the HTTP carrier", script("carrier.py"));
        let port = port_of(&program).await;
        HttpCarrier { program, port }
    }

    /// Where it takes messages.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1/messages", self.port)
    }

    /// The messages it took.
    pub fn messages(&self) -> Vec<Value> {
        self.program.events("message")
    }

    /// A person writes to the number that the last message came from.
    pub fn say(&self, from: &str, text: &str) {
        self.program.tell("say", &[("from", from), ("text", text)]);
    }
}

fn script(name: &str) -> Command {
    needs("python");
    let folder = folder("python", "venv/installed");
    let mut command = Command::new(folder.join("venv/bin/python"));
    command.arg(folder.join(name));
    command
}

async fn port_of(program: &ForeignProgram) -> u16 {
    let listening = program.first(&["listening"]).await;
    u16::try_from(listening["port"].as_u64().unwrap()).unwrap()
}

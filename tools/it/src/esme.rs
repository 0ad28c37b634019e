use crate::foreign::{folder, java, needs};
use crate::{ForeignProgram, eventually};
use serde_json::Value;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// An answer takes at most so long.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// Whose work an ESME is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EsmeBy {
    /// npm's `smpp`.
    Npm,
    /// Java's jsmpp.
    Jsmpp,
    /// Java's Cloudhopper.
    Cloudhopper,
    /// Python's smpplib.
    Smpplib,
}

impl EsmeBy {
    /// All of them.
    pub const ALL: [EsmeBy; 4] = [EsmeBy::Npm, EsmeBy::Jsmpp, EsmeBy::Cloudhopper, EsmeBy::Smpplib];

    fn name(self) -> &'static str {
        match self {
            EsmeBy::Npm => "npm's ESME",
            EsmeBy::Jsmpp => "jsmpp's ESME",
            EsmeBy::Cloudhopper => "Cloudhopper's ESME",
            EsmeBy::Smpplib => "smpplib's ESME",
        }
    }

    fn command(self) -> Command {
        let script = |program: String, script: std::path::PathBuf| {
            let mut command = Command::new(program);
            command.arg(script);
            command
        };
        match self {
            EsmeBy::Npm => {
                needs("npm");
                script("node".to_owned(), folder("npm", "node_modules/smpp").join("esme.js"))
            }
            EsmeBy::Jsmpp => java("jsmpp-esme"),
            EsmeBy::Cloudhopper => java("cloudhopper-esme"),
            EsmeBy::Smpplib => {
                needs("python");
                let folder = folder("python", "venv/installed");
                script(folder.join("venv/bin/python").display().to_string(), folder.join("esme.py"))
            }
        }
    }
}

/// Who binds, and how.
#[derive(Debug, Clone)]
pub struct Login {
    /// The server's port.
    pub port: u16,
    /// Who.
    pub system_id: String,
    /// And the proof.
    pub password: String,
    /// `transceiver`, `transmitter`, `receiver`.
    pub mode: &'static str,
    /// `33`, `34`, `50`.
    pub version: &'static str,
}

impl Login {
    /// A transceiver of version 3.4 with the password `secret`.
    pub fn new(port: u16, system_id: &str) -> Login {
        Login {
            port,
            system_id: system_id.to_owned(),
            password: "secret".to_owned(),
            mode: "transceiver",
            version: "34",
        }
    }

    /// The same in another mode.
    pub fn mode(self, mode: &'static str) -> Login {
        Login { mode, ..self }
    }
}

/// An ESME made of somebody else's library, bound to a server.
pub struct Esme {
    peer: ForeignProgram,
    tags: AtomicU64,
}

impl Esme {
    /// Starts one and binds it.
    pub async fn bind(by: EsmeBy, login: &Login) -> Esme {
        Esme::try_bind(by, login).await.unwrap_or_else(|refused| panic!("{by:?} is not bound: {refused}"))
    }

    /// Starts one and tries to bind it; what it says if it was refused.
    pub async fn try_bind(by: EsmeBy, login: &Login) -> Result<Esme, Value> {
        let mut command = by.command();
        command
            .arg(format!("port={}", login.port))
            .arg(format!("system_id={}", login.system_id))
            .arg(format!("password={}", login.password))
            .arg(format!("mode={}", login.mode))
            .arg(format!("version={}", login.version));
        let peer = ForeignProgram::start(by.name(), command);
        let event = peer.first(&["bound", "refused"]).await;
        if event["event"] == "bound" { Ok(Esme { peer, tags: AtomicU64::default() }) } else { Err(event) }
    }

    /// Asks for something and waits for so many answers.
    pub async fn answers(&self, verb: &str, fields: &[(&str, &str)], count: usize) -> Vec<Value> {
        let tag = self.tags.fetch_add(1, Ordering::Relaxed).to_string();
        let mut fields = fields.to_vec();
        fields.push(("tag", &tag));
        self.peer.tell(verb, &fields);
        eventually(&format!("{verb} is answered"), ANSWER_MAX, async || {
            let all = self.peer.all();
            let of_this: Vec<Value> = all.iter().filter(|event| event["tag"] == tag).cloned().collect();
            let failed = of_this.iter().find(|event| event["event"] == "failed");
            assert!(failed.is_none(), "{verb} {fields:?}: {failed:?}");
            if of_this.len() >= count { Ok(of_this) } else { Err(format!("{all:?}")) }
        })
        .await
    }

    /// Asks for something and waits for the answer.
    pub async fn ask(&self, verb: &str, fields: &[(&str, &str)]) -> Value {
        self.answers(verb, fields, 1).await.remove(0)
    }

    /// Submits a text that is accepted; returns its id.
    pub async fn submit(&self, from: &str, to: &str, text: &str, more: &[(&str, &str)]) -> String {
        let mut fields = vec![("from", from), ("to", to), ("text", text)];
        fields.extend_from_slice(more);
        let answer = self.ask("submit", &fields).await;
        assert_eq!(answer["status"], 0, "{answer}");
        answer["id"].as_str().unwrap_or_else(|| panic!("no id: {answer}")).to_owned()
    }

    /// What happened so far of one kind: `receipt`, `inbound`, `closed`, `answered`.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        self.peer.events(kind)
    }

    /// Waits for so many events of one kind.
    pub async fn until(&self, kind: &str, count: usize) -> Vec<Value> {
        eventually(&format!("{count} of {kind}"), ANSWER_MAX, async || {
            let events = self.peer.events(kind);
            if events.len() >= count { Ok(events) } else { Err(format!("{:?}", self.peer.all())) }
        })
        .await
    }

    /// Unbinds, and waits until the connection has ended.
    pub async fn unbind(self) {
        self.peer.tell("unbind", &[]);
        self.peer.first(&["closed", "unbind"]).await;
    }
}

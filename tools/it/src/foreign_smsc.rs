use crate::foreign::{folder, java, needs};
use crate::{ForeignProgram, free_port};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

/// Whose work an SMSC is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmscBy {
    /// npm's `smpp`.
    Npm,
    /// Java's jsmpp.
    Jsmpp,
    /// Java's Cloudhopper.
    Cloudhopper,
}

/// What the SMSC does.
#[derive(Debug, Clone)]
pub struct ForeignSmscOptions {
    /// From a submission to its receipt.
    pub receipt_after: Duration,
    /// Receipts name the message in their text alone, not in a parameter.
    pub text_receipts: bool,
    /// What everybody replies, and how long after the receipt. The Java ones send a long reply in parts, the
    /// last first.
    pub reply: Option<(String, Duration)>,
    /// What a bind must bring.
    pub password: String,
}

impl Default for ForeignSmscOptions {
    fn default() -> Self {
        ForeignSmscOptions {
            receipt_after: Duration::from_millis(100),
            text_receipts: false,
            reply: None,
            password: "secret".to_owned(),
        }
    }
}

/// An SMSC made of somebody else's library: it answers submissions, sends receipts and replies.
pub struct ForeignSmsc {
    peer: ForeignProgram,
    port: u16,
}

impl ForeignSmsc {
    /// Starts one on a free port.
    pub async fn start(by: SmscBy, options: ForeignSmscOptions) -> ForeignSmsc {
        let peer = match by {
            SmscBy::Npm => ForeignProgram::start("npm's SMSC", node(&options)),
            SmscBy::Jsmpp => ForeignProgram::start("jsmpp's SMSC", jvm("jsmpp-smsc", &options)),
            SmscBy::Cloudhopper => {
                ForeignProgram::start("Cloudhopper's SMSC", jvm("cloudhopper-smsc", &options))
            }
        };
        let port = peer.first(&["listening"]).await["port"].as_u64().unwrap() as u16;
        ForeignSmsc { peer, port }
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// What happened so far of one kind: `listening`, `bind`, `submit`, `receipt` and `reply` (once they were
    /// answered), `unbind`.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        self.peer.events(kind)
    }
}

fn node(options: &ForeignSmscOptions) -> Command {
    needs("npm");
    let script = folder("npm", "node_modules/smpp").join("smsc.js");
    let options = json!({
        "receipt_after_ms": options.receipt_after.as_millis() as u64,
        "text_receipts": options.text_receipts,
        "reply": options.reply.as_ref().map(|(text, _)| text),
        "reply_after_ms": options.reply.as_ref().map(|(_, after)| after.as_millis() as u64),
        "password": options.password,
    });
    let mut command = Command::new("node");
    command.arg(script).arg(options.to_string());
    command
}

fn jvm(main: &str, options: &ForeignSmscOptions) -> Command {
    let mut command = java(main);
    command
        .arg(format!("port={}", free_port()))
        .arg(format!("receipt_after_ms={}", options.receipt_after.as_millis()))
        .arg(format!("text_receipts={}", options.text_receipts))
        .arg(format!("password={}", options.password));
    if let Some((text, after)) = &options.reply {
        command.arg(format!("reply={text}")).arg(format!("reply_after_ms={}", after.as_millis()));
    }
    command
}

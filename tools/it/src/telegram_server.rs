//! A server of Telegram's bot API: npm's telegram-test-api, with people who write, reply and press buttons.

use crate::foreign::{ForeignProgram, folder, needs};
use crate::free_port;
use serde_json::Value;
use std::process::Command;

/// The server as a child.
pub struct TelegramServer {
    program: ForeignProgram,
    port: u16,
}

impl TelegramServer {
    /// Starts one that knows a bot of this token.
    pub async fn start(token: &str) -> TelegramServer {
        needs("messengers");
        let port = free_port();
        let mut command = Command::new("node");
        command.arg("telegram.js").args([format!("port={port}"), format!("token={token}")]);
        command.current_dir(folder("messengers", "node_modules/telegram-test-api"));
        let program = ForeignProgram::start("telegram-test-api", command);
        program.first(&["listening"]).await;
        TelegramServer { program, port }
    }

    /// Where its API is.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Messages of the bot so far: `chat`, `text`, `id` and `buttons` (data by label).
    pub fn messages(&self) -> Vec<Value> {
        self.program.events("message")
    }

    /// A person writes.
    pub fn say(&self, chat: &str, text: &str) {
        self.program.tell("say", &[("chat", chat), ("text", text)]);
    }

    /// A person replies to a message of the bot.
    pub fn reply(&self, chat: &str, to: &str, text: &str) {
        self.program.tell("reply", &[("chat", chat), ("to", to), ("text", text)]);
    }

    /// A person presses a button with these data.
    pub fn press(&self, chat: &str, data: &str) {
        self.program.tell("press", &[("chat", chat), ("data", data)]);
    }
}

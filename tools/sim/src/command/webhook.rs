use super::{named, put, read};
use crate::chance::Delay;
use crate::webhook::WebhookOptions;
use clap::Args;
use std::path::PathBuf;

/// Where it listens unless somebody says otherwise.
const LISTEN: &str = "127.0.0.1:8090";

/// `sim webhook`.
#[derive(Debug, Args)]
pub struct WebhookArgs {
    /// Listening address (port 0: any free one) [default: 127.0.0.1:8090]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Address of the page with counts and messages
    #[arg(long, value_name = "ADDRESS")]
    page: Option<String>,
    /// A TOML file with the scenario; options beside it override it
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Secret (whsec_…) that must have signed each request
    #[arg(long, value_name = "SECRET")]
    secret: Option<String>,
    /// Latency of answers: 5ms, 1ms..20ms, "exp 50ms"
    #[arg(long, value_name = "DELAY")]
    latency: Option<Delay>,
    /// Share of messages that the answer calls delivered
    #[arg(long, value_name = "SHARE")]
    delivered: Option<f64>,
    /// Share of messages with choices that are answered, with the first choice
    #[arg(long, value_name = "SHARE")]
    answering: Option<f64>,
    /// Accept everything at once, count only
    #[arg(long)]
    sink: bool,
}

impl WebhookArgs {
    /// What is asked for.
    ///
    /// # Errors
    /// The file that cannot be read, or the field that cannot be.
    pub fn options(self) -> Result<WebhookOptions, String> {
        let listen = LISTEN.to_owned();
        let mut options = match &self.scenario {
            Some(path) => named(path, read(path).and_then(|text| WebhookOptions::from_toml(&text)))?,
            None if self.sink => WebhookOptions { listen, ..WebhookOptions::sink() },
            None => WebhookOptions { listen, ..WebhookOptions::default() },
        };
        put(&mut options.listen, self.listen);
        put(&mut options.latency, self.latency);
        put(&mut options.delivered, self.delivered);
        put(&mut options.answering, self.answering);
        options.control = self.page.or(options.control);
        options.secret = self.secret.or(options.secret);
        options.check()?;
        Ok(options)
    }
}

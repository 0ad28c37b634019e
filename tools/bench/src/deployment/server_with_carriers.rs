use super::{Carrier, CarrierStats, ServerProcess, Usage, free_port};
use records::ChannelNumber;
use sim::{broker, im, mailbox, pager, smsc, webhook};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A pager route has so many connections at most.
const PAGER_SESSIONS_MAX: u32 = 64;

/// How the world of a scenario is set up.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The program whose server and simulators run.
    pub(crate) program: PathBuf,
    /// Where its folder is made; nothing: where the system keeps temporary files.
    pub(crate) folder: Option<PathBuf>,
    /// A carrier for short messages.
    pub(crate) sms: Option<smsc::SmscOptions>,
    /// A mail server.
    pub(crate) mail: Option<mailbox::MailboxOptions>,
    /// Networks of instant messages.
    pub(crate) im: Option<im::ImOptions>,
    /// A paging carrier.
    pub(crate) pager: Option<pager::PagingOptions>,
    /// A receiver of webhooks.
    pub(crate) webhook: Option<webhook::WebhookOptions>,
    /// A broker with a device on every topic.
    pub(crate) mqtt: Option<broker::BrokerOptions>,
    /// People answer: the server has an SMTP door, and short messages a number to answer to.
    pub(crate) has_answers: bool,
    /// `[bus] fsync`.
    pub(crate) fsync: String,
    /// Sessions of each route.
    pub(crate) sessions: u32,
    /// Window of each session.
    pub(crate) window: u32,
    /// Messages a second of the routes of short messages and mail; 0 is unlimited.
    pub(crate) rate: f64,
}

/// A running server with its carriers, all in one folder that goes when it does.
pub(crate) struct ServerWithCarriers {
    pub(crate) server: ServerProcess,
    /// Each with its channel.
    carriers: Vec<(ChannelNumber, Carrier)>,
    folder: TempDir,
}

/// What all carriers together counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Whole messages, and copies of mails.
    pub(crate) endpoints: u64,
    /// Above the first of their kind.
    pub(crate) repeats: u64,
    /// When the last was taken, microseconds since 1970.
    pub(crate) last_us: u64,
}

impl ServerWithCarriers {
    /// Starts carriers and server.
    ///
    /// # Errors
    /// What does not come up, in words.
    pub(crate) async fn open(plan: &Plan) -> Result<ServerWithCarriers, String> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("campanile-bench-");
        let folder = match &plan.folder {
            Some(parent) => builder.tempdir_in(parent),
            None => builder.tempdir(),
        };
        let folder = folder.map_err(|error| format!("no folder for the bench: {error}"))?;
        let door = format!("127.0.0.1:{}", free_port()?);
        let carriers = start_carriers(plan, folder.path(), &door).await?;
        let config = config(plan, &carriers, &door);
        let server = ServerProcess::start(&plan.program, folder.path(), &config, None).await?;
        Ok(ServerWithCarriers { server, carriers, folder })
    }

    /// Where the server's data are.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The URL of the receiver of webhooks without a path, if there is one.
    pub(crate) fn webhook_base(&self) -> Option<String> {
        let (_, carrier) = self.carriers.iter().find(|(channel, _)| *channel == channels::WEBHOOK)?;
        Some(format!("http://{}", carrier.address()))
    }

    /// What the carriers counted so far.
    pub(crate) async fn taken(&self) -> Result<Taken, String> {
        let mut taken = Taken::default();
        for (channel, carrier) in &self.carriers {
            let CarrierStats { accepted, messages, repeats, last_accepted_us, .. } = carrier.stats().await?;
            taken.endpoints += if *channel == channels::SMS { messages } else { accepted };
            taken.repeats += repeats;
            taken.last_us = taken.last_us.max(last_accepted_us);
        }
        Ok(taken)
    }

    /// What server and carriers have used so far.
    pub(crate) fn usage(&self) -> (Usage, Usage) {
        let mut load = Usage::default();
        for (_, carrier) in &self.carriers {
            let Usage { cpu_s, peak_rss } = carrier.usage();
            load.cpu_s += cpu_s;
            load.peak_rss += peak_rss;
        }
        (self.server.usage(), load)
    }
}

/// Connections of the route of webhooks, which are kept.
pub(crate) const WEBHOOK_CONNECTIONS: usize = 64;

/// Those of the plan, in the order of their channels.
async fn start_carriers(
    plan: &Plan,
    folder: &Path,
    door: &str,
) -> Result<Vec<(ChannelNumber, Carrier)>, String> {
    let mut carriers = Vec::new();
    if let Some(options) = &plan.sms {
        carriers.push((channels::SMS, Carrier::start(&plan.program, folder, "smsc", options).await?));
    }
    if let Some(options) = &plan.mail {
        let door = plan.has_answers.then(|| door.to_owned());
        let options = mailbox::MailboxOptions { door, ..options.clone() };
        carriers.push((channels::MAIL, Carrier::start(&plan.program, folder, "mail", &options).await?));
    }
    if let Some(options) = &plan.im {
        carriers.push((channels::IM, Carrier::start(&plan.program, folder, "im", options).await?));
    }
    if let Some(options) = &plan.pager {
        carriers.push((channels::PAGER, Carrier::start(&plan.program, folder, "pager", options).await?));
    }
    if let Some(options) = &plan.webhook {
        carriers.push((channels::WEBHOOK, Carrier::start(&plan.program, folder, "webhook", options).await?));
    }
    if let Some(options) = &plan.mqtt {
        carriers.push((channels::MQTT, Carrier::start(&plan.program, folder, "mqtt", options).await?));
    }
    Ok(carriers)
}

/// The server's configuration behind `[http]`.
fn config(plan: &Plan, carriers: &[(ChannelNumber, Carrier)], door: &str) -> String {
    let mut config = format!("[bus]\nfsync = \"{}\"\n", plan.fsync);
    if plan.has_answers {
        config += &format!("[smtp]\nlisten = \"{door}\"\ndomain = \"campanile.test\"\n");
    }
    for (channel, carrier) in carriers {
        config += &route(plan, *channel, carrier.address());
    }
    config
}

fn route(plan: &Plan, channel: ChannelNumber, address: &str) -> String {
    let Plan { sessions, window, rate, .. } = plan;
    let name = channels::name(channel);
    let more = match channel {
        channels::SMS => format!(
            "system_id = \"bench\"\npassword = \"bench\"\nsessions = {sessions}\nwindow = {window}\n\
             source = {{ton = 3, npi = 0, addr = \"71700\"}}\n"
        ),
        channels::MAIL => format!("from = \"Almvik <alerts@campanile.test>\"\nsessions = {sessions}\n"),
        // A page is asked for by its tag, where people answer.
        channels::PAGER => format!(
            "two_way = {}\npoll = \"1s\"\npoll_pages = 50000\nsessions = {}\n",
            plan.has_answers,
            (*sessions).min(PAGER_SESSIONS_MAX)
        ),
        channels::IM => {
            // As many messages without an answer as the sessions of others have, within what a route may.
            let window = (sessions * window).clamp(1, 256);
            return format!(
                "[[route]]\nname = \"to-im\"\nchannel = \"im\"\nprotocol = \"matrix\"\nmode = \"live\"\nrate = 0.0\n\
                 homeserver = \"http://{address}\"\naccess_token = \"bench\"\nwindow = {window}\n"
            );
        }
        // Signed requests; the receiver's address is each person's.
        channels::WEBHOOK => {
            return format!(
                "[[route]]\nname = \"hooks\"\nchannel = \"webhook\"\nmode = \"live\"\nrate = 0.0\n\
                 connections = {WEBHOOK_CONNECTIONS}\nsecret = \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"\n"
            );
        }
        // One connection has the windows of all sessions.
        _ => format!("window = {}\n", (sessions * window).min(1_000)),
    };
    format!(
        "[[route]]\nname = \"to-{name}\"\nchannel = \"{name}\"\nmode = \"live\"\nrate = {rate:?}\n\
         address = \"{address}\"\n{more}"
    )
}

use super::{Carrier, CarrierStats, ServerProcess, Usage, free_port};
use sim::{mailbox, smsc};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

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
    /// People answer: the server has an SMTP door, and short messages a number to answer to.
    pub(crate) has_answers: bool,
    /// `[bus] fsync`.
    pub(crate) fsync: String,
    /// Sessions of each route.
    pub(crate) sessions: u32,
    /// Window of each session.
    pub(crate) window: u32,
}

/// A running server with its carriers, all in one folder that goes when it does.
pub(crate) struct ServerWithCarriers {
    pub(crate) server: ServerProcess,
    sms: Option<Carrier>,
    mail: Option<Carrier>,
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
        let sms = match &plan.sms {
            Some(options) => Some(Carrier::start(&plan.program, folder.path(), "smsc", options).await?),
            None => None,
        };
        let mail = match &plan.mail {
            Some(options) => {
                let door = plan.has_answers.then(|| door.clone());
                let options = mailbox::MailboxOptions { door, ..options.clone() };
                Some(Carrier::start(&plan.program, folder.path(), "mail", &options).await?)
            }
            None => None,
        };
        let config = config(plan, sms.as_ref(), mail.as_ref(), &door);
        let server = ServerProcess::start(&plan.program, folder.path(), &config, None).await?;
        Ok(ServerWithCarriers { server, sms, mail, folder })
    }

    /// Where the server's data are.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What the carriers counted so far.
    pub(crate) async fn taken(&self) -> Result<Taken, String> {
        let mut taken = Taken::default();
        for (channel, carrier) in [(channels::SMS, &self.sms), (channels::MAIL, &self.mail)] {
            let Some(carrier) = carrier else { continue };
            let CarrierStats { accepted, messages, repeats, last_accepted_us, .. } = carrier.stats().await?;
            taken.endpoints += if channel == channels::SMS { messages } else { accepted };
            taken.repeats += repeats;
            taken.last_us = taken.last_us.max(last_accepted_us);
        }
        Ok(taken)
    }

    /// What server and carriers have used so far.
    pub(crate) fn usage(&self) -> (Usage, Usage) {
        let of = |carrier: &Option<Carrier>| carrier.as_ref().map(Carrier::usage).unwrap_or_default();
        let (sms, mail) = (of(&self.sms), of(&self.mail));
        let load = Usage { cpu_s: sms.cpu_s + mail.cpu_s, peak_rss: sms.peak_rss + mail.peak_rss };
        (self.server.usage(), load)
    }
}

/// The server's configuration behind `[http]`.
fn config(plan: &Plan, sms: Option<&Carrier>, mail: Option<&Carrier>, door: &str) -> String {
    let Plan { fsync, sessions, window, .. } = plan;
    let mut config = format!("[bus]\nfsync = \"{fsync}\"\n");
    if plan.has_answers {
        config += &format!("[smtp]\nlisten = \"{door}\"\ndomain = \"campanile.test\"\n");
    }
    if let Some(carrier) = sms {
        config += &format!(
            "[[route]]\nname = \"carrier\"\nchannel = \"sms\"\nmode = \"live\"\nrate = 0.0\naddress = \"{}\"\n\
             system_id = \"bench\"\npassword = \"bench\"\nsessions = {sessions}\nwindow = {window}\n\
             source = {{ton = 3, npi = 0, addr = \"71700\"}}\n",
            carrier.address()
        );
    }
    if let Some(carrier) = mail {
        config += &format!(
            "[[route]]\nname = \"relay\"\nchannel = \"mail\"\nmode = \"live\"\nrate = 0.0\naddress = \"{}\"\n\
             from = \"Almvik <alerts@campanile.test>\"\nsessions = {sessions}\n",
            carrier.address()
        );
    }
    config
}

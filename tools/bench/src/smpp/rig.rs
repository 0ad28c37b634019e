//! A house with the doors of platforms and one route to a bare sink.

use super::SmppOptions;
use super::record::Sums;
use super::sink::Totals;
use crate::deployment::{PartProcess, ServerProcess, free_port};
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::net::TcpStream;

/// Who submits.
pub(super) const PLATFORM: &str = "bench";
/// Places of the route's window.
const ROUTE_WINDOW: usize = 500;
/// Nothing comes for so long: what is missing does not come any more.
const PATIENCE: Duration = Duration::from_secs(30);
/// The SMPP door opens so long after the HTTP door.
const DOOR_MAX: Duration = Duration::from_secs(10);
const ASK_EVERY: Duration = Duration::from_millis(20);

pub(super) struct Rig {
    pub(super) server: ServerProcess,
    pub(super) sink: PartProcess,
    /// Where the SMPP door listens.
    pub(super) door: String,
    folder: TempDir,
}

impl Rig {
    /// # Errors
    /// What does not come up, in words.
    pub(super) async fn open(options: &SmppOptions) -> Result<Rig, String> {
        let folder = options.folder()?;
        let sink = PartProcess::start(&["sink"]).await?;
        let door = format!("127.0.0.1:{}", free_port()?);
        let config = config(options, &door, sink.address());
        let server = ServerProcess::start(&options.program, folder.path(), &config, None).await?;
        open_door(&door).await?;
        Ok(Rig { server, sink, door, folder })
    }

    /// Where the server's data are.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Waits until as much has come out as was acknowledged, or nothing comes any more.
    ///
    /// # Errors
    /// The sink is gone.
    pub(super) async fn arrived(&mut self, acknowledged: &Sums) -> Result<Totals, String> {
        let mut totals: Totals = self.sink.ask().await?;
        let mut heard = Instant::now();
        while totals.sums.count + totals.unreadable < acknowledged.count && heard.elapsed() < PATIENCE {
            tokio::time::sleep(ASK_EVERY).await;
            let now: Totals = self.sink.ask().await?;
            if now != totals {
                (totals, heard) = (now, Instant::now());
            }
        }
        Ok(totals)
    }
}

/// Waits for the SMPP door: the server says that it is ready at its HTTP door, which opens first.
async fn open_door(door: &str) -> Result<(), String> {
    let begin = Instant::now();
    loop {
        match TcpStream::connect(door).await {
            Ok(_) => return Ok(()),
            Err(_) if begin.elapsed() < DOOR_MAX => tokio::time::sleep(ASK_EVERY).await,
            Err(error) => return Err(format!("the SMPP door at {door} does not open: {error}")),
        }
    }
}

fn config(options: &SmppOptions, door: &str, carrier: &str) -> String {
    let SmppOptions { fsync, window, connections, .. } = options;
    format!(
        "[bus]\nfsync = \"{fsync}\"\n\
         [smpp]\nlisten = \"{door}\"\n\
         [[smpp.client]]\nsystem_id = \"{PLATFORM}\"\npassword = \"{PLATFORM}\"\naccount = \"{PLATFORM}\"\n\
         window = {window}\nconnections = {connections}\n\
         [[platform]]\nusername = \"{PLATFORM}\"\npassword = \"{PLATFORM}\"\naccount = \"{PLATFORM}\"\n\
         [[route]]\nname = \"carrier\"\nchannel = \"sms\"\nmode = \"live\"\nrate = 0.0\naddress = \"{carrier}\"\n\
         system_id = \"bench\"\npassword = \"bench\"\nwindow = {ROUTE_WINDOW}\n\
         source = {{ton = 5, npi = 0, addr = \"Campanile\"}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::Side;
    use super::*;

    #[tokio::test]
    async fn a_door_that_opens_late_is_waited_for() {
        let door = format!("127.0.0.1:{}", free_port().unwrap());
        let late = door.clone();
        tokio::join!(async move { open_door(&late).await.unwrap() }, async move {
            tokio::time::sleep(ASK_EVERY).await;
            tokio::net::TcpListener::bind(door).await.unwrap().accept().await.unwrap();
        });
    }

    #[test]
    fn the_configuration_is_toml_with_the_doors_and_a_route() {
        let options = SmppOptions { window: 7, connections: 3, ..SmppOptions::new("x".into(), Side::Server) };
        let config: toml::Table = config(&options, "127.0.0.1:1", "127.0.0.1:2").parse().unwrap();
        assert_eq!(config["smpp"]["listen"].as_str(), Some("127.0.0.1:1"));
        assert_eq!(config["smpp"]["client"][0]["window"].as_integer(), Some(7));
        assert_eq!(config["route"][0]["address"].as_str(), Some("127.0.0.1:2"));
        assert_eq!(config["platform"][0]["username"].as_str(), Some(PLATFORM));
    }
}

//! A connection to an SNPP server: the client machine over a stream.

use net::Stream;
use snpp::client::{SnppClient, SnppClientEvent, SnppClientOptions, SnppInput};
use std::io;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Read at a time.
const INPUT_OCTETS: usize = 4 * 1024;
/// While no octet can be written the server does not read: after so long it never will.
const WRITE_MAX: Duration = Duration::from_secs(60);

/// An open connection.
pub(super) struct SnppLink {
    stream: Stream,
    pub(super) client: SnppClient,
    input: Vec<u8>,
    /// What was written is flushed.
    is_flushed: bool,
}

impl SnppLink {
    pub(super) fn new(stream: Stream, options: SnppClientOptions) -> SnppLink {
        let client = SnppClient::new(options, Instant::now());
        SnppLink { stream, client, input: vec![0; INPUT_OCTETS], is_flushed: true }
    }

    /// The next event, or nothing once octets were read that make none: the machine may be idle then. To be
    /// awaited until the session's end. Safe to drop.
    pub(super) async fn turn(&mut self) -> Option<SnppClientEvent> {
        if let Some(event) = self.client.poll_event() {
            return Some(event);
        }
        match tokio::time::timeout(WRITE_MAX, self.write()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.lose(&format!("the connection broke: {error}")),
            Err(_) => self.lose("the server did not read what was written"),
        }
        if let Some(event) = self.client.poll_event() {
            return Some(event);
        }
        self.read().await;
        self.client.poll_event()
    }

    /// The connection is given up.
    pub(super) fn lose(&mut self, why: &str) {
        self.client.handle_input(Instant::now(), SnppInput::Lost(why));
    }

    /// Writes all that waits, and tells the machine of each piece.
    async fn write(&mut self) -> io::Result<()> {
        while !self.client.poll_transmit().is_empty() {
            let written = self.stream.write(self.client.poll_transmit()).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.is_flushed = false;
            self.client.handle_input(Instant::now(), SnppInput::Sent(written));
        }
        if !self.is_flushed {
            self.stream.flush().await?;
            self.is_flushed = true;
        }
        Ok(())
    }

    /// Waits for octets, or until the machine wants to know the time.
    async fn read(&mut self) {
        let due = self.client.poll_timeout();
        let late = async {
            match due {
                Some(due) => tokio::time::sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            read = self.stream.read(&mut self.input) => match read {
                Ok(0) => self.lose("the server closed the connection"),
                Ok(length) => {
                    let octets = &self.input[..length];
                    self.client.handle_input(Instant::now(), SnppInput::Octets(octets));
                }
                Err(error) => self.lose(&format!("the connection broke: {error}")),
            },
            () = late => self.client.handle_timeout(Instant::now()),
        }
    }
}

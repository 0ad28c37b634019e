//! Behaviour of a simulated carrier that somebody who looks at a demonstration chooses while it runs, and the
//! listener that such a carrier closes and opens again.

use crate::chance::Delay;
use crate::smsc::accepted;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How long each answer of a slow carrier takes.
pub(crate) const SLOW_ANSWER: Delay = Delay::Fixed(Duration::from_secs(3));
/// An address that cannot be had again at once is tried again after so long.
const REOPEN_AFTER: Duration = Duration::from_millis(20);

/// What a carrier does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Behaviour {
    /// As it was started.
    #[default]
    Works,
    /// It does not listen, and has dropped its connections.
    Down,
    /// Each answer takes some seconds.
    Slow,
    /// It takes messages and never says what became of them.
    WithoutReceipts,
}

impl Behaviour {
    /// All that a carrier with receipts can do.
    pub const ALL: [Behaviour; 4] =
        [Behaviour::Works, Behaviour::Down, Behaviour::Slow, Behaviour::WithoutReceipts];
    /// What one can do that has none to leave out.
    pub const PLAIN: [Behaviour; 3] = [Behaviour::Works, Behaviour::Down, Behaviour::Slow];
}

/// Whether the listeners of a carrier are closed.
pub(crate) struct Outage(watch::Sender<bool>);

impl Outage {
    pub(crate) fn none() -> Outage {
        Outage(watch::Sender::new(false))
    }

    /// Closes the listeners, or opens them.
    pub(crate) fn set(&self, is_down: bool) {
        self.0.send_replace(is_down);
    }

    /// A listener that this closes. Connections that were accepted are cut by raising `cut`.
    ///
    /// # Errors
    /// The system does not say where it listens.
    pub(crate) fn over(&self, listener: TcpListener, cut: watch::Sender<u64>) -> io::Result<ClosingListener> {
        let address = listener.local_addr()?;
        Ok(ClosingListener { listener: Some(listener), address, is_down: self.0.subscribe(), cut })
    }
}

/// A listener that is closed while there is an outage, and then listens at its address again.
pub(crate) struct ClosingListener {
    listener: Option<TcpListener>,
    address: SocketAddr,
    is_down: watch::Receiver<bool>,
    /// Raised to cut all connections. Who accepts them raises it, so that none slips through between.
    cut: watch::Sender<u64>,
}

impl ClosingListener {
    /// The next connection, however long there is an outage.
    pub(crate) async fn accept(&mut self) -> TcpStream {
        loop {
            if *self.is_down.borrow_and_update() {
                self.listener = None;
                self.cut.send_modify(|generation| *generation += 1);
                if self.is_down.wait_for(|is_down| !is_down).await.is_err() {
                    // The carrier has ended.
                    std::future::pending::<()>().await;
                }
            }
            self.open().await;
            let (Some(listener), is_down) = (&self.listener, &mut self.is_down) else { continue };
            tokio::select! {
                stream = accepted(listener) => return stream,
                changed = is_down.changed() => if changed.is_err() {
                    std::future::pending::<()>().await;
                },
            }
        }
    }

    async fn open(&mut self) {
        if self.listener.is_some() {
            return;
        }
        match TcpListener::bind(self.address).await {
            Ok(listener) => self.listener = Some(listener),
            Err(error) => {
                tracing::warn!(%error, address = %self.address, "cannot listen again");
                tokio::time::sleep(REOPEN_AFTER).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn an_outage_refuses_and_cuts_connections_and_its_end_lets_them_in_again() {
        let (outage, cut) = (Outage::none(), watch::Sender::new(0));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut listener = outage.over(listener, cut.clone()).unwrap();
        tokio::spawn(async move {
            loop {
                let mut stream = listener.accept().await;
                let mut cut = cut.subscribe();
                tokio::spawn(async move {
                    let mut octets = [0; 1];
                    tokio::select! {
                        _ = stream.read(&mut octets) => {}
                        _ = cut.changed() => {}
                    }
                });
            }
        });
        let mut open = TcpStream::connect(address).await.unwrap();
        outage.set(true);
        assert_eq!(open.read(&mut [0; 1]).await.unwrap_or(0), 0, "it was cut");
        assert!(TcpStream::connect(address).await.is_err(), "nobody listens");
        outage.set(false);
        let again = async {
            while TcpStream::connect(address).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), again).await.unwrap();
    }

    async fn until(address: SocketAddr, is_up: bool) {
        let changed = async {
            while TcpStream::connect(address).await.is_ok() != is_up {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), changed).await.unwrap();
    }

    async fn goes_down_and_up(
        address: SocketAddr,
        behaves: impl Fn(Behaviour) -> Result<(), String>,
        has_receipts: bool,
    ) {
        behaves(Behaviour::Down).unwrap();
        until(address, false).await;
        behaves(Behaviour::Slow).unwrap();
        until(address, true).await;
        behaves(Behaviour::Down).unwrap();
        until(address, false).await;
        assert_eq!(behaves(Behaviour::WithoutReceipts).is_ok(), has_receipts);
        behaves(Behaviour::Works).unwrap();
        until(address, true).await;
    }

    #[tokio::test]
    async fn every_simulator_goes_down_and_comes_back_at_its_address() {
        let smsc = crate::smsc::Smsc::start(Default::default()).await.unwrap();
        goes_down_and_up(smsc.address(), |one| smsc.behave(one), true).await;
        let messengers = crate::im::Messengers::start(Default::default()).await.unwrap();
        goes_down_and_up(messengers.address(), |one| messengers.behave(one), true).await;
        let mailbox = crate::mailbox::Mailbox::start(Default::default()).await.unwrap();
        goes_down_and_up(mailbox.address(), |one| mailbox.behave(one), false).await;
        let pagers = crate::pager::PagingCarrier::start(Default::default()).await.unwrap();
        goes_down_and_up(pagers.address(), |one| pagers.behave(one), false).await;
        let broker = crate::broker::Broker::start(Default::default()).await.unwrap();
        goes_down_and_up(broker.address(), |one| broker.behave(one), false).await;
    }
}

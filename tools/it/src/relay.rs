use crate::free_port;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Octets read at a time.
const CHUNK_OCTETS: usize = 64 * 1024;

/// A network between one process and one server, which can be cut: then nothing passes either way, and
/// neither end hears of it, as when a switch dies. What was on its way is kept and passes when it is mended,
/// as TCP sends it again.
///
/// New connections are taken while it is cut, and nothing comes of them until it is mended.
pub struct Relay {
    address: SocketAddr,
    cut: Arc<watch::Sender<bool>>,
    task: JoinHandle<()>,
}

impl Relay {
    /// Listens on a port of its own, and passes each connection on to `target`.
    pub async fn start(target: SocketAddr) -> Relay {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let listener = TcpListener::bind(address).await.unwrap();
        let cut = Arc::new(watch::Sender::new(false));
        let task = tokio::spawn(listen(listener, target, Arc::clone(&cut)));
        Relay { address, cut, task }
    }

    /// Where to connect instead of the target.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Nothing passes any more.
    pub fn cut(&self) {
        self.cut.send_replace(true);
    }

    /// All passes again, also what waited.
    pub fn mend(&self) {
        self.cut.send_replace(false);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(listener: TcpListener, target: SocketAddr, cut: Arc<watch::Sender<bool>>) {
    // Aborted with this task.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((near, _)) = accepted {
                    connections.spawn(pass(near, target, cut.subscribe()));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Both ways, until an end closes it and the other knows.
async fn pass(near: TcpStream, target: SocketAddr, mut cut: watch::Receiver<bool>) {
    whole(&mut cut).await;
    let Ok(far) = TcpStream::connect(target).await else { return };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    tokio::join!(one_way(near_in, far_out, cut.clone()), one_way(far_in, near_out, cut));
}

async fn one_way(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut cut: watch::Receiver<bool>) {
    let mut octets = vec![0; CHUNK_OCTETS];
    loop {
        whole(&mut cut).await;
        let count = from.read(&mut octets).await.unwrap_or(0);
        // It may have been cut while this waited: the end of a connection does not pass either.
        whole(&mut cut).await;
        if count == 0 || to.write_all(&octets[..count]).await.is_err() {
            return;
        }
    }
}

/// Waits until it is not cut.
async fn whole(cut: &mut watch::Receiver<bool>) {
    let _ = cut.wait_for(|is_cut| !is_cut).await;
}

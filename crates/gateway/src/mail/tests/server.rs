//! The model server behind a real socket.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use net::{Stream, TlsServer, TlsServerSettings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The model server of the machine's own tests.
#[path = "../../../../../libs/smtp/src/client/tests/model.rs"]
mod model;
use model::Model;

/// How the server is.
#[derive(Clone, Default)]
pub struct Manners {
    pub chunking: bool,
    pub lockstep: bool,
    pub credentials: Option<String>,
    pub start_tls: Option<TlsServer>,
    pub implicit_tls: Option<TlsServer>,
    /// Before each reply.
    pub latency: Duration,
}

/// A relay on a port.
pub struct Server {
    pub address: String,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    /// Envelope sender, recipient's local part, message.
    mails: Mutex<Vec<(String, String, Vec<u8>)>>,
    /// All that there were.
    connections: Mutex<Vec<JoinHandle<()>>>,
    /// The next octets that come to an open session end it unread.
    ends_at_next: AtomicBool,
}

impl Server {
    pub async fn start(manners: Manners) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(State::default());
        let given = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let (state, manners) = (Arc::clone(&given), manners.clone());
                let talking =
                    tokio::spawn(
                        async move { connection(Stream::plain(tcp).unwrap(), manners, &state).await },
                    );
                given.connections.lock().unwrap().push(talking);
            }
        });
        Server { address, state, task }
    }

    pub fn mails(&self) -> Vec<(String, String, Vec<u8>)> {
        self.state.mails.lock().unwrap().clone()
    }

    /// Local parts of all recipients, sorted.
    pub fn recipients(&self) -> Vec<String> {
        let mut names: Vec<String> = self.mails().into_iter().map(|(_, name, _)| name).collect();
        names.sort();
        names
    }

    pub fn connections(&self) -> usize {
        self.state.connections.lock().unwrap().len()
    }

    /// Ends all connections; they are closed when this returns, so that nothing sent from then on is answered
    /// on them.
    pub async fn cut(&self) {
        let there = self.abort();
        while self.state.connections.lock().unwrap()[..there]
            .iter()
            .any(|connection| !connection.is_finished())
        {
            tokio::task::yield_now().await;
        }
    }

    /// Ends the session to which the next octets come, once, as if it had ended a moment before them.
    pub fn cut_at_next_octets(&self) {
        self.state.ends_at_next.store(true, Ordering::SeqCst);
    }

    fn abort(&self) -> usize {
        let connections = self.state.connections.lock().unwrap();
        connections.iter().for_each(JoinHandle::abort);
        connections.len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
        self.abort();
    }
}

async fn connection(mut stream: Stream, manners: Manners, state: &State) {
    if let Some(tls) = &manners.implicit_tls {
        let Ok(secured) = stream.into_tls_server(tls).await else { return };
        stream = secured;
    }
    let mut model = Model::new(!manners.lockstep, manners.chunking);
    model.start_tls = manners.start_tls.is_some();
    model.credentials.clone_from(&manners.credentials);
    let mut buffer = vec![0; 65_536];
    loop {
        if manners.latency > Duration::ZERO {
            tokio::time::sleep(manners.latency).await;
        }
        state.mails.lock().unwrap().append(&mut model.mails);
        let output = std::mem::take(&mut model.output);
        if stream.write_all(&output).await.is_err() || stream.flush().await.is_err() || model.closed {
            return;
        }
        if std::mem::take(&mut model.securing) {
            let Some(tls) = &manners.start_tls else { return };
            let Ok(secured) = stream.into_tls_server(tls).await else { return };
            stream = secured;
        }
        match stream.read(&mut buffer).await {
            Ok(_) if state.ends_at_next.swap(false, Ordering::SeqCst) => return,
            Ok(read) if read > 0 => model.receive(&buffer[..read]),
            _ => return,
        }
    }
}

/// A certificate of our own making for `localhost`, in files: the server, and the file to trust.
pub fn certificate(dir: &std::path::Path) -> (TlsServer, std::path::PathBuf) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (cert_file, key_file) = (dir.join("cert.pem"), dir.join("key.pem"));
    std::fs::write(&cert_file, made.cert.pem()).unwrap();
    std::fs::write(&key_file, made.signing_key.serialize_pem()).unwrap();
    let settings = TlsServerSettings { cert_file: cert_file.clone(), key_file };
    (TlsServer::new(&settings).unwrap(), cert_file)
}

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// What is waited for comes in so long.
const COMES_MAX: Duration = Duration::from_secs(60);

/// A TCP client at a loopback address of its own, which says octets and hears octets.
pub struct Caller {
    stream: TcpStream,
    heard: Vec<u8>,
}

impl Caller {
    /// Connects from this address to a port of this machine.
    ///
    /// # Errors
    /// Refused, or no descriptor left.
    pub async fn connect(from: Ipv4Addr, port: u16) -> io::Result<Caller> {
        Caller::connect_with(from, port, None).await
    }

    /// Connects as somebody who hardly takes anything before it reads.
    ///
    /// # Errors
    /// As [`Caller::connect`].
    pub async fn connect_deaf(from: Ipv4Addr, port: u16) -> io::Result<Caller> {
        Caller::connect_with(from, port, Some(2_048)).await
    }

    async fn connect_with(from: Ipv4Addr, port: u16, buffer: Option<u32>) -> io::Result<Caller> {
        let socket = TcpSocket::new_v4()?;
        if let Some(buffer) = buffer {
            socket.set_recv_buffer_size(buffer)?;
        }
        socket.bind(SocketAddr::from((from, 0)))?;
        let stream = socket.connect(SocketAddr::from(([127, 0, 0, 1], port))).await?;
        stream.set_nodelay(true)?;
        Ok(Caller { stream, heard: Vec::new() })
    }

    /// Says octets.
    ///
    /// # Errors
    /// The connection is gone.
    pub async fn say(&mut self, octets: &[u8]) -> io::Result<()> {
        self.stream.write_all(octets).await
    }

    /// Everything that was heard until it ends with `end`, which is taken.
    ///
    /// # Errors
    /// The connection ended before.
    pub async fn hear(&mut self, end: &[u8]) -> io::Result<String> {
        let hearing = async {
            loop {
                if self.heard.ends_with(end) {
                    return Ok(String::from_utf8_lossy(&std::mem::take(&mut self.heard)).into_owned());
                }
                if self.stream.read_buf(&mut self.heard).await? == 0 {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        format!("it ended after {:?}", String::from_utf8_lossy(&self.heard)),
                    ));
                }
            }
        };
        tokio::time::timeout(COMES_MAX, hearing).await.map_err(io::Error::from)?
    }

    /// The first `octets` that are heard.
    ///
    /// # Errors
    /// The connection ended before.
    pub async fn hear_octets(&mut self, octets: usize) -> io::Result<Vec<u8>> {
        let hearing = async {
            while self.heard.len() < octets {
                if self.stream.read_buf(&mut self.heard).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Ok(self.heard.drain(..octets).collect())
        };
        tokio::time::timeout(COMES_MAX, hearing).await.map_err(io::Error::from)?
    }

    /// Says octets and hears what comes up to `end`.
    ///
    /// # Errors
    /// The connection ended before.
    pub async fn ask(&mut self, octets: &[u8], end: &[u8]) -> io::Result<String> {
        self.say(octets).await?;
        self.hear(end).await
    }

    /// Waits until the other side ends it, however long that takes; what comes before is nothing to us.
    pub async fn outlast(&mut self) {
        let mut ignored = [0; 1_024];
        while matches!(self.stream.read(&mut ignored).await, Ok(1..)) {}
    }

    /// Waits until the other side ends it; what came before.
    pub async fn end(&mut self) -> String {
        let ending = async { while matches!(self.stream.read_buf(&mut self.heard).await, Ok(1..)) {} };
        tokio::time::timeout(COMES_MAX, ending).await.expect("the connection ends");
        String::from_utf8_lossy(&self.heard).into_owned()
    }
}

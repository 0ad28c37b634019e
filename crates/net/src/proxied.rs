//! Client behind a balancer: its address is read from the PROXY header that comes first.

use crate::AllowedIp;
use proxy_protocol::{FIXED_OCTETS, ProxiedSource};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

/// A balancer that has not sent its header by then is closed.
const HEADER_MAX: Duration = Duration::from_secs(5);

/// Balancers: networks whose connections begin with a PROXY header, and nobody else's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Balancers {
    networks: Vec<AllowedIp>,
}

impl Balancers {
    /// Those of these networks; none: no connection begins with a header.
    pub fn new(networks: Vec<AllowedIp>) -> Balancers {
        Balancers { networks }
    }

    /// Whether a connection from there begins with a header.
    pub fn holds(&self, peer: SocketAddr) -> bool {
        self.networks.iter().any(|network| network.holds(peer.ip()))
    }
}

/// Reads a balancer's header, and not an octet more: the address of the client it names, or `peer` where it
/// connects for itself.
///
/// # Errors
/// No header in time, or none that can be read: the connection is to be closed without an answer.
pub async fn read_client<S: AsyncRead + Unpin>(stream: &mut S, peer: SocketAddr) -> io::Result<SocketAddr> {
    let broken = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let header = async {
        let mut fixed = [0; FIXED_OCTETS];
        stream.read_exact(&mut fixed).await?;
        let mut rest = vec![0; proxy_protocol::rest_octets(&fixed).map_err(broken)?];
        stream.read_exact(&mut rest).await?;
        proxy_protocol::source(&fixed, &rest).map_err(broken)
    };
    match timeout(HEADER_MAX, header).await {
        Ok(Ok(ProxiedSource::Client(client))) => Ok(client),
        Ok(Ok(ProxiedSource::Local)) => Ok(peer),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "no PROXY header in time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[tokio::test]
    async fn the_header_is_taken_off_and_what_follows_it_stays() {
        let (mut balancer, mut door) = tokio::io::duplex(1_024);
        let (client, peer): (SocketAddr, SocketAddr) =
            ("192.0.2.7:999".parse().unwrap(), "10.0.0.1:80".parse().unwrap());
        let mut octets = Vec::new();
        proxy_protocol::write(client, peer, &mut octets);
        octets.extend_from_slice(b"EXIT\0");
        balancer.write_all(&octets).await.unwrap();
        assert_eq!(read_client(&mut door, peer).await.unwrap(), client);
        let mut rest = [0; 5];
        door.read_exact(&mut rest).await.unwrap();
        assert_eq!(&rest, b"EXIT\0");
    }

    #[tokio::test(start_paused = true)]
    async fn a_balancer_without_a_header_is_closed() {
        let peer: SocketAddr = "10.0.0.1:80".parse().unwrap();
        let (mut balancer, mut door) = tokio::io::duplex(1_024);
        let error = read_client(&mut door, peer).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        balancer.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
        let error = read_client(&mut door, peer).await.unwrap_err();
        assert!(error.to_string().contains("send-proxy-v2"), "{error}");
    }
}

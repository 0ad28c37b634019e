//! The network that can be cut, which other tests lean on.

use crate::fixtures::SOON;
use it::{Relay, eventually, within};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[tokio::test]
async fn a_network_that_is_cut_passes_nothing_and_loses_nothing() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let relay = Relay::start(server.local_addr().unwrap()).await;
    let mut near = TcpStream::connect(relay.address()).await.unwrap();
    let (mut far, _) = within("a connection", SOON, server.accept()).await.unwrap();
    near.write_all(b"before ").await.unwrap();
    let mut heard = [0; 7];
    within("what was said before", SOON, far.read_exact(&mut heard)).await.unwrap();
    assert_eq!(&heard, b"before ");

    relay.cut();
    near.write_all(b"while").await.unwrap();
    let mut late = TcpStream::connect(relay.address()).await.unwrap();
    late.write_all(b"late").await.unwrap();
    drop(late);
    // Nothing can be awaited here: nothing is to come.
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert_eq!(far.try_read(&mut heard).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);

    relay.mend();
    let mut rest = [0; 5];
    within("what was said meanwhile", SOON, far.read_exact(&mut rest)).await.unwrap();
    assert_eq!(&rest, b"while");
    let (mut other, _) = within("who came meanwhile", SOON, server.accept()).await.unwrap();
    let mut all = Vec::new();
    within("all of it", SOON, other.read_to_end(&mut all)).await.unwrap();
    assert_eq!(all, b"late");
    drop(far);
    eventually("the end passes too", SOON, async || match near.read(&mut heard).await {
        Ok(0) | Err(_) => Ok(()),
        Ok(count) => Err(format!("{count} octets")),
    })
    .await;
}

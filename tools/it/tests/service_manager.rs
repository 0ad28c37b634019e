//! A story of the service manager: it is told when the server is ready, reloads, lives and stops.

use it::{Server, Setup};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// A word takes at most so long.
const WORD_MAX: Duration = Duration::from_secs(60);

/// The next thing that is said, of those that are no sign of life; and whether there was one before it.
fn next(socket: &UnixDatagram) -> (String, bool) {
    let mut lived = false;
    loop {
        let mut octets = [0; 256];
        let length = socket.recv(&mut octets).expect("something is said in time");
        match std::str::from_utf8(&octets[..length]).unwrap() {
            "WATCHDOG=1" => lived = true,
            other => return (other.to_owned(), lived),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_manager_is_told_when_the_server_is_ready_reloads_lives_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(WORD_MAX)).unwrap();
    let environment = vec![
        ("NOTIFY_SOCKET".to_owned(), path.display().to_string()),
        ("WATCHDOG_USEC".to_owned(), "300000".to_owned()),
    ];
    let mut server = Server::spawned(Setup { environment, ..Setup::default() });
    assert_eq!(next(&socket), ("READY=1".to_owned(), false));
    // Ready means that the doors listen.
    assert!(std::net::TcpStream::connect(("127.0.0.1", server.port())).is_ok());
    let mut octets = [0; 64];
    let length = socket.recv(&mut octets).expect("it lives");
    assert_eq!(&octets[..length], b"WATCHDOG=1");
    server.signal(libc::SIGHUP);
    let (reloading, _) = next(&socket);
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    assert_eq!(next(&socket).0, "READY=1");
    server.stop().await;
    assert_eq!(next(&socket).0, "STOPPING=1");
}

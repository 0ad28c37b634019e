use super::PATIENCE;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A client that says what it is told, octet for octet.
pub(super) struct Client {
    pub(super) stream: TcpStream,
    heard: Vec<u8>,
    terminator: &'static [u8],
}

impl Client {
    pub(super) fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Client { stream, heard: Vec::new(), terminator: b"\0" }
    }

    /// One that ends its requests otherwise.
    pub(super) fn ending(self, terminator: &'static [u8]) -> Client {
        Client { terminator, ..self }
    }

    pub(super) fn send(&mut self, octets: &[u8]) {
        self.stream.write_all(octets).unwrap();
    }

    /// The next reply.
    pub(super) fn hear(&mut self) -> String {
        loop {
            let end = self.heard.windows(self.terminator.len()).position(|window| window == self.terminator);
            if let Some(end) = end {
                let reply = String::from_utf8(self.heard[..end].to_vec()).unwrap();
                self.heard.drain(..end + self.terminator.len());
                return reply;
            }
            let mut buffer = [0; 4096];
            let read = self.stream.read(&mut buffer).unwrap();
            assert!(read > 0, "the connection ended; heard so far: {:?}", self.heard);
            self.heard.extend_from_slice(&buffer[..read]);
        }
    }

    /// The reply to a request.
    pub(super) fn ask(&mut self, request: &str) -> String {
        let whole = [request.as_bytes(), self.terminator].concat();
        self.send(&whole);
        self.hear()
    }

    /// Nothing more comes: the other side has closed.
    pub(super) fn ends(&mut self) {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => assert_eq!((rest, &self.heard[..]), (Vec::new(), &b""[..])),
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{error}")
            }
        }
    }
}

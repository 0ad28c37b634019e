//! Address and port, or a host name and a port, as people write them.

use std::net::{SocketAddr, ToSocketAddrs};

/// Reads `127.0.0.1:8080`, `[::1]:8080`, or a host name with a port: `localhost:8080`. A name is looked up
/// now; of several addresses the first of IPv4 is taken, which is what the other doors and examples use.
///
/// # Errors
/// What is wrong with it, in words that name it: no port, no name, or a name that has no address.
pub fn socket_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let form = || format!("{text:?} is not address:port, such as 127.0.0.1:8080 or localhost:8080");
    let (host, port) = text.rsplit_once(':').ok_or_else(form)?;
    let port: u16 = port.parse().map_err(|_| form())?;
    if host.is_empty() || host == "*" {
        return Err(format!("{text:?} has no address: 0.0.0.0:{port} is every address of this machine"));
    }
    if host.contains([':', '/', '@', ' '])
        || host.bytes().all(|octet| octet.is_ascii_digit() || octet == b'.')
    {
        return Err(form());
    }
    let found: Vec<SocketAddr> = (host, port)
        .to_socket_addrs()
        .map_err(|error| format!("{text:?}: no address is known for the host name {host:?} ({error})"))?
        .collect();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| format!("{text:?}: the host name {host:?} has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_name_is_looked_up_and_what_is_neither_is_refused_with_an_example() {
        let local: SocketAddr = "127.0.0.1:8080".parse().unwrap();
        for text in ["127.0.0.1:8080", "localhost:8080"] {
            assert_eq!(socket_address(text), Ok(local), "{text}");
        }
        assert_eq!(socket_address("[::1]:9"), Ok("[::1]:9".parse().unwrap()));
        for (text, words) in [
            ("localhost", "such as 127.0.0.1:8080 or localhost:8080"),
            ("8080", "such as"),
            ("127.0.0.1", "such as"),
            ("127.0.0.1.5:80", "such as"),
            ("localhost:http", "such as"),
            ("localhost:70000", "such as"),
            ("http://localhost:80", "such as"),
            ("::1:80:", "such as"),
            (":8080", "0.0.0.0:8080 is every address"),
            ("*:80", "0.0.0.0:80 is every address"),
            ("no-such-host.invalid:80", "no address is known for the host name \"no-such-host.invalid\""),
        ] {
            let refused = socket_address(text).unwrap_err();
            assert!(refused.contains(words), "{text}: {refused}");
        }
    }
}

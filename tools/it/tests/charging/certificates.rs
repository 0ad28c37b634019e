//! Certificates of peers: with `tls_client_ca` a peer comes in by TLS only with one of its authority, for its
//! Origin-Host, and we show ours to a peer that asks for one.

use super::{Ocs, PATIENCE};
use diameter::frame::next_frame;
use diameter::header::MESSAGE_OCTETS_MAX;
use it::credit::{ReceivedMessage, SERVER_HOST, cer};
use it::{eventually, free_port};
use net::{TlsClient, TlsClientSettings, TlsIdentity};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use std::path::{Path, PathBuf};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The Origin-Host of who connects.
const PEER: &str = "pgw.client.test";

/// An authority that writes what it signs into a folder.
struct Authority<'a> {
    folder: &'a Path,
    params: CertificateParams,
    key: KeyPair,
    file: PathBuf,
}

impl<'a> Authority<'a> {
    fn new(folder: &'a Path, name: &str) -> Authority<'a> {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let file = folder.join(format!("{name}.pem"));
        std::fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
        Authority { folder, params, key, file }
    }

    /// A certificate with these dNSNames and this common name, in files of this name.
    fn signs(&self, file: &str, dns_names: &[&str], common_name: &str, is_expired: bool) -> TlsIdentity {
        let names: Vec<String> = dns_names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, common_name);
        if is_expired {
            (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
        }
        let key = KeyPair::generate().unwrap();
        let issuer = Issuer::from_params(&self.params, &self.key);
        let (cert_file, key_file) =
            (self.folder.join(format!("{file}.pem")), self.folder.join(format!("{file}.key")));
        std::fs::write(&cert_file, params.signed_by(&key, &issuer).unwrap().pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        TlsIdentity { cert_file, key_file }
    }
}

/// The door of a server that asks for certificates of this authority.
fn door(port: u16, authority: &Authority<'_>) -> String {
    let TlsIdentity { cert_file, key_file } = authority.signs("ocs", &[SERVER_HOST], SERVER_HOST, false);
    format!(
        "listen_tls = \"127.0.0.1:{port}\"\ntls_cert = {cert_file:?}\ntls_key = {key_file:?}\ntls_client_ca = {:?}\n",
        authority.file
    )
}

/// Of a peer of which another connection is open (RFC 6733, section 7.1.4).
const ELECTION_LOST: u32 = 4003;

/// The Result-Code that a CER of the peer gets; nothing if the connection is refused before.
async fn asked(port: u16, trust: &TlsClient) -> Option<u32> {
    let mut stream = net::connect(&format!("127.0.0.1:{port}"), Some(trust), PATIENCE).await.ok()?;
    let _ = stream.write_all(&cer(PEER).octets()).await;
    let _ = stream.flush().await;
    let mut heard = Vec::new();
    loop {
        if let Some(frame) = next_frame(&heard, MESSAGE_OCTETS_MAX).unwrap() {
            return Some(ReceivedMessage::from(frame.to_vec()).code());
        }
        // By TLS 1.3 a server refuses a certificate after the client's handshake is over.
        if stream.read_buf(&mut heard).await.unwrap_or(0) == 0 {
            return None;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_comes_in_by_tls_with_a_certificate_for_its_origin_host_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, strangers) =
        (Authority::new(folder.path(), "authority"), Authority::new(folder.path(), "strangers"));
    let port = free_port();
    let _ocs = Ocs::start(&door(port, &authority), "").await;
    let cases = [
        ("its name", Some(authority.signs("right", &[PEER], "", false)), Some(2001)),
        (
            "its name in other letters",
            Some(authority.signs("case", &["PGW.Client.Test"], "", false)),
            Some(2001),
        ),
        (
            "a star for its first label",
            Some(authority.signs("star", &["*.client.test"], "", false)),
            Some(2001),
        ),
        ("its common name alone", Some(authority.signs("common", &[], PEER, false)), Some(2001)),
        ("another dNSName beside it", Some(authority.signs("beside", &["x.test"], PEER, false)), Some(3010)),
        ("another host's name", Some(authority.signs("other", &["x.client.test"], "x", false)), Some(3010)),
        ("another authority", Some(strangers.signs("strange", &[PEER], PEER, false)), None),
        ("one that has expired", Some(authority.signs("old", &[PEER], PEER, true)), None),
        ("none", None, None),
    ];
    let settings = TlsClientSettings {
        ca_file: Some(authority.file.clone()),
        server_name: Some(SERVER_HOST.to_owned()),
    };
    for (what, identity, code) in cases {
        let trust = TlsClient::known_by(&settings, identity.as_ref()).unwrap();
        let asked = async {
            loop {
                match asked(port, &trust).await {
                    // The server has not yet seen that the connection before is closed.
                    Some(ELECTION_LOST) => {}
                    heard => break heard,
                }
            }
        };
        let heard = it::within("a CER by TLS", PATIENCE, asked).await;
        assert_eq!(heard, code, "{what}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn we_show_our_certificate_to_a_peer_that_asks_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "authority");
    let port = free_port();
    let theirs = Ocs::start(&door(port, &authority), "").await;
    let to = |name: &str, more: &str| {
        format!(
            "[diameter]\nlisten = \"127.0.0.1:{}\"\norigin_host = \"{name}\"\norigin_realm = \"client.test\"\nreconnect = \"2s\"\n\
             [[diameter.peer]]\norigin_host = \"{SERVER_HOST}\"\naddress = \"127.0.0.1:{port}\"\ntls = true\n\
             ca_file = {:?}\nserver_name = \"{SERVER_HOST}\"\n{more}",
            free_port(),
            authority.file
        )
    };
    let TlsIdentity { cert_file, key_file } = authority.signs("ours", &["ours.client.test"], "", false);
    let shows = format!("tls_cert = {cert_file:?}\ntls_key = {key_file:?}\n");
    let without = it::Server::start(&to("without.client.test", "")).await;
    let ours = it::Server::start(&to("ours.client.test", &shows)).await;
    eventually("the one with a certificate is let in", PATIENCE, async || {
        let (ours, log) = (ours.log(), theirs.server.log());
        if ours.contains("Connected to a Diameter peer") && log.contains("ours.client.test") {
            Ok(())
        } else {
            Err(ours)
        }
    })
    .await;
    assert!(!theirs.server.log().contains("without.client.test"));
    assert!(!without.log().contains("Connected to a Diameter peer"));
}

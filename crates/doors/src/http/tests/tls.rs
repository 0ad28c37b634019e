use super::*;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// TLS of a server named localhost, and its certificate.
pub(super) fn identity() -> (Arc<rustls::ServerConfig>, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = made.cert.der().clone();
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    (Arc::new(tls), certificate)
}

#[tokio::test]
async fn the_door_speaks_tls_and_its_cookies_are_for_tls_alone() {
    let (tls, certificate) = identity();
    let server = TestServer::behind(HttpLimits::default(), None, Some(tls), None).await;
    let certificate = reqwest::Certificate::from_der(&certificate).unwrap();
    let client = Client::builder().tls_certs_only([certificate]).build().unwrap();
    let front =
        client.get(format!("https://localhost:{}/", server.door.address().port())).send().await.unwrap();
    assert_eq!(front.status(), 200);
    assert!(front.headers()["set-cookie"].to_str().unwrap().ends_with("; Secure"));

    // Who speaks plainly to it is told so, and hurts nobody.
    let mut plain = tokio::net::TcpStream::connect(server.door.address()).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    plain.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("use https://"), "{answer}");
    server.close().await;
}

#[tokio::test]
async fn who_speaks_tls_to_a_plain_door_gets_an_alert_and_others_are_served() {
    let server = TestServer::open().await;
    let mut hello = tokio::net::TcpStream::connect(server.door.address()).await.unwrap();
    // The beginning of a ClientHello, RFC 8446, 4.1.2.
    hello.write_all(&[22, 3, 1, 0, 100, 1, 0, 0, 96, 3, 3]).await.unwrap();
    let mut answer = Vec::new();
    hello.read_to_end(&mut answer).await.unwrap();
    assert_eq!(answer, [21, 3, 1, 0, 2, 2, 70], "a fatal alert: protocol_version");
    assert_eq!(server.get("/healthz").await.0, 200);
    server.close().await;
}

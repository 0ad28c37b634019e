use super::*;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn the_door_speaks_tls_and_its_cookies_are_for_tls_alone() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let server = TestServer::behind(HttpLimits::default(), None, Some(Arc::new(tls)), None).await;
    let certificate = reqwest::Certificate::from_pem(made.cert.pem().as_bytes()).unwrap();
    let client = Client::builder().tls_certs_only([certificate]).build().unwrap();
    let front =
        client.get(format!("https://localhost:{}/", server.door.address().port())).send().await.unwrap();
    assert_eq!(front.status(), 200);
    assert!(front.headers()["set-cookie"].to_str().unwrap().ends_with("; Secure"));

    // Who speaks plainly to it is cut off and hurts nobody.
    let mut plain = tokio::net::TcpStream::connect(server.door.address()).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP/1.1 200"));
    server.close().await;
}

//! TLS to a server that has it.

use super::{PostgresOptions, PostgresServer, open};
use crate::StoreError;
use crate::conformance::alerts::accept;
use rcgen::{CertificateParams, KeyPair};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

/// A file in the server's folder that is the server's alone.
fn give(server: &PostgresServer, name: &str, content: &str) {
    let data = server.data();
    let owner = fs::metadata(&data).unwrap();
    let path = data.join(name);
    fs::write(&path, content).unwrap();
    chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn certificate(name: &str, folder: &Path) -> (String, String, String) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().self_signed(&key).unwrap();
    let file = folder.join(format!("{name}.pem"));
    fs::write(&file, certificate.pem()).unwrap();
    (certificate.pem(), key.serialize_pem(), file.to_str().unwrap().replace('/', "%2F"))
}

#[tokio::test]
async fn a_server_is_believed_as_far_as_was_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate_pem, key, ours) = certificate("127.0.0.1", folder.path());
    let (.., another) = certificate("localhost", folder.path());
    let server = super::away::alone().await;
    give(&server, "server.crt", &certificate_pem);
    give(&server, "server.key", &key);
    server.sql("postgres", "ALTER SYSTEM SET ssl = on");
    server.restart();
    let url = server.create_database();
    let with_tls = format!(
        "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
         WHERE application_name = 'campanile' AND datname = '{}'",
        super::own::name_of(&url)
    );
    let believed = [
        ("disable", "f"),
        ("prefer", "t"),
        ("require", "t"),
        (&format!("require&sslrootcert={ours}"), "t"),
        (&format!("verify-full&sslrootcert={ours}"), "t"),
    ];
    for (n, (mode, encrypted)) in (1..).zip(believed) {
        let store = open(&format!("{url}?sslmode={mode}"), &PostgresOptions::default()).unwrap();
        accept(&*store, n).await;
        assert_eq!(server.sql("postgres", &with_tls), encrypted, "{mode}");
        store.close().await.unwrap();
        drop(store);
        while !server.sql("postgres", &with_tls).is_empty() {
            tokio::task::yield_now().await;
        }
    }
    let impatient = PostgresOptions { patience: std::time::Duration::ZERO, ..PostgresOptions::default() };
    let unbelieved = [
        "verify-full".to_owned(),
        format!("verify-full&sslrootcert={another}"),
        format!("require&sslrootcert={another}"),
    ];
    for mode in unbelieved {
        let refused = open(&format!("{url}?sslmode={mode}"), &impatient).err();
        match refused {
            Some(StoreError::Unreachable { why }) => assert!(why.contains("certificate"), "{mode}: {why}"),
            other => panic!("{mode}: {other:?}"),
        }
    }
    server.sql("postgres", "ALTER SYSTEM SET ssl = off");
    server.restart();
    let refused = open(&format!("{url}?sslmode=require"), &impatient).err();
    assert!(matches!(refused, Some(StoreError::Unreachable { .. })), "{refused:?}");
}

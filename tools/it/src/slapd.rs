//! Debian's slapd, a directory that nobody here wrote.

use crate::foreign::{folder, needs};
use crate::{eventually, free_port};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// It listens after so long.
const START_MAX: Duration = Duration::from_secs(30);
/// Who may read everything, in pages.
pub const READER: &str = "cn=reader,dc=example,dc=org";
/// The reader's password.
pub const READER_PASSWORD: &str = "reader-471147";

/// A directory of `dc=example,dc=org` on a port of its own. Dropping it kills it.
pub struct Slapd {
    child: Child,
    folder: TempDir,
    port: u16,
}

impl Slapd {
    /// Starts one with these people: uid, name, number.
    pub async fn start(people: &[(&str, &str, &str)]) -> Slapd {
        needs("slapd");
        let folder = tempfile::Builder::new().prefix("campanile-it-slapd-").tempdir().unwrap();
        let certified =
            rcgen::generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        fs::write(folder.path().join("cert.pem"), certified.cert.pem()).unwrap();
        fs::write(folder.path().join("key.pem"), certified.signing_key.serialize_pem()).unwrap();
        fs::write(folder.path().join("slapd.conf"), configuration(folder.path())).unwrap();
        let port = free_port();
        fill(folder.path(), people);
        let mut slapd = Slapd { child: serve(folder.path(), port), folder, port };
        slapd.ready().await;
        slapd
    }

    /// The same with other people.
    pub async fn replace(&mut self, people: &[(&str, &str, &str)]) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        fs::remove_dir_all(self.folder.path().join("data")).unwrap();
        fill(self.folder.path(), people);
        self.child = serve(self.folder.path(), self.port);
        self.ready().await;
    }

    /// Ends it: nobody listens any more.
    pub fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Where it listens, without TLS.
    pub fn url(&self) -> String {
        format!("ldap://localhost:{}", self.port)
    }

    /// The certificate that it shows after STARTTLS.
    pub fn certificate(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    async fn ready(&mut self) {
        let port = self.port;
        eventually("slapd listens", START_MAX, async || {
            std::net::TcpStream::connect(("127.0.0.1", port)).map(drop).map_err(|error| error.to_string())
        })
        .await;
    }
}

impl Drop for Slapd {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What is unpacked of Debian's package.
fn unpacked() -> PathBuf {
    folder("debian", "slapd/complete").join("slapd")
}

/// slapd, with the libraries that stand beside it.
fn program() -> Command {
    let root = unpacked();
    let mut command = Command::new(root.join("usr/sbin/slapd"));
    let libraries = ["usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib"];
    let libraries: Vec<String> = libraries.iter().map(|one| root.join(one).display().to_string()).collect();
    command.env("LD_LIBRARY_PATH", libraries.join(":")).stdin(Stdio::null());
    command
}

/// Answers of more than ten entries come in pages alone.
fn configuration(folder: &Path) -> String {
    let root = unpacked();
    let (root, folder) = (root.display(), folder.display());
    format!(
        "include {root}/etc/ldap/schema/core.schema\n\
         include {root}/etc/ldap/schema/cosine.schema\n\
         include {root}/etc/ldap/schema/inetorgperson.schema\n\
         pidfile {folder}/slapd.pid\n\
         modulepath {root}/usr/lib/ldap\n\
         moduleload back_mdb\n\
         TLSCertificateFile {folder}/cert.pem\n\
         TLSCertificateKeyFile {folder}/key.pem\n\
         sizelimit size.soft=10 size.hard=10 size.prtotal=unlimited\n\
         database mdb\n\
         suffix \"dc=example,dc=org\"\n\
         rootdn \"cn=admin,dc=example,dc=org\"\n\
         directory {folder}/data\n\
         access to attrs=userPassword by anonymous auth by * none\n\
         access to * by users read by * none\n"
    )
}

fn fill(folder: &Path, people: &[(&str, &str, &str)]) {
    fs::create_dir_all(folder.join("data")).unwrap();
    let mut entries = format!(
        "dn: dc=example,dc=org\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n\
         dn: {READER}\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\ncn: reader\n\
         userPassword: {READER_PASSWORD}\n\n\
         dn: ou=people,dc=example,dc=org\nobjectClass: organizationalUnit\nou: people\n\n\
         dn: cn=elsewhere,ou=people,dc=example,dc=org\nobjectClass: referral\nobjectClass: extensibleObject\n\
         cn: elsewhere\nref: ldap://127.0.0.1:1/ou=people,dc=elsewhere,dc=org\n\n"
    );
    for (uid, name, number) in people {
        entries += &format!(
            "dn: uid={uid},ou=people,dc=example,dc=org\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: {name}\nsn: {name}\n\
             mobile: {number}\nmail: {uid}@example.org\ndepartmentNumber: harbour\n\n"
        );
    }
    fs::write(folder.join("people.ldif"), entries).unwrap();
    let mut add = program();
    add.args(["-T", "add", "-f"]).arg(folder.join("slapd.conf")).arg("-l").arg(folder.join("people.ldif"));
    let added = add.output().unwrap();
    assert!(added.status.success(), "slapadd: {}", String::from_utf8_lossy(&added.stderr));
}

fn serve(folder: &Path, port: u16) -> Child {
    let log = fs::File::create(folder.join("slapd.log")).unwrap();
    let mut serve = program();
    serve
        .args(["-d", "256", "-f"])
        .arg(folder.join("slapd.conf"))
        .arg("-h")
        .arg(format!("ldap://127.0.0.1:{port}/"));
    serve.stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

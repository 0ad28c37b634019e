use crate::{eventually, free_port};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// It greets after so long.
const START_MAX: Duration = Duration::from_secs(20);
/// The owner of the mailboxes: nobody, in Debian.
const NOBODY: u32 = 65_534;
const PROGRAM: &str = "/usr/sbin/smtpd";

/// Debian's OpenSMTPD, which delivers to mailboxes (Maildir) in a folder of its own. It needs root: it runs as several
/// users, and its spool and its socket have fixed places, over which it gets a mount namespace's own.
pub struct OpenSmtpd {
    child: Child,
    folder: TempDir,
    port: u16,
}

impl OpenSmtpd {
    /// Starts one with mailboxes `USER@town.test`.
    pub async fn start(users: &[&str]) -> OpenSmtpd {
        assert!(Path::new(PROGRAM).exists(), "run scripts/install-foreign first");
        let folder = tempfile::Builder::new().prefix("campanile-it-smtpd-").tempdir().unwrap();
        let root = folder.path();
        // Its processes are other users, who must get through.
        fs::set_permissions(root, fs::Permissions::from_mode(0o711)).unwrap();
        for name in ["spool", "run", "boxes"] {
            fs::create_dir(root.join(name)).unwrap();
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(0o711)).unwrap();
        }
        for user in users {
            let home = root.join("boxes").join(user);
            fs::create_dir(&home).unwrap();
            chown(&home, Some(NOBODY), Some(NOBODY))
                .unwrap_or_else(|error| panic!("OpenSMTPD needs root: {error}"));
        }
        let port = free_port();
        fs::write(root.join("smtpd.conf"), configuration(root, port, users)).unwrap();
        let log = fs::File::create(root.join("log")).unwrap();
        let script =
            "mount --bind spool /var/spool && mount --bind run /run && exec /usr/sbin/smtpd -d -f smtpd.conf";
        let child = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", script])
            .current_dir(root)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut smtpd = OpenSmtpd { child, folder, port };
        eventually("OpenSMTPD listens", START_MAX, async || {
            let log = fs::read_to_string(smtpd.folder.path().join("log")).unwrap_or_default();
            assert!(smtpd.child.try_wait().unwrap().is_none(), "OpenSMTPD ended:\n{log}");
            tokio::net::TcpStream::connect(smtpd.address()).await.map_err(|error| format!("{error}\n{log}"))
        })
        .await;
        smtpd
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The mails in a user's box, as they were written there.
    pub fn mails(&self, user: &str) -> Vec<Vec<u8>> {
        let new: PathBuf = self.folder.path().join("boxes").join(user).join("new");
        let Ok(entries) = fs::read_dir(new) else { return Vec::new() };
        entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
    }
}

impl Drop for OpenSmtpd {
    fn drop(&mut self) {
        // Its children end when they lose their parent.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configuration(root: &Path, port: u16, users: &[&str]) -> String {
    let root = root.display();
    let users: Vec<String> =
        users.iter().map(|user| format!("{user} = \"{NOBODY}:{NOBODY}:{root}/boxes/{user}\"")).collect();
    format!(
        "table users {{ {} }}\nlisten on 127.0.0.1 port {port} hostname mx.town.test\n\
         action \"keep\" maildir \"{root}/boxes/%{{user.username}}\" userbase <users>\n\
         match from any for domain \"town.test\" action \"keep\"\n",
        users.join(", ")
    )
}

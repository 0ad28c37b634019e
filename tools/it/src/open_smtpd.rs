//! OpenSMTPD delivers mail to mailboxes, unpacked from Debian's package and never installed: Debian allows
//! one mail server, and the machine may have another.
//!
//! It has compiled-in paths and two users of its own. So it runs in a mount namespace in which an overlay
//! lays what was unpacked over `/usr`, folders of its own lie over its spool and its socket, and
//! `/etc/passwd` and `/etc/group` have its users. Nobody outside sees any of that.

use crate::foreign::{folder, needs};
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
/// Its users, with the same number as a group: the first two from here on that the machine has not.
const USERS: [&str; 2] = ["opensmtpd", "opensmtpq"];
const USER_NUMBERS: std::ops::Range<u32> = 64_000..65_000;
/// In its namespace. `/var/run` is `/run` in Debian; its processes are confined to an empty folder.
const SCRIPT: &str = "set -e
mount -t overlay overlay -o \"lowerdir=$0/usr:/usr\" /usr
for folder in /var/spool /var/lib /run; do mount --bind \".$folder\" $folder; done
for file in /etc/passwd /etc/group; do mount --bind \".$file\" $file; done
exec smtpd -d -f smtpd.conf";

/// An OpenSMTPD with mailboxes (Maildir) in a folder of its own. It needs root, since it runs as several
/// users.
pub struct OpenSmtpd {
    child: Child,
    folder: TempDir,
    port: u16,
}

impl OpenSmtpd {
    /// Starts one with mailboxes `USER@town.test`.
    pub async fn start(users: &[&str]) -> OpenSmtpd {
        needs("opensmtpd");
        let unpacked = folder("debian/opensmtpd", "complete").canonicalize().unwrap();
        let folder = tempfile::Builder::new().prefix("campanile-it-smtpd-").tempdir().unwrap();
        let root = folder.path();
        // Its processes are other users, who must get through.
        fs::set_permissions(root, fs::Permissions::from_mode(0o711)).unwrap();
        for name in ["var/spool", "var/lib/opensmtpd/empty", "run", "etc", "boxes"] {
            fs::create_dir_all(root.join(name)).unwrap();
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(0o711)).unwrap();
        }
        for user in users {
            let home = root.join("boxes").join(user);
            fs::create_dir(&home).unwrap();
            chown(&home, Some(NOBODY), Some(NOBODY))
                .unwrap_or_else(|error| panic!("OpenSMTPD needs root: {error}"));
        }
        add_users(&root.join("etc"));
        let port = free_port();
        fs::write(root.join("smtpd.conf"), configuration(root, port, users)).unwrap();
        let log = fs::File::create(root.join("log")).unwrap();
        let child = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", SCRIPT])
            .arg(unpacked)
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
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

/// Writes the machine's users and groups to a folder, with those of OpenSMTPD.
fn add_users(to: &Path) {
    let read = |file: &str| fs::read_to_string(file).unwrap();
    let (mut users, mut groups) = (read("/etc/passwd"), read("/etc/group"));
    let has = |table: &str, name: &str| table.lines().any(|line| line.starts_with(&format!("{name}:")));
    let is_taken = |table: &str, number: u32| {
        table.lines().any(|line| line.split(':').nth(2) == Some(number.to_string().as_str()))
    };
    let mut free: Vec<u32> = USER_NUMBERS
        .filter(|number| !is_taken(&users, *number) && !is_taken(&groups, *number))
        .take(2)
        .collect();
    for name in USERS {
        let number = free.pop().expect("two free numbers for users");
        if !has(&groups, name) {
            groups = format!("{}\n{name}:x:{number}:\n", groups.trim_end());
        }
        if !has(&users, name) {
            let group = groups.lines().find(|line| line.starts_with(&format!("{name}:"))).unwrap();
            let group = group.split(':').nth(2).unwrap();
            let line = format!("{name}:x:{number}:{group}::/var/lib/opensmtpd/empty:/bin/false");
            users = format!("{}\n{line}\n", users.trim_end());
        }
    }
    fs::write(to.join("passwd"), users).unwrap();
    fs::write(to.join("group"), groups).unwrap();
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

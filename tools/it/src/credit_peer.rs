use crate::credit::SERVER_HOST;
use crate::foreign::{ForeignProgram, folder, needs};
use crate::free_port;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Whose client it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreditPeerBy {
    /// Debian's freeDiameter, with its own dictionary and an extension that asks.
    FreeDiameter,
    /// Erlang/OTP's diameter.
    Erlang,
}

/// A client of a credit-control server that nobody here wrote the core of. Its peer does what it is told:
/// `event`, `nobody`, `session`, `goodbye`. It asks for the accounts of 46701740601, 46701740602 and, in
/// vain, 46701740699.
pub struct CreditPeer {
    /// Says what happens. It ends before its folder goes.
    pub peer: ForeignProgram,
    _folder: TempDir,
}

impl CreditPeer {
    /// Starts freeDiameter so that it listens on this port of loopback, and connects to nobody.
    pub fn listen(port: u16) -> CreditPeer {
        let folder = tempfile::Builder::new().prefix("campanile-it-credit-").tempdir().unwrap();
        let peer = free_diameter(
            folder.path(),
            port,
            "LoadExtension = \"/usr/lib/freeDiameter/acl_wl.fdx\" : \"acl_wl.conf\";",
        );
        CreditPeer { peer, _folder: folder }
    }

    /// Starts one that connects to this port of loopback.
    pub fn start(by: CreditPeerBy, port: u16) -> CreditPeer {
        let folder = tempfile::Builder::new().prefix("campanile-it-credit-").tempdir().unwrap();
        let peer = match by {
            CreditPeerBy::FreeDiameter => {
                let server = format!(
                    "ConnectPeer = \"{SERVER_HOST}\" {{ ConnectTo = \"127.0.0.1\"; Port = {port}; No_TLS; No_SCTP; }};"
                );
                free_diameter(folder.path(), free_port(), &server)
            }
            CreditPeerBy::Erlang => erlang(folder.path(), port),
        };
        CreditPeer { peer, _folder: folder }
    }
}

fn erlang(folder_for_output: &Path, port: u16) -> ForeignProgram {
    needs("erlang");
    let mut command = Command::new("escript");
    command
        .arg(folder("erlang", "credit.escript").join("credit.escript"))
        .arg(port.to_string())
        .arg(folder_for_output)
        .env("HOME", folder_for_output)
        .env("ERL_CRASH_DUMP_SECONDS", "0");
    ForeignProgram::start("Erlang/OTP diameter", command)
}

/// One that listens on this port, with a line more in its configuration: whom it connects to, or whom it lets
/// in.
fn free_diameter(own: &Path, port: u16, more: &str) -> ForeignProgram {
    needs("freediameter");
    let sources = folder("freediameter", "credit_client.c");
    let built = Command::new("gcc")
        .args(["-Wall", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o"])
        .arg(own.join("credit_client.fdx"))
        .arg(sources.join("credit_client.c"))
        .output()
        .unwrap_or_else(|error| panic!("cannot start gcc (run scripts/install-foreign): {error}"));
    assert!(built.status.success(), "gcc: {}", String::from_utf8_lossy(&built.stderr));
    // It does not start without, though it speaks in the clear here.
    let made = rcgen::generate_simple_self_signed(vec!["freediameter.client.test".to_owned()]).unwrap();
    fs::write(own.join("cert.pem"), made.cert.pem()).unwrap();
    fs::write(own.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    fs::copy(sources.join("dh.pem"), own.join("dh.pem")).unwrap();
    // Who may connect in the clear.
    fs::write(own.join("acl_wl.conf"), format!("ALLOW_IPSEC {SERVER_HOST}\n")).unwrap();
    let config = fs::read_to_string(sources.join("freediameter.conf")).unwrap();
    let config = config
        .replace("@FOLDER@", own.to_str().unwrap())
        .replace("@PORT@", &port.to_string())
        .replace("@MORE@", more);
    fs::write(own.join("freediameter.conf"), config).unwrap();
    let mut command = Command::new("sh");
    // What its extension says goes to descriptor 3, its log to a file.
    command.args(["-c", "exec 3>&1 1>log 2>&1; exec freeDiameterd -c freediameter.conf"]).current_dir(own);
    ForeignProgram::start("freeDiameter", command)
}

//! npm's oidc-provider, a provider of OpenID Connect that nobody here wrote.

use crate::foreign::{folder, needs};
use crate::{ForeignProgram, eventually, free_port};
use serde_json::{Value, json};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// It does what it is told within so long.
const TOLD_MAX: Duration = Duration::from_secs(30);
/// The client's name at the provider.
pub const CLIENT: &str = "campanile";
/// Its secret there.
pub const CLIENT_SECRET: &str = "secret-of-the-client";

/// A provider on a port of its own, with one client. Dropping it kills it.
pub struct OidcProvider {
    peer: ForeignProgram,
    port: u16,
    /// Verbs that it was told so far.
    told: AtomicUsize,
}

impl OidcProvider {
    /// Starts one that signs by `RS256` or `ES256`, for a client that is reached at `url`, with accounts by
    /// subject: their claims.
    pub async fn start(alg: &str, url: &str, accounts: &Value) -> OidcProvider {
        needs("npm");
        let script = folder("npm", "node_modules/oidc-provider").join("provider.mjs");
        let port = free_port();
        let options = json!({
            "port": port,
            "alg": alg,
            "client_id": CLIENT,
            "client_secret": CLIENT_SECRET,
            "redirect_uri": format!("{url}/auth/oidc/callback"),
            "accounts": accounts,
        });
        let mut command = Command::new("node");
        command.arg(script).arg(options.to_string());
        let peer = ForeignProgram::start("npm's OpenID provider", command);
        peer.first(&["listening"]).await;
        OidcProvider { peer, port, told: AtomicUsize::new(0) }
    }

    /// Its issuer.
    pub fn issuer(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// From now on this subject signs in, whoever is asked.
    pub async fn sign_in_as(&self, subject: &str) {
        self.tell("who", &[("sub", subject)]).await;
    }

    /// From now on ID tokens are wrong in this; `none`: they are right again.
    pub async fn lie(&self, kind: &str) {
        self.tell("lie", &[("kind", kind)]).await;
    }

    /// From now on whoever is asked refuses, or does not.
    pub async fn deny(&self, is_denied: bool) {
        self.tell("deny", &[("on", if is_denied { "yes" } else { "no" })]).await;
    }

    /// It has another key from now on, and that alone.
    pub async fn rotate(&self) {
        self.tell("rotate", &[]).await;
    }

    /// Nobody listens any more.
    pub async fn stop(&self) {
        self.tell("stop", &[]).await;
    }

    /// It listens again.
    pub async fn listen_again(&self) {
        let before = self.events("listening again").len();
        self.peer.tell("listen", &[("port", &self.port.to_string())]);
        eventually("the provider listens again", TOLD_MAX, async || {
            if self.events("listening again").len() > before { Ok(()) } else { Err("nothing") }
        })
        .await;
    }

    /// What happened so far of one kind: `asked`, `granted`, `refused`, `failed`.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        self.peer.events(kind)
    }

    async fn tell(&self, verb: &str, fields: &[(&str, &str)]) {
        self.peer.tell(verb, fields);
        let told = self.told.fetch_add(1, Ordering::Relaxed) + 1;
        eventually(&format!("the provider does {verb}"), TOLD_MAX, async || {
            let done = self.events("done").len();
            if done >= told { Ok(()) } else { Err(format!("{done} of {told}")) }
        })
        .await;
    }
}

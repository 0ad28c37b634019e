//! The credit-control server of the real program, over sockets: what the standards ask of it, what hostile
//! clients do to it, kills, and clients that nobody here wrote.

mod abandoned;
mod api;
mod asked;
pub(crate) mod asked_back;
mod association;
mod calls;
mod certificates;
mod conformance;
pub(crate) mod connecting;
mod credit;
mod duplicates;
pub(crate) mod elsewhere;
mod final_units;
mod foreign;
mod hostile;
pub(crate) mod kills;
mod overload;
mod peer;
mod pools;
mod sctp;

use it::credit::{CreditClient, diameter_door};
use it::{Api, Server, eventually, free_port};
use serde_json::{Value, json};
use std::time::Duration;

/// What never takes so long unless it never comes.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// A subscriber of whom most stories are.
pub const ANN: &str = "46701740605";

/// The real program with a credit-control server.
pub struct Ocs {
    /// The program.
    pub server: Server,
    /// Where its credit-control server listens.
    pub port: u16,
}

impl Ocs {
    /// Starts one, with more keys of `[diameter]` and of `[charging]`.
    pub async fn start(diameter: &str, charging: &str) -> Ocs {
        let port = free_port();
        let config = format!("{}[charging]\n{charging}\n", diameter_door(port, diameter));
        let server = Server::start(&config).await;
        let ocs = Ocs { server, port };
        ocs.listens().await;
        ocs
    }

    /// Waits until it can be connected to: it opens after the HTTP door.
    pub async fn listens(&self) {
        eventually("the credit-control server listens", PATIENCE, async || {
            CreditClient::try_connect(self.port, "nobody.test").map(drop)
        })
        .await;
    }

    /// Kills it and starts it again.
    pub async fn kill_and_restart(&mut self) {
        self.server.kill9();
        self.server.restart().await;
        self.listens().await;
    }

    /// An account `e164:NUMBER` or any other id, with so much in it.
    pub async fn fund(&self, id: &str, balance: i64) {
        fund(&self.server.api(), id, balance).await;
    }

    /// Balance, reserved and used of an account.
    pub async fn money(&self, id: &str) -> (i64, i64, i64) {
        let account = self.account(id).await;
        let amount = |name: &str| account[name].as_i64().unwrap();
        (amount("balance"), amount("reserved"), amount("used"))
    }

    /// An account as the API tells it.
    pub async fn account(&self, id: &str) -> Value {
        self.server.api().get(&format!("/api/v1/accounts/{}", full(id))).await.expect(200)
    }

    /// Does something to an account.
    pub async fn act(&self, id: &str, verb: &str, body: &Value) -> Value {
        self.server.api().post(&format!("/api/v1/accounts/{}:{verb}", full(id)), body).await.expect(200)
    }

    /// A client that is open.
    pub fn client(&self, name: &str) -> CreditClient {
        CreditClient::open(self.port, name)
    }
}

pub(crate) async fn fund(api: &Api, id: &str, balance: i64) {
    api.post("/api/v1/accounts", &json!({"id": full(id), "balance": balance})).await.expect(201);
}

/// Digits alone are a telephone number.
fn full(id: &str) -> String {
    if id.bytes().all(|octet| octet.is_ascii_digit()) { format!("e164:{id}") } else { id.to_owned() }
}

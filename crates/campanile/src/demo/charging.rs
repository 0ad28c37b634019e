//! `campanile demo --charging`: the credit-control server, ready for peers of a realm; a subscriber of the
//! demo's own uses it first, over Diameter, as a gateway of a mobile network would.

use super::DemoApi;
use crate::config;
use crate::server::RunningServer;
use diameter::avp::Address;
use diameter::check::Origin;
use diameter::credit::request::{ServiceControl, UsedUnits};
use diameter::credit::write_request::{RequestToSend, ServiceToRequest};
use diameter::credit::{RequestType, Subscription, SubscriptionKind, Units};
use diameter::dictionary::{application, avp, command};
use diameter::frame::next_frame;
use diameter::header::CommandFlags;
use diameter::message::Message;
use diameter::write::Writer;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What each account begins with, minor units.
const BALANCE: i64 = 1_000;
/// Who uses the network.
const SUBSCRIBER: &str = "46701234567";
/// The realm of the demo's own gateway, where any is let in.
const OWN_REALM: &str = "client.test";
/// What stands for a part of a realm that may be anything.
const OWN_PART: &str = "demo";
const MEGABYTE: u64 = 1_000_000;
const MESSAGE_OCTETS_MAX: u32 = 65_536;
/// Accounts are looked at so often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Accounts that are shown.
const SHOWN: usize = 100;

/// What the command line says.
#[derive(Debug, Clone)]
pub struct ChargingDemoOptions {
    /// Where the HTTP door listens.
    pub listen: SocketAddr,
    /// Where the credit-control server listens.
    pub diameter: SocketAddr,
    /// Who we are; the realm is what follows the first point.
    pub origin_host: String,
    /// Realms whose peers are let in; `*` stands for any part.
    pub realm: String,
    /// End after the subscriber's session.
    pub exit: bool,
}

/// Runs it; true if the account is what it must be.
pub async fn run(options: ChargingDemoOptions) -> Result<bool, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut server = RunningServer::open(setup(&options, folder.path())?, None).await?;
    server.ensure_admin_token(|_| Ok(())).await?;
    let result = show(&server, &options).await;
    if result.is_ok() && !options.exit {
        println!("Everything stays up until you press Ctrl-C. Accounts that change are shown:\n");
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            () = watch(&server) => {}
        }
    }
    server.close().await;
    result
}

fn setup(options: &ChargingDemoOptions, folder: &Path) -> Result<crate::setup::Setup, String> {
    let realm = options.origin_host.split_once('.').map_or("", |(_, realm)| realm);
    let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
    let text = format!(
        "[http]\nlisten = \"{}\"\n[diameter]\nlisten = \"{}\"\norigin_host = {}\norigin_realm = {}\n\
         [[diameter.peer]]\nrealm = {}\n[charging]\ndefault_account = {{balance = {BALANCE}}}\n",
        options.listen,
        options.diameter,
        quoted(&options.origin_host),
        quoted(realm),
        quoted(&options.realm),
    );
    let config = config::parse(&text, "the demo's config", folder, &BTreeMap::new());
    let config = config.map_err(|problems| problems.to_string())?;
    config.setup(folder).map_err(|error| error.to_string())
}

fn api(server: &RunningServer) -> Result<DemoApi, String> {
    let address = server.http().ok_or("the HTTP door is not open")?;
    let token = server.admin_token.clone().ok_or("there is no token")?;
    Ok(DemoApi { url: format!("http://{address}"), token, client: super::client()? })
}

async fn show(server: &RunningServer, options: &ChargingDemoOptions) -> Result<bool, String> {
    let (api, server) = (api(server)?, server.diameter().0.ok_or("the credit-control server is not open")?);
    let realm = options.origin_host.split_once('.').map_or("", |(_, realm)| realm);
    println!("campanile demo --charging: a credit-control server, each account begins with {BALANCE}.\n");
    println!("  Diameter  {server}, Origin-Host {}, realm {realm}", options.origin_host);
    println!("  peers     of realm {} are let in", options.realm);
    println!("  accounts  {}/api/v1/accounts, with the token {}\n", api.url, api.token);
    let mut client = DemoGateway::open(server, realm, &own_realm(&options.realm)).await?;
    println!("  {SUBSCRIBER} opens a session and uses 8 MB:");
    client.ask(RequestType::Initial, 10, 0).await?;
    client.ask(RequestType::Update, 10, 5).await?;
    client.ask(RequestType::Termination, 0, 3).await?;
    let account = api.get(&format!("/api/v1/accounts/e164:{SUBSCRIBER}")).await?;
    println!("\n  its account: {account}\n");
    Ok(account["used"] == 8 && account["reserved"] == 0 && account["balance"] == BALANCE - 8)
}

/// Shows each account whenever it has changed.
async fn watch(server: &RunningServer) {
    let Ok(api) = api(server) else { return };
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    loop {
        if let Ok(page) = api.get(&format!("/api/v1/accounts?limit={SHOWN}")).await {
            for account in page["items"].as_array().into_iter().flatten() {
                let (id, now) = (account["id"].to_string(), account.to_string());
                if known.insert(id, now.clone()).is_none_or(|before| before != now) {
                    println!("  {now}");
                }
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// A realm that this pattern lets in.
fn own_realm(pattern: &str) -> String {
    if pattern == "*" { OWN_REALM.to_owned() } else { pattern.replace('*', OWN_PART) }
}

/// A gateway of a mobile network, with one session.
struct DemoGateway<'r> {
    stream: TcpStream,
    /// The server's.
    realm: &'r str,
    own_host: String,
    own_realm: String,
    number: u32,
}

impl<'r> DemoGateway<'r> {
    async fn open(server: SocketAddr, realm: &'r str, own_realm: &str) -> Result<DemoGateway<'r>, String> {
        let stream = TcpStream::connect(server).await.map_err(|error| error.to_string())?;
        let (own_host, own_realm) = (format!("demo-gateway.{own_realm}"), own_realm.to_owned());
        let mut client = DemoGateway { stream, realm, own_host, own_realm, number: 0 };
        let mut request = Vec::new();
        let flags = CommandFlags::default();
        let mut writer = Writer::request(&mut request, command::CAPABILITIES_EXCHANGE, 0, flags, 1, 1);
        writer.identity(avp::ORIGIN_HOST, &client.own_host);
        writer.identity(avp::ORIGIN_REALM, &client.own_realm);
        writer.address(avp::HOST_IP_ADDRESS, Address::Ip([127, 0, 0, 1].into()));
        writer.u32(avp::VENDOR_ID, 0);
        writer.utf8(avp::PRODUCT_NAME, "campanile demo");
        writer.u32(avp::AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
        writer.finish();
        let answer = client.exchange(&request).await?;
        match result_code(&answer) {
            Some(2001) => Ok(client),
            other => Err(format!("the server refused its own demo: Result-Code {other:?}")),
        }
    }

    /// One request about so many megabytes wanted and used; prints what was answered.
    async fn ask(&mut self, kind: RequestType, wanted: u64, used: u64) -> Result<(), String> {
        let units = |megabytes: u64| Units { total_octets: Some(megabytes * MEGABYTE), ..Units::default() };
        let used_units = [UsedUnits { units: units(used), ..UsedUnits::default() }];
        let service = ServiceToRequest {
            requested: (wanted > 0).then(|| units(wanted)),
            used: if used > 0 { &used_units } else { &[] },
            rating_group: Some(1),
            ..ServiceToRequest::default()
        };
        let subscriber = [Subscription { kind: SubscriptionKind::E164, data: SUBSCRIBER }];
        let session = format!("{};1;1", self.own_host);
        let origin = Origin { host: &self.own_host, realm: &self.own_realm };
        let request = RequestToSend {
            kind,
            number: self.number,
            action: None,
            service_context_id: "32251@3gpp.org",
            subscriptions: &subscriber,
            requested: None,
            has_multiple_services: true,
            services: &[service],
            termination_cause: (kind == RequestType::Termination).then_some(1),
            ..RequestToSend::debit(&session, origin, self.realm, Units::default())
        };
        let mut octets = Vec::new();
        request.write(2 + self.number, 2 + self.number, &mut octets);
        self.number += 1;
        let answer = self.exchange(&octets).await?;
        let granted = granted_octets(&answer)
            .map_or(String::new(), |octets| format!(", {} MB granted", octets / MEGABYTE));
        let result = result_code(&answer).unwrap_or(0);
        println!("    {kind:?}: {used} MB used, {wanted} MB wanted: Result-Code {result}{granted}");
        if result == 2001 { Ok(()) } else { Err(format!("{kind:?} was answered with {result}")) }
    }

    async fn exchange(&mut self, request: &[u8]) -> Result<Vec<u8>, String> {
        let describe = |error: std::io::Error| format!("the connection to the server: {error}");
        self.stream.write_all(request).await.map_err(describe)?;
        let mut answer = Vec::new();
        loop {
            let whole = next_frame(&answer, MESSAGE_OCTETS_MAX).map_err(|error| error.to_string())?.is_some();
            if whole {
                return Ok(answer);
            }
            if self.stream.read_buf(&mut answer).await.map_err(describe)? == 0 {
                return Err("the server closed the connection".to_owned());
            }
        }
    }
}

fn result_code(answer: &[u8]) -> Option<u32> {
    Message::read(answer).ok()?.find(avp::RESULT_CODE)?.u32().ok()
}

fn granted_octets(answer: &[u8]) -> Option<u64> {
    let message = Message::read(answer).ok()?;
    let group = message.find(avp::MULTIPLE_SERVICES_CREDIT_CONTROL)?;
    ServiceControl::read(message, group).ok()?.granted?.units.total_octets
}

#[cfg(test)]
mod tests {
    use super::*;
    use charging::server::PeerRule;

    #[test]
    fn the_gateway_of_the_demo_is_of_a_realm_that_the_pattern_lets_in() {
        for pattern in ["*", "*.3gppnetwork.org", "epc.mnc001.mcc001.3gppnetwork.org", "epc.*.mcc*.test"] {
            let rule = PeerRule { realm: pattern.to_owned(), ..PeerRule::default() };
            assert!(rule.names("demo-gateway.test", &own_realm(pattern)), "{pattern}");
        }
    }
}

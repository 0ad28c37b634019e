//! The door as clients see it: the real router over real sockets, the SQLite store and the engine behind it.

mod bad_input;
mod bounds;
pub(crate) mod browser;
mod connections;
mod http2;
mod tls;
mod walls;
mod web;

pub(crate) use super::*;
pub(crate) use records::{Mode, Role, Route, Timestamp};
pub(crate) use reqwest::{Client, Method, RequestBuilder, StatusCode};
pub(crate) use serde_json::{Value, json};
pub(crate) use std::sync::atomic::{AtomicI64, Ordering};

/// 2026-11-18T06:26:40Z.
pub(crate) const NOW: Timestamp = Timestamp(1_794_983_200_000_000);
/// The secret of callbacks is the account's name.
pub(crate) fn secrets() -> DoorSecrets {
    let callbacks = Arc::new(|account: &str| Some(format!("whsec_{account}")));
    let evidence = ::evidence::SigningKey::from_seed(&KEY).unwrap().public();
    DoorSecrets { audit: store::AuditKey(KEY), callbacks, users: KEY, evidence }
}

pub(crate) const KEY: [u8; LINK_KEY_OCTETS] = [9; LINK_KEY_OCTETS];

/// A server with one open door.
pub(crate) struct TestServer {
    pub door: HttpRunning,
    pub engine: Engine,
    pub store: SharedStore,
    pub bus: Arc<dyn bus::Bus>,
    pub links: Arc<AnswerLinks>,
    pub policies: ReloadedPolicies,
    pub guessing: Arc<GuessingGuard>,
    pub clock: Arc<AtomicI64>,
    pub admin: String,
    pub client: Client,
    pub dir: tempfile::TempDir,
}

impl TestServer {
    pub async fn open() -> TestServer {
        TestServer::with(HttpLimits::default(), None).await
    }

    pub async fn with(limits: HttpLimits, reload: Option<Reload>) -> TestServer {
        TestServer::behind(limits, reload, None, None).await
    }

    /// With a database of so many pages and no more.
    pub async fn on_a_disk_of(pages: u32) -> TestServer {
        TestServer::behind(HttpLimits::default(), None, None, Some(pages)).await
    }

    pub async fn behind(
        limits: HttpLimits,
        reload: Option<Reload>,
        tls: Option<Arc<rustls::ServerConfig>>,
        pages_max: Option<u32>,
    ) -> TestServer {
        let config = HttpConfig { tls, limits, ..HttpConfig::plain(([127, 0, 0, 1], 0).into(), None) };
        TestServer::at(config, reload, pages_max).await
    }

    pub async fn at(config: HttpConfig, reload: Option<Reload>, pages_max: Option<u32>) -> TestServer {
        TestServer::opened(config, reload, pages_max, false).await
    }

    /// Words of somebody that are perhaps a stop; their number.
    pub async fn perhaps_stop(&self, account: &str, address: &str) -> String {
        let perhaps = store::PerhapsStop {
            no: 0,
            channel: channels::SMS,
            address: address.to_owned(),
            sender: "71700".to_owned(),
            text: format!("do stop this, of {account}"),
            at: NOW,
        };
        self.store.note_perhaps_stop(account, perhaps).await.unwrap();
        let listed = self.store.perhaps_stops(account, 0, 10_000).await.unwrap();
        listed.last().unwrap().no.to_string()
    }

    /// Somebody asks to join a group from their telephone; the request's id.
    pub async fn join_request(&self, account: &str, group: &str, recipient: &str) -> String {
        let request = engine::JoinRequest {
            account: account.to_owned(),
            group: group.to_owned(),
            recipient: recipient.to_owned(),
            at: NOW,
            channel: channels::SMS.0,
            address: format!("+46701000001 of {account}"),
            ours: "71700".to_owned(),
            route: String::new(),
            is_drill: false,
        };
        engine::Joining::of(&self.engine).note(&request).await.unwrap();
        request.id()
    }

    /// The state that handlers share.
    pub fn app(&self) -> crate::http::app::App {
        self.door.app()
    }

    /// An import of a file that waits for a decision; its id.
    pub async fn import_job(&self, token: &str, csv: &str) -> String {
        let begun = self.anon(Method::POST, "/api/v1/recipients:import?dry_run=true").bearer_auth(token);
        let (status, job) = said(begun.header("content-type", "text/csv").body(csv.to_owned())).await;
        assert_eq!(status, 202, "{job}");
        let id = job["id"].as_str().unwrap().to_owned();
        self.compared(token, &id).await;
        id
    }

    /// An import once it was compared, or failed.
    pub async fn compared(&self, token: &str, id: &str) -> Value {
        loop {
            let shown = self.anon(Method::GET, &format!("/api/v1/imports/{id}")).bearer_auth(token);
            let (status, job) = said(shown).await;
            assert_eq!(status, 200, "{job}");
            if !["reading", "comparing"].contains(&job["state"].as_str().unwrap()) {
                return job;
            }
            tokio::task::yield_now().await;
        }
    }

    /// A directory of the account `default`, with one person.
    pub fn with_directory(&self, name: &str) -> Arc<TestDirectory> {
        let settings = DirectorySettings {
            name: name.to_owned(),
            account: "default".to_owned(),
            url: "ldap://directory.example".to_owned(),
            removes_absent: true,
            gone_percent_max: 20,
            changed_percent_max: 50,
            ..DirectorySettings::default()
        };
        let rows = std::sync::Mutex::new(Ok(vec![json!({"id": "dir-1", "name": "Ada"})]));
        let directory = Arc::new(TestDirectory { settings, rows });
        self.policies.directories.store(Arc::new(vec![directory.clone()]));
        directory
    }

    /// With accounts and money.
    pub async fn with_ledger(reload: Reload) -> TestServer {
        let config = HttpConfig::plain(([127, 0, 0, 1], 0).into(), None);
        TestServer::opened(config, Some(reload), None, true).await
    }

    /// With everything that operations need: accounts, and a config to read again.
    pub async fn whole() -> TestServer {
        TestServer::with_ledger(Arc::new(|| Box::pin(async { Ok(vec!["route a added".to_owned()]) }))).await
    }

    async fn opened(
        config: HttpConfig,
        reload: Option<Reload>,
        pages_max: Option<u32>,
        has_ledger: bool,
    ) -> TestServer {
        // Only the first installs; reqwest wants one even for plain HTTP.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dir = tempfile::tempdir().unwrap();
        let options = store::sqlite::SqliteOptions { pages_max, ..store::sqlite::SqliteOptions::default() };
        let store = store::sqlite::open(&dir.path().join("campanile.db"), &options).unwrap();
        store.set_stop_key(KEY);
        let bus = bus::embedded::open(dir.path().join("bus"), bus::embedded::Options::default()).unwrap();
        let links = Arc::new(AnswerLinks::new(&KEY, Some("http://alerts.example")));
        let now = Arc::new(AtomicI64::new(NOW.0));
        let ticking = now.clone();
        let clock: Clock = Arc::new(move || Timestamp(ticking.load(Ordering::Relaxed)));
        let engine = engine_over(bus.clone(), &store, &links, &clock).await;
        let AdminToken::Made(admin) = ensure_admin_token(&store, NOW, |_| Ok(())).await.unwrap() else {
            panic!("the first start makes a token");
        };
        let policies = policies(&bus, dir.path());
        let guessing: Arc<GuessingGuard> = Arc::default();
        let deps = Deps {
            reload,
            ledger: has_ledger.then(|| ledger_in(dir.path())),
            ..deps((&engine, &store), dir.path(), clock, (&links, &guessing, &policies))
        };
        let door = serve(config, deps).await.unwrap();
        let client = Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        TestServer { door, engine, store, bus, links, policies, guessing, clock: now, admin, client, dir }
    }

    /// A request by the admin.
    pub fn call(&self, method: Method, path: &str) -> RequestBuilder {
        self.anon(method, path).bearer_auth(&self.admin)
    }

    /// A request without a token.
    pub fn anon(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("http://{}{path}", self.door.address()))
    }

    pub async fn get(&self, path: &str) -> (StatusCode, Value) {
        said(self.call(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        said(self.call(Method::POST, path).json(&body)).await
    }

    /// A token of this role.
    pub async fn token(&self, role: Role) -> String {
        let (status, made) = self.post("/api/v1/tokens", json!({"role": role.name()})).await;
        assert_eq!(status, 201, "{made}");
        made["token"].as_str().unwrap().to_owned()
    }

    /// Two people with a phone each, one of them with mail.
    pub async fn people(&self) {
        let people = json!([
            {"id": "ann", "name": "Ann", "language": "en", "groups": ["staff"], "devices": [{"channel": "sms", "address": "+46701000001"}]},
            {"id": "bo", "name": "Bo", "language": "sv", "groups": ["staff"], "attributes": {"ugc": "MDZ021"},
             "devices": [{"channel": "sms", "address": "+46701000002"}, {"channel": "mail", "address": "bo@example.org"}]},
        ]);
        assert_eq!(self.post("/api/v1/recipients", people).await.0, 200);
    }

    /// Submits and waits until it is solved; gives the id.
    pub async fn submit(&self, body: Value) -> String {
        let (status, said) = self.post("/api/v1/alerts?mode=sync", body).await;
        assert_eq!(status, 201, "{said}");
        said["id"].as_str().unwrap().to_owned()
    }

    /// Another door over the same store, as of another process.
    pub async fn another_door(&self) -> HttpRunning {
        let ticking = self.clock.clone();
        let clock: Clock = Arc::new(move || Timestamp(ticking.load(Ordering::Relaxed)));
        let shared = (&self.links, &self.guessing, &self.policies);
        let deps = deps((&self.engine, &self.store), self.dir.path(), clock, shared);
        serve(HttpConfig::plain(([127, 0, 0, 1], 0).into(), None), deps).await.unwrap()
    }

    /// The same with another door, as after a restart.
    pub async fn reopened(mut self) -> TestServer {
        let another = self.another_door().await;
        let before = std::mem::replace(&mut self.door, another);
        before.stop().await;
        self
    }

    pub async fn close(self) {
        self.door.stop().await;
        self.engine.stop().await;
        self.store.close().await.unwrap();
        drop(self.dir);
    }
}

/// What a reload may change, with clients and platforms of two accounts.
fn policies(bus: &Arc<dyn bus::Bus>, dir: &std::path::Path) -> ReloadedPolicies {
    let client = |system_id: &str, account: &str| crate::smpp::SmppClient {
        system_id: system_id.into(),
        password: "secret".into(),
        account: account.into(),
        rate: 50.0,
        ..crate::smpp::SmppClient::default()
    };
    let clients = vec![client("bank", "default"), client("north-bank", "north")];
    let water = crate::kannel::PlatformSettings {
        username: "water".into(),
        password: "secret".into(),
        ..crate::kannel::PlatformSettings::default()
    };
    let facts = ServerFacts {
        started: Some(NOW),
        data: Some(dir.to_owned()),
        store: "sqlite",
        bus: "file",
        organisation: Some("Town".into()),
        doors: vec!["http"],
        topics: Some(bus::TopicSettings::default()),
        ..ServerFacts::default()
    };
    let server = ServerHandles {
        bus: Some(bus.clone()),
        clients: Some(Arc::new(crate::smpp::Clients::new(clients).unwrap())),
        facts: ArcSwap::from_pointee(facts),
        ..ServerHandles::default()
    };
    let _ = server.config.set(Arc::new(system::TestConfig));
    let _ = server.demo.set(Arc::new(demo::TestDemo::default()));
    ReloadedPolicies {
        platforms: Arc::new(ArcSwap::from_pointee(Platforms::new(vec![water]).unwrap())),
        server: Arc::new(server),
        ..ReloadedPolicies::default()
    }
}

fn deps(
    (engine, store): (&Engine, &SharedStore),
    dir: &std::path::Path,
    clock: Clock,
    (links, guessing, policies): (&Arc<AnswerLinks>, &Arc<GuessingGuard>, &ReloadedPolicies),
) -> Deps {
    Deps {
        engine: engine.clone(),
        store: store.clone(),
        media: store::media::Media::at(&dir.join("media")),
        clock,
        secrets: secrets(),
        links: links.clone(),
        messages: Arc::new(engine.messages()),
        live_tokens: Arc::default(),
        guessing: guessing.clone(),
        policies: policies.clone(),
        forget_elsewhere: None,
        reload: None,
        ledger: None,
        metrics: None,
        forwarding: None,
    }
}

/// A directory whose people a test writes down.
pub(crate) struct TestDirectory {
    pub settings: DirectorySettings,
    pub rows: std::sync::Mutex<Result<Vec<Value>, String>>,
}

impl DirectorySource for TestDirectory {
    fn settings(&self) -> &DirectorySettings {
        &self.settings
    }

    fn read(
        &self,
        rows: tokio::sync::mpsc::Sender<DirectoryRow>,
    ) -> futures_util::future::BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let people = self.rows.lock().unwrap().clone()?;
            for person in people {
                let place = format!("uid={}", person["id"]);
                rows.send(DirectoryRow { place, person }).await.map_err(|_| "nobody reads".to_owned())?;
            }
            Ok(())
        })
    }
}

async fn engine_over(
    bus: Arc<dyn bus::Bus>,
    store: &SharedStore,
    links: &Arc<AnswerLinks>,
    clock: &Clock,
) -> Engine {
    let parts = engine::Parts {
        texts: engine::TextCache::default(),
        directory: engine::DirectoryCache::default(),
        bus,
        store: store.clone(),
        routes: vec![route("carrier", Mode::Live), route("range", Mode::Drill)],
        weigher: Arc::new(One),
        links: links.clone(),
        clock: clock.clone(),
        settings: engine::Settings::default(),
        clients: Vec::new(),
    };
    Engine::start(parts).await.unwrap()
}

fn ledger_in(folder: &std::path::Path) -> LedgerAccess {
    let folder = folder.join("ledger");
    std::fs::create_dir_all(&folder).unwrap();
    let ledger = ledger::Ledger::open(&ledger::Options::new(&folder)).unwrap();
    LedgerAccess { books: ledger::books::Books::new(ledger, &folder), peers: Arc::default() }
}

struct One;
impl engine::UnitsEstimator for One {
    fn units(&self, _: &Route, _: &records::Body) -> u32 {
        1
    }

    /// One part, in the GSM alphabet if it has all letters.
    fn preview(&self, _: &Route, source: &records::PreviewSource<'_>) -> records::MessagePreview {
        let preview = records::MessagePreview::as_it_is(source);
        let lacks = |letter: &char| !smpp::text::gsm7::can_encode(&letter.to_string());
        let at_fault: Vec<(usize, char)> =
            preview.text.char_indices().filter(|(_, letter)| lacks(letter)).collect();
        let (alphabet, room) = if at_fault.is_empty() { ("gsm7", 160) } else { ("ucs2", 70) };
        let left = room - preview.text.encode_utf16().count().min(room as usize) as u32;
        let encoding = records::TextEncoding { alphabet, parts: 1, left, at_fault };
        records::MessagePreview { encoding: Some(encoding), ..preview }
    }
}

pub(crate) fn route(name: &str, mode: Mode) -> Route {
    Route {
        name: name.to_owned(),
        channel: channels::SMS,
        mode,
        rate: 0.0,
        simulated: mode == Mode::Drill,
        prefixes: Vec::new(),
        senders: Vec::new(),
        accounts: Vec::new(),
        weight: 1,
        cost: 0,
        priority: 0,
        validity_s: 0,
        receipts: true,
        window: 0,
        shares: None,
    }
}

/// Sends it; gives status and JSON (null where there is none).
pub(crate) async fn said(request: RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.unwrap();
    let status = response.status();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// The reason a problem document gives for a field.
pub(crate) fn reason<'v>(problem: &'v Value, field: &str) -> &'v str {
    let problems = problem["problems"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = problems.iter().find(|one| one["field"] == field);
    found.unwrap_or_else(|| panic!("{field} is not named in {problem}"))["reason"].as_str().unwrap()
}

/// The slug of a problem's type.
pub(crate) fn slug(problem: &Value) -> &str {
    problem["type"].as_str().unwrap_or_default().trim_start_matches("urn:campanile:problem:")
}

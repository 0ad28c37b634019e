//! The wiring: store, bus, engine, gateways, doors, from the ground floor up; and down again in the opposite order.

use crate::keys::Keys;
use crate::setup::{CarrierSetup, Setup, Way};
use crate::weigh::Scales;
use arc_swap::ArcSwap;
use doors::http::{AnswerLinks, CapSender};
use engine::{Clock, Engine, Parts};
use gateway::{Running, World};
use records::Timestamp;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::SharedStore;

/// The notice gateway has no route; no route can have this name.
const NOTICES: &str = "(notices)";

/// A running house.
pub struct House {
    /// The engine.
    pub engine: Engine,
    /// SQL.
    pub store: SharedStore,
    /// Topics.
    pub bus: Arc<dyn bus::Bus>,
    /// Where the HTTP door listens.
    pub http: Option<SocketAddr>,
    /// Where the SMTP door listens.
    pub smtp: Option<SocketAddr>,
    /// The first admin token, when this is the first start.
    pub admin_token: Option<String>,
    doors: Doors,
    gateways: BTreeMap<String, Running>,
    ways: BTreeMap<String, Way>,
    world: World,
    tags: gateway::mail::tag::Tags,
    cap_senders: Arc<ArcSwap<Vec<CapSender>>>,
    /// As it was built; what a reload applies since then stands in `ways` and `cap_senders`.
    setup: Setup,
    cores: Arc<net::Cores>,
    simulators: crate::simulate::Simulators,
    keeper: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct Doors {
    http: Option<doors::http::Running>,
    smtp: Option<doors::smtp::SmtpRunning>,
}

/// Everything in this process that speaks TLS does so by ring. A second call changes nothing.
pub fn choose_cryptography() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The wall clock. The only place that reads it for the house.
pub fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

impl House {
    /// Builds the house. What fails is told in words; nothing is left running.
    pub async fn open(setup: Setup, reload: Option<doors::http::Reload>) -> Result<House, String> {
        choose_cryptography();
        std::fs::create_dir_all(&setup.data)
            .map_err(|error| format!("the data folder {} cannot be made: {error}", setup.data.display()))?;
        let keys = Keys::open(&setup.data)?;
        let options = bus::embedded::Options { fsync: setup.fsync, ..bus::embedded::Options::default() };
        let bus =
            bus::embedded::open(setup.data.join(&setup.bus), options).map_err(|error| error.to_string())?;
        let store =
            store::sqlite::open(&setup.data.join(&setup.database), &store::sqlite::Options::default())
                .map_err(|error| error.to_string())?;
        let clock: Clock = Arc::new(wall_clock);
        let public_url = setup.http.as_ref().and_then(|http| http.public_url.clone());
        let links = Arc::new(AnswerLinks::new(&keys.links, public_url.as_deref()));
        let cores = Arc::new(
            net::Cores::one_per_core().map_err(|error| format!("no threads for connections: {error}"))?,
        );
        let scales = Arc::new(Scales::new(&setup.routes));
        let engine = Engine::start(Parts {
            bus: bus.clone(),
            store: store.clone(),
            routes: setup.routes.iter().map(|way| way.route.clone()).collect(),
            weigher: scales,
            links: links.clone(),
            clock: clock.clone(),
            settings: setup.engine.clone(),
            parties: Vec::new(),
        })
        .await
        .map_err(|error| error.to_string())?;
        let simulators = crate::simulate::Simulators::start(&setup).await?;
        let behind = engine.behind();
        let mut world = World::new(bus.clone(), clock.clone(), cores.clone());
        world.behind = Arc::new(move || behind.load(Ordering::Relaxed));
        world.witness = crate::stamps::witness()?;
        let mut house = House {
            keeper: tokio::spawn(crate::keep::keep(setup.clone(), store.clone(), engine.clone())),
            engine,
            store,
            bus,
            http: None,
            smtp: None,
            admin_token: None,
            doors: Doors::default(),
            gateways: BTreeMap::new(),
            ways: BTreeMap::new(),
            world,
            tags: gateway::mail::tag::Tags::new(&keys.tags),
            cap_senders: Arc::new(ArcSwap::from_pointee(setup.cap_senders.clone())),
            setup: setup.clone(),
            cores,
            simulators,
        };
        house.open_gateways(&setup, &keys)?;
        house.open_doors(setup, clock, links, reload).await?;
        // Last of all: a start that fails must not have made a token that nobody was told.
        house.admin_token = doors::http::ensure_admin_token(&house.store, wall_clock())
            .await
            .map_err(|error| error.to_string())?;
        Ok(house)
    }

    fn open_gateways(&mut self, setup: &Setup, keys: &Keys) -> Result<(), String> {
        for way in &setup.routes {
            self.open_gateway(way)?;
        }
        let secrets = vec![setup.webhook_secret.clone().unwrap_or_else(|| keys.webhook_secret())];
        let settings = gateway::notice::NoticeSettings { secrets, ..Default::default() };
        let notice =
            gateway::notice::start(settings, &self.world).map_err(|problems| said("callbacks", &problems))?;
        self.gateways.insert(NOTICES.to_owned(), notice);
        Ok(())
    }

    fn open_gateway(&mut self, way: &Way) -> Result<(), String> {
        let name = way.route.name.clone();
        let simulated = self.simulators.address(&name);
        let running = match &way.carrier {
            CarrierSetup::Sms(sms) => {
                let mut sms = (**sms).clone();
                sms.address = simulated.unwrap_or(sms.address);
                gateway::sms::start(sms, &self.world).map_err(|problems| said(&name, &problems))?
            }
            CarrierSetup::Mail(mail) => {
                let mut mail = (**mail).clone();
                mail.address = simulated.unwrap_or(mail.address);
                mail.domain =
                    mail.domain.or_else(|| self.setup.smtp.as_ref().map(|door| door.domain.clone()));
                gateway::mail::start(mail, self.tags.clone(), &self.world)
                    .map_err(|problems| said(&name, &problems))?
            }
        };
        self.gateways.insert(name.clone(), running);
        self.ways.insert(name, way.clone());
        Ok(())
    }

    /// Applies what changed in the config: routes come, go and change, and sessions of the others stay as they are. Tells what
    /// was done, and what needs a restart.
    pub async fn apply(&mut self, setup: &Setup) -> Result<Vec<String>, String> {
        let mut told = Vec::new();
        let wanted: BTreeMap<&String, &Way> = setup.routes.iter().map(|way| (&way.route.name, way)).collect();
        let gone: Vec<String> = self
            .ways
            .iter()
            .filter(|(name, way)| wanted.get(name) != Some(way))
            .map(|(name, _)| name.clone())
            .collect();
        for name in &gone {
            if let Some(running) = self.gateways.remove(name) {
                running.stop().await;
            }
            self.ways.remove(name);
            if !wanted.contains_key(name) {
                told.push(format!("route {name} removed"));
            }
        }
        let routes = setup.routes.iter().map(|way| way.route.clone()).collect();
        self.engine.change_routes(routes).await.map_err(|error| error.to_string())?;
        for way in setup
            .routes
            .iter()
            .filter(|way| !self.ways.contains_key(&way.route.name))
            .cloned()
            .collect::<Vec<_>>()
        {
            let verb = if gone.contains(&way.route.name) { "changed" } else { "added" };
            if way.simulator.is_some() && self.simulators.address(&way.route.name).is_none() {
                told.push(format!("route {} wants a simulator: that needs a restart", way.route.name));
                continue;
            }
            self.open_gateway(&way)?;
            told.push(format!("route {} {verb}", way.route.name));
        }
        if **self.cap_senders.load() != setup.cap_senders {
            self.cap_senders.store(Arc::new(setup.cap_senders.clone()));
            told.push("cap senders changed".to_owned());
        }
        told.extend(
            self.setup
                .needs_restart(setup)
                .into_iter()
                .map(|key| format!("{key} changed: that needs a restart")),
        );
        Ok(told)
    }

    async fn open_doors(
        &mut self,
        setup: Setup,
        clock: Clock,
        links: Arc<AnswerLinks>,
        reload: Option<doors::http::Reload>,
    ) -> Result<(), String> {
        if let Some(http) = setup.http {
            let deps = doors::http::Deps {
                engine: self.engine.clone(),
                store: self.store.clone(),
                clock: clock.clone(),
                links,
                cap_senders: self.cap_senders.clone(),
                messages: Arc::new(self.engine.messages()),
                platforms: Arc::default(),
                defaults: setup.defaults,
                reload,
                metrics: crate::metering::handle(),
            };
            let door = doors::http::serve(http, deps).await.map_err(|error| error.to_string())?;
            self.http = Some(door.address());
            self.doors.http = Some(door);
        }
        if let Some(smtp) = setup.smtp {
            let config = doors::smtp::SmtpConfig { listen: smtp.listen.to_string(), domain: smtp.domain };
            let deps = doors::smtp::SmtpDeps {
                bus: self.bus.clone(),
                tags: Arc::new(crate::weigh::TagsOf(self.tags.clone())),
                clock,
                cores: self.cores.clone(),
            };
            let door =
                doors::smtp::serve(config, deps).await.map_err(|error| format!("the SMTP door: {error}"))?;
            self.smtp = Some(door.address());
            self.doors.smtp = Some(door);
        }
        Ok(())
    }

    /// The simulators, to be asked what came.
    pub fn simulators(&self) -> &crate::simulate::Simulators {
        &self.simulators
    }

    /// Doors first, so that nothing new comes in; then the gateways drain; then the engine folds; then the store closes.
    pub async fn close(self) {
        if let Some(door) = self.doors.http {
            door.stop().await;
        }
        if let Some(door) = self.doors.smtp {
            door.stop().await;
        }
        let stopping: Vec<_> = self.gateways.into_values().map(Running::stop).collect();
        for stopped in stopping {
            stopped.await;
        }
        self.keeper.abort();
        self.engine.stop().await;
        if let Err(error) = self.store.close().await {
            tracing::error!(%error, "the store did not close in order");
        }
        self.cores.stop();
    }
}

fn said<P: std::fmt::Display>(name: &str, problems: &[P]) -> String {
    let list: Vec<String> = problems.iter().map(|problem| format!("route {name}: {problem}")).collect();
    list.join("\n")
}

//! The wiring: store, bus, engine, gateways, doors, from the ground floor up; and down again in the opposite order.

use crate::keys::Keys;
use crate::setup::{CarrierSetup, Setup, Way};
use crate::weigh::Scales;
use arc_swap::ArcSwap;
use doors::http::AnswerLinks;
use engine::{Clock, Engine, Parts};
use gateway::{Running, World};
use records::Timestamp;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::SharedStore;

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
    cores: Arc<net::Cores>,
    simulators: crate::simulate::Simulators,
    keeper: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct Doors {
    http: Option<doors::http::Running>,
    smtp: Option<doors::smtp::Running>,
}

/// The wall clock. The only place that reads it for the house.
pub fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

impl House {
    /// Builds the house. What fails is told in words; nothing is left running.
    pub async fn open(setup: Setup, reload: Option<doors::http::Reload>) -> Result<House, String> {
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
        })
        .await
        .map_err(|error| error.to_string())?;
        let admin_token =
            doors::http::ensure_admin_token(&store, wall_clock()).await.map_err(|error| error.to_string())?;
        let simulators = crate::simulate::Simulators::start(&setup).await?;
        let mut house = House {
            keeper: tokio::spawn(crate::keep::keep(setup.clone(), store.clone(), engine.clone())),
            engine,
            store,
            bus,
            http: None,
            smtp: None,
            admin_token,
            doors: Doors::default(),
            gateways: BTreeMap::new(),
            cores,
            simulators,
        };
        house.open_gateways(&setup, &keys, &clock)?;
        house.open_doors(setup, &keys, clock, links, reload).await?;
        Ok(house)
    }

    fn open_gateways(&mut self, setup: &Setup, keys: &Keys, clock: &Clock) -> Result<(), String> {
        let behind = self.engine.behind();
        let mut world = World::new(self.bus.clone(), clock.clone(), self.cores.clone());
        world.behind = Arc::new(move || behind.load(Ordering::Relaxed));
        let tags = gateway::mail::tag::Tags::new(&keys.tags);
        for way in &setup.routes {
            let running = self.open_gateway(way, setup, &tags, &world)?;
            self.gateways.insert(way.route.name.clone(), running);
        }
        let secret = setup.webhook_secret.clone().unwrap_or_else(|| gateway::notice::secret(&keys.webhooks));
        let notice = gateway::notice::start(
            gateway::notice::NoticeConfig { secret: Some(secret), ..Default::default() },
            &world,
        )
        .map_err(|problems| said("callbacks", &problems))?;
        self.gateways.insert("(notices)".to_owned(), notice);
        Ok(())
    }

    fn open_gateway(
        &self,
        way: &Way,
        setup: &Setup,
        tags: &gateway::mail::tag::Tags,
        world: &World,
    ) -> Result<Running, String> {
        let simulated = self.simulators.address(&way.route.name);
        match &way.carrier {
            CarrierSetup::Sms(sms) => {
                let mut sms = (**sms).clone();
                sms.address = simulated.unwrap_or(sms.address);
                gateway::sms::start(sms, world).map_err(|problems| said(&way.route.name, &problems))
            }
            CarrierSetup::Mail(mail) => {
                let mut mail = (**mail).clone();
                mail.address = simulated.unwrap_or(mail.address);
                mail.domain = mail.domain.or_else(|| setup.smtp.as_ref().map(|door| door.domain.clone()));
                gateway::mail::start(mail, tags.clone(), world)
                    .map_err(|problems| said(&way.route.name, &problems))
            }
        }
    }

    async fn open_doors(
        &mut self,
        setup: Setup,
        keys: &Keys,
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
                cap_senders: Arc::new(ArcSwap::from_pointee(setup.cap_senders)),
                defaults: setup.defaults,
                reload,
                metrics: crate::metering::handle(),
            };
            let door = doors::http::serve(http, deps).await.map_err(|error| error.to_string())?;
            self.http = Some(door.address());
            self.doors.http = Some(door);
        }
        if let Some(smtp) = setup.smtp {
            let tags = gateway::mail::tag::Tags::new(&keys.tags);
            let reader = crate::weigh::TagsOf(tags);
            let config =
                doors::smtp::SmtpConfig { listen: smtp.listen, domain: smtp.domain, ..Default::default() };
            let door = doors::smtp::serve(config, self.bus.clone(), Arc::new(reader), clock)
                .await
                .map_err(|error| format!("the SMTP door: {error}"))?;
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

//! `[charging]`: the ledger, its prices, and how our own messages are paid for.

use super::Config;
use super::check::Check;
use super::check_servers::{Where, store_kept};
use super::values::FsyncWords;
use bus::embedded::Fsync;
use charging::ledger::config::{DefaultAccount as OpensWith, FinalAction, Unreferenced};
use charging::ledger::tariff::{Rates, Tariff, Tariffs};
use charging::ledger::tariff_spec::TariffSpec;
use charging::server::FinalUnits;
use settings::{section, words};
use std::time::Duration;

section! {
    /// `[charging]`
    Charging {
        /// How our own messages are charged.
        mode: ChargingMode = ChargingMode::Off,
        /// Diameter: how long a message waits for an answer (Tx).
        tx: Duration = diameter::credit::client::TX_DEFAULT,
        /// Diameter: what becomes of a message without one.
        failure_handling: WithoutAnswer = WithoutAnswer::Terminate,
        /// When a move of money is safe.
        fsync: Fsync as FsyncWords = Fsync::Always,
        /// Opens unknown accounts.
        default_account: Option<DefaultAccount> = None,
        /// How long a grant is good.
        validity: Duration = Duration::from_secs(3_600),
        /// What clients do with the last units.
        final_unit: FinalUnit = FinalUnit::default(),
        /// Of a grant, in percent: with so much left clients ask again.
        quota_threshold: u8 = 0,
        /// Unused for so long, clients give units back; nothing: never.
        quota_holding_time: Option<Duration> = None,
        /// The services of a session share what is granted.
        credit_pool: bool = false,
        /// How long charging records are kept; nothing: for ever.
        keep_records: Option<Duration> = None,
        /// How long an event is known again.
        event_window: Duration = Duration::from_secs(60),
        /// What a refund that names no debit may be; nothing: refused.
        refund_max: Option<i64> = Some(100_000),
        /// Threads that keep the books; nothing: one for two cores.
        shards: Option<u32> = None,
        /// What costs what; without one that fits, 1 unit, 1,000,000 octets, 60 s cost 1 each.
        tariff: Vec<ChargingTariff> = Vec::new(),
    }
}

words! {
    /// How our own messages are charged.
    ChargingMode {
        /// Not at all.
        Off = "off",
        /// Here.
        Ledger = "ledger",
        /// By a credit-control server.
        Diameter = "diameter",
    }
}

words! {
    /// Credit-Control-Failure-Handling (RFC 8506, section 8.14).
    WithoutAnswer {
        /// It is not sent.
        Terminate = "terminate",
        /// It is sent.
        Continue = "continue",
        /// It is sent when Tx is over, unless the servers are known to have failed.
        RetryAndTerminate = "retry_and_terminate",
    }
}

section! {
    /// `[charging.final_unit]`
    FinalUnit {
        /// Final-Unit-Action.
        action: FinalUnitAction = FinalUnitAction::Terminate,
        /// Where to: a URL, a SIP URI or an IP address.
        redirect: Option<String> = None,
        /// IPFilterRules of what stays allowed.
        rules: Vec<String> = Vec::new(),
        /// Filters that clients know by name.
        filters: Vec<String> = Vec::new(),
        /// As QoS-Final-Unit-Indication.
        extended: bool = false,
    }
}

words! {
    /// What clients do with the last units.
    FinalUnitAction {
        /// They end the service.
        Terminate = "terminate",
        /// They send the subscriber elsewhere.
        Redirect = "redirect",
        /// They let through what filters allow.
        Restrict = "restrict",
    }
}

impl FinalUnit {
    /// What of it the ledger decides.
    fn action(&self) -> FinalAction {
        match self.action {
            FinalUnitAction::Terminate => FinalAction::Terminate,
            FinalUnitAction::Redirect => FinalAction::Redirect,
            FinalUnitAction::Restrict => FinalAction::RestrictAccess,
        }
    }

    /// What of it the server tells.
    pub fn told(&self) -> FinalUnits {
        FinalUnits {
            redirect: self.redirect.clone(),
            rules: self.rules.clone(),
            filters: self.filters.clone(),
            extended: self.extended,
        }
    }
}

section! {
    /// An account that is opened by its first use.
    DefaultAccount {
        /// Minor units.
        balance: i64 = 0,
        /// Minor units that it may go below zero.
        limit: i64 = 0,
    }
}

section! {
    /// `[[charging.tariff]]`
    ChargingTariff {
        /// Service-Context-Id; nothing: any.
        context: Option<String> = None,
        /// Rating-Group; nothing: any.
        rating_group: Option<u32> = None,
        /// Message class; nothing: any.
        class: Option<u8> = None,
        /// First digits of the destination.
        prefix: String = String::new(),
        /// `08:00-18:00`; nothing: the whole day.
        hours: Option<String> = None,
        /// `mon`, `tue`, …; empty: all.
        days: Vec<String> = Vec::new(),
        /// The clock of the hours, from UTC: `+01:00`.
        utc_offset: Option<String> = None,
        /// A message or another service-specific unit.
        unit: Price = Price { price: 1, per: 1 },
        /// Octets.
        octets: Price = Price { price: 1, per: 1_000_000 },
        /// Seconds.
        seconds: Price = Price { price: 1, per: 60 },
    }
}

section! {
    /// So much for each begun step.
    Price {
        /// Minor units.
        price: i64 = 1,
        /// Units of a step.
        per: u64 = 1,
    }
}

impl Charging {
    /// Its tariffs as they are written.
    pub fn tariffs(&self) -> Vec<TariffSpec> {
        self.tariff.iter().map(ChargingTariff::spec).collect()
    }

    /// The rules of the ledger.
    ///
    /// # Errors
    /// A path below `charging` and what is wrong there.
    pub fn ledger(&self) -> Result<charging::ledger::Config, (String, String)> {
        let tariffs: Result<Vec<Tariff>, (String, String)> =
            self.tariff.iter().enumerate().map(|(n, tariff)| tariff.read(&format!("tariff[{n}]"))).collect();
        let tariffs =
            Tariffs::new(tariffs?, Some(Rates::BUILT_IN)).map_err(|why| ("tariff".to_owned(), why))?;
        let seconds = |duration: Duration| u32::try_from(duration.as_secs()).unwrap_or(u32::MAX);
        let usual = charging::ledger::Config::default();
        Ok(charging::ledger::Config {
            default_account: self
                .default_account
                .as_ref()
                .map(|account| OpensWith { balance: account.balance, limit: account.limit }),
            tariffs,
            validity_s: seconds(self.validity),
            final_action: self.final_unit.action(),
            // Who is sent elsewhere keeps the session, and comes again after a top-up.
            zero_grant: self.final_unit.action != FinalUnitAction::Terminate,
            threshold_percent: self.quota_threshold,
            holding_s: self.quota_holding_time.map_or(0, seconds),
            credit_pool: self.credit_pool,
            event_window_s: seconds(self.event_window),
            unreferenced_refund: self.refund_max.map_or(Unreferenced::Refuse, Unreferenced::UpTo),
            ..usual
        })
    }
}

impl Config {
    /// How our own messages are paid at others' servers; nothing: they are not.
    pub fn external_charging(&self) -> Option<charging::own::external::Settings> {
        use diameter::credit::FailureHandling;
        let charging = self.charging.as_ref().filter(|charging| charging.mode == ChargingMode::Diameter)?;
        let node = self.diameter.as_ref()?;
        Some(charging::own::external::Settings {
            origin_host: node.origin_host.clone(),
            origin_realm: node.origin_realm.clone(),
            tx: charging.tx,
            failure_handling: match charging.failure_handling {
                WithoutAnswer::Terminate => FailureHandling::Terminate,
                WithoutAnswer::Continue => FailureHandling::Continue,
                WithoutAnswer::RetryAndTerminate => FailureHandling::RetryAndTerminate,
            },
        })
    }
}

impl From<&Price> for charging::ledger::tariff_spec::Price {
    fn from(price: &Price) -> Self {
        Self { price: price.price, per: price.per }
    }
}

impl ChargingTariff {
    /// As it is written.
    fn spec(&self) -> TariffSpec {
        TariffSpec {
            context: self.context.clone(),
            rating_group: self.rating_group,
            class: self.class,
            prefix: self.prefix.clone(),
            hours: self.hours.clone(),
            days: self.days.clone(),
            utc_offset: self.utc_offset.clone(),
            unit: (&self.unit).into(),
            octets: (&self.octets).into(),
            seconds: (&self.seconds).into(),
        }
    }

    fn read(&self, path: &str) -> Result<Tariff, (String, String)> {
        self.spec().read().map_err(|(key, why)| (format!("{path}.{key}"), why))
    }
}

impl Config {
    /// Who takes outcomes in beside the engine: the settler, where our own messages are paid for.
    pub(super) fn outcome_groups(&self) -> Vec<String> {
        let charges = self.charging.as_ref().is_some_and(|charging| charging.mode != ChargingMode::Off);
        charges.then(|| charging::own::settle::GROUP.to_owned()).into_iter().collect()
    }
}

impl Check<'_> {
    /// What `[charging]` means must make sense.
    pub(super) fn charging(&mut self) {
        let Some(charging) = &self.config.charging else { return };
        if let Err((field, why)) = charging.ledger() {
            self.add(&format!("charging.{field}"), why);
        }
        self.charging_elsewhere(charging);
        let balance =
            charging.default_account.as_ref().is_some_and(|account| account.balance < 0 || account.limit < 0);
        self.check("charging.default_account", balance.then_some("balance and limit must be at least 0"));
        let is_shared = store_kept(self.config.store.url.reveal()) == Some(Where::Shared);
        let kept = is_shared && charging.keep_records.is_some();
        self.check("charging.keep_records", kept.then_some("is for a ledger on this machine's disk"));
        let shards = charging.shards.unwrap_or(1) as usize;
        self.check("charging.shards", (shards == 0).then_some("must be at least 1"));
        let many = is_shared && shards > charging::ledger::shared::SHARDS_MAX;
        self.check(
            "charging.shards",
            many.then_some(
                "at most 32 where processes share PostgreSQL: each is a connection of each process",
            ),
        );
        if let Err((key, why)) = charging.final_unit.told().check(charging.final_unit.action()) {
            self.add(&format!("charging.final_unit.{key}"), why);
        }
        self.check(
            "charging.quota_threshold",
            (charging.quota_threshold > 99).then_some("must be from 0 to 99: percent"),
        );
        let short = "must be at least 1h: duplicates are answered from the records";
        let few = charging.keep_records.is_some_and(|keep| keep < Duration::from_secs(3_600));
        self.check("charging.keep_records", few.then_some(short));
        let short = "must be at least 1s";
        self.check("charging.validity", (charging.validity.as_secs() == 0).then_some(short));
        self.check("charging.event_window", (charging.event_window.as_secs() == 0).then_some(short));
    }

    /// Servers of others, where our own messages are paid there.
    fn charging_elsewhere(&mut self, charging: &Charging) {
        let is_elsewhere = charging.mode == ChargingMode::Diameter;
        let peers = self.config.diameter.as_ref().map(|diameter| &diameter.peer[..]).unwrap_or_default();
        let nobody = is_elsewhere && peers.iter().all(|peer| peer.charging.is_none());
        self.check(
            "charging.mode",
            nobody.then_some(
                "\"diameter\" needs [diameter], and in it a [[diameter.peer]] with address and charging = 1: the server that is asked",
            ),
        );
        for key in ["tx", "failure_handling"] {
            let path = format!("charging.{key}");
            let alone = !is_elsewhere && self.places.contains_key(&path);
            self.check(&path, alone.then_some("is of no use without mode = \"diameter\""));
        }
        let short = charging.tx.as_secs() == 0;
        self.check("charging.tx", short.then_some("must be at least 1s"));
    }
}

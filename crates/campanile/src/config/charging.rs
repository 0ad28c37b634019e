//! `[charging]`: the ledger, its prices, and how our own messages are paid for.

use super::Config;
use super::check::Check;
use super::check_servers::{Where, store_kept};
use super::values::FsyncWords;
use bus::embedded::Fsync;
use charging::server::FinalUnits;
use ledger::Units;
use ledger::config::{DefaultAccount as OpensWith, DuplicateLimits, FinalAction, Quota, Unreferenced};
use ledger::tariff::{Rates, Tariff, Tariffs};
use ledger::tariff_spec::TariffSpec;
use settings::{section, words};
use std::time::Duration;

section! {
    /// Charging, in minor units: integers, hundredths of whatever the currency is.
    Charging {
        /// Payment for this server's own messages: `"off"`; `"ledger"`, from accounts of this server, or of
        /// all processes that share PostgreSQL (the credit-control server uses the same accounts);
        /// `"diameter"`, at external credit-control servers, the `[[diameter.peer]]` with `charging`.
        #[manual(example = "ledger")]
        mode: ChargingMode = ChargingMode::Off,
        /// With `"diameter"`: time that a message waits for an answer (Tx); at least 1s.
        tx: Duration = diameter::credit::client::TX_DEFAULT,
        /// With `"diameter"`: handling of a message without an answer. `"terminate"`: it is not sent, and
        /// tried again as `engine.retry_after` says; `"continue"`: it is sent; `"retry_and_terminate"`: it is
        /// sent when `tx` is over, unless the servers are known to have failed.
        failure_handling: WithoutAnswer = WithoutAnswer::Terminate,
        /// When a transfer is acknowledged: `"always"` (it is on disk), `"interval:5ms"`, `"os"`. In
        /// PostgreSQL always when it is committed.
        fsync: Fsync as FsyncWords = Fsync::Always,
        /// Opens an unknown account at its first use; without it an unknown account is refused (5030).
        #[manual(inline, example = {balance = 1000000, limit = 0})]
        default_account: Option<DefaultAccount> = None,
        /// Validity-Time of a grant; at least 1s. A session that is silent for twice as long is ended, and
        /// its reservation released.
        validity: Duration = Duration::from_secs(3_600),
        /// Final units.
        final_unit: FinalUnit = FinalUnit::default(),
        /// Percent of a grant, 0 to 99: with so much left clients request more (Time-, Volume-,
        /// Unit-Quota-Threshold). 0: when all is used.
        #[manual(example = 20)]
        quota_threshold: u8 = 0,
        /// Time without use after which clients return units (Quota-Holding-Time).
        #[manual(default = "never", example = "10m")]
        quota_holding_time: Option<Duration> = None,
        /// The rating groups of a session share granted units (G-S-U-Pool-Reference, RFC 8506), for clients
        /// that support it.
        credit_pool: bool = false,
        /// Time that charging records stay in the ledger's log, at least 1h; for a ledger on this machine's
        /// disk. Whole segments of 64 MiB are deleted, once two snapshots cover them: export records before
        /// (`campanile ledger export`). Needs a restart.
        #[manual(default = "for ever", example = "400d")]
        keep_records: Option<Duration> = None,
        /// Time in which a repeated event gets the first answer and is charged once; at least 1s.
        event_window: Duration = Duration::from_secs(60),
        /// Highest amount of a refund that names no debit.
        refund_max: Option<i64> = Some(100_000),
        /// Threads of a new ledger. In PostgreSQL at most 32, each a connection of each process.
        #[manual(default = "one for two cores; 4 where processes share PostgreSQL", example = 2)]
        shards: Option<u32> = None,
        /// Size and bound of grants.
        quota: GrantSizes = GrantSizes::default(),
        /// Tariffs.
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
    /// Final-Unit-Indication: the action of clients when the last units are used. With `"redirect"` and
    /// `"restrict"` a session without money gets zero units, continues, and gets more after a top-up. All but
    /// `action` needs a restart.
    FinalUnit {
        /// Final-Unit-Action: `"terminate"` the service, `"redirect"` the subscriber, `"restrict"` the
        /// traffic.
        #[manual(example = "redirect")]
        action: FinalUnitAction = FinalUnitAction::Terminate,
        /// Target of `"redirect"`: a URL, a SIP URI or an IP address.
        #[manual(example = "https://topup.example/")]
        redirect: Option<String> = None,
        /// IPFilterRules (RFC 6733) of the traffic that stays allowed.
        #[manual(example = ["permit out ip from 10.0.0.1 to any"])]
        rules: Vec<String> = Vec::new(),
        /// Filters that clients know by name.
        #[manual(example = ["topup-only"])]
        filters: Vec<String> = Vec::new(),
        /// Sent as QoS-Final-Unit-Indication, for clients that support RFC 8506.
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
    pub fn final_units(&self) -> FinalUnits {
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
        /// Minor units at first; at least 0.
        balance: i64 = 0,
        /// Minor units that it may go below zero; at least 0.
        limit: i64 = 0,
    }
}

section! {
    /// Tariffs. The longest prefix decides, then the tariff with more conditions. Without one that fits, 1
    /// unit, 1,000,000 octets (begun), 60 s (begun) cost 1 each. A tariff prices what it names of `unit`,
    /// `octets` and `seconds`; other units beside those cost nothing, and alone as much as without a tariff.
    /// Applied by a reload.
    ChargingTariff {
        /// Service-Context-Id.
        #[manual(default = "any", example = "32274@3gpp.org")]
        context: Option<String> = None,
        /// Rating-Group.
        #[manual(default = "any", example = 1)]
        rating_group: Option<u32> = None,
        /// Message class.
        #[manual(default = "any", example = 1)]
        class: Option<u8> = None,
        /// First digits of the destination, at most 16; a leading + is allowed.
        #[manual(example = "+4670")]
        prefix: String = String::new(),
        /// Hours of the day at `utc_offset`, which may go past midnight.
        #[manual(default = "the whole day", example = "08:00-18:00")]
        hours: Option<String> = None,
        /// Days on which the hours begin: `"mon"`, `"tue"`, …; none: all.
        #[manual(example = ["mon", "tue", "wed", "thu", "fri"])]
        days: Vec<String> = Vec::new(),
        /// Clock of the hours, from UTC.
        #[manual(default = "UTC", example = "+01:00")]
        utc_offset: Option<String> = None,
        /// Price of a message or another service-specific unit.
        #[manual(inline, example = {price = 5, per = 1})]
        unit: Option<Price> = None,
        /// Price of octets.
        #[manual(inline, example = {price = 5, per = 1000000})]
        octets: Option<Price> = None,
        /// Price of seconds.
        #[manual(inline, example = {price = 2, per = 60})]
        seconds: Option<Price> = None,
    }
}

section! {
    /// Size of a grant where a request leaves it to the server (an empty Requested-Service-Unit), in the
    /// units that the tariff names, or that are usual of the service: octets of 32251, seconds of 32260; and
    /// the largest grant of any request. Applied by a reload.
    GrantSizes {
        /// Octets of such a grant; at least 1.
        octets: u64 = 10_000_000,
        /// Seconds of such a grant; at least 1.
        seconds: u32 = 600,
        /// Service-specific units of such a grant; at least 1.
        units: u64 = 1,
        /// Largest grant, octets; at least 1.
        #[manual(default = "no bound", example = 1000000000)]
        octets_max: Option<u64> = None,
        /// Largest grant, seconds; at least 1.
        #[manual(default = "no bound", example = 3600)]
        seconds_max: Option<u32> = None,
        /// Largest grant, service-specific units; at least 1.
        #[manual(default = "no bound", example = 100)]
        units_max: Option<u64> = None,
    }
}

impl GrantSizes {
    fn quota(&self) -> Quota {
        let kinds = [
            (self.octets_max.is_some(), Units::OCTETS),
            (self.seconds_max.is_some(), Units::TIME),
            (self.units_max.is_some(), Units::SPECIFIC),
        ];
        let at_most = Units {
            present: kinds.iter().filter(|(is, _)| *is).fold(0, |kinds, (_, kind)| kinds | kind),
            time_s: self.seconds_max.unwrap_or(0),
            octets: self.octets_max.unwrap_or(0),
            specific: self.units_max.unwrap_or(0),
            money: 0,
        };
        let (octets, time_s, specific) = (self.octets, self.seconds, self.units);
        let present = Units::OCTETS | Units::TIME | Units::SPECIFIC;
        Quota { units: Units { present, octets, time_s, specific, money: 0 }, at_most }
    }
}

section! {
    /// A price for each begun step.
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
    pub fn ledger(&self) -> Result<ledger::Config, (String, String)> {
        let tariffs: Result<Vec<Tariff>, (String, String)> =
            self.tariff.iter().enumerate().map(|(n, tariff)| tariff.read(&format!("tariff[{n}]"))).collect();
        let tariffs =
            Tariffs::new(tariffs?, Some(Rates::BUILT_IN)).map_err(|why| ("tariff".to_owned(), why))?;
        let seconds = |duration: Duration| u32::try_from(duration.as_secs()).unwrap_or(u32::MAX);
        let usual = ledger::Config::default();
        Ok(ledger::Config {
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
            quota: self.quota.quota(),
            duplicates: DuplicateLimits { event_window_s: seconds(self.event_window), ..usual.duplicates },
            unreferenced_refund: self.refund_max.map_or(Unreferenced::Refuse, Unreferenced::UpTo),
            ..usual
        })
    }
}

impl Config {
    /// How our own messages are paid at others' servers; nothing: they are not.
    pub fn external_charging(&self) -> Option<charging::message_charging::external::Settings> {
        use diameter::credit::FailureHandling;
        let charging = self.charging.as_ref().filter(|charging| charging.mode == ChargingMode::Diameter)?;
        let node = self.diameter.as_ref()?;
        Some(charging::message_charging::external::Settings {
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

impl From<&Price> for ledger::tariff_spec::Price {
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
            unit: self.unit.as_ref().map(Into::into),
            octets: self.octets.as_ref().map(Into::into),
            seconds: self.seconds.as_ref().map(Into::into),
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
        charges.then(|| charging::message_charging::settler::GROUP.to_owned()).into_iter().collect()
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
        let many = is_shared && shards > ledger::shared::SHARDS_MAX;
        self.check(
            "charging.shards",
            many.then_some(
                "at most 32 where processes share PostgreSQL: each is a connection of each process",
            ),
        );
        if let Err((key, why)) = charging.final_unit.final_units().check(charging.final_unit.action()) {
            self.add(&format!("charging.final_unit.{key}"), why);
        }
        self.check(
            "charging.quota_threshold",
            (charging.quota_threshold > 99).then_some("must be from 0 to 99: percent"),
        );
        let short = "must be at least 1h: duplicates are answered from the records";
        let few = charging.keep_records.is_some_and(|keep| keep < Duration::from_secs(3_600));
        self.check("charging.keep_records", few.then_some(short));
        self.grant_sizes(&charging.quota);
        let short = "must be at least 1s";
        self.check("charging.validity", (charging.validity.as_secs() == 0).then_some(short));
        self.check("charging.event_window", (charging.event_window.as_secs() == 0).then_some(short));
    }

    /// What is granted is something, and within the bound.
    fn grant_sizes(&mut self, quota: &GrantSizes) {
        for (key, size, bound) in [
            ("octets", quota.octets, quota.octets_max),
            ("seconds", quota.seconds.into(), quota.seconds_max.map(u64::from)),
            ("units", quota.units, quota.units_max),
        ] {
            let path = format!("charging.quota.{key}");
            self.check(&path, (size == 0).then_some("must be at least 1"));
            let none = "must be at least 1; without it there is no bound";
            self.check(&format!("{path}_max"), (bound == Some(0)).then_some(none));
            let over = bound.filter(|bound| (1..size).contains(bound));
            self.check(&path, over.map(|bound| format!("{size} is over {key}_max, {bound}")));
        }
    }

    /// Servers of others, where our own messages are paid there.
    fn charging_elsewhere(&mut self, charging: &Charging) {
        let is_elsewhere = charging.mode == ChargingMode::Diameter;
        let peers = self.config.diameter.as_ref().map(|diameter| &diameter.peer[..]).unwrap_or_default();
        let nobody = is_elsewhere && peers.iter().all(|peer| peer.charging.is_none());
        self.check(
            "charging.mode",
            nobody.then_some(
                "\"diameter\" needs [diameter], and in it a [[diameter.peer]] with address and charging = 1: the charging server",
            ),
        );
        for key in ["tx", "failure_handling"] {
            let path = format!("charging.{key}");
            let alone = !is_elsewhere && self.places.contains_key(&path);
            self.check(&path, alone.then_some("has no effect without mode = \"diameter\""));
        }
        let short = charging.tx.as_secs() == 0;
        self.check("charging.tx", short.then_some("must be at least 1s"));
    }
}

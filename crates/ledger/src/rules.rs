//! The rules that hold: the config's, but for what was changed by API and is kept beside the ledger.

use std::io;
use std::sync::{Arc, PoisonError};

use super::config::Config;
use super::runtime_rules::{RuntimeRules, RuntimeSettings};
use super::shard_threads::Ledger;
use super::tariff::{Rates, Tariff, Tariffs};
use super::tariff_spec::TariffSpec;

/// What the config says.
#[derive(Clone, Debug)]
pub(super) struct ConfiguredRules {
    pub(super) config: Config,
    /// Its tariffs as they are written there.
    pub(super) tariffs: Vec<TariffSpec>,
}

/// The tariffs that hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices {
    /// Changes with each change by API.
    pub version: u64,
    pub tariffs: Vec<TariffSpec>,
    /// They stand in the config, and none were set by API.
    pub are_configs: bool,
}

/// Why rules were not changed.
#[derive(Debug)]
pub enum RulesError {
    /// A tariff cannot be: which one, counted from 0, which key of it, and why.
    Tariff(usize, &'static str, String),
    /// All of them cannot be.
    Tariffs(String),
    /// The disk did not take them.
    Disk(io::Error),
}

impl From<io::Error> for RulesError {
    fn from(error: io::Error) -> RulesError {
        RulesError::Disk(error)
    }
}

/// The config with the tariffs that were set by API in the place of its own.
pub(super) fn compose(config: &Config, settings: &RuntimeSettings) -> Result<Config, RulesError> {
    let Some(specs) = &settings.tariffs else { return Ok(config.clone()) };
    let read =
        |(at, spec): (usize, &TariffSpec)| spec.read().map_err(|(key, why)| RulesError::Tariff(at, key, why));
    let all: Vec<Tariff> = specs.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    let tariffs = Tariffs::new(all, Some(Rates::BUILT_IN)).map_err(RulesError::Tariffs)?;
    Ok(Config { tariffs, ..config.clone() })
}

impl Ledger {
    /// What was changed by API.
    pub fn kept(&self) -> &Arc<RuntimeRules> {
        &self.kept
    }

    /// From now on the config says this; its tariffs hold unless others were set by API. What was granted
    /// stays as it was.
    pub fn configure(&self, config: &Config, tariffs: &[TariffSpec]) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        *said = ConfiguredRules { config: config.clone(), tariffs: tariffs.to_vec() };
        match compose(config, &self.kept.get()) {
            Ok(config) => self.apply(config),
            Err(error) => tracing::error!(?error, "the tariffs that were set by API cannot hold"),
        }
    }

    /// The tariffs that hold.
    pub fn prices(&self) -> Prices {
        let settings = self.kept.get();
        let are_configs = settings.tariffs.is_none();
        let configs = || self.said.lock().unwrap_or_else(PoisonError::into_inner).tariffs.clone();
        let tariffs = settings.tariffs.unwrap_or_else(configs);
        Prices { version: settings.version, tariffs, are_configs }
    }

    /// From now on these tariffs hold, also after a restart; with none of the API's those of the config hold
    /// again. On disk when this returns.
    ///
    /// # Errors
    /// A tariff that cannot be, or the disk: then nothing changed.
    pub fn set_prices(&self, tariffs: Option<Vec<TariffSpec>>) -> Result<Prices, RulesError> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let mut composed = None;
        self.kept.change(|settings| {
            settings.tariffs = tariffs;
            composed = Some(compose(&said.config, settings)?);
            Ok::<(), RulesError>(())
        })?;
        composed.into_iter().for_each(|config| self.apply(config));
        drop(said);
        Ok(self.prices())
    }

    fn apply(&self, config: Config) {
        let config = Arc::new(config);
        for shard in 0..self.shards() {
            let config = Arc::clone(&config);
            self.ask(shard, move |state| state.configure(config));
        }
    }
}

//! The config: a file in TOML, the environment over it, and every problem with its line.
//!
//! [`load`] reads, [`Config`] is what it gives, [`Config::setup`] is what the server is built from. Nothing
//! is looked up later: what a room needs is handed to it as its own settings.

mod approval;
mod charging;
mod check;
mod check_platforms;
mod check_servers;
mod diameter;
mod directory;
mod door_keys;
mod edge;
mod map;
mod oidc;
mod optout;
mod outbound;
mod platforms;
mod route;
mod sections;
mod services;
mod setup;
mod shown;
#[cfg(test)]
mod tests;
mod timestamp;
mod topics;
mod values;
mod warnings;

pub use approval::Approval;
pub use charging::{Charging, ChargingMode, ChargingTariff, DefaultAccount, Price};
pub use diameter::{Diameter, DiameterPeer};
pub use directory::{Directory, RemoveChoice};
pub use edge::{Edge, EdgeSite};
pub use map::Map;
pub use oidc::{Oidc, OidcRole};
pub use optout::Optout;
pub use outbound::Outbound;
pub use platforms::{Keyword, Platform, Smpp, SmppClient};
pub use route::Route;
pub use sections::*;
pub use services::{Organisation, Send, Services};
pub use settings::{Place, Problems, SettingsProblem};
pub(crate) use shown::{checked, shown};
pub use timestamp::Timestamp;
pub use topics::Topics;

use check::Check;
use settings::{SecretFiles, SecretSources, Section, ValueFormat};
use std::collections::BTreeMap;
use std::path::Path;

/// What every environment variable that sets a key begins with.
pub const ENVIRONMENT_PREFIX: &str = "CAMPANILE__";
/// Where systemd keeps the credentials of a unit.
const CREDENTIALS_DIRECTORY: &str = "CREDENTIALS_DIRECTORY";
/// Looked for where no file is named; then it need not be there.
pub const FILE: &str = "campanile.toml";

/// The whole configuration with its comments, made of the sections' doc comments; `default.toml` is a copy
/// for reading. A line that is commented out without a blank is an example.
pub fn manual() -> String {
    settings::manual::toml(&Config::outline())
}

/// Reads a config.
///
/// `data` is the folder that relative paths are below.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load(file: Option<&Path>, data: &Path) -> Result<Config, Problems> {
    let (config, _, problems) = load_all(file, data);
    if problems.is_empty() { Ok(config) } else { Err(problems) }
}

/// Reads a config, and says what is wrong with it only perhaps: a sentence each.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load_with_warnings(file: Option<&Path>, data: &Path) -> Result<(Config, Vec<String>), Problems> {
    let (config, warnings, problems) = load_all(file, data);
    if problems.is_empty() { Ok((config, warnings)) } else { Err(problems) }
}

/// Reads a config for a server, with warnings as [`load_with_warnings`]. What is wrong with the log alone
/// does not keep a server from its work: the defaults stand in for it, and it is one of the warnings.
///
/// # Errors
/// Everything else that is wrong with it.
pub fn load_to_serve(file: Option<&Path>, data: &Path) -> Result<(Config, Vec<String>), Problems> {
    let (mut config, mut warnings, problems) = load_all(file, data);
    let is_of_log =
        |problem: &&SettingsProblem| ["log.filter", "log.format"].contains(&problem.field.as_str());
    if !problems.list().iter().all(|problem| is_of_log(&problem)) {
        return Err(problems);
    }
    let say = |one: &SettingsProblem| {
        format!("{}: {}: {}; the default stands in", problems.place(one), one.field, one.reason)
    };
    if crate::log::filter_problem(&config.log.filter).is_some() {
        config.log.filter = Log::default().filter;
    }
    warnings.extend(problems.list().iter().map(say));
    Ok((config, warnings))
}

fn load_all(file: Option<&Path>, data: &Path) -> (Config, Vec<String>, Problems) {
    let path = file.unwrap_or(Path::new(FILE));
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && file.is_none() => String::new(),
        Ok(text) => text,
        Err(error) => {
            let mut problems = Problems::new(path.display().to_string());
            problems.add(Place::Nowhere, "", format!("cannot be read: {error}"));
            return (Config::default(), Vec::new(), problems);
        }
    };
    let (config, secrets, problems) = parse_all(&text, &path.display().to_string(), data, &environment());
    let warnings = warnings::of(&config, &secrets, path);
    (config, warnings, problems)
}

/// Reads a config's text.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(
    text: &str,
    name: &str,
    data: &Path,
    environment: &BTreeMap<String, String>,
) -> Result<Config, Problems> {
    let (config, _, problems) = parse_all(text, name, data, environment);
    if problems.is_empty() { Ok(config) } else { Err(problems) }
}

fn parse_all(
    text: &str,
    name: &str,
    data: &Path,
    environment: &BTreeMap<String, String>,
) -> (Config, SecretSources, Problems) {
    let mut problems = Problems::new(name).with_known_paths(Config::outline().paths());
    let mut root = settings::parse(text, &mut problems);
    settings::overlay(&mut root, ENVIRONMENT_PREFIX, environment, &mut problems);
    let credentials = environment.get(CREDENTIALS_DIRECTORY).map(Path::new);
    let files = SecretFiles { base: data, credentials };
    let secrets = settings::read_secret_files(&mut root, &Config::outline(), files, &mut problems);
    let config = Config::read(&root, "", &mut problems).unwrap_or_default();
    let places = settings::places(&root);
    Check { config: &config, data, places: &places, environment, problems: &mut problems }.run();
    problems.sort();
    (config, secrets, problems)
}

/// What the environment says of the config.
fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let is_ours = |name: &str| {
        let known = [CREDENTIALS_DIRECTORY, crate::log::FILTER_VARIABLE, crate::log::FORMAT_VARIABLE];
        name.starts_with(ENVIRONMENT_PREFIX) || known.contains(&name)
    };
    std::env::vars_os().filter_map(text).filter(|(name, _)| is_ours(name)).collect()
}

impl Config {
    /// `[engine]`, as the engine wants it.
    pub fn engine_settings(&self) -> engine::Settings {
        let seconds = |duration: std::time::Duration| u32::try_from(duration.as_secs()).unwrap_or(u32::MAX);
        engine::Settings {
            retry_after_s: self.engine.retry_after.iter().copied().map(seconds).collect(),
            receipt_timeout_s: seconds(self.engine.receipt_timeout),
            endpoints_max: self.engine.endpoints_max,
            linger_s: seconds(self.engine.linger),
            carrier_ids_s: seconds(self.engine.carrier_ids),
            keywords: self.keywords(),
            approval: self.approval_policy(),
            outcome_groups: self.outcome_groups(),
        }
    }

    /// `[http]`'s limits, as the door wants them.
    pub fn http_limits(&self) -> doors::http::HttpLimits {
        doors::http::HttpLimits {
            body_octets_max: self.http.body_octets_max,
            attachment_octets_max: self.http.attachment_octets_max,
            attachments_total_max: self.http.attachments_total_max,
            attachments_unnamed_kept: self.http.attachments_unnamed_kept,
            attachments_disk_reserve: self.http.attachments_disk_reserve,
            requests_per_s: self.http.requests_per_s,
            burst: self.http.burst,
            connections_max: self.http.connections_max,
            connections_per_address_max: self.http.connections_per_address_max,
            head_timeout: self.http.head_timeout,
            write_stall: self.http.write_stall,
        }
    }

    /// `[[cap.sender]]`, as the door wants them.
    pub fn cap_senders(&self) -> Vec<doors::http::CapSender> {
        let sender = |sender: &CapSender| doors::http::CapSender {
            sender: sender.sender.clone(),
            audience: sender.audience.clone(),
            geocode_attribute: sender.geocode_attribute.clone(),
        };
        self.cap.sender.iter().map(sender).collect()
    }

    /// What is known of addresses.
    pub fn address_defaults(&self) -> channels::Defaults {
        let region = self.recipients.region.as_deref();
        let defaults = region.and_then(|region| channels::Defaults::in_region(region).ok());
        let sites = self.edge.iter().flat_map(|edge| &edge.site).map(|site| site.name.clone());
        defaults.unwrap_or_default().with_names(channels::EDGE, sites)
    }
}

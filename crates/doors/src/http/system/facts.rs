//! ServerFacts is what the config and the start of the process say of the server; ServerHandles are the parts
//! of it that only operators look at.

use crate::http::demo::DemoCarriers;
use crate::http::map::MapFiles;
use crate::http::system::ConfigAccess;
use crate::smpp::Clients;
use arc_swap::ArcSwap;
use bus::{Bus, TopicSettings};
use records::Timestamp;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Facts of this process; a reload stores others.
#[derive(Debug, Clone, Default)]
pub struct ServerFacts {
    /// The name of this process among others; nothing: it is alone.
    pub node: Option<String>,
    /// When the process began.
    pub started: Option<Timestamp>,
    /// The data folder.
    pub data: Option<PathBuf>,
    /// `sqlite` or `postgresql`.
    pub store: &'static str,
    /// `file` or `nats`.
    pub bus: &'static str,
    /// Who runs the server.
    pub organisation: Option<String>,
    /// Doors that this process opens.
    pub doors: Vec<&'static str>,
    /// How text topics are kept; nothing: there are none.
    pub topics: Option<TopicSettings>,
    /// Sites that alerts are pushed to.
    pub edge_sites: Vec<EdgeSiteFacts>,
}

/// An edge site as the config has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EdgeSiteFacts {
    /// As in `edge:NAME`.
    pub name: String,
    /// Where its receiver listens.
    pub address: String,
    /// It shares a key with the server.
    pub has_key: bool,
    /// Routes that push to it.
    pub routes: Vec<String>,
}

/// Parts of the server that operators look at.
#[derive(Default)]
pub struct ServerHandles {
    /// The bus.
    pub bus: Option<Arc<dyn Bus>>,
    /// Clients of the SMPP door.
    pub clients: Option<Arc<Clients>>,
    /// See [`ServerFacts`].
    pub facts: ArcSwap<ServerFacts>,
    /// The config; nothing: the server was not built from one.
    pub config: OnceLock<Arc<dyn ConfigAccess>>,
    /// What a demonstration lets people break; nothing: it is none.
    pub demo: OnceLock<Arc<dyn DemoCarriers>>,
    /// The map of the operators' own.
    pub map: ArcSwap<MapFiles>,
}

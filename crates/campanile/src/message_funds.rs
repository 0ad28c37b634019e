//! The books, opened and closed, and our own messages paid from them.

use crate::setup::Setup;
use bus::embedded::Fsync;
use charging::message_charging::MessageCharging;
use charging::message_charging::external::{self, External};
use charging::message_charging::settler::Settling;
use futures_util::future::BoxFuture;
use ledger::books::LedgerPlace;
use ledger::{Ledger, Options, shared};
use records::{Bill, Funding};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{LedgerLog, SharedStore};
use tokio::sync::watch;

/// Where the books are, below the data folder.
pub(crate) fn folder(data: &Path) -> PathBuf {
    data.join("ledger")
}

/// Threads that keep books which processes share, if the setup does not say how many: each is a connection of
/// each process.
const SHARED_SHARDS: usize = 4;

/// Where the books are: in the database, where processes share one.
pub(crate) fn kept(setup: &Setup, store: &SharedStore) -> LedgerPlace {
    store.ledger_log().map_or_else(|| LedgerPlace::Folder(folder(&setup.data).into()), LedgerPlace::Shared)
}

/// Opens the books, where the setup wants them; from then on gateways ask them, where the setup wants that.
pub(crate) async fn open(
    setup: &Setup,
    store: &SharedStore,
    context: &mut gateway::GatewayContext,
    among: Option<NodePlace>,
) -> Result<(Option<Ledger>, MessageFunds), String> {
    let ledger = match store.ledger_log() {
        None => open_ledger(setup).await?,
        Some(log) => open_shared(setup, log).await?,
    };
    let mut paying = MessageFunds::default();
    if let Some(settings) = &setup.external {
        let describe = |error: bus::BusError| format!("charging: {error}");
        let (member, leads) = match among {
            None => (None, watch::channel(true).1),
            Some(among) => {
                let id = store.house().await.map_err(|error| format!("charging: {error}"))?;
                let (high, low) = id.as_u64_pair();
                (Some(external::Member { installation: high ^ low, name: among.name }), among.leads)
            }
        };
        let external = External::open(settings.clone(), member, &*context.bus, store.clone()).await;
        let external = external.map_err(describe)?;
        context.funds = Some(Arc::new(ExternalFunds(external.clone())));
        paying.settling = Some(external.start_settling(&*context.bus, leads).map_err(describe)?);
        paying.external = Some(external);
        return Ok((ledger, paying));
    }
    paying.settling = charge_own(setup, ledger.as_ref(), context)?;
    Ok((ledger, paying))
}

/// This process among several that share store and bus.
pub(crate) struct NodePlace {
    /// As its config names it.
    pub(crate) name: String,
    /// Whether it leads.
    pub(crate) leads: watch::Receiver<bool>,
}

/// How our own messages are paid.
#[derive(Default)]
pub(crate) struct MessageFunds {
    /// Others' servers; they are asked once the Diameter node is open.
    pub(crate) external: Option<External>,
    /// What makes outcomes into charges.
    pub(crate) settling: Option<Settling>,
}

/// Others' servers, as gateways ask them.
struct ExternalFunds(External);

impl gateway::Funds for ExternalFunds {
    fn pay(&self, bill: Bill) -> BoxFuture<'_, Vec<Funding>> {
        Box::pin(async move { self.0.pay(&bill).await })
    }
}

async fn open_ledger(setup: &Setup) -> Result<Option<Ledger>, String> {
    let Some(ledger) = &setup.ledger else { return Ok(None) };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let options = Options {
        // Connections take about twice as much of the processors as accounts do; more shards only make
        // smaller batches.
        shards: ledger.shards.unwrap_or(cores.div_ceil(2)),
        fsync: match ledger.fsync {
            Fsync::Always => ledger::Fsync::Always,
            Fsync::Interval(interval) => {
                ledger::Fsync::Every { us: u64::try_from(interval.as_micros()).unwrap_or(u64::MAX) }
            }
            Fsync::Os => ledger::Fsync::Os,
        },
        keep_records: ledger.keep_records,
        config: ledger.rules.clone(),
        tariffs: ledger.tariffs.clone(),
        ..Options::new(&folder(&setup.data))
    };
    let opened = tokio::task::spawn_blocking(move || Ledger::open(&options)).await;
    let opened = opened.map_err(|error| format!("the ledger: {error}"))?;
    opened.map(Some).map_err(|refusal| format!("the ledger: {refusal}"))
}

async fn open_shared(setup: &Setup, log: Arc<dyn LedgerLog>) -> Result<Option<Ledger>, String> {
    let Some(ledger) = &setup.ledger else { return Ok(None) };
    let options = shared::Options {
        shards: ledger.shards.unwrap_or(SHARED_SHARDS),
        config: ledger.rules.clone(),
        tariffs: ledger.tariffs.clone(),
        ..shared::Options::new(log)
    };
    let opened = tokio::task::spawn_blocking(move || Ledger::open_shared(&options)).await;
    let opened = opened.map_err(|error| format!("the ledger: {error}"))?;
    opened.map(Some).map_err(|refusal| format!("the ledger: {refusal}"))
}

/// The ledger, as gateways ask it.
struct LedgerFunds(MessageCharging);

impl gateway::Funds for LedgerFunds {
    fn pay(&self, bill: Bill) -> BoxFuture<'_, Vec<Funding>> {
        Box::pin(async move { self.0.pay(&bill).await })
    }
}

/// From now on our own messages are paid from the ledger, where the setup wants that.
fn charge_own(
    setup: &Setup,
    ledger: Option<&Ledger>,
    context: &mut gateway::GatewayContext,
) -> Result<Option<Settling>, String> {
    let charges = setup.ledger.as_ref().is_some_and(|ledger| ledger.charges_own);
    let Some(ledger) = ledger.filter(|_| charges) else { return Ok(None) };
    let own = MessageCharging::new(ledger.clone());
    context.funds = Some(Arc::new(LedgerFunds(own.clone())));
    own.start_settling(&*context.bus).map(Some).map_err(|error| format!("charging: {error}"))
}

/// Ends the books: what was asked is on disk.
pub(crate) async fn close(ledger: Ledger) {
    if tokio::task::spawn_blocking(move || ledger.stop()).await.is_err() {
        tracing::error!("the ledger did not close cleanly");
    }
}

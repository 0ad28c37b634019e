//! Rate shares of one process among several, and their allocation while it leads.

use engine::{Engine, Leader};
use gateway::GatewayContext;
use gateway::cluster::RateAllocator;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Rates, shared with other processes.
pub struct RateShare {
    allocator: Arc<RateAllocator>,
    leads: Arc<watch::Sender<bool>>,
    watching: JoinHandle<()>,
}

/// Lets the gateways of this world share segments and rates with those of other processes. Asks servers, and
/// takes its time: to be called on a thread of a runtime with several.
///
/// # Errors
/// The bus's, in words.
pub fn share(
    context: &mut GatewayContext,
    node: &str,
    lease: Duration,
    engine: &Engine,
) -> Result<RateShare, String> {
    let opened = tokio::task::block_in_place(|| {
        context.share(node, lease)?;
        RateAllocator::start(&*context.bus, &context.cores, node, lease)
    });
    let allocator = Arc::new(opened.map_err(|error| error.to_string())?);
    let leads = Arc::new(watch::Sender::new(false));
    let (leading, leads_sender, mut leader) = (allocator.clone(), leads.clone(), engine.term_changed());
    let watching = tokio::spawn(async move {
        loop {
            let is_here = *leader.borrow_and_update() == Leader::Here;
            leading.lead(is_here);
            leads_sender.send_replace(is_here);
            if leader.changed().await.is_err() {
                leading.lead(false);
                leads_sender.send_replace(false);
                return;
            }
        }
    });
    Ok(RateShare { allocator, leads, watching })
}

impl RateShare {
    /// Whether this process leads.
    pub fn leads(&self) -> watch::Receiver<bool> {
        self.leads.subscribe()
    }

    /// Hands nothing out any more.
    pub async fn stop(self) {
        self.watching.abort();
        let _ = self.watching.await;
        self.leads.send_replace(false);
        if let Some(allocator) = Arc::into_inner(self.allocator) {
            allocator.stop().await;
        }
    }
}

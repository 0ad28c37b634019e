//! Metrics for Prometheus: one recorder for the process.

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use std::sync::OnceLock;

static HANDLE: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// The recorder's handle; nothing if another recorder was there first.
pub fn handle() -> Option<PrometheusHandle> {
    HANDLE.get_or_init(|| PrometheusBuilder::new().install_recorder().ok()).clone()
}

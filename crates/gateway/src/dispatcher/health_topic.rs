//! Health topic publishes a route's health on the retained topic of routes.

use std::sync::Arc;

use bus::{BusError, Retained};
use records::{ROUTES, RouteHealth, health_key};

use crate::GatewayContext;
use crate::cluster::Cluster;

pub(super) struct HealthTopic {
    route: String,
    cluster: Option<Arc<Cluster>>,
    routes: Arc<dyn Retained>,
}

impl HealthTopic {
    pub(super) fn open(context: &GatewayContext, route: &str) -> Result<HealthTopic, BusError> {
        Ok(HealthTopic {
            route: route.to_owned(),
            cluster: context.shared.clone(),
            routes: context.bus.retained(ROUTES)?,
        })
    }

    pub(super) async fn publish(&self, health: &RouteHealth) {
        let published = match &self.cluster {
            None => self.routes.set(&self.route, &health.encode()).await,
            Some(cluster) => {
                let key = health_key(&cluster.node, &self.route);
                self.routes.set(&key, &cluster.remote_health.say(health, cluster.lease)).await
            }
        };
        if let Err(error) = published {
            tracing::warn!(route = self.route, %error, "the route's health could not be told");
        }
    }

    /// Where there are other processes, one that ends says no more of its route.
    pub(super) async fn withdraw(&self) {
        let Some(cluster) = &self.cluster else { return };
        if let Err(error) = self.routes.set(&health_key(&cluster.node, &self.route), &[]).await {
            tracing::warn!(route = self.route, %error, "the route's health could not be taken back");
        }
    }
}

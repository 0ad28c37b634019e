//! Facts of the server that every page of a session says: who runs it, which time it is there, and how many
//! real people its two spaces reach.

use crate::http::app::App;
use crate::http::system::site;
use engine::Health;
use records::{Mode, Route};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The engine answers within this, or its routes are not known.
const WITHIN: Duration = Duration::from_secs(2);

/// Members of a session. What cannot be found out is null.
pub(super) async fn members(app: &App, account: &str) -> Map<String, Value> {
    let site = site::of(app).await.ok();
    let health = tokio::time::timeout(WITHIN, app.engine.health()).await;
    let spaces = match health.ok().and_then(Result::ok) {
        Some(health) => spaces(app, account, &health).await,
        None => Value::Null,
    };
    let members = [
        ("organisation", json!(site.as_ref().and_then(|site| site.organisation()))),
        ("time_zone", json!(site.as_ref().map(|site| site.time_zone()))),
        ("is_demo_server", json!(app.operations.server.demo.get().is_some())),
        ("spaces", spaces),
    ];
    members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

/// The same where nobody has signed in yet.
pub(super) fn unknown() -> Map<String, Value> {
    ["organisation", "time_zone", "is_demo_server", "spaces"]
        .map(|name| (name.to_owned(), Value::Null))
        .into_iter()
        .collect()
}

async fn spaces(app: &App, account: &str, health: &Health) -> Value {
    let (live, drill) =
        (SpaceRoutes::of(health, account, Mode::Live), SpaceRoutes::of(health, account, Mode::Drill));
    let real_people = match drill.is_simulated() {
        true => Some(0),
        false => app.operations.readiness.people(app, account).await.map(|counts| counts.participants),
    };
    json!({
        "live": {"routes": live.routes, "simulated": live.routes > 0 && live.is_simulated()},
        "drill": {"routes": drill.routes, "simulated": drill.is_simulated(), "real_people": real_people},
    })
}

/// Routes of a space that an account may use.
struct SpaceRoutes {
    routes: usize,
    real: usize,
}

impl SpaceRoutes {
    fn of(health: &Health, account: &str, mode: Mode) -> SpaceRoutes {
        let is_open = |route: &&Route| {
            route.mode == mode
                && (route.accounts.is_empty() || route.accounts.iter().any(|own| own == account))
        };
        let routes: Vec<&Route> = health.routes.iter().map(|(route, _)| route).filter(is_open).collect();
        let real = routes.iter().filter(|route| !route.simulated).count();
        SpaceRoutes { routes: routes.len(), real }
    }

    /// It reaches nobody.
    fn is_simulated(&self) -> bool {
        self.real == 0
    }
}

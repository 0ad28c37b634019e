//! Documents and users that fill the demo's console from the first minute: areas of the town, templates, a
//! schedule, two people with a link each.

use super::{DemoApi, choices, town};
use crate::server::{RunningServer, wall_clock};
use records::Account;
use serde_json::{Value, json};

/// A link signs in for so long.
const LINK_LASTS_S: i64 = 600;

/// One-time links, each of another person.
pub(super) struct DemoLinks {
    /// Of who writes and sends alerts.
    pub operator: String,
    /// Of who approves them.
    pub approver: String,
}

/// Prepares it all by the API.
pub(super) async fn prepare(api: &DemoApi) -> Result<(), String> {
    let site = json!({"organisation": "Town of Harbourside", "time_zone": "Europe/Stockholm"});
    api.patch("/api/v1/setup", &site).await?;
    api.post("/api/v1/areas", &areas()).await?;
    for template in templates() {
        api.post("/api/v1/templates", &template).await?;
    }
    api.post("/api/v1/schedules", &schedule()).await?;
    Ok(())
}

/// Makes the two users, and a link for each.
pub(super) async fn links(api: &DemoApi, server: &RunningServer) -> Result<DemoLinks, String> {
    let operator = json!({"name": "demo-operator", "full_name": "Demo operator",
        "roles": ["author", "operator", "directory", "administrator"], "spaces": ["live", "drill"]});
    let approver = json!({"name": "demo-approver", "full_name": "Demo approver",
        "roles": ["viewer", "approver"], "spaces": ["live", "drill"]});
    Ok(DemoLinks {
        operator: link(api, server, &operator).await?,
        approver: link(api, server, &approver).await?,
    })
}

async fn link(api: &DemoApi, server: &RunningServer, user: &Value) -> Result<String, String> {
    let made = api.post("/api/v1/users", user).await?;
    let id = made["id"].as_str().ok_or_else(|| format!("unexpected answer to the user: {made}"))?;
    let links = server.sign_in_links().ok_or("the HTTP door is not open")?;
    let now = wall_clock();
    let path = links.make((Account::DEFAULT, id), now, now.plus_s(LINK_LASTS_S))?;
    Ok(format!("{}{path}", api.url))
}

/// Three areas of the simulated town, which lies in a lake: the quay in the west, the middle, the shore.
fn areas() -> Value {
    let feature = |id: &str, geometry: Value, properties: Value| json!({"type": "Feature", "id": id, "geometry": geometry, "properties": properties});
    let polygon = |ring: Value| json!({"type": "Polygon", "coordinates": [ring]});
    let harbour = json!({"type": "Point", "coordinates": [13.215, 58.876]});
    let centre = polygon(json!([
        [13.247, 58.874],
        [13.278, 58.874],
        [13.278, 58.888],
        [13.247, 58.888],
        [13.247, 58.874]
    ]));
    let shore = polygon(json!([
        [13.205, 58.896],
        [13.310, 58.896],
        [13.310, 58.914],
        [13.205, 58.914],
        [13.205, 58.896]
    ]));
    json!({"type": "FeatureCollection", "features": [
        feature("old-harbour", harbour, json!({"name": "Old harbour", "radius": 1_600})),
        feature("town-centre", centre, json!({"name": "Town centre"})),
        feature("north-shore", shore, json!({"name": "North shore"})),
    ]})
}

/// The tiles of the console's home.
fn templates() -> [Value; 4] {
    let mut leave = town::alert();
    leave["audience"] = json!(["area:old-harbour"]);
    let indoors = json!({
        "headline": "Stay indoors",
        "text": "Smoke over the town. Go indoors, close doors and windows, switch off ventilation.",
        "audience": ["area:town-centre"],
        "priority": "emergency",
    });
    let night = json!({
        "headline": "Come to work tonight",
        "text": "We need more staff at the town hall tonight. Answer 1 if you can come, 2 if you cannot.",
        "audience": ["group:staff"],
        "priority": "urgent",
        "require_answer": true,
        "choices": [{"key": "1", "label": "I can come"}, {"key": "2", "label": "I cannot"}],
    });
    let systems = json!({
        "headline": "Systems are down",
        "text": "The town's systems are down. Work on paper. The next word comes at the full hour.",
        "audience": ["group:staff", "group:fire"],
        "priority": "urgent",
    });
    let over = |text: &str| json!({"headline": "All clear", "text": text});
    [
        template(
            "leave-now",
            "Leave the area now",
            "Emergency, area on the map, two answers",
            leave,
            over("The gas leak at the old harbour is closed. You may go back."),
        ),
        template(
            "stay-indoors",
            "Stay indoors",
            "Emergency, area on the map",
            indoors,
            over("The smoke is gone. You may open your windows."),
        ),
        template(
            "night-staff",
            "Call in the night staff",
            "Urgent, two answers",
            night,
            over("We have enough staff for tonight. Thank you."),
        ),
        template(
            "systems-down",
            "Systems are down",
            "Staff and fire brigade",
            systems,
            over("The town's systems work again."),
        ),
    ]
}

fn template(id: &str, name: &str, description: &str, request: Value, all_clear: Value) -> Value {
    json!({"id": id, "name": name, "description": description, "request": request, "all_clear": all_clear})
}

fn schedule() -> Value {
    json!({
        "id": "siren-staff",
        "name": "Siren staff, monthly test",
        "start": "2026-01-05T12:00:00",
        "time_zone": "Europe/Stockholm",
        "rule": "RRULE:FREQ=MONTHLY;BYDAY=1MO",
        "space": "live",
        "request": {
            "headline": "Test of the siren staff",
            "text": "This is the monthly test. Answer 1.",
            "audience": ["group:fire"],
            "priority": "routine",
            "require_answer": true,
            "choices": choices(),
        },
    })
}

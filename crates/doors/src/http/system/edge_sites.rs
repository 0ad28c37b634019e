//! Edge sites as the config has them. Of a push only its deliveries are known: what became of each stands in
//! the alert's deliveries to `edge:NAME`.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::HttpResult;
use crate::http::request::query::Query;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use serde_json::{Value, json};

pub(super) async fn list(State(app): State<App>, _: Caller, uri: Uri) -> HttpResult<Json<Value>> {
    Query::read(&uri, &[])?;
    let facts = app.operations.server.facts.load();
    let view = |site: &super::EdgeSiteFacts| json!({"name": site.name, "address": site.address, "has_key": site.has_key, "routes": site.routes});
    Ok(Json(json!({"items": facts.edge_sites.iter().map(view).collect::<Vec<_>>(), "next": null})))
}

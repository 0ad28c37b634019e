//! Evidence of an alert: the signed head of its tree, its lines with their proofs, and the key that verifies.
//!
//! `GET /api/v1/alerts/{id}/evidence` · `GET /api/v1/alerts/{id}/evidence/export` · `GET
//! /api/v1/evidence-key`.

#[cfg(test)]
mod tests;

use crate::http::alerts::{alert_id, seen};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::request::query::Captured;
use ::evidence::timestamp::TimestampToken;
use ::evidence::{EvidenceHeader, PublicKey};
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::{AlertEvidence, EvidenceExport};
use futures_util::stream;
use records::Alert;
use serde_json::{Value, json};
use std::io;
use store::EvidenceHead;

const NDJSON: &str = "application/x-ndjson";
const NOT_MADE: &str = "there is no evidence of this alert: it is made some seconds after an alert has ended; \
     of alerts that ended before this was installed there is none";

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/alerts/{id}/evidence", get(show))
        .route("/api/v1/alerts/{id}/evidence/export", get(export))
        .route("/api/v1/evidence-key", get(key))
}

async fn show(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Json<Value>> {
    let alert = seen(&app, &caller, alert_id(&id)?).await?;
    let head = head(&app, &alert).await?;
    Ok(Json(view(&head)?))
}

async fn head(app: &App, alert: &Alert) -> HttpResult<EvidenceHead> {
    let head = AlertEvidence::of(&app.engine).head(alert).await?;
    head.ok_or_else(|| HttpProblem::new(ProblemKind::WrongState, NOT_MADE))
}

fn view(head: &EvidenceHead) -> HttpResult<Value> {
    let damaged =
        |error: ::evidence::EvidenceError| HttpProblem::new(ProblemKind::Internal, error.to_string());
    let header = EvidenceHeader::parse(&head.header).map_err(damaged)?;
    let signed = header.signed();
    let statement: Value = serde_json::from_str(&signed)
        .map_err(|error| HttpProblem::new(ProblemKind::Internal, error.to_string()))?;
    let stamp = head.stamp.as_ref().map(|token| {
        let at = TimestampToken::parse(token).and_then(|token| token.check(signed.as_bytes()));
        json!({"at": at.ok().map(|stamp| stamp.at), "token": STANDARD.encode(token)})
    });
    Ok(json!({
        "alert": statement["alert"],
        "version": head.version,
        "made": statement["made"],
        "root": statement["root"],
        "size": header.statement.size,
        "key": header.key,
        "statement": signed,
        "signature": STANDARD.encode(header.signature),
        "audit": head.audit,
        "timestamp": stamp,
    }))
}

async fn export(State(app): State<App>, caller: Caller, Captured(id): Captured) -> HttpResult<Response> {
    let id = alert_id(&id)?;
    let alert = seen(&app, &caller, id).await?;
    let act = app.act(&caller, "evidence.export", &id.to_string(), "");
    let exporting = async {
        let head = head(&app, &alert).await?;
        Ok::<_, HttpProblem>(AlertEvidence::of(&app.engine).export(alert, &head).await?)
    };
    let export = app.noted(act, exporting).await?;
    let disposition = format!("attachment; filename=\"{id}.evidence.ndjson\"");
    let headers = [(CONTENT_TYPE, NDJSON), (CONTENT_DISPOSITION, disposition.as_str())];
    Ok((headers, Body::from_stream(pieces(export))).into_response())
}

/// The header, then the lines, page by page as the client takes them.
fn pieces(export: EvidenceExport) -> impl stream::Stream<Item = io::Result<String>> {
    stream::unfold((export, None), |(export, next)| async move {
        let Some(page) = next else {
            let header = export.header();
            return Some((Ok(header), (export, Some(0))));
        };
        if page >= export.pages() {
            return None;
        }
        match export.page(page).await {
            Ok(lines) => Some((Ok(lines), (export, Some(page + 1)))),
            Err(error) => Some((Err(io::Error::other(error)), (export, Some(u32::MAX)))),
        }
    })
}

async fn key(State(app): State<App>) -> Json<Value> {
    let key: &PublicKey = &app.operations.evidence_key;
    Json(json!({"id": key.id(), "algorithm": "ed25519", "key": key.to_base64(), "pem": key.to_pem()}))
}

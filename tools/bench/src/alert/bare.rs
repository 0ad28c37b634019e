//! Bare client of webhooks: the requests of a route without a server behind them. What it reaches over the
//! same receiver, in the same run, is what the route is held against.

use crate::deployment::WEBHOOK_CONNECTIONS;
use reqwest::header::CONTENT_TYPE;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::task::JoinSet;

/// Requests at most: enough for a second on any machine.
const REQUESTS_MAX: u64 = 50_000;
/// As long as that of an alert of the bench.
const BODY_OCTETS: usize = 420;

/// Requests a second of so many connections that are kept, each with one request in flight.
///
/// # Errors
/// A request that was not answered with success, in words.
pub(super) async fn requests_per_s(base: &str, endpoints: u64) -> Result<f64, String> {
    let count = endpoints.min(REQUESTS_MAX);
    let client = reqwest::Client::builder()
        .pool_max_idle_per_host(WEBHOOK_CONNECTIONS)
        .tcp_nodelay(true)
        .no_proxy()
        .build()
        .map_err(|error| error.to_string())?;
    let (next, begun) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let mut connections: JoinSet<Result<(), String>> = JoinSet::new();
    for _ in 0..WEBHOOK_CONNECTIONS {
        let (client, next, base) = (client.clone(), Arc::clone(&next), base.to_owned());
        connections.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok(());
                }
                post(&client, &base, number).await.map_err(|error| format!("a bare request: {error}"))?;
            }
        });
    }
    while let Some(ended) = connections.join_next().await {
        ended.map_err(|error| error.to_string())??;
    }
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}

async fn post(client: &reqwest::Client, base: &str, number: u64) -> Result<(), reqwest::Error> {
    let text = "x".repeat(BODY_OCTETS);
    let body = format!("{{\"id\":\"bare-{number}\",\"text\":\"{text}\"}}");
    let request = client.post(format!("{base}/bare/{number}")).header(CONTENT_TYPE, "application/json");
    let response = request.header("webhook-id", format!("bare-{number}")).body(body).send().await?;
    response.error_for_status()?.bytes().await.map(drop)
}

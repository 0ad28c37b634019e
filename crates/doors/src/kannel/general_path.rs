//! General path of sendsms, for every request that does not fit the fast path: TLS, chunked bodies, unusual
//! headers.

use super::answer::KannelAnswer;
use super::queue::MessageQueue;
use super::{BODY_OCTETS_MAX, GuessTurn, Headers, SendSms, SendSmsRequest, Taken};
use crate::activity::Activity;
use crate::http::request::body::BodyLimits;
use axum::body::Body;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::time::Instant;

impl Headers for HeaderMap {
    fn each<'h>(&'h self, take: &mut dyn FnMut(&'h str, &'h [u8])) {
        for (name, value) in self {
            take(name.as_str(), value.as_bytes());
        }
    }
}

/// The general path, as the service of every connection holds it.
pub(crate) struct GeneralPath {
    sendsms: Arc<SendSms>,
    queue: MessageQueue,
}

impl GeneralPath {
    /// Its messages are appended by the current runtime.
    pub(crate) fn new(sendsms: Arc<SendSms>) -> GeneralPath {
        let queue = MessageQueue::start(sendsms.intake.clone());
        GeneralPath { sendsms, queue }
    }

    /// Answers a request for [`super::PATH`].
    pub(crate) async fn answer(
        &self,
        bodies: &BodyLimits,
        request: Request<Body>,
        from: (IpAddr, &Arc<Activity>),
    ) -> Response<Body> {
        let began = Instant::now();
        let is_post = *request.method() == Method::POST;
        let response = self.respond_to(bodies, request, from).await;
        self.sendsms.meters.note(is_post, response.status().as_u16(), began.elapsed());
        response
    }

    async fn respond_to(
        &self,
        bodies: &BodyLimits,
        request: Request<Body>,
        (from, activity): (IpAddr, &Arc<Activity>),
    ) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let is_post = parts.method == Method::POST;
        if !is_post && !matches!(parts.method, Method::GET | Method::HEAD) {
            let mut response = respond(KannelAnswer::WRONG_METHOD);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
            return response;
        }
        let mut whole = Vec::new();
        if is_post {
            match bodies.whole(&parts.headers, body, BODY_OCTETS_MAX).await {
                Ok(body) => whole = body,
                Err(problem) if problem.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                    return respond(KannelAnswer::TOO_LARGE);
                }
                Err(_) => return respond(KannelAnswer::INCOMPLETE),
            }
        }
        let query = parts.uri.query().unwrap_or_default().as_bytes();
        let request = SendSmsRequest { is_post, query, headers: &parts.headers, body: &whole, from };
        let mut turn = GuessTurn::First;
        loop {
            match self.sendsms.take(&request, &self.queue, turn) {
                Taken::Answer(step) => return respond(step.answer().await),
                Taken::Waits(wait, next) => {
                    let _suspended = activity.suspend();
                    tokio::time::sleep(wait).await;
                    turn = next;
                }
            }
        }
    }
}

fn respond(answer: KannelAnswer) -> Response<Body> {
    let mut response = Response::new(Body::from(answer.words));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(seconds) = answer.retry_after_s {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

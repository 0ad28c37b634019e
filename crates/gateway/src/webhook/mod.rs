//! Webhooks: devices and systems that take an alert as a POST, signed after Standard Webhooks.
//!
//! ```text
//! keys      keys of a `[[route]]` of this channel
//! config    settings of a route
//! payload   the body of a message's request
//! outcome   what a response means, and what none means
//! ```
//!
//! The client, the judgement of addresses and the signature are those of notices (`notice/caller.rs`,
//! `notice/sign.rs`); the loop and the templates are in `http_calls/`.
//!
//! Invariant worth naming: a message's `webhook-id` is the same however often it is sent. So what a crash
//! left under way is planned again at once, and who gets a second copy knows it for the same.

mod config;
#[cfg(test)]
mod conformance;
mod keys;
mod outcome;
mod payload;
#[cfg(test)]
mod tests;

pub use config::WebhookRoute;
pub use keys::WebhookKeys;

#[cfg(test)]
use crate::conformance::FarEnd;
use crate::context::{GatewayContext, RouteProblem};
use crate::dispatcher::{ChannelEncoder, Job, RateHolder, RouteDispatcher, RouteLimit};
use crate::http_calls::call_loop::{CallEnd, CallLoop, RouteCalls};
use crate::http_calls::headers;
use crate::http_calls::observed_body::{ObservedBody, WriteMark};
use crate::http_calls::response::ReadResponse;
use crate::notice::Signer;
use crate::notice::caller::{NoCall, OutboundCaller, system_lookup};
use crate::notice::line::{WEBHOOK_ID, WEBHOOK_SIGNATURE, WEBHOOK_TIMESTAMP, retry_after};
use crate::notice::sign::seconds;
use crate::registry::ChannelGateway;
use crate::route_keys::RouteKeys;
use crate::route_loop::{ChangeScope, Checked, RouteSessions};
use crate::surroundings::Surroundings;
use crate::worker::Worker;
use arc_swap::ArcSwap;
use bus::BusError;
#[cfg(test)]
use futures_util::future::BoxFuture;
use outcome::{Slows, refused};
use payload::{Payload, WebhookMessage};
use records::{AlertNo, AttemptResult, ChannelNumber, EndpointNo, Entry, Segment};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, RequestBuilder, Url};
use settings::Secret;
use std::sync::Arc;
use std::time::Instant;

/// The gateway of webhooks.
pub struct WebhookGateway;

impl ChannelGateway for WebhookGateway {
    type Sessions = WebhookSessions;
    type Keys = WebhookKeys;
    const CHANNEL: ChannelNumber = channels::WEBHOOK;

    fn settings(
        common: &RouteKeys,
        keys: &WebhookKeys,
        around: &Surroundings,
    ) -> Result<WebhookRoute, RouteProblem> {
        Ok(keys.route(common, around))
    }

    #[cfg(test)]
    fn far_end() -> BoxFuture<'static, Box<dyn FarEnd>> {
        Box::pin(async { Box::new(conformance::HookReceiver::start().await) as Box<dyn FarEnd> })
    }
}

/// There is nothing to make of a segment once.
pub(crate) struct WebhookEncoder;

impl ChannelEncoder for WebhookEncoder {
    type Prepared = ();

    fn repeatable(&self) -> bool {
        true
    }

    fn prepare(&self, _segment: &Segment) {}

    fn units(&self, _segment: &Segment, (): &(), _entry: &Entry) -> u8 {
        1
    }
}

/// The delivery that a request is for, as far as its response says something of it.
#[derive(Debug, Clone, Copy)]
struct DeliveryOf<'a> {
    alert: AlertNo,
    endpoint: EndpointNo,
    /// Of the message.
    id: &'a str,
    route: &'a str,
    /// An answer is asked for.
    answer: bool,
}

/// What is made of a route's settings once.
pub(crate) struct RequestMaker {
    payload: Payload,
    signer: Option<Signer>,
    headers: HeaderMap,
    has_content_type: bool,
    caller: OutboundCaller,
}

impl RequestMaker {
    fn new(settings: &WebhookRoute, context: &GatewayContext) -> Result<RequestMaker, Vec<RouteProblem>> {
        let problem = |field| move |reason| vec![RouteProblem { field, reason }];
        Ok(RequestMaker {
            payload: Payload::new(settings).map_err(problem("body"))?,
            signer: settings.signer().map_err(problem("secret"))?,
            headers: headers::header_map(&settings.headers),
            has_content_type: headers::media_type(&settings.headers).is_some(),
            caller: OutboundCaller::new(&settings.caller(), context.outbound.clone(), system_lookup())?,
        })
    }

    /// A request for an address, if it may be called.
    fn request(&self, address: &str) -> Result<RequestBuilder, AttemptResult> {
        let is_plain =
            Url::parse(address).is_ok_and(|url| url.scheme() == "http" && !self.caller.allows_plain(&url));
        if is_plain {
            let text = "http without TLS is for hosts and networks that [outbound] allow lists: use https";
            return Err(refused(true, "webhook:outbound", text));
        }
        let request = self.caller.request(Method::POST, address).map_err(|why| match why {
            NoCall::NoUrl => refused(true, "webhook:url", "the address is not an http or https URL"),
            NoCall::Refused(why) => refused(true, "webhook:outbound", why),
        })?;
        let request = request.headers(self.headers.clone());
        Ok(match self.has_content_type {
            true => request,
            false => request.header(CONTENT_TYPE, HeaderValue::from_static(payload::JSON)),
        })
    }

    fn signed(&self, request: RequestBuilder, id: &str, now: i64, body: &str) -> RequestBuilder {
        let request = request.header(WEBHOOK_ID, id).header(WEBHOOK_TIMESTAMP, now);
        match &self.signer {
            Some(signer) => request.header(WEBHOOK_SIGNATURE, signer.sign(id, now, body)),
            None => request,
        }
    }
}

/// A route's settings, and what was made of them.
struct WebhookState {
    route: WebhookRoute,
    maker: Arc<RequestMaker>,
}

/// The calls of a route.
pub(crate) struct WebhookCalls {
    state: ArcSwap<WebhookState>,
    context: GatewayContext,
    limit: Arc<RouteLimit<WebhookEncoder>>,
}

impl RouteCalls for WebhookCalls {
    type Encoder = WebhookEncoder;

    fn connections(&self) -> usize {
        self.state.load().route.connections
    }

    async fn call(&self, job: &Job<()>, mark: &Arc<WriteMark>) -> CallEnd {
        let state = self.state.load_full();
        let (segment, entry) = (&job.leased.segment, job.entry());
        let id = payload::message_id(segment.alert_id, entry.endpoint);
        let (alert, endpoint) = (segment.alert, entry.endpoint);
        let of = DeliveryOf { alert, endpoint, id: &id, route: &state.route.name, answer: segment.answer };
        let (request, body) = match self.request(&state, job, &id) {
            Ok(request) => request,
            Err(result) => return CallEnd::Done(result, Vec::new()),
        };
        let body = reqwest::Body::wrap(ObservedBody::new(body.into_bytes(), mark));
        let sent = request.body(body).send().await;
        let response = match sent {
            Ok(response) => response,
            Err(error) => {
                let result = outcome::without_response(error, mark.is_set());
                tracing::debug!(route = of.route, address = %channels::shown(channels::WEBHOOK, &entry.address), ?result, "no response");
                return CallEnd::Done(result, Vec::new());
            }
        };
        let has_retry_after = retry_after(&response).is_some();
        let response = ReadResponse::read(response).await;
        if outcome::slows(response.status, has_retry_after) == Slows::Yes {
            let rate = self.limit.refused_for_now(true, Instant::now());
            tracing::debug!(route = of.route, rate, "an address asks for less: the route is slowed down");
        }
        let secrets: Vec<&str> = state.route.headers.iter().map(|(_, value)| Secret::reveal(value)).collect();
        let result = outcome::result(&response, of, &secrets);
        let more = match result {
            AttemptResult::Accepted { .. } => outcome::told(&response, of, self.context.now()),
            _ => Vec::new(),
        };
        CallEnd::Done(result, more)
    }

    /// It is sent again by the next process, with the same id.
    fn cut_off(&self) -> AttemptResult {
        AttemptResult::NotTried { why: records::NotTried::Closing }
    }

    /// There is no one far end.
    async fn probe(&self) -> Result<(), String> {
        Ok(())
    }
}

impl WebhookCalls {
    /// The signed request of an entry, and its body.
    fn request(
        &self,
        state: &WebhookState,
        job: &Job<()>,
        id: &str,
    ) -> Result<(RequestBuilder, String), AttemptResult> {
        let (segment, entry) = (&job.leased.segment, job.entry());
        let urls = self.context.callback_urls.as_ref();
        let callback = urls.and_then(|urls| urls.delivery(segment.alert, entry.endpoint));
        let message = WebhookMessage::of(segment, entry, id, callback.as_deref())
            .ok_or_else(|| refused(true, "webhook:body", "there is no text for a webhook"))?;
        let body = state.maker.payload.body(&message);
        let body = body.map_err(|why| refused(true, "webhook:body", format!("the template body {why}")))?;
        let request = state.maker.request(&entry.address)?;
        let now = seconds(self.context.now());
        Ok((state.maker.signed(request, id, now, &body), body))
    }
}

/// The one session of a route: a task with many requests under way.
pub(crate) struct WebhookSessions {
    calls: Arc<WebhookCalls>,
    limit: Arc<RouteLimit<WebhookEncoder>>,
    call_loop: Option<CallLoop<WebhookCalls>>,
    worker: Worker,
}

impl RouteSessions for WebhookSessions {
    type Settings = WebhookRoute;
    type Material = Arc<RequestMaker>;
    type Encoder = WebhookEncoder;

    fn prepare(
        settings: &WebhookRoute,
        context: &GatewayContext,
    ) -> Result<Arc<RequestMaker>, Vec<RouteProblem>> {
        RequestMaker::new(settings, context).map(Arc::new)
    }

    fn encoder(_: &WebhookRoute, _: &Arc<RequestMaker>) -> WebhookEncoder {
        WebhookEncoder
    }

    fn open(
        route: &Checked<Self>,
        context: &GatewayContext,
        dispatcher: &Arc<RouteDispatcher<WebhookEncoder>>,
    ) -> Result<WebhookSessions, BusError> {
        let limit = RouteLimit::new(dispatcher, route.settings.rate);
        let state = WebhookState { route: route.settings.clone(), maker: Arc::clone(&route.material) };
        let (state, context) = (ArcSwap::from_pointee(state), context.clone());
        let calls = Arc::new(WebhookCalls { state, context, limit: Arc::clone(&limit) });
        let call_loop = Some(CallLoop::new(&calls, dispatcher, &limit));
        Ok(WebhookSessions { calls, limit, call_loop, worker: Worker::default() })
    }

    fn limit(&self) -> Arc<dyn RateHolder> {
        Arc::clone(&self.limit) as Arc<dyn RateHolder>
    }

    fn begin(&mut self) {
        if let Some(call_loop) = self.call_loop.take() {
            self.worker.begin(|stop| call_loop.run(stop));
        }
    }

    async fn change(&mut self, _: ChangeScope, route: Checked<Self>) {
        self.calls.state.store(Arc::new(WebhookState { route: route.settings, maker: route.material }));
    }

    async fn end(self) {
        self.worker.end().await;
    }
}

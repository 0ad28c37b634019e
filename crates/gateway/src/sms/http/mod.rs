//! Short messages by HTTP, for who has such an account at a carrier: one request a message, by templates of
//! the configuration.
//!
//! ```text
//! keys       keys of a `[[route]]` with protocol = "http"
//! config     settings of a route
//! request    templates, filled in for a message
//! fields     values in what the carrier sends, by their paths
//! outcome    what a response, a receipt, a person's message means
//! callbacks  what the carrier posted, from its topic to outcomes
//! ```
//!
//! Texts are counted in parts as SMPP would split them; the carrier splits. Ids become keys as SMPP's do
//! ([`super::outcome`]).
//!
//! Invariant worth naming: no message decides which host is called. The URL's host is the same for all values
//! of the templates, which is checked before the route starts.

mod callbacks;
pub mod config;
#[cfg(test)]
mod conformance;
mod fields;
pub(super) mod keys;
mod outcome;
mod request;
#[cfg(test)]
mod tests;

pub use config::HttpSmsRoute;
pub use keys::{SmsInbound, SmsProtocol, SmsReceipt, SmsRequest, SmsResponse};

use super::config::SmsRoute;
use super::encode::{Prepared, SmsEncoder};
use super::outcome::Ids;
#[cfg(test)]
use crate::conformance::FarEnd;
use crate::context::{GatewayContext, RouteProblem};
use crate::dispatcher::{Job, RateHolder, RouteDispatcher, RouteLimit};
use crate::http_calls::call_loop::{CallEnd, CallLoop, RouteCalls};
use crate::http_calls::observed_body::{ObservedBody, WriteMark};
use crate::http_calls::response::ReadResponse;
use crate::notice::caller::{OutboundCaller, system_lookup};
use crate::notice::line::words;
use crate::registry::ChannelGateway;
use crate::route_keys::RouteKeys;
use crate::route_loop::{ChangeScope, Checked, RouteSessions};
use crate::sms::keys::SmsKeys;
use crate::surroundings::Surroundings;
use crate::worker::Worker;
use arc_swap::ArcSwap;
use bus::BusError;
use callbacks::CallbackReader;
#[cfg(test)]
use futures_util::future::BoxFuture;
use records::{AttemptResult, Body, CallbackPurpose, ChannelNumber, MessagePreview, PreviewSource};
use request::{FilledRequest, OutgoingSms, RequestTemplates};
use reqwest::Method;
use settings::Secret;
use smpp::receipt::IdForm;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Instant;

/// Texts are counted in parts as with GSM 7-bit and the usual user data header.
static COUNTED_AS: LazyLock<SmsRoute> = LazyLock::new(SmsRoute::default);

/// The gateway of short messages by HTTP; `sms::SmsGateway` picks it by the protocol.
pub(super) struct HttpSmsGateway;

impl ChannelGateway for HttpSmsGateway {
    type Sessions = HttpSmsSessions;
    type Keys = SmsKeys;
    const CHANNEL: ChannelNumber = channels::SMS;

    fn receipts(keys: &SmsKeys) -> bool {
        keys.request.as_ref().is_some_and(names_receipt_url)
    }

    fn settings(
        common: &RouteKeys,
        keys: &SmsKeys,
        around: &Surroundings,
    ) -> Result<HttpSmsRoute, RouteProblem> {
        let refused = |field, reason: &str| Err(RouteProblem { field, reason: reason.to_owned() });
        match (&common.address, common.sim) {
            (Some(_), _) => {
                refused("address", "is for protocol = \"smpp\": with \"http\" the request has a url")
            }
            (None, true) => {
                refused("sim", "is for protocol = \"smpp\": there is no simulator of an HTTP carrier")
            }
            (None, false) => keys.http_route(common, around),
        }
    }

    #[cfg(test)]
    fn far_end() -> BoxFuture<'static, Box<dyn FarEnd>> {
        Box::pin(async { Box::new(conformance::HttpCarrier::start().await) as Box<dyn FarEnd> })
    }

    fn units(_: &HttpSmsRoute, body: &Body) -> u32 {
        match body {
            Body::Content(content) | Body::Translated(_, content) => super::parts(&COUNTED_AS, &content.text),
            Body::Short(short) => super::parts_of_short(&COUNTED_AS, short),
        }
    }

    fn units_max(_: &HttpSmsRoute) -> u32 {
        super::parts_max(&COUNTED_AS)
    }

    fn preview(_: &HttpSmsRoute, source: &PreviewSource<'_>) -> MessagePreview {
        let encoding = super::encoding(&COUNTED_AS, source.body, source.flash);
        MessagePreview { encoding, ..MessagePreview::as_it_is(source) }
    }
}

/// The carrier is told where receipts go.
fn names_receipt_url(request: &SmsRequest) -> bool {
    let is_named = |text: &str| text.contains("receipt_url");
    let in_headers = || request.headers.iter().any(|(_, value)| is_named(value.reveal()));
    is_named(request.url.reveal()) || request.body.as_deref().is_some_and(is_named) || in_headers()
}

/// What is made of a route's settings once.
pub(crate) struct HttpAccount {
    templates: RequestTemplates,
    caller: OutboundCaller,
}

/// A route's settings, and what was made of them.
pub(super) struct AccountState {
    pub(super) route: HttpSmsRoute,
    account: Arc<HttpAccount>,
}

/// The calls of a route.
pub(crate) struct HttpSmsCalls {
    pub(super) state: ArcSwap<AccountState>,
    pub(super) context: GatewayContext,
    limit: Arc<RouteLimit<SmsEncoder>>,
    pub(super) ids: Mutex<Ids>,
    receipt_url: String,
    inbound_url: String,
}

impl RouteCalls for HttpSmsCalls {
    type Encoder = SmsEncoder;

    fn connections(&self) -> usize {
        self.state.load().route.connections
    }

    async fn call(&self, job: &Job<Prepared>, mark: &Arc<WriteMark>) -> CallEnd {
        let state = self.state.load_full();
        let id = format!("{}_{}", job.leased.segment.alert_id, job.entry().endpoint.0);
        let filled = match self.filled(&state, job, &id) {
            Ok(filled) => filled,
            Err(text) => return done(refused_here(text)),
        };
        let FilledRequest { method, url, headers, body } = filled;
        let request = state.account.caller.named(method, url).headers(headers);
        let body = reqwest::Body::wrap(ObservedBody::new(body.into_bytes(), mark));
        match request.body(body).send().await {
            Ok(response) => done(self.answered(&state, &id, ReadResponse::read(response).await)),
            Err(error) if error.is_builder() => done(refused_here(words(error))),
            Err(error) if error.is_connect() || !mark.is_set() => CallEnd::Unreached(words(error)),
            Err(error) => {
                let text = format!("no response after the request was written: {}", words(error));
                done(AttemptResult::Unknown { text })
            }
        }
    }

    fn cut_off(&self) -> AttemptResult {
        AttemptResult::Unknown { text: "the route was stopped before the carrier answered".to_owned() }
    }

    /// Any answer will do: the carrier is there.
    async fn probe(&self) -> Result<(), String> {
        let state = self.state.load_full();
        let Some(origin) = state.account.templates.origin() else { return Ok(()) };
        let probed = state.account.caller.named(Method::OPTIONS, origin).send().await;
        probed.map(drop).map_err(words)
    }
}

fn done(result: AttemptResult) -> CallEnd {
    CallEnd::Done(result, Vec::new())
}

/// A message of which no request can be made will not become one by trying.
fn refused_here(text: String) -> AttemptResult {
    AttemptResult::Refused { permanent: true, code: "sms:request".to_owned(), text }
}

impl HttpSmsCalls {
    fn new(
        route: &Checked<HttpSmsSessions>,
        context: &GatewayContext,
        limit: &Arc<RouteLimit<SmsEncoder>>,
    ) -> HttpSmsCalls {
        let name = &route.settings.name;
        let url = |purpose| context.callback_urls.as_ref().and_then(|urls| urls.route(name, purpose));
        let (receipt_url, inbound_url) = (url(CallbackPurpose::Receipts), url(CallbackPurpose::Inbound));
        if let Some(inbound_url) = &inbound_url {
            tracing::info!(route = name, inbound_url, "the carrier may post messages from people here");
        }
        HttpSmsCalls {
            state: ArcSwap::from_pointee(AccountState {
                route: route.settings.clone(),
                account: Arc::clone(&route.material),
            }),
            context: context.clone(),
            limit: Arc::clone(limit),
            ids: Mutex::new(Ids::new(name, IdForm::AsIs)),
            receipt_url: receipt_url.unwrap_or_default(),
            inbound_url: inbound_url.unwrap_or_default(),
        }
    }

    fn filled(&self, state: &AccountState, job: &Job<Prepared>, id: &str) -> Result<FilledRequest, String> {
        let (segment, entry, route) = (&job.leased.segment, job.entry(), &state.route);
        let (text, flash) = request::text(segment, entry)?;
        state.account.templates.fill(&OutgoingSms {
            to: &entry.address,
            from: request::sender(segment, entry, route),
            text,
            id,
            parts: job.units,
            flash,
            mode: if route.drill { "drill" } else { "live" },
            validity_s: request::validity_s(segment, entry, route, self.context.now()),
            receipt_url: &self.receipt_url,
            inbound_url: &self.inbound_url,
        })
    }

    fn answered(&self, state: &AccountState, id: &str, response: ReadResponse) -> AttemptResult {
        if matches!(response.status, 429 | 503) {
            let rate = self.limit.refused_for_now(true, Instant::now());
            tracing::debug!(
                route = state.route.name,
                rate,
                "the carrier asks for less: the route is slowed down"
            );
        }
        let headers = &state.route.request.headers;
        let secrets: Vec<&str> = headers.iter().map(|(_, value)| Secret::reveal(value)).collect();
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        outcome::result(&response, &state.route.response, &mut ids, id, &secrets)
    }
}

/// The sessions of a route: a task with many requests under way, and one that reads what the carrier posted.
pub(crate) struct HttpSmsSessions {
    calls: Arc<HttpSmsCalls>,
    limit: Arc<RouteLimit<SmsEncoder>>,
    call_loop: Option<CallLoop<HttpSmsCalls>>,
    reader: Option<CallbackReader>,
    sending: Worker,
    reading: Worker,
}

impl RouteSessions for HttpSmsSessions {
    type Settings = HttpSmsRoute;
    type Material = Arc<HttpAccount>;
    type Encoder = SmsEncoder;

    fn prepare(
        settings: &HttpSmsRoute,
        context: &GatewayContext,
    ) -> Result<Arc<HttpAccount>, Vec<RouteProblem>> {
        let templates = RequestTemplates::new(settings)
            .map_err(|reason| vec![RouteProblem { field: "request", reason }])?;
        let caller = OutboundCaller::new(&settings.caller(), context.outbound.clone(), system_lookup())?;
        Ok(Arc::new(HttpAccount { templates, caller }))
    }

    fn encoder(_: &HttpSmsRoute, _: &Arc<HttpAccount>) -> SmsEncoder {
        SmsEncoder::new(&COUNTED_AS)
    }

    fn open(
        route: &Checked<Self>,
        context: &GatewayContext,
        dispatcher: &Arc<RouteDispatcher<SmsEncoder>>,
    ) -> Result<HttpSmsSessions, BusError> {
        let limit = RouteLimit::new(dispatcher, route.settings.rate);
        let calls = Arc::new(HttpSmsCalls::new(route, context, &limit));
        let call_loop = Some(CallLoop::new(&calls, dispatcher, &limit));
        let reader = Some(CallbackReader::open(&calls, dispatcher)?);
        let (sending, reading) = (Worker::default(), Worker::default());
        Ok(HttpSmsSessions { calls, limit, call_loop, reader, sending, reading })
    }

    fn limit(&self) -> Arc<dyn RateHolder> {
        Arc::clone(&self.limit) as Arc<dyn RateHolder>
    }

    fn begin(&mut self) {
        if let Some(call_loop) = self.call_loop.take() {
            self.sending.begin(|stop| call_loop.run(stop));
        }
        if let Some(reader) = self.reader.take() {
            self.reading.begin(|stop| reader.run(stop));
        }
    }

    async fn change(&mut self, _: ChangeScope, route: Checked<Self>) {
        let state = AccountState { route: route.settings, account: route.material };
        self.calls.state.store(Arc::new(state));
    }

    async fn end(self) {
        self.sending.end().await;
        self.reading.end().await;
    }
}

//! `/cgi-bin/sendsms`: how platforms handed messages to Kannel's smsbox, and may go on to.
//!
//! What a request says is read by [`params`] and [`xml`], checked and turned into messages by [`compose`],
//! and goes with what others bring at the same time into one append ([`queue`]). What Debian's Kannel answers
//! to the same requests is recorded in `tools/it/tests/data/kannel_sendsms.json`, and the tests compare. The
//! road that is mostly taken, plain HTTP on a connection that does nothing else, has a short cut
//! ([`fast_path`]).

mod answer;
mod charset;
mod compose;
mod fast_path;
mod general_path;
mod intake;
mod meters;
mod params;
mod platforms;
mod queue;
mod reply;
#[cfg(test)]
mod tests;
mod xml;

pub(crate) use fast_path::{BEGINNING_OCTETS, FastPath, is_for_fast_path};
pub(crate) use general_path::GeneralPath;
pub use intake::MessageIntake;
pub use platforms::{PLATFORMS_MAX, PlatformSettings, Platforms};

use answer::KannelAnswer;
use arc_swap::ArcSwap;
use compose::Composed;
use engine::Clock;
use meters::Meters;
use params::Params;
use platforms::Platform;
use queue::{Done, MessageQueue};
use records::{Intake, Message, Timestamp};
use std::net::IpAddr;
use std::sync::Arc;

/// Where it is.
pub(crate) const PATH: &str = "/cgi-bin/sendsms";
/// A body is at most so many octets.
const BODY_OCTETS_MAX: usize = 1 << 20;

/// Takes messages of platforms.
pub(crate) struct SendSms {
    intake: Arc<dyn MessageIntake>,
    platforms: Arc<ArcSwap<Platforms>>,
    clock: Clock,
    meters: Meters,
}

/// A request, whole.
struct Ask<'a, H: ?Sized> {
    is_post: bool,
    /// Behind the question mark; empty if there is none.
    query: &'a [u8],
    headers: &'a H,
    body: &'a [u8],
    from: IpAddr,
}

/// The headers of a request, however they were read.
trait Headers {
    /// Shows each to `take`.
    fn each<'h>(&'h self, take: &mut dyn FnMut(&'h str, &'h [u8]));
}

/// What a request comes to.
enum Step {
    /// That is all.
    Say(KannelAnswer),
    /// To be said once its messages are durable.
    Wait(Done, KannelAnswer),
}

impl Step {
    async fn answer(self) -> KannelAnswer {
        match self {
            Step::Say(answer) => answer,
            Step::Wait(done, answer) => match done.await {
                Ok(Ok(())) => answer,
                _ => KannelAnswer::busy(RETRY_AFTER_S),
            },
        }
    }
}

/// Whoever cannot be served now should come again after so long.
const RETRY_AFTER_S: u32 = 5;

impl SendSms {
    pub(crate) fn new(
        intake: Arc<dyn MessageIntake>,
        platforms: Arc<ArcSwap<Platforms>>,
        clock: Clock,
    ) -> SendSms {
        SendSms { intake, platforms, clock, meters: Meters::new() }
    }

    fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Reads, checks, and puts into the queue.
    fn take<H: Headers + ?Sized>(&self, ask: &Ask<'_, H>, queue: &MessageQueue) -> Step {
        match self.judge(ask) {
            Err(answer) => Step::Say(answer),
            Ok(judged) => self.put(judged, queue),
        }
    }

    fn judge<H: Headers + ?Sized>(&self, ask: &Ask<'_, H>) -> Result<Judged, KannelAnswer> {
        let request = read(ask)?;
        let platform = self.admit(&request.params, ask.from)?;
        request.check_receiver()?;
        let composed = compose::compose(&request.params, &platform.settings, self.now())?;
        if self.intake.is_behind() {
            return Err(KannelAnswer::busy(RETRY_AFTER_S));
        }
        let judged = self.judge_routes(composed)?;
        platform.pace(judged.receivers.len(), judged.message.at).map_err(KannelAnswer::busy)?;
        Ok(judged)
    }

    fn admit(&self, params: &Params<'_>, from: IpAddr) -> Result<Arc<Platform>, KannelAnswer> {
        let (Some(username), Some(password)) = (&params.username, &params.password) else {
            return Err(KannelAnswer::NOT_ADMITTED);
        };
        let platforms = self.platforms.load();
        platforms.admit(username, password, from).cloned().ok_or(KannelAnswer::NOT_ADMITTED)
    }

    /// As with Kannel, how the first of several receivers fares is the answer, and each of the others fares
    /// on its own: who cannot be reached is told of as refused.
    fn judge_routes(&self, composed: Composed) -> Result<Judged, KannelAnswer> {
        let Composed { receivers, message } = composed;
        let is_routable = |to: &String| {
            let (sender, route) = (&message.short.source.addr, message.route.as_deref());
            self.intake.routable(message.mode, to, sender, &message.account, route).is_ok()
        };
        let is_first_routable = receivers.first().is_some_and(is_routable);
        if !is_first_routable && !receivers.iter().skip(1).any(is_routable) {
            return Err(KannelAnswer::NOT_ROUTABLE);
        }
        let answer = if is_first_routable { KannelAnswer::ACCEPTED } else { KannelAnswer::NOT_ROUTABLE };
        Ok(Judged { receivers, message, answer })
    }

    fn put(&self, judged: Judged, queue: &MessageQueue) -> Step {
        let Judged { mut receivers, message, answer } = judged;
        let last = receivers.pop().unwrap_or_default();
        let others = receivers.into_iter().map(|to| Message { to, ..message.clone() });
        let all: Vec<Message> = others.collect();
        let records = all.into_iter().chain(std::iter::once(Message { to: last, ..message }));
        match queue.put(records.map(|message| Intake::Message(Box::new(message)))) {
            Ok(done) => Step::Wait(done, answer),
            Err(_) => Step::Say(KannelAnswer::busy(RETRY_AFTER_S)),
        }
    }
}

/// Good in itself: what goes to the engine, and what is said then.
struct Judged {
    receivers: Vec<String>,
    message: Message,
    answer: KannelAnswer,
}

/// What was read of a request.
struct Request<'a> {
    params: Params<'a>,
    /// Kannel's words for a missing receiver differ between the two.
    is_post: bool,
    /// A body that Kannel takes the message from, but only refuses.
    is_page: bool,
}

impl Request<'_> {
    fn check_receiver(&self) -> Result<(), KannelAnswer> {
        let params = &self.params;
        match &params.to {
            None if params.to_list.is_empty() && self.is_post => Err(KannelAnswer::NO_RECEIVERS),
            None if params.to_list.is_empty() => Err(KannelAnswer::NO_RECEIVER),
            Some(to) if to.is_empty() => Err(KannelAnswer::EMPTY_RECEIVER),
            _ if self.is_page => Err(KannelAnswer::UNSUPPORTED_TYPE),
            _ => Ok(()),
        }
    }
}

fn read<'a, H: Headers + ?Sized>(ask: &Ask<'a, H>) -> Result<Request<'a>, KannelAnswer> {
    if !ask.is_post {
        return Ok(Request { params: Params::of_query(ask.query), is_post: false, is_page: false });
    }
    let mut params = Params::default();
    let (mut has_headers, mut content_type) = (false, &b""[..]);
    ask.headers.each(&mut |name, value| {
        if name.eq_ignore_ascii_case("content-type") {
            content_type = value;
        } else {
            has_headers |= params.take_header(name, value);
        }
    });
    let (media, charset) = media_type(content_type);
    match media.to_ascii_lowercase().as_slice() {
        b"application/x-www-form-urlencoded" => {
            let params = Params::of_query(ask.body).or(Params::of_query(ask.query));
            Ok(Request { params, is_post: false, is_page: false })
        }
        b"text/plain" | b"application/octet-stream" | b"" if ask.body.is_empty() && !has_headers => {
            Ok(Request { params: Params::of_query(ask.query), is_post: false, is_page: false })
        }
        b"text/plain" => {
            params.text = Some(ask.body.into());
            params.charset = charset.map(Into::into);
            Ok(Request { params, is_post: true, is_page: false })
        }
        b"application/octet-stream" | b"" => {
            params.text = Some(ask.body.into());
            params.coding = params.coding.or(Some(1));
            Ok(Request { params, is_post: true, is_page: false })
        }
        b"text/xml" | b"application/xml" => {
            Ok(Request { params: xml::params(ask.body), is_post: true, is_page: false })
        }
        b"text/html" | b"text/vnd.wap.wml" => Ok(Request { params, is_post: true, is_page: true }),
        _ => Err(KannelAnswer::WRONG_TYPE),
    }
}

/// The type, and the charset named with it.
fn media_type(value: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut parts = value.split(|octet| *octet == b';').map(<[u8]>::trim_ascii);
    let media = parts.next().unwrap_or_default();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_at_checked("charset=".len())?;
        name.eq_ignore_ascii_case(b"charset=").then(|| value.trim_ascii())
    });
    let charset = charset.map(|charset| charset.strip_prefix(b"\"").unwrap_or(charset));
    (media, charset.map(|charset| charset.strip_suffix(b"\"").unwrap_or(charset)))
}

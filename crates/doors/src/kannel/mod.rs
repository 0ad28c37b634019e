//! Kannel's `/cgi-bin/sendsms`: the HTTP interface of its smsbox, for platforms that use it.
//!
//! A request is read by [`params`] and [`xml`], checked and turned into messages by [`compose`], and appended
//! together with concurrent ones ([`queue`]). The answers of Debian's Kannel to the same requests are
//! recorded in `tools/it/tests/data/kannel_sendsms.json`, and the tests compare. The usual case, plain HTTP
//! on a connection that carries nothing else, is served by the [`fast_path`], everything else by the
//! [`general_path`].

mod answer;
mod charset;
mod compose;
mod dlr_url_judge;
mod fast_path;
mod general_path;
mod meters;
mod params;
mod platforms;
mod queue;
mod receivers;
mod reply;
#[cfg(test)]
mod tests;
mod xml;

pub(crate) use fast_path::{BEGINNING_OCTETS, FastPath, is_for_fast_path};
pub(crate) use general_path::GeneralPath;
pub use platforms::{PLATFORMS_MAX, PlatformSettings, Platforms};

use crate::MessageIntake;
use crate::guessing::{Attempt, GuessVerdict, GuessingGuard, WAIT_MAX};
use answer::KannelAnswer;
use arc_swap::ArcSwap;
use compose::Composed;
use engine::Clock;
use meters::Meters;
use net::OutboundPolicy;
use params::Params;
use platforms::AdmittedPlatform;
use queue::{AppendDone, MessageQueue};
use records::{Intake, Message, Timestamp};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The path.
pub(crate) const PATH: &str = "/cgi-bin/sendsms";
/// A body is at most so many octets.
const BODY_OCTETS_MAX: usize = 1 << 20;

/// Takes messages of platforms.
pub(crate) struct SendSms {
    intake: Arc<dyn MessageIntake>,
    platforms: Arc<ArcSwap<Platforms>>,
    guessing: Arc<GuessingGuard>,
    outbound: Arc<ArcSwap<OutboundPolicy>>,
    clock: Clock,
    meters: Meters,
}

/// A request, whole.
struct SendSmsRequest<'a, H: ?Sized> {
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

/// What the guard of guesses said of a request so far.
#[derive(Debug, Clone, Copy, Default)]
enum GuessTurn {
    /// It was not asked.
    #[default]
    First,
    /// The request waited, and its password may be looked at.
    Come,
    /// The request waited, and its password is not looked at.
    Refused,
}

/// What became of a request.
enum Taken {
    /// It is to be taken again after so long, for this turn: others of its network or its name guessed
    /// passwords before it.
    Waits(Duration, GuessTurn),
    /// It has an answer.
    Answer(PendingAnswer),
}

/// A request is not answered now.
enum NotTaken {
    Waits(Duration, GuessTurn),
    Refused(KannelAnswer),
}

impl From<KannelAnswer> for NotTaken {
    fn from(answer: KannelAnswer) -> NotTaken {
        NotTaken::Refused(answer)
    }
}

/// The answer to a request, perhaps not due yet.
enum PendingAnswer {
    /// Due now.
    Ready(KannelAnswer),
    /// Due when the request's messages are durable.
    AfterAppend(AppendDone, KannelAnswer),
}

impl PendingAnswer {
    async fn answer(self) -> KannelAnswer {
        match self {
            PendingAnswer::Ready(answer) => answer,
            PendingAnswer::AfterAppend(done, answer) => match done.await {
                Ok(Ok(())) => answer,
                _ => KannelAnswer::busy(RETRY_AFTER_S),
            },
        }
    }
}

/// Retry-After of a request that cannot be served now.
const RETRY_AFTER_S: u32 = 5;

impl SendSms {
    pub(crate) fn new(
        intake: Arc<dyn MessageIntake>,
        platforms: Arc<ArcSwap<Platforms>>,
        guessing: Arc<GuessingGuard>,
        outbound: Arc<ArcSwap<OutboundPolicy>>,
        clock: Clock,
    ) -> SendSms {
        SendSms { intake, platforms, guessing, outbound, clock, meters: Meters::new() }
    }

    fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Reads, checks, and puts into the queue. `turn`: what it waited for, if it was taken before.
    fn take<H: Headers + ?Sized>(
        &self,
        request: &SendSmsRequest<'_, H>,
        queue: &MessageQueue,
        turn: GuessTurn,
    ) -> Taken {
        match self.judge(request, turn) {
            Err(NotTaken::Waits(wait, turn)) => Taken::Waits(wait, turn),
            Err(NotTaken::Refused(answer)) => Taken::Answer(PendingAnswer::Ready(answer)),
            Ok(judged) => Taken::Answer(self.put(judged, queue)),
        }
    }

    fn judge<H: Headers + ?Sized>(
        &self,
        request: &SendSmsRequest<'_, H>,
        turn: GuessTurn,
    ) -> Result<Judged, NotTaken> {
        let read = read(request)?;
        let platform = self.admit(&read.params, request.from, turn)?;
        read.check_receiver()?;
        let composed = compose::compose(&read.params, &platform.settings, self.now())?;
        dlr_url_judge::judge(&self.outbound.load(), &read.params, &composed.message)?;
        if self.intake.is_behind() {
            return Err(KannelAnswer::busy(RETRY_AFTER_S).into());
        }
        let judged = self.judge_routes(composed)?;
        platform.pace(judged.receivers.len(), judged.message.at).map_err(KannelAnswer::busy)?;
        Ok(judged)
    }

    /// An unknown name, a wrong password and a network that it may not come from are the same: in words, in
    /// time, and as a guess.
    fn admit(
        &self,
        params: &Params<'_>,
        from: IpAddr,
        turn: GuessTurn,
    ) -> Result<Arc<AdmittedPlatform>, NotTaken> {
        let (Some(username), Some(password)) = (&params.username, &params.password) else {
            return Err(KannelAnswer::NOT_ADMITTED.into());
        };
        let platforms = self.platforms.load();
        let is_known = !self.guessing.is_quiet() && platforms.is_known(username, from);
        let attempt = Attempt { door: "sendsms", name: username, ip: from, is_known };
        let verdict = match turn {
            GuessTurn::First => self.guessing.judge(attempt, Instant::now()),
            GuessTurn::Come => GuessVerdict::Now,
            GuessTurn::Refused => return Err(KannelAnswer::NOT_ADMITTED.into()),
        };
        match verdict {
            GuessVerdict::Now => {}
            GuessVerdict::After(wait) => return Err(NotTaken::Waits(wait, GuessTurn::Come)),
            GuessVerdict::Refused => {
                self.guessing.note_failed(attempt, Instant::now());
                return Err(NotTaken::Waits(WAIT_MAX, GuessTurn::Refused));
            }
        }
        // What waited was taken out of the budgets before.
        let (has_waited, admitted) =
            (matches!(turn, GuessTurn::Come), platforms.admit(username, password, from));
        match admitted {
            Some(_) if has_waited => self.guessing.succeeded(attempt, Instant::now()),
            Some(_) => {}
            None if has_waited => self.guessing.note_failed(attempt, Instant::now()),
            None => self.guessing.failed(attempt, Instant::now()),
        }
        admitted.cloned().ok_or_else(|| KannelAnswer::NOT_ADMITTED.into())
    }

    /// As with Kannel, the result of the first of several receivers is the answer; an unroutable one among
    /// the others is reported as refused.
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

    fn put(&self, judged: Judged, queue: &MessageQueue) -> PendingAnswer {
        let Judged { mut receivers, message, answer } = judged;
        let last = receivers.pop().unwrap_or_default();
        let others = receivers.into_iter().map(|to| Message { to, ..message.clone() });
        let all: Vec<Message> = others.collect();
        let records = all.into_iter().chain(std::iter::once(Message { to: last, ..message }));
        match queue.put(records.map(|message| Intake::Message(Box::new(message)))) {
            Ok(done) => PendingAnswer::AfterAppend(done, answer),
            Err(_) => PendingAnswer::Ready(KannelAnswer::busy(RETRY_AFTER_S)),
        }
    }
}

/// A valid request: the messages for the engine, and the answer once they are durable.
struct Judged {
    receivers: Vec<String>,
    message: Message,
    answer: KannelAnswer,
}

/// Parameters that were read from a request.
struct ReadRequest<'a> {
    params: Params<'a>,
    /// Kannel's texts for a missing receiver differ between the two.
    is_post: bool,
    /// A body of a type that Kannel reads, but always refuses.
    is_page: bool,
}

impl ReadRequest<'_> {
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

fn read<'a, H: Headers + ?Sized>(request: &SendSmsRequest<'a, H>) -> Result<ReadRequest<'a>, KannelAnswer> {
    if !request.is_post {
        return Ok(ReadRequest { params: Params::of_query(request.query), is_post: false, is_page: false });
    }
    let mut params = Params::default();
    let (mut has_headers, mut content_type) = (false, &b""[..]);
    request.headers.each(&mut |name, value| {
        if name.eq_ignore_ascii_case("content-type") {
            content_type = value;
        } else {
            has_headers |= params.take_header(name, value);
        }
    });
    let (media, charset) = media_type(content_type);
    match media.to_ascii_lowercase().as_slice() {
        b"application/x-www-form-urlencoded" => {
            let params = Params::of_query(request.body).or(Params::of_query(request.query));
            Ok(ReadRequest { params, is_post: false, is_page: false })
        }
        b"text/plain" | b"application/octet-stream" | b"" if request.body.is_empty() && !has_headers => {
            Ok(ReadRequest { params: Params::of_query(request.query), is_post: false, is_page: false })
        }
        b"text/plain" => {
            params.text = Some(request.body.into());
            params.charset = charset.map(Into::into);
            Ok(ReadRequest { params, is_post: true, is_page: false })
        }
        b"application/octet-stream" | b"" => {
            params.text = Some(request.body.into());
            params.numbers.coding = params.numbers.coding.or(Some(1));
            Ok(ReadRequest { params, is_post: true, is_page: false })
        }
        b"text/xml" | b"application/xml" => {
            Ok(ReadRequest { params: xml::params(request.body), is_post: true, is_page: false })
        }
        b"text/html" | b"text/vnd.wap.wml" => Ok(ReadRequest { params, is_post: true, is_page: true }),
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

//! Acts of a person's own page: what each form asks for, and what came of it.

use super::PageVisit;
use super::view::{Fault, code_place, device_id};
use crate::http::problem::HttpResult;
use crate::http::recipients::ERASED;
use axum::http::StatusCode;
use channels::languages;
use engine::{CodeResult, JoinResult, PageAct, PageView, Privacy, RefusedDevice};
use records::{ChannelNumber, Device, Preference, QuietHours, Recipient};
use store::Act;

/// What came of a form.
pub(super) enum ActResult {
    /// It is done: the name of the words for it, behind `done.`.
    Done(&'static str),
    /// The person is erased.
    Erased,
    /// What is known of them, as JSON.
    Export(Vec<u8>),
    /// It is not done.
    Fault(StatusCode, Fault),
}

use ActResult::Done;

impl ActResult {
    pub(super) fn fault(status: StatusCode, fault: Fault) -> ActResult {
        ActResult::Fault(status, fault)
    }

    /// A field is wrong.
    fn wrong(fault: Fault) -> ActResult {
        ActResult::Fault(StatusCode::UNPROCESSABLE_ENTITY, fault)
    }

    /// What the page showed is not there any more.
    fn changed() -> ActResult {
        ActResult::Fault(StatusCode::CONFLICT, Fault::at("fault.changed", "top"))
    }

    fn or_changed(self, is_done: bool) -> ActResult {
        if is_done { self } else { ActResult::changed() }
    }
}

/// Does what a form asks for.
pub(super) async fn done<'f>(
    visit: &PageVisit<'_>,
    view: &PageView,
    field: impl Fn(&str) -> &'f str,
) -> HttpResult<ActResult> {
    match field("act") {
        act if act.starts_with("device_") => device(visit, view, act, field("device")).await,
        "offer" => offer(visit, field("channel"), field("address")).await,
        "confirm" => confirm(visit, view, field("device"), field("code")).await,
        "give_up" => give_up(visit, view, field("device")).await,
        "language" => language(visit, field("language")).await,
        "quiet" => quiet(visit, field("from"), field("to")).await,
        "prefers" => prefers(visit, field("prefers")).await,
        "join" => Ok(joined(visit.own().join(field("group")).await?, "joined")),
        "leave" => Ok(joined(visit.own().leave(field("group")).await?, "left")),
        "subscribe" => subscribe(visit, field("subscription")).await,
        "unsubscribe" => unsubscribe(visit, field("subscription")).await,
        "word" => word(visit, field("word")).await,
        "export" => export(visit).await,
        "erase" if field("confirm") == "yes" => erase(visit).await,
        "erase" => Ok(ActResult::wrong(Fault::at("fault.erase", "erase"))),
        _ => Ok(ActResult::wrong(Fault::at("fault.form", "top"))),
    }
}

fn joined(result: JoinResult, done: &'static str) -> ActResult {
    match result {
        JoinResult::Done => ActResult::Done(done),
        JoinResult::Asked => Done("asked"),
        JoinResult::Changed => ActResult::changed(),
    }
}

/// An act with a device that is theirs.
async fn device(visit: &PageVisit<'_>, view: &PageView, act: &str, id: &str) -> HttpResult<ActResult> {
    let is_it = |device: &&Device| device_id(visit, device.channel, &device.address) == id;
    let Some(found) = view.person.devices.iter().find(is_it) else { return Ok(ActResult::changed()) };
    let of = (found.channel, found.address.as_str());
    let change = DeviceChange { visit, of };
    let result = match act {
        "device_on" => Done("device_on")
            .or_changed(change.edit("page.device_on", |list, at| list[at].enabled = true).await?),
        "device_off" => Done("device_off")
            .or_changed(change.edit("page.device_off", |list, at| list[at].enabled = false).await?),
        "device_up" => {
            let up = |list: &mut Vec<Device>, at: usize| list.swap(at, at.saturating_sub(1));
            Done("device_moved").or_changed(change.edit("page.device_move", up).await?)
        }
        "device_down" => {
            let down = |list: &mut Vec<Device>, at: usize| {
                let below = (at + 1).min(list.len() - 1);
                list.swap(at, below);
            };
            Done("device_moved").or_changed(change.edit("page.device_move", down).await?)
        }
        "device_remove" => {
            let remove = |list: &mut Vec<Device>, at: usize| _ = list.remove(at);
            Done("device_removed").or_changed(change.edit("page.device_remove", remove).await?)
        }
        "device_stop" => Done("device_stopped").or_changed(visit.own().stop(of, true).await?),
        "device_start" => Done("device_started").or_changed(visit.own().stop(of, false).await?),
        _ => ActResult::wrong(Fault::at("fault.form", "top")),
    };
    Ok(result)
}

struct DeviceChange<'a> {
    visit: &'a PageVisit<'a>,
    of: (ChannelNumber, &'a str),
}

impl DeviceChange<'_> {
    /// Changes the list of devices, at the place where this one is now; false: it is not there any more.
    async fn edit(&self, verb: &str, change: impl Fn(&mut Vec<Device>, usize)) -> HttpResult<bool> {
        let (channel, address) = self.of;
        let key = channels::key(channel, address);
        let is_it =
            |device: &Device| device.channel == channel && channels::key(channel, &device.address) == key;
        let edit = |person: &mut Recipient| {
            let Some(place) = person.devices.iter().position(is_it) else { return false };
            change(&mut person.devices, place);
            true
        };
        let detail = channels::entry(channel, &channels::shown(channel, address));
        Ok(self.visit.own().edit((verb, &detail), edit).await?)
    }
}

async fn offer(visit: &PageVisit<'_>, channel: &str, address: &str) -> HttpResult<ActResult> {
    let wrong = |name| Fault::at(name, "add").typed(address).kind(channel);
    let Ok(number) = channels::number(channel) else {
        return Ok(ActResult::wrong(wrong("fault.channel")));
    };
    let normal = match channels::address(number, address, &visit.app.defaults.load()) {
        Ok(normal) => normal,
        Err(why) => return Ok(ActResult::wrong(wrong("fault.address").detail(why))),
    };
    let Err(refused) = visit.own().offer(number, &normal).await? else { return Ok(Done("code_sent")) };
    Ok(match refused {
        RefusedDevice::Channel => ActResult::wrong(wrong("fault.channel")),
        RefusedDevice::Known => ActResult::wrong(wrong("fault.known")),
        RefusedDevice::TooMany => ActResult::wrong(wrong("fault.many")),
        RefusedDevice::Stopped => ActResult::wrong(wrong("fault.stopped")),
        RefusedDevice::TooOften => ActResult::fault(StatusCode::TOO_MANY_REQUESTS, wrong("fault.often")),
    })
}

/// The device of this form that waits for a code.
fn waiting(visit: &PageVisit<'_>, view: &PageView, id: &str) -> Option<(ChannelNumber, String)> {
    let found = view.waiting.iter().find(|one| device_id(visit, one.channel(), &one.address) == id)?;
    Some((found.channel(), found.address.clone()))
}

async fn confirm(visit: &PageVisit<'_>, view: &PageView, id: &str, code: &str) -> HttpResult<ActResult> {
    let over = || ActResult::wrong(Fault::at("fault.code_over", "top"));
    let Some((channel, address)) = waiting(visit, view, id) else { return Ok(over()) };
    Ok(match visit.own().confirm((channel, &address), code).await? {
        CodeResult::Added => Done("device_added"),
        CodeResult::Wrong => ActResult::wrong(Fault::at("fault.code", code_place(id))),
        CodeResult::Over => over(),
    })
}

async fn give_up(visit: &PageVisit<'_>, view: &PageView, id: &str) -> HttpResult<ActResult> {
    if let Some((channel, address)) = waiting(visit, view, id) {
        visit.own().give_up(channel, &address).await?;
    }
    Ok(Done("device_given_up"))
}

async fn language(visit: &PageVisit<'_>, wanted: &str) -> HttpResult<ActResult> {
    let tag = match wanted {
        "" => None,
        wanted => match languages::tag(wanted) {
            Ok(tag) => Some(tag),
            Err(_) => return Ok(ActResult::wrong(Fault::at("fault.language", "language"))),
        },
    };
    let detail = tag.as_deref().unwrap_or("none");
    let edit = |person: &mut Recipient| {
        person.language.clone_from(&tag);
        true
    };
    let is_done = visit.own().edit(("page.language", detail), edit).await?;
    Ok(Done("language").or_changed(is_done))
}

async fn quiet(visit: &PageVisit<'_>, from: &str, to: &str) -> HttpResult<ActResult> {
    let span: Option<QuietHours> = match (from, to) {
        ("", "") => None,
        _ => match format!("{from}-{to}").parse() {
            Ok(span) => Some(span),
            Err(_) => return Ok(ActResult::wrong(Fault::at("fault.quiet", "quiet"))),
        },
    };
    keep_quiet(visit, span).await
}

async fn keep_quiet(visit: &PageVisit<'_>, span: Option<QuietHours>) -> HttpResult<ActResult> {
    let detail = span.map_or_else(|| "off".to_owned(), |span| span.to_string());
    let edit = |person: &mut Recipient| {
        person.quiet_hours = span;
        true
    };
    let is_done = visit.own().edit(("page.quiet", &detail), edit).await?;
    Ok(Done("quiet").or_changed(is_done))
}

async fn prefers(visit: &PageVisit<'_>, wanted: &str) -> HttpResult<ActResult> {
    let preference = match wanted {
        "none" => None,
        "text" => Some(Preference::Text),
        "voice" => Some(Preference::Voice),
        _ => return Ok(ActResult::wrong(Fault::at("fault.prefers", "prefers"))),
    };
    let edit = |person: &mut Recipient| {
        person.prefers = preference;
        true
    };
    let is_done = visit.own().edit(("page.prefers", wanted), edit).await?;
    Ok(Done("prefers").or_changed(is_done))
}

async fn subscribe(visit: &PageVisit<'_>, wanted: &str) -> HttpResult<ActResult> {
    if visit.own().subscribe(wanted).await? {
        return Ok(Done("subscribed"));
    }
    Ok(ActResult::wrong(Fault::at("fault.subscription", "subscribe").typed(wanted)))
}

async fn unsubscribe(visit: &PageVisit<'_>, wanted: &str) -> HttpResult<ActResult> {
    let is_done = visit.own().unsubscribe(wanted).await?;
    Ok(Done("unsubscribed").or_changed(is_done))
}

/// Does what a mail asked for.
async fn word(visit: &PageVisit<'_>, words: &str) -> HttpResult<ActResult> {
    match visit.own().act_of(words).await? {
        Some(PageAct::Join(group)) => Ok(joined(visit.own().join(&group).await?, "joined")),
        Some(PageAct::Leave(group)) => Ok(joined(visit.own().leave(&group).await?, "left")),
        Some(PageAct::Subscribe(wanted)) => subscribe(visit, &wanted).await,
        Some(PageAct::Unsubscribe(wanted)) => unsubscribe(visit, &wanted).await,
        Some(PageAct::Language(tag)) => language(visit, &tag).await,
        Some(PageAct::Quiet(span)) => keep_quiet(visit, span).await,
        None => Ok(ActResult::changed()),
    }
}

async fn export(visit: &PageVisit<'_>) -> HttpResult<ActResult> {
    let (account, id) = (&visit.page.account, &visit.page.recipient);
    let export = Privacy::of(&visit.app.engine).export(account, id).await?;
    visit.app.note(visit.own().act("page.export", id, "")).await?;
    let json = serde_json::to_vec_pretty(&export)
        .map_err(|error| engine::EngineError::Internal(error.to_string()))?;
    Ok(ActResult::Export(json))
}

async fn erase(visit: &PageVisit<'_>) -> HttpResult<ActResult> {
    let (account, id) = (&visit.page.account, &visit.page.recipient);
    let privacy = Privacy::of(&visit.app.engine);
    let erasing = privacy.erase(account, id, visit.app.operations.forget_elsewhere.as_ref());
    // The id and the address would be what is to be forgotten.
    let act = Act { from: String::new(), person: None, ..visit.own().act("page.erase", ERASED, "") };
    visit.app.noted(act, erasing).await?;
    Ok(ActResult::Erased)
}

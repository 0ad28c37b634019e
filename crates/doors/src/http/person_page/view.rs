//! View of a person's own page: what its templates are filled with. Addresses are shown by their ends alone:
//! who holds the link need not see them.

use super::PageVisit;
use super::words::PageWords;
use crate::http::answer_page::direction;
use crate::http::request::time_text::rfc3339;
use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use engine::{GroupStanding, PageView};
use records::{ChannelNumber, Device, Preference};
use ring::digest::{SHA256, digest};
use std::sync::LazyLock;

/// The one stylesheet of these pages.
const STYLE: &str = include_str!("../../../templates/person.css");

/// Nothing is loaded, no script runs, the forms go to this server, and no style but ours counts.
pub(super) static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = STANDARD.encode(digest(&SHA256, STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
});

/// What was wrong with a form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fault {
    /// The name of its words.
    name: &'static str,
    /// The form it stands at.
    at: String,
    /// More about it, in English.
    detail: String,
    /// What was typed.
    typed: String,
    /// The kind that was chosen beside it.
    kind: String,
}

impl Fault {
    pub(super) fn at(name: &'static str, at: impl Into<String>) -> Fault {
        Fault { name, at: at.into(), ..Fault::default() }
    }

    pub(super) fn typed(self, typed: &str) -> Fault {
        Fault { typed: typed.chars().take(200).collect(), ..self }
    }

    pub(super) fn kind(self, kind: &str) -> Fault {
        Fault { kind: kind.chars().take(20).collect(), ..self }
    }

    pub(super) fn detail(self, detail: String) -> Fault {
        Fault { detail, ..self }
    }
}

/// What stands above a page.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Notice<'a> {
    /// What was done: the name of the words for it, behind `done.`.
    pub(super) done: &'a str,
    /// What a mail asked for; empty: nothing.
    pub(super) word: &'a str,
    pub(super) fault: Option<&'a Fault>,
}

/// The form of a code, among the places of faults.
pub(super) fn code_place(device: &str) -> String {
    format!("code-{device}")
}

/// A device as the forms of a page name it: by a hash of its address.
pub(super) fn device_id(visit: &PageVisit<'_>, channel: ChannelNumber, address: &str) -> String {
    let key = channels::key(channel, address);
    let page = &visit.page;
    let pieces = [page.account.as_bytes(), page.recipient.as_bytes(), &[channel.0], key.as_bytes()];
    URL_SAFE_NO_PAD.encode(visit.app.links.hash_of("page device", &pieces))
}

struct DeviceLine {
    id: String,
    /// Kind and masked address.
    label: String,
    enabled: bool,
    stopped: bool,
    can_stop: bool,
    is_first: bool,
    is_last: bool,
}

struct WaitingLine {
    id: String,
    label: String,
    fault: String,
}

struct KindOption {
    name: &'static str,
    label: String,
    example: &'static str,
    chosen: bool,
}

struct LanguageOption {
    tag: String,
    name: String,
    direction: &'static str,
    chosen: bool,
}

struct GroupLine {
    id: String,
    name: String,
    standing: String,
    can_leave: bool,
    can_join: bool,
    can_ask: bool,
}

#[derive(Template)]
#[template(path = "person.html")]
struct PersonPage<'a> {
    w: PageWords,
    style: &'static str,
    form: String,
    intro: String,
    notice: &'static str,
    word: &'a str,
    fault: Option<&'a Fault>,
    chosen: &'a str,
    devices: Vec<DeviceLine>,
    waiting: Vec<WaitingLine>,
    kinds: Vec<KindOption>,
    languages: Vec<LanguageOption>,
    groups: Vec<GroupLine>,
    quiet: (String, String),
    prefers: &'static str,
    view: &'a PageView,
}

impl PersonPage<'_> {
    fn direction(&self) -> &'static str {
        direction(self.w.tag())
    }

    /// What is wrong with this form; empty: nothing.
    fn wrong(&self, at: &str) -> String {
        self.fault.filter(|fault| fault.at == at).map_or_else(String::new, |fault| words(self.w, fault))
    }

    /// What was typed into this form, which is wrong.
    fn typed(&self, at: &str) -> &str {
        self.fault.filter(|fault| fault.at == at).map_or("", |fault| &fault.typed)
    }
}

fn words(w: PageWords, fault: &Fault) -> String {
    let text = w.t(fault.name);
    if fault.detail.is_empty() { text } else { format!("{text} ({})", fault.detail) }
}

#[derive(Template)]
#[template(path = "person_erase.html")]
struct ErasePage<'a> {
    w: PageWords,
    style: &'static str,
    form: String,
    fault: String,
    name: &'a str,
}

impl ErasePage<'_> {
    fn direction(&self) -> &'static str {
        direction(self.w.tag())
    }
}

#[derive(Template)]
#[template(path = "person_note.html")]
struct NotePage {
    language: &'static str,
    direction: &'static str,
    style: &'static str,
    title: String,
    text: String,
}

/// The page, with what was done or is wrong.
pub(super) fn page(visit: &PageVisit<'_>, view: &PageView, notice: &Notice<'_>) -> askama::Result<String> {
    let w = visit.words(view);
    let Notice { done, word, fault } = *notice;
    let until = rfc3339(visit.page.until());
    let quiet = view.person.quiet_hours.map(|quiet| quiet.to_string()).unwrap_or_default();
    let (from, to) = quiet.split_once('-').unwrap_or_default();
    let page = PersonPage {
        w,
        style: STYLE,
        form: visit.form(),
        intro: w.f("intro", until.split('T').next().unwrap_or_default()),
        notice: w.find(&format!("done.{done}")).unwrap_or_default(),
        word,
        fault,
        chosen: view.person.language.as_deref().unwrap_or_default(),
        devices: devices(visit, view, w),
        waiting: waiting(visit, view, w, fault),
        kinds: kinds(view, w, fault.map_or("", |fault| &fault.kind)),
        languages: languages(view),
        groups: groups(view, w),
        quiet: (from.to_owned(), to.to_owned()),
        prefers: match view.person.prefers {
            None => "none",
            Some(Preference::Text) => "text",
            Some(Preference::Voice) => "voice",
        },
        view,
    };
    page.render()
}

/// The page on which to confirm that everything is to be erased.
pub(super) fn erase_page(
    visit: &PageVisit<'_>,
    view: &PageView,
    fault: Option<&Fault>,
) -> askama::Result<String> {
    let w = visit.words(view);
    let fault = fault.map_or_else(String::new, |fault| words(w, fault));
    let page = ErasePage { w, style: STYLE, form: visit.form(), fault, name: &view.person.name };
    page.render()
}

/// A page that says something.
pub(super) fn note(w: PageWords, title: &str, text: &str) -> askama::Result<String> {
    let language = w.tag();
    let (title, text) = (w.t(title), w.t(text));
    NotePage { language, direction: direction(language), style: STYLE, title, text }.render()
}

fn devices(visit: &PageVisit<'_>, view: &PageView, w: PageWords) -> Vec<DeviceLine> {
    let all = &view.person.devices;
    let line = |(place, device): (usize, &Device)| DeviceLine {
        id: device_id(visit, device.channel, &device.address),
        label: label(w, device.channel, &device.address),
        enabled: device.enabled,
        stopped: device.opted_out,
        can_stop: channels::traits(device.channel).opt_out,
        is_first: place == 0,
        is_last: place + 1 == all.len(),
    };
    all.iter().enumerate().map(line).collect()
}

fn waiting(visit: &PageVisit<'_>, view: &PageView, w: PageWords, fault: Option<&Fault>) -> Vec<WaitingLine> {
    let line = |device: &engine::WaitingDevice| {
        let id = device_id(visit, device.channel(), &device.address);
        let fault = fault.filter(|fault| fault.at == code_place(&id));
        WaitingLine {
            // Whoever typed the address a moment ago is to see whether it was right.
            label: format!("{} {}", kind(w, device.channel()), device.address),
            fault: fault.map_or_else(String::new, |fault| words(w, fault)),
            id,
        }
    };
    view.waiting.iter().map(line).collect()
}

fn kinds(view: &PageView, w: PageWords, chosen: &str) -> Vec<KindOption> {
    let option = |channel: &ChannelNumber| KindOption {
        name: channels::name(*channel),
        label: kind(w, *channel),
        example: channels::of(*channel).map_or("", channels::Channel::example),
        chosen: channels::name(*channel) == chosen,
    };
    view.channels.iter().map(option).collect()
}

fn languages(view: &PageView) -> Vec<LanguageOption> {
    let chosen = view.person.language.as_deref();
    let option = |tag: &str, name: &str| LanguageOption {
        tag: tag.to_owned(),
        name: name.to_owned(),
        direction: direction(tag),
        chosen: chosen == Some(tag),
    };
    let names = channels::languages::own_names();
    let mut all: Vec<LanguageOption> = names.iter().map(|(tag, name)| option(tag, name)).collect();
    if let Some(own) = chosen.filter(|own| !names.iter().any(|(tag, _)| tag == own)) {
        all.insert(0, option(own, own));
    }
    all
}

fn groups(view: &PageView, w: PageWords) -> Vec<GroupLine> {
    let line = |group: &engine::PageGroup| GroupLine {
        id: group.id.clone(),
        name: group.name.clone(),
        standing: match group.standing {
            GroupStanding::Member => w.t("group.member"),
            GroupStanding::ByRule => w.t("group.by_rule"),
            GroupStanding::Asked => w.t("group.asked"),
            GroupStanding::OnRequest => w.t("group.on_request"),
            GroupStanding::Open => String::new(),
        },
        can_leave: group.standing == GroupStanding::Member,
        can_join: group.standing == GroupStanding::Open,
        can_ask: group.standing == GroupStanding::OnRequest,
    };
    view.groups.iter().map(line).collect()
}

fn label(w: PageWords, channel: ChannelNumber, address: &str) -> String {
    format!("{} {}", kind(w, channel), masked(&channels::shown(channel, address)))
}

/// The kind of a channel, as people call it.
fn kind(w: PageWords, channel: ChannelNumber) -> String {
    let name = channels::name(channel);
    w.find(&format!("channel.{name}")).unwrap_or(name).to_owned()
}

/// The first letter and the domain of what is written as a mail address, else the last four characters, of
/// short ones the last two.
fn masked(address: &str) -> String {
    if let Some((local, domain)) = address.rsplit_once('@')
        && let Some(first) = local.chars().next()
        && !local.contains(':')
    {
        return format!("{first}…@{domain}");
    }
    let count = address.chars().count();
    let shown = if count > 6 { 4 } else { count.min(2) };
    let tail: String = address.chars().skip(count - shown).collect();
    format!("…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_by_its_end_and_a_mail_address_by_letter_and_domain() {
        for (address, shown) in [
            ("+46701740001", "…0001"),
            ("ann.berg@town.test", "a…@town.test"),
            ("matrix:@ann:town.test", "…test"),
            ("1234", "…34"),
            ("7", "…7"),
            ("", "…"),
        ] {
            assert_eq!(masked(address), shown, "{address}");
        }
    }

    #[test]
    fn the_policy_names_the_stylesheet_and_no_script() {
        assert!(POLICY.contains("style-src 'sha256-") && !POLICY.contains("script-src"), "{}", *POLICY);
    }
}

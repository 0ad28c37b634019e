//! A schedule as a client writes it: a name, a rule, what it does.

use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::authors::{Author, space_of};
use crate::http::drafts;
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::{Object, noted};
use crate::http::request::json::JsonNode;
use crate::http::request::time_text::duration_text;
use crate::http::schedules::directory;
use crate::http::schedules::record::{AlertSource, ScheduleRecord, ScheduledAction};
use crate::http::schedules::runner::parsed;
use crate::http::templates;
use crate::http::versioned::{ID_CHARS_MAX, check_id, new_id};
use jiff::civil::DateTime;
use records::{Mode, Timestamp};
use recurrence::{Schedule, TEXT_OCTETS_MAX, ZONE_OCTETS_MAX};
use serde_json::{Value, json};

/// Characters of a name.
const NAME_CHARS_MAX: usize = 200;
/// Characters of a start: `2026-12-07T12:00:00`.
const START_CHARS_MAX: usize = 32;
/// By default a time that passed still counts for so long, seconds.
const GRACE_S_DEFAULT: u32 = 3_600;
/// At most for so long, seconds: less than an idempotency key is kept, so that a time is never sent twice.
const GRACE_S_MAX: u32 = 12 * 3_600;
/// An alert of a schedule ends within so long, seconds.
const VALID_S_MAX: u32 = 40 * 86_400;
const MODES: [(&str, Mode); 2] = [("live", Mode::Live), ("drill", Mode::Drill)];
/// Members of a request that are fixed times.
const FIXED_TIMES: [&str; 2] = ["not_before", "expires"];
const MEMBERS: [&str; 12] = [
    "id",
    "name",
    "rule",
    "start",
    "time_zone",
    "space",
    "template",
    "request",
    "directory",
    "enabled",
    "grace",
    "valid_for",
];

/// A schedule that was read.
pub(crate) struct ReadSchedule {
    pub id: String,
    pub record: ScheduleRecord,
}

/// Reads a schedule. Without an id in path or body it gets one.
pub(crate) async fn read(
    app: &App,
    caller: &Caller,
    node: JsonNode,
    id: Option<&str>,
) -> HttpResult<ReadSchedule> {
    let mut fields = Fields::default();
    let read = Object::open(node, "", &MEMBERS, &mut fields)
        .and_then(|mut object| parts(&mut object, caller, (id, app.now()), &mut fields));
    let Some((read, wanted)) = read.filter(|_| fields.is_empty()) else {
        return Err(HttpProblem::fields(ProblemKind::InvalidFields, fields));
    };
    let mut read = read;
    read.record.space = space_of(caller, wanted)?;
    directory::check_role(caller, &read.record.action)?;
    check_action(app, caller, &read.record.action).await?;
    Ok(read)
}

fn parts(
    object: &mut Object,
    caller: &Caller,
    (id, now): (Option<&str>, Timestamp),
    fields: &mut Fields,
) -> Option<(ReadSchedule, Option<Mode>)> {
    let own = object.text("id", ID_CHARS_MAX, fields);
    if let (Some(own), Some(id)) = (&own, id)
        && own != id
    {
        fields.push("id", "is not the id in the path");
    }
    let id = id.map(str::to_owned).or(own).unwrap_or_else(new_id);
    noted(check_id(&id), || "id".to_owned(), fields);
    let name = object.needed_text("name", NAME_CHARS_MAX, fields);
    let rule = rule(object, fields);
    let action = action(object, fields);
    let space = object.word("space", &MODES, fields);
    let enabled = object.flag("enabled", fields).unwrap_or(true);
    let grace_s = object.duration_s("grace", fields).unwrap_or(GRACE_S_DEFAULT);
    if grace_s > GRACE_S_MAX {
        fields.push("grace", format!("is longer than {}, the limit", duration_text(GRACE_S_MAX)));
    }
    let valid_s = object.duration_s("valid_for", fields);
    if valid_s.is_some_and(|valid| valid > VALID_S_MAX) {
        fields.push("valid_for", format!("is longer than {}, the limit", duration_text(VALID_S_MAX)));
    }
    if valid_s.is_some() && matches!(action, Some(ScheduledAction::Directory(_))) {
        fields.push("valid_for", "is for alerts, and the schedule imports a directory: leave it out");
    }
    let (rule, action) = (rule?, action?);
    let record = ScheduleRecord {
        name: name?,
        rule: rule.write(),
        space: Mode::Live,
        action,
        enabled,
        grace_s,
        valid_s,
        author: Author::of(caller),
        looked_until: now,
        skip: None,
        is_author_gone: false,
        runs: Vec::new(),
    };
    Some((ReadSchedule { id, record }, space))
}

/// The rule: with DTSTART in its text, or with start and time zone apart.
fn rule(object: &mut Object, fields: &mut Fields) -> Option<Schedule> {
    let text = object.text("rule", TEXT_OCTETS_MAX, fields);
    let start = object.text("start", START_CHARS_MAX, fields);
    let zone = object.text("time_zone", ZONE_OCTETS_MAX, fields);
    let read = match (start, zone) {
        (None, None) => {
            let Some(text) = text else {
                fields
                    .push("rule", "is needed, such as RRULE:FREQ=MONTHLY;BYDAY=1MO with start and time_zone");
                return None;
            };
            Schedule::parse(&text)
        }
        (Some(start), Some(zone)) => {
            let start: Option<DateTime> = noted(
                start.parse().map_err(|_| format!("{start:?} is no local time, such as 2026-12-07T12:00:00")),
                || "start".to_owned(),
                fields,
            );
            Schedule::new(start?, &zone, text.as_deref().unwrap_or_default())
        }
        (Some(_), None) => {
            fields.push("time_zone", "is needed with start, such as Europe/Stockholm");
            return None;
        }
        (None, Some(_)) => {
            fields.push("start", "is needed with time_zone, such as 2026-12-07T12:00:00");
            return None;
        }
    };
    noted(read.map_err(|error| error.to_string()), || "rule".to_owned(), fields)
}

fn action(object: &mut Object, fields: &mut Fields) -> Option<ScheduledAction> {
    let template = object.text("template", ID_CHARS_MAX, fields);
    let directory = object.text("directory", NAME_CHARS_MAX, fields);
    let path = object.path("request");
    let request = object.take("request").map(|node| request(node, &path, fields));
    match (template, request, directory) {
        (Some(template), None, None) => Some(ScheduledAction::Alert(AlertSource::Template(template))),
        (None, Some(request), None) => Some(ScheduledAction::Alert(AlertSource::Request(request?))),
        (None, None, Some(directory)) => Some(ScheduledAction::Directory(directory)),
        _ => {
            fields.push("template", "exactly one of template, request and directory is needed");
            None
        }
    }
}

fn request(node: JsonNode, at: &str, fields: &mut Fields) -> Option<Value> {
    let part = drafts::body::read(node, at, fields)?;
    if part.mode.is_some() {
        fields.push(format!("{at}.mode"), "is the schedule's space: write that instead");
    }
    check_fixed_times(&part.request, at, fields);
    Some(part.request)
}

/// A fixed time is wrong at every time but one.
pub(crate) fn check_fixed_times(request: &Value, at: &str, fields: &mut Fields) {
    for name in FIXED_TIMES.into_iter().filter(|name| !request[*name].is_null()) {
        let reason = "is a fixed time, and a schedule recurs: leave it out, and write valid_for instead";
        fields.push(format!("{at}.{name}"), reason);
    }
}

/// What can be known now of what it will do: a request must be whole, a template there.
async fn check_action(app: &App, caller: &Caller, action: &ScheduledAction) -> HttpResult<()> {
    let mut fields = Fields::default();
    match action {
        ScheduledAction::Alert(AlertSource::Template(id)) => {
            if templates::find(app, caller.account(), id).await?.is_none() {
                fields.push(
                    "template",
                    format!("there is no template {id:?}: GET /api/v1/templates lists them"),
                );
            }
        }
        ScheduledAction::Alert(AlertSource::Request(request)) => {
            let (_, found) = drafts::body::meaning(app, request.clone(), app.now()).await?;
            for problem in found.listed() {
                fields.push(format!("request.{}", problem.field), problem.reason.clone());
            }
        }
        ScheduledAction::Directory(name) => {
            noted(directory::check_name(app, caller, name), || "directory".to_owned(), &mut fields);
        }
    }
    if fields.is_empty() { Ok(()) } else { Err(HttpProblem::fields(ProblemKind::InvalidFields, fields)) }
}

/// The members that a client may write, as they stand: what a merge patch changes. The start stands apart
/// from the rule, unless the patch has a whole rule.
pub(crate) fn writable(record: &ScheduleRecord, is_whole_rule: bool) -> HttpResult<Value> {
    let mut out = json!({
        "name": record.name,
        "space": crate::http::alerts::view::mode(record.space),
        "enabled": record.enabled,
        "grace": duration_text(record.grace_s),
    });
    if !is_whole_rule {
        let rule = parsed(record)?;
        let lines: Vec<&str> = record.rule.lines().filter(|line| !line.starts_with("DTSTART")).collect();
        out["start"] = rule.start().to_string().into();
        out["time_zone"] = rule.zone_name().into();
        if !lines.is_empty() {
            out["rule"] = lines.join("\n").into();
        }
    }
    if let Some(valid) = record.valid_s {
        out["valid_for"] = duration_text(valid).into();
    }
    match &record.action {
        ScheduledAction::Alert(AlertSource::Template(id)) => out["template"] = id.as_str().into(),
        ScheduledAction::Alert(AlertSource::Request(request)) => out["request"] = request.clone(),
        ScheduledAction::Directory(name) => out["directory"] = name.as_str().into(),
    }
    Ok(out)
}

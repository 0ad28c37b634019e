//! Submission of an alert: it is checked, stored, and only then given to the actor.

use super::actor::store_error;
use super::device_forecast::DeviceForecasts;
use super::similar_alerts::{PeopleSample, similar_alerts};
use super::told_before::ToldBefore;
use super::{ActorCommand, Engine, Forecasts, forecasts, named_areas, solving, text_checks};
use crate::api::{Draft, EngineError, KeywordAction, Keywords, Problem, Submitted};
use crate::dispatch::Wording;
use crate::forecast::Forecast;
use crate::inbound_text::{is_phrase, is_stop_word};
use crate::plan::{Conditions, CourseRules, ForecastTable, forecast};
use crate::record::MissingValues;
use crate::solve::audience::{To, parsed};
use records::{
    Alert, AlertId, AlertNo, AlertRequest, AlertState, Approval, AreaRequest, ChannelNumber, Mode, Origin,
    Reason, Route, Timestamp,
};
use std::sync::Arc;
use tokio::runtime::Handle;

/// An alert may end at most so long after it is accepted: offsets in memory are 32 bits of milliseconds.
const EXPIRES_MAX_S: i64 = 40 * 86_400;

impl Engine {
    /// Accepts an alert: on disk when this resolves. With `wait_solved` also solved.
    pub async fn submit(&self, mut draft: Draft) -> Result<Submitted, EngineError> {
        let now = (self.inner.parts.clock)();
        self.fill_named_areas(&draft.account, &mut draft.request).await?;
        self.limit_to_participants(&draft.account, &mut draft.request, &draft.origin);
        let check = RequestCheck { engine: self, origin: &draft.origin };
        let (wording, mut problems) = check.check(&draft.account, &draft.request, now).await?;
        let is_written = !draft.authors.is_empty() && !draft.origin.is_internal();
        let written = || Box::new(Approval::of(draft.authors, now, draft.request.expires));
        let approval = is_written.then(written);
        let alert = Alert {
            no: AlertNo(0),
            id: AlertId(uuid::Uuid::now_v7()),
            account: draft.account,
            token: draft.token,
            created: now,
            state: AlertState::Accepted,
            version: 1,
            request: draft.request,
            origin: draft.origin,
            note: String::new(),
            approval,
        };
        let store = &self.inner.parts.store;
        let accepted = match draft.note {
            Some(act) => store.accept_noted_alert(alert, draft.key, act).await,
            None => store.accept_alert(alert, draft.key).await,
        };
        let accepted = accepted.map_err(store_error)?;
        let alert = match accepted {
            store::Accepted::New(alert) => alert,
            store::Accepted::Before(alert) => return self.before(alert).await,
            store::Accepted::KeyTaken => return Err(EngineError::KeyTaken),
        };
        self.inner.parts.texts.keep(alert.no, &wording);
        if !draft.wait_solved {
            self.send(ActorCommand::Accepted { alert: Box::new(alert.clone()), solved: None }).await?;
            return Ok(Submitted { alert, fresh: true, endpoints: None, problems });
        }
        let solved = self.solved(alert).await?;
        if solved.endpoints == 0 {
            problems.insert(0, nobody(&solved.excluded));
            // Where people said stop the alert and its report stand, and say whom nobody tells.
            let is_stopped = |(reason, _): &(String, u64)| reason == Reason::OptedOut.words();
            if !solved.excluded.iter().any(is_stopped) {
                return Err(EngineError::Unprocessable(problems));
            }
        }
        problems.extend(self.missing_values(&solved.alert, &wording).await?);
        Ok(Submitted { alert: solved.alert, fresh: true, endpoints: Some(solved.endpoints), problems })
    }

    /// How many lack which value, of an alert that was solved.
    async fn missing_values(&self, alert: &Alert, wording: &Wording) -> Result<Vec<Problem>, EngineError> {
        if wording.needed().is_empty() {
            return Ok(Vec::new());
        }
        let report = self.report(&alert.account, alert.id).await?;
        Ok(text_checks::missing_values(&alert.request, wording, &report.missing_values))
    }

    async fn before(&self, alert: Alert) -> Result<Submitted, EngineError> {
        let report = self.report(&alert.account, alert.id).await?;
        let solved = !matches!(alert.state, AlertState::Accepted | AlertState::Solving);
        let endpoints = solved.then_some((report.counts.endpoints - report.counts.excluded) as u32);
        Ok(Submitted { alert, fresh: false, endpoints, problems: Vec::new() })
    }

    /// What would happen; nothing is stored or sent.
    pub async fn forecast(&self, account: &str, mut request: AlertRequest) -> Result<Forecast, EngineError> {
        let now = (self.inner.parts.clock)();
        self.fill_named_areas(account, &mut request).await?;
        let check = RequestCheck { engine: self, origin: &Origin::Api };
        let (wording, named) = check.check(account, &request, now).await?;
        let conditions = Forecasts::of(self).look(None).await?.conditions;
        let (parts, keywords) = (self.inner.parts.clone(), self.inner.keywords.load_full());
        let (alert, runtime) = (draft_alert(account, request, now), Handle::current());
        let work = move || -> Result<Forecast, EngineError> {
            let (told, rules) = (ToldBefore::default(), &keywords.opt_out);
            let mut roster = solving::roster(&parts, rules, &alert, &told, &wording, now, &runtime)?;
            let classifier = conditions.classifier.clone();
            let mut table = ForecastTable::new(roster.take_unverified(), roster.len());
            let (mut missing, mut sample) = (MissingValues::default(), PeopleSample::default());
            table.take_roster(&roster, &classifier, &alert);
            for block in roster.blocks() {
                block.entries.iter().for_each(|entry| missing.take(entry, &wording));
                sample.take(&block);
            }
            let texts = DeviceForecasts { parts: &parts, wording: &wording, table: &table };
            let devices = texts.devices(&classifier);
            let plan = forecasts::into_plan(&parts, &classifier, &wording, table);
            let (lane, timeout_s) = (alert.request.priority.into(), parts.settings.receipt_timeout_s);
            let mut made = forecast(&plan, &CourseRules::new(&conditions, lane, timeout_s));
            made.devices = devices;
            made.recipients = roster.people();
            made.languages = roster.people_by_language();
            made.similar = similar_alerts(&parts, &alert, &sample, &runtime)?;
            made.missing_values = missing.counts().clone();
            made.problems.extend(text_checks::missing_values(&alert.request, &wording, missing.counts()));
            made.problems.extend(named);
            made.problems.extend(routes_down(&made, &conditions));
            Ok(made)
        };
        tokio::task::spawn_blocking(work).await.map_err(|error| EngineError::Internal(error.to_string()))?
    }

    /// Everything that can be refused of a request before anybody is looked up, without submitting it: for a
    /// door that takes several requests, all or none.
    ///
    /// # Errors
    /// Those of [`Engine::submit`] that do not depend on who is found.
    pub async fn would_take(
        &self,
        account: &str,
        request: &AlertRequest,
        origin: &Origin,
    ) -> Result<(), EngineError> {
        let now = (self.inner.parts.clock)();
        let mut request = request.clone();
        self.fill_named_areas(account, &mut request).await?;
        self.limit_to_participants(account, &mut request, origin);
        RequestCheck { engine: self, origin }.check(account, &request, now).await.map(|_| ())
    }

    /// A drill that comes by a way on which nobody can say whom it is for goes to participants alone where it
    /// would reach real devices.
    fn limit_to_participants(&self, account: &str, request: &mut AlertRequest, origin: &Origin) {
        let is_silent = matches!(origin, Origin::Cap(_) | Origin::Device | Origin::Hook);
        if is_silent && self.real_drill_route(account, request).is_some() {
            request.participants_only = true;
        }
    }

    /// The first drill route that would carry this drill and is not simulated; nothing: no person is reached
    /// by it.
    fn real_drill_route(&self, account: &str, request: &AlertRequest) -> Option<String> {
        let carries = |route: &&Route| {
            let (channels, accounts) = (&request.channels, &route.accounts);
            route.mode == Mode::Drill
                && !route.simulated
                && (channels.is_empty() || channels.contains(&route.channel))
                && (accounts.is_empty() || accounts.iter().any(|one| one == account))
        };
        let routes = self.inner.routes.load();
        let found = (request.mode == Mode::Drill).then(|| routes.iter().find(carries)).flatten();
        found.map(|route| route.name.clone())
    }
}

/// Checks of a request against an account's people and the routes of now.
pub(super) struct RequestCheck<'a> {
    pub(super) engine: &'a Engine,
    /// The way in which it came.
    pub(super) origin: &'a Origin,
}

impl RequestCheck<'_> {
    /// Everything that can be checked of a request before it is solved: its texts, or what stops it; and what
    /// is odd about whom it names.
    async fn check(
        &self,
        account: &str,
        request: &AlertRequest,
        now: Timestamp,
    ) -> Result<(Arc<Wording>, Vec<Problem>), EngineError> {
        let (mut problems, mut odd) = (Vec::new(), Vec::new());
        let entries = parsed(request);
        match &entries {
            Ok((wanted, unwanted)) => {
                self.check_groups(account, "audience", wanted, &mut problems).await?;
                self.check_groups(account, "exclude", unwanted, &mut problems).await?;
                self.check_people(account, wanted, &mut problems).await?;
                self.check_earlier(account, request, wanted, &mut problems).await?;
                odd.extend(self.named_people(account, wanted, unwanted).await?);
                named_areas::check(request, (wanted, unwanted), &mut problems);
                if wanted.contains(&To::Area) && request.area.as_ref().is_none_or(AreaRequest::is_empty) {
                    problems.push(problem("audience", "names area, but the alert has none"));
                }
            }
            Err(found) => problems.extend(found.iter().cloned()),
        }
        let wording = self.engine.inner.parts.texts.compile(request);
        if wording.as_ref().is_ok_and(|wording| wording.is_empty()) {
            problems.push(problem("text", "is missing: an alert says something, by text or texts"));
        }
        let wording = wording.map_err(|found| problems.extend(found)).ok();
        if let (Some(wording), Ok((wanted, _))) = (&wording, &entries) {
            self.check_placeholders(account, request, wording, wanted, &mut problems).await?;
            self.check_sizes(request, wording, wanted, &mut problems).await?;
            problems.extend(text_checks::blank_texts(request, wording));
        }
        check_times(request, now, &mut problems);
        check_choices(request, &self.engine.inner.keywords.load(), &mut problems);
        self.check_routes(request, &mut problems);
        self.check_participants(account, request, &mut problems);
        match wording {
            Some(wording) if problems.is_empty() => Ok((wording, odd)),
            _ => Err(EngineError::Unprocessable(problems)),
        }
    }

    /// An audience of people where there are none: a house into which nobody was imported.
    async fn check_people(
        &self,
        account: &str,
        wanted: &[To],
        problems: &mut Vec<Problem>,
    ) -> Result<(), EngineError> {
        if wanted.iter().any(|to| matches!(to, To::Address(..)) || to.earlier().is_some()) {
            return Ok(());
        }
        let first =
            self.engine.inner.parts.store.recipients_after(account, "", 1).await.map_err(store_error)?;
        if first.is_empty() {
            let reason = format!(
                "names people, but account {account:?} has no recipients: import them first (`campanile recipients \
                 import FILE`, or POST /api/v1/recipients), or name addresses"
            );
            problems.push(problem("audience", &reason));
        }
        Ok(())
    }

    async fn check_groups(
        &self,
        account: &str,
        field: &str,
        entries: &[To],
        problems: &mut Vec<Problem>,
    ) -> Result<(), EngineError> {
        for (i, to) in entries.iter().enumerate() {
            let To::Group(name, _) = to else { continue };
            if !self.has_group(account, name).await? {
                problems.push(problem(&format!("{field}[{i}]"), &format!("there is no group {name:?}")));
            }
        }
        Ok(())
    }

    /// Alerts whose people are named by `alert:ID/…`, and the one that this one follows. Live and
    /// drill are apart: who got a drill is not told the next thing for real, without anybody's approval.
    async fn check_earlier(
        &self,
        account: &str,
        request: &AlertRequest,
        wanted: &[To],
        problems: &mut Vec<Problem>,
    ) -> Result<(), EngineError> {
        let named = wanted.iter().enumerate();
        let named = named.filter_map(|(i, to)| Some((format!("audience[{i}]"), to.earlier()?)));
        let follows = request.follows.map(|id| ("follows".to_owned(), id));
        for (field, id) in named.chain(follows) {
            match self.engine.inner.parts.store.alert(account, id).await.map_err(store_error)? {
                None => problems.push(problem(&field, &format!("there is no alert {id}"))),
                Some(earlier) if earlier.request.mode != request.mode => {
                    let (is, was) = (mode_name(request.mode), mode_name(earlier.request.mode));
                    let reason = format!("alert {id} is of mode {was}, and this one of mode {is}");
                    problems.push(problem(&field, &reason));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// A drill that reaches real devices is for those alone who agreed to take part.
    fn check_participants(&self, account: &str, request: &AlertRequest, problems: &mut Vec<Problem>) {
        // What the server says of its own accord goes to one person, who is told something that is true.
        if request.participants_only || self.origin.is_internal() {
            return;
        }
        let Some(route) = self.engine.real_drill_route(account, request) else { return };
        let reason = format!(
            "is needed: drill route {route} is not simulated, so what a drill sends by it reaches real devices. Set it to \
             true, which reaches recipients with participant = true alone, or name channels whose drill routes are \
             simulated"
        );
        problems.push(problem("participants_only", &reason));
    }

    fn check_routes(&self, request: &AlertRequest, problems: &mut Vec<Problem>) {
        let all: Vec<ChannelNumber> = channels::numbers().collect();
        let wanted: &[ChannelNumber] = if request.channels.is_empty() { &all } else { &request.channels };
        let routes = self.engine.inner.routes.load();
        let fits = |channel: &ChannelNumber| {
            routes.iter().any(|route| route.channel == *channel && route.mode == request.mode)
        };
        if !wanted.iter().any(fits) {
            let mode = mode_name(request.mode);
            let names: Vec<&str> = wanted.iter().map(|channel| channels::name(*channel)).collect();
            let reason = format!(
                "no route of mode {mode} carries {}: add a [[route]] to the config",
                names.join(" or ")
            );
            problems.push(problem("channels", &reason));
        }
    }
}

/// A choice that stops messages cannot be answered: who writes it as the text says is opted out.
fn check_choices(request: &AlertRequest, keywords: &Keywords, problems: &mut Vec<Problem>) {
    let stops = keywords.list.iter().filter(|keyword| keyword.action == KeywordAction::Stop);
    let words: Vec<&str> = stops.flat_map(|keyword| &keyword.words).map(String::as_str).collect();
    for (i, choice) in request.choices.iter().enumerate() {
        for (field, text) in [("key", &choice.key), ("label", &choice.label)] {
            if is_stop_word(text) || is_phrase(text, words.iter().copied()) {
                let reason = format!(
                    "{text:?} is a word that stops messages: who answers with it is opted out; take another, such as a \
                     digit for the key"
                );
                problems.push(problem(&format!("choices[{i}].{field}"), &reason));
            }
        }
    }
}

fn check_times(request: &AlertRequest, now: Timestamp, problems: &mut Vec<Problem>) {
    if request.expires <= now {
        problems.push(problem("expires", "is in the past: nothing would be sent"));
    }
    if request.expires > now.plus_s(EXPIRES_MAX_S) {
        problems.push(problem(
            "expires",
            &format!("is more than {} days ahead, the limit", EXPIRES_MAX_S / 86_400),
        ));
    }
    if request.not_before.is_some_and(|start| start >= request.expires) {
        problems.push(problem("not_before", "is not before expires: nothing would be sent"));
    }
    for (i, entry) in request.audience.iter().enumerate() {
        if entry.expires.is_some_and(|expires| expires <= now) {
            problems
                .push(problem(&format!("audience[{i}].expires"), "is in the past: nothing would be sent"));
        }
    }
}

fn routes_down(forecast: &Forecast, conditions: &Conditions) -> Vec<Problem> {
    let routes = conditions.classifier.routes().iter().zip(&conditions.routes);
    let down = routes.filter(|(route, now)| forecast.routes.contains_key(&route.name) && !now.up);
    down.map(|(route, _)| problem("routes", &format!("route {} is down now", route.name))).collect()
}

fn nobody(excluded: &[(String, u64)]) -> Problem {
    let why: Vec<String> = excluded.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) };
    problem("audience", &format!("names nobody who can be reached{why}"))
}

fn mode_name(mode: Mode) -> &'static str {
    if mode == Mode::Drill { "drill" } else { "live" }
}

fn problem(field: &str, reason: &str) -> Problem {
    Problem { field: field.to_owned(), reason: reason.to_owned() }
}

pub fn draft_alert(account: &str, request: AlertRequest, now: Timestamp) -> Alert {
    Alert {
        no: AlertNo(0),
        id: AlertId(uuid::Uuid::nil()),
        account: account.to_owned(),
        token: String::new(),
        created: now,
        state: AlertState::Accepted,
        version: 0,
        request,
        origin: Origin::Api,
        note: String::new(),
        approval: None,
    }
}

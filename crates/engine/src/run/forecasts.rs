//! Forecasts are made here: of a request, of an alert that was solved, beside what happened of it, and again
//! for a past one.

use super::actor::store_error;
use super::command::{ActorCommand, DeliveryPage};
use super::device_forecast::DeviceForecasts;
use super::forecast_records::{read_days, read_forecast};
use super::forecasting::{ForecastLook, ForecastingCommand, start_of};
use super::route_holds::RouteHolds;
use super::submit::draft_alert;
use super::told_before::ToldBefore;
use super::{Engine, solving};
use crate::api::{EngineError, Parts, Problem};
use crate::approval::{ApprovalAudience, ApprovalDemand};
use crate::dispatch::Wording;
use crate::forecast::{AlertReach, AlertVerdict, ForecastAndFact, ForecastFact, KeptForecast};
use crate::plan::{
    AlertPlan, AlertReplay, Causes, Classifier, Conditions, FactTable, ForecastTable, ReachTarget, Replayed,
    RouteNow, TextGroup, causes, replay, rounded, verdict,
};
use crate::report::rfc3339;
use crate::solve::Roster;
use records::{
    Alert, AlertId, AlertNo, AlertRequest, Delivery, EndpointNo, Lane, Origin, ROSTER_BLOCK_ENDPOINTS,
    Terminal, Timestamp,
};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Handle;

/// Deliveries read in one go: whole blocks of a roster.
const DELIVERIES_AT_ONCE: usize = 16 * ROSTER_BLOCK_ENDPOINTS;

/// A request that is replayed lasts so long, in seconds.
const REPLAY_LASTS_S: i64 = 86_400;

/// Forecasts of an engine's alerts.
pub struct Forecasts<'a> {
    engine: &'a Engine,
}

/// The replay of an alert.
#[derive(Debug, Clone)]
pub struct ReplayRequest {
    /// Routes, by name, that take nothing.
    pub without: Vec<String>,
    /// Of the people, within a time.
    pub target: ReachTarget,
    /// The same seed gives the same replay.
    pub seed: u64,
}

impl<'a> Forecasts<'a> {
    /// Of this engine.
    pub fn of(engine: &'a Engine) -> Forecasts<'a> {
        Forecasts { engine }
    }

    /// What the rules of approval ask of a request to so many people that comes in this way.
    ///
    /// # Errors
    /// The store's.
    pub async fn approval(
        &self,
        account: &str,
        request: AlertRequest,
        origin: Origin,
        people: u64,
    ) -> Result<ApprovalDemand, EngineError> {
        let now = (self.engine.parts().clock)();
        let alert = Alert { origin, ..draft_alert(account, request, now) };
        let policy = self.engine.approval_policy();
        let groups = match policy.names_groups() {
            true => self.engine.groups_of(&alert).await?,
            false => FxHashSet::default(),
        };
        Ok(policy.of_alert(&alert, ApprovalAudience { people: Some(people), groups: &groups }))
    }

    /// The forecast of an alert as it was fixed, what happened so far, and why they differ.
    ///
    /// # Errors
    /// No such alert; the store's.
    pub async fn of_alert(&self, account: &str, id: AlertId) -> Result<ForecastAndFact, EngineError> {
        let alert = self.engine.alert(account, id).await?;
        let start = start_of(&alert);
        let store = self.engine.store();
        let kept = read_forecast(&*store, account, id).await.map_err(store_error)?;
        let table = self.fact_table(alert.no, start).await?;
        let people = kept.as_ref().map_or_else(|| table.people(), |kept| kept.forecast.course.people);
        let fact = table.fact(people);
        let causes = match &kept {
            Some(kept) => self.causes(&alert, &kept.forecast, kept.later, &fact).await?,
            None => Vec::new(),
        };
        let forecast = kept.map(|kept| kept.forecast);
        Ok(ForecastAndFact { forecast, start: rfc3339(start), fact, causes })
    }

    async fn causes(
        &self,
        alert: &Alert,
        forecast: &KeptForecast,
        kept_later: u64,
        fact: &ForecastFact,
    ) -> Result<Vec<crate::forecast::Coded>, EngineError> {
        let look = self.look(Some(alert.no)).await?;
        let routes = look.conditions.classifier.routes().iter().zip(&look.conditions.routes);
        let down = routes
            .filter(|(_, now)| !now.up)
            .filter_map(|(route, now)| Some((route.name.clone(), now.since?)))
            .collect();
        Ok(causes(&Causes {
            forecast,
            fact,
            start: start_of(alert),
            until: self.until(alert).await?,
            is_paused: alert.state == records::AlertState::Paused,
            later: look.later.max(kept_later),
            days: &look.conditions.days,
            down: &down,
        }))
    }

    /// When an alert was over, or now.
    async fn until(&self, alert: &Alert) -> Result<Timestamp, EngineError> {
        let now = (self.engine.parts().clock)();
        if !alert.state.is_final() {
            return Ok(now);
        }
        let finished = self.engine.report(&alert.account, alert.id).await?.moments.finished.clone();
        let read = finished.and_then(|text| text.parse::<jiff::Timestamp>().ok());
        Ok(read.map_or(now, |at| Timestamp(at.as_microsecond())))
    }

    /// Whether a part of an alert's people were reached in time, and what if a route were down.
    ///
    /// # Errors
    /// No such alert; the store's.
    pub async fn verdict(
        &self,
        account: &str,
        id: AlertId,
        target: ReachTarget,
    ) -> Result<AlertVerdict, EngineError> {
        let alert = self.engine.alert(account, id).await?;
        let AlertReach { counts, people, met, seconds } = self.reach(&alert, target).await?;
        let start = start_of(&alert);
        let look = self.look(Some(alert.no)).await?;
        let classifier = look.conditions.classifier.clone();
        let idle = Conditions { days: look.conditions.days, ..Conditions::idle(classifier, Instant::now()) };
        let (parts, lane) = (self.engine.parts().clone(), Lane::from(alert.request.priority));
        let work = move || {
            let plan = stored_plan(&parts, &idle.classifier, &alert)?;
            Ok(verdict(&plan, &idle, lane, target))
        };
        let at = seconds.map(|seconds| rfc3339(start.plus_us((seconds * 1e6) as i64)));
        let plan = blocking(work).await?;
        Ok(AlertVerdict { target, counts, people, met, at, seconds, plan })
    }

    /// Whether a part of an alert's people were reached in time, without the routes and limits of now.
    ///
    /// # Errors
    /// The store's.
    pub async fn reach(&self, alert: &Alert, target: ReachTarget) -> Result<AlertReach, EngineError> {
        let (start, counts) = (start_of(alert), Counted::of(alert));
        let table = self.fact_table(alert.no, start).await?;
        let people = table.people();
        let times = match counts {
            Counted::HandedOver => table.handed_over(people),
            Counted::Confirmed => table.confirmed(people),
        };
        let seconds = times.at_part(target.part()).map(rounded);
        let so_far_s = self.until(alert).await?.us_since(start) as f64 / 1e6;
        let met = match seconds {
            Some(seconds) => Some(seconds <= target.seconds),
            None if so_far_s > target.seconds || alert.state.is_final() => Some(false),
            None => None,
        };
        Ok(AlertReach { counts: counts.name(), people, met, seconds })
    }

    /// What an alert was to cost, in minor units, by the forecast that was fixed before it was sent; nothing:
    /// there is none.
    ///
    /// # Errors
    /// The store's.
    pub async fn fixed_cost(&self, account: &str, id: AlertId) -> Result<Option<i64>, EngineError> {
        let kept = read_forecast(&*self.engine.store(), account, id).await.map_err(store_error)?;
        Ok(kept.map(|kept| kept.forecast.cost))
    }

    /// An alert's request once more over the people and limits of now, in simulated time.
    ///
    /// # Errors
    /// No such alert; a route that is not there; the store's.
    pub async fn replay(
        &self,
        account: &str,
        id: AlertId,
        asked: ReplayRequest,
    ) -> Result<Replayed, EngineError> {
        let mut alert = self.engine.alert(account, id).await?;
        let look = self.look(None).await?;
        check_routes(&asked.without, &look.conditions)?;
        let (parts, keywords) = (self.engine.parts().clone(), self.engine.inner.keywords.load_full());
        let now = (parts.clock)();
        let counts_confirmed = Counted::of(&alert) == Counted::Confirmed;
        (alert.created, alert.request.not_before) = (now, None);
        alert.request.expires = now.plus_s(REPLAY_LASTS_S);
        self.engine.fill_named_areas(account, &mut alert.request).await?;
        let ReplayRequest { without, target, seed } = asked;
        let asked = AlertReplay { without, target, seed, counts_confirmed };
        let lane = Lane::from(alert.request.priority);
        let timeout_s = parts.settings.receipt_timeout_s;
        let runtime = Handle::current();
        blocking(move || {
            let wording = parts.texts.of(&alert);
            let told = ToldBefore::default();
            let rules = &keywords.opt_out;
            let roster = solving::roster(&parts, rules, &alert, &told, &wording, now, &runtime)?;
            let conditions = Conditions {
                days: look.conditions.days,
                ..Conditions::idle(look.conditions.classifier, Instant::now())
            };
            let plan = plan_of(&parts, &conditions.classifier, &alert, &wording, roster);
            Ok(replay(&plan, &conditions, (lane, timeout_s), &asked))
        })
        .await
    }

    /// The routes now, what waits on them, and what they did before. A process that does not lead knows of
    /// the routes alone.
    pub(super) async fn look(&self, but: Option<AlertNo>) -> Result<ForecastLook, EngineError> {
        let looked = self
            .engine
            .request(|reply| ActorCommand::Forecasting(ForecastingCommand::Look { but, reply }))
            .await;
        let mut look = match looked {
            Ok(look) => look,
            Err(_) => ForecastLook { conditions: self.conditions_of_health().await?, later: 0 },
        };
        look.conditions.days = read_days(&*self.engine.store()).await.map_err(store_error)?;
        Ok(look)
    }

    async fn conditions_of_health(&self) -> Result<Conditions, EngineError> {
        let health = self.engine.health().await?;
        let routes: Vec<records::Route> = health.routes.iter().map(|(route, _)| route.clone()).collect();
        let mut conditions = Conditions::idle(Arc::new(Classifier::new(routes)), Instant::now());
        let holds = RouteHolds::open(&*self.engine.parts().bus)?;
        for (now, (route, health)) in conditions.routes.iter_mut().zip(&health.routes) {
            *now = health.as_ref().map_or_else(RouteNow::default, |health| RouteNow {
                up: health.up && holds.of(&route.name).is_none(),
                since: Some(health.since),
                sessions: health.sessions,
                rate_now: health.rate_now,
                under_way: [0; 3],
            });
        }
        Ok(conditions)
    }

    async fn fact_table(&self, no: AlertNo, start: Timestamp) -> Result<FactTable, EngineError> {
        let (mut table, mut from) = (FactTable::new(start), EndpointNo(0));
        loop {
            let rows = self.rows(no, from).await?;
            let parts = self.engine.parts().clone();
            let (taken, next) = blocking(move || take_rows(&parts, no, (table, from), &rows)).await?;
            table = taken;
            match next {
                Some(next) => from = next,
                None => return Ok(table),
            }
        }
    }

    /// Deliveries from an endpoint on, of an alert in memory or not.
    async fn rows(&self, no: AlertNo, from: EndpointNo) -> Result<Vec<Delivery>, EngineError> {
        let page = DeliveryPage { state: None, from, limit: DELIVERIES_AT_ONCE };
        let live = self.engine.request(|reply| ActorCommand::Deliveries { no, page, reply }).await?;
        match live {
            Some(rows) => Ok(rows),
            None => {
                let store = self.engine.store();
                store.deliveries_from(no, from, None, page.limit).await.map_err(store_error)
            }
        }
    }
}

/// What counts as reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    HandedOver,
    Confirmed,
}

impl Counted {
    fn of(alert: &Alert) -> Counted {
        match alert.request.terminal {
            Terminal::Accepted => Counted::HandedOver,
            Terminal::Delivered | Terminal::Answered => Counted::Confirmed,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Counted::HandedOver => "handed_over",
            Counted::Confirmed => "confirmed",
        }
    }
}

fn check_routes(without: &[String], conditions: &Conditions) -> Result<(), EngineError> {
    let routes = conditions.classifier.routes();
    let unknown = without.iter().find(|name| !routes.iter().any(|route| route.name == **name));
    let Some(unknown) = unknown else { return Ok(()) };
    let reason =
        format!("there is no route {unknown:?}: GET /api/v1/alerts/{{id}}/report names those it went by");
    Err(EngineError::Unprocessable(vec![Problem { field: "without".into(), reason }]))
}

/// Takes the blocks in of which these are the deliveries; where the next begin, if there are more.
fn take_rows(
    parts: &Parts,
    no: AlertNo,
    (mut table, from): (FactTable, EndpointNo),
    rows: &[Delivery],
) -> Result<(FactTable, Option<EndpointNo>), EngineError> {
    let mut at = from;
    while ((at.0 - from.0) as usize) < DELIVERIES_AT_ONCE {
        let Some(block) = parts.store.roster_block(no, at).map_err(store_error)? else {
            return Ok((table, None));
        };
        table.take(&block, |endpoint| {
            let place = rows.binary_search_by_key(&endpoint, |row| row.endpoint.0).ok()?;
            rows.get(place)
        });
        at = EndpointNo(block.first.0 + ROSTER_BLOCK_ENDPOINTS as u32);
    }
    Ok((table, Some(at)))
}

/// The plan of an alert that was solved, of the people that it had then.
fn stored_plan(parts: &Parts, classifier: &Classifier, alert: &Alert) -> Result<AlertPlan, EngineError> {
    let wording = parts.texts.of(alert);
    let (mut table, mut at) = (ForecastTable::default(), EndpointNo(0));
    while let Some(block) = parts.store.roster_block(alert.no, at).map_err(store_error)? {
        table.take(&block, classifier, alert);
        at = EndpointNo(block.first.0 + ROSTER_BLOCK_ENDPOINTS as u32);
    }
    Ok(into_plan(parts, classifier, &wording, table))
}

/// The plan of a roster.
pub fn plan_of(
    parts: &Parts,
    classifier: &Classifier,
    alert: &Alert,
    wording: &Wording,
    mut roster: Roster,
) -> AlertPlan {
    let mut table = ForecastTable::new(roster.take_unverified(), roster.len());
    table.take_roster(&roster, classifier, alert);
    into_plan(parts, classifier, wording, table)
}

/// A table as a plan, with the units that each text costs.
pub fn into_plan(
    parts: &Parts,
    classifier: &Classifier,
    wording: &Wording,
    table: ForecastTable,
) -> AlertPlan {
    let texts = DeviceForecasts { parts, wording, table: &table };
    let units = |route: usize, group: &TextGroup| texts.units(&classifier.routes()[route], group);
    let groups = table.planned_groups(classifier, units);
    table.into_plan(groups)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, EngineError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| EngineError::Internal(error.to_string()))?
}

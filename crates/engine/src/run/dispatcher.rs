//! Dispatcher puts segments on the bus: alerts in turn, lane by lane, each class to the route that has room.
//! It owns the routes with the units under way on them, and the appends.

use super::actor::bus_error;
use super::alerts::Alerts;
use super::context::Context;
use super::fenced_append::{append_fenced, take_fencing_record};
use super::outcome_reader::OutcomeReader;
use super::route_holds::RouteHolds;
use super::route_table::{QueuedSegment, RouteTable};
use crate::api::{EngineError, Parts};
use crate::dispatch::{Builder, ShortBuilder};
use crate::plan::NOWHERE;
use crate::record::delivery_cell::{BEGUN, IN_SEGMENT, NO_ROUTE};
use crate::record::{LiveAlert, StringTable};
use crate::report::RouteView;
use crate::shared::Term;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use records::{AlertNo, AlertState, DeliveryState, EndpointNo, Lane, Reason, Route, Segment, Timestamp};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// After a failed append (a full disk), dispatch waits so long, in microseconds.
const PAUSE_AFTER_FAILURE_US: i64 = 1_000_000;
/// Segments made in one pass, so that outcomes are taken in between.
const SEGMENTS_AT_ONCE: usize = 8;
/// Fencing records taken side by side.
const FENCING_RECORDS_AT_ONCE: usize = 16;

/// See the module.
pub struct Dispatcher {
    pub routes: RouteTable,
    pub appends: FuturesUnordered<BoxFuture<'static, Appended>>,
    /// Units an endpoint of an alert costs on the route at a place.
    pub estimates: FxHashMap<AlertNo, FxHashMap<usize, u64>>,
    /// After a failed append.
    blocked_until: Option<Timestamp>,
    /// Gateways publish the health of routes here.
    pub health: Arc<dyn bus::Retained>,
    health_version: u64,
    /// Routes whose use somebody stopped.
    pub holds: RouteHolds,
    /// What waits for each route was measured then.
    pub measured: Option<Timestamp>,
}

/// A segment, as dispatch remembers it until its append has ended.
pub struct Appended {
    pub alert: AlertNo,
    /// The number of its route.
    pub route: u16,
    pub lane: Lane,
    pub endpoints: Vec<EndpointNo>,
    pub units: u64,
    pub outcomes_from: u64,
    /// Its index.
    pub result: Result<u64, bus::BusError>,
}

/// The state that a pass of dispatch works on.
struct DispatchPass<'a> {
    alerts: &'a mut Alerts,
    outcomes: &'a OutcomeReader,
    context: &'a Context,
    now: Timestamp,
}

impl Dispatcher {
    /// Opens the topics of every route.
    pub fn new(parts: &Parts, strings: &mut StringTable) -> Result<Dispatcher, EngineError> {
        Ok(Dispatcher {
            routes: RouteTable::new(parts, strings)?,
            appends: FuturesUnordered::new(),
            estimates: FxHashMap::default(),
            blocked_until: None,
            health: parts.bus.retained(records::ROUTES).map_err(bus_error)?,
            health_version: u64::MAX,
            holds: RouteHolds::open(&*parts.bus)?,
            measured: None,
        })
    }

    /// Makes segments while there is room and an endpoint is ready.
    pub fn dispatch(
        &mut self,
        alerts: &mut Alerts,
        outcomes: &OutcomeReader,
        context: &Context,
        now: Timestamp,
    ) {
        if context.is_stopping() || self.blocked_until.is_some_and(|until| now < until) {
            return;
        }
        while let Some(no) = alerts.turns.next_due(now) {
            alerts.enter_turns(no);
        }
        let mut pass = DispatchPass { alerts, outcomes, context, now };
        let mut made = 0;
        for lane in Lane::ALL {
            let mut left = pass.alerts.turns.classes(lane);
            while made < SEGMENTS_AT_ONCE && left > 0 {
                let Some(class) = pass.alerts.turns.next_class(lane) else { break };
                let sent = self.dispatch_one(&mut pass, lane, class);
                left = if sent { pass.alerts.turns.classes(lane) } else { left - 1 };
                made += usize::from(sent);
            }
        }
    }

    /// One segment of the alert whose turn it is among those of a class; false if none could be made.
    fn dispatch_one(&mut self, pass: &mut DispatchPass<'_>, lane: Lane, class: u16) -> bool {
        let chosen = self.routes.choose(class, lane);
        if chosen.is_none() && class != NOWHERE {
            return false;
        }
        for _ in 0..pass.alerts.turns.waiting(lane, class) {
            let Some(no) = pass.take_turn(lane, class) else { continue };
            let Some((place, room)) = chosen else {
                self.fail_nowhere(pass, no);
                continue;
            };
            let (place, room) = self.choose_for(pass, no, (lane, class)).unwrap_or((place, room));
            if let Some((segment, units)) = self.build(pass, no, class, place, room) {
                pass.alerts.enter_turns(no);
                self.append(pass, no, place, lane, segment, units);
                return true;
            }
            // What expired meanwhile has ended with this.
            pass.alerts.touch(no);
        }
        false
    }

    /// The route that takes the next segment of an alert; nothing for messages, which take what has room.
    fn choose_for(
        &mut self,
        pass: &DispatchPass<'_>,
        no: AlertNo,
        (lane, class): (Lane, u16),
    ) -> Option<(usize, u64)> {
        let live = pass.alerts.live.get(&no).filter(|live| live.metas.is_none())?;
        let ready = u64::from(live.ready_in(class));
        let (place, _) = self.routes.choose(class, lane)?;
        let units = ready * self.estimate(no, place, pass.alerts, &pass.context.parts);
        self.routes.choose_for(class, lane, units)
    }

    /// A segment, and the units it costs.
    fn build(
        &mut self,
        pass: &mut DispatchPass<'_>,
        no: AlertNo,
        class: u16,
        place: usize,
        room: u64,
    ) -> Option<(Segment, u64)> {
        let (now, outcomes_from) = (pass.now, pass.outcomes.end());
        let parts = &pass.context.parts;
        let Alerts { blocks, live, .. } = &mut *pass.alerts;
        let live = live.get_mut(&no)?;
        let classifier = self.routes.classifier.clone();
        let (route, route_no) = (&classifier.routes()[place], self.routes.list[place].no);
        if live.metas.is_some() {
            let entry = &mut |endpoint| blocks.entry_to_send(no, endpoint);
            let weigher = &*parts.weigher;
            return ShortBuilder { route, route_no, room, weigher, outcomes_from, now, entry }
                .build(live, class);
        }
        let builder = Builder {
            route,
            route_no,
            room,
            weigher: &*parts.weigher,
            links: &*parts.links,
            outcomes_from,
            now,
            blocks: &mut |endpoint| blocks.read(no, endpoint),
        };
        let segment = builder.build(live, class)?;
        let units = self.estimate(no, place, pass.alerts, parts) * segment.entries.len() as u64;
        Some((segment, units))
    }

    fn append(
        &mut self,
        pass: &mut DispatchPass<'_>,
        no: AlertNo,
        place: usize,
        lane: Lane,
        segment: Segment,
        units: u64,
    ) {
        let endpoints: Vec<EndpointNo> = segment.entries.iter().map(|entry| entry.endpoint).collect();
        self.routes.gave(place, lane, units);
        self.expect_replies(pass.alerts, place, &segment);
        let topic = self.routes.list[place].lanes[lane as usize].topic.clone();
        let (route, outcomes_from) = (self.routes.list[place].no, segment.outcomes_from);
        let octets = segment.encode();
        if let Some(term) = pass.context.term() {
            let result = Err(bus::BusError::Closed);
            let of = Appended { alert: no, route, lane, endpoints, units, outcomes_from, result };
            self.routes.list[place].lanes[lane as usize].queue.push_back(QueuedSegment { of, octets });
            return self.append_next(route, lane, term);
        }
        self.appends.push(Box::pin(async move {
            let result = topic.append(&[&octets]).await;
            Appended { alert: no, route, lane, endpoints, units, outcomes_from, result }
        }));
    }

    /// Appends the next segment of a lane at the head that is known, taking a fencing record first where none
    /// is taken.
    fn append_next(&mut self, route: u16, lane: Lane, term: &Term) {
        let Some(place) = self.routes.place(route) else { return };
        let fencing_record =
            Segment::fencing_record(&self.routes.classifier.routes()[place].name, lane, term.epoch());
        let term = term.clone();
        let state = &mut self.routes.list[place].lanes[lane as usize];
        if state.appends {
            return;
        }
        let Some(QueuedSegment { of, octets }) = state.queue.pop_front() else { return };
        state.appends = true;
        let (topic, next) = (state.topic.clone(), state.next);
        self.appends.push(Box::pin(async move {
            let head = match next {
                Some(head) => Ok(head),
                None => take_fencing_record(&*topic, &fencing_record, &term).await,
            };
            let result = match head {
                Ok(head) => append_fenced(&*topic, head, &octets, &term).await,
                Err(error) => Err(error),
            };
            Appended { result, ..of }
        }));
    }

    /// Moves the heads of all topics of segments, when this process begins to lead.
    pub async fn take_fencing_records(&mut self, term: &Term) -> Result<(), EngineError> {
        let routes = self.routes.classifier.routes().iter().zip(&self.routes.list).enumerate();
        let lanes = routes.flat_map(|(place, (route, entry))| {
            Lane::ALL.into_iter().map(move |lane| (place, lane, route, &entry.lanes[lane as usize].topic))
        });
        let fencing_records = lanes.map(|(place, lane, route, topic)| async move {
            let fencing_record = Segment::fencing_record(&route.name, lane, term.epoch());
            take_fencing_record(&**topic, &fencing_record, term).await.map(|next| (place, lane, next))
        });
        let taken: Vec<_> = futures_util::stream::iter(fencing_records)
            .buffer_unordered(FENCING_RECORDS_AT_ONCE)
            .collect()
            .await;
        for fencing_record in taken {
            let (place, lane, next) = fencing_record.map_err(bus_error)?;
            self.routes.list[place].lanes[lane as usize].next = Some(next);
        }
        Ok(())
    }

    fn expect_replies(&self, alerts: &mut Alerts, place: usize, segment: &Segment) {
        if !segment.answer {
            return;
        }
        let channel = self.routes.classifier.routes()[place].channel;
        let route = self.routes.list[place].no;
        for entry in &segment.entries {
            alerts.replies.note(channel, &entry.address, route, (segment.alert, entry.endpoint));
        }
    }

    /// Units one endpoint of an alert costs on a route, the same when it is counted in and out.
    pub fn estimate(&mut self, no: AlertNo, place: usize, alerts: &Alerts, parts: &Parts) -> u64 {
        let route = &self.routes.classifier.routes()[place];
        if route.rate <= 0.0 {
            return 1;
        }
        if let Some(&known) = self.estimates.get(&no).and_then(|estimates| estimates.get(&place)) {
            return known;
        }
        let sample = alerts.live.get(&no).and_then(|live| live.wording.sample(route.channel));
        let units = sample.map_or(1, |body| u64::from(parts.weigher.units(route, &body).max(1)));
        self.estimates.entry(no).or_default().insert(place, units);
        units
    }

    /// A segment is on the bus, or could not be put there.
    pub fn appended(&mut self, appended: Appended, alerts: &mut Alerts, context: &mut Context) {
        let (route, lane) = (appended.route, appended.lane);
        let place = self.routes.place(route);
        let state = place.map(|place| &mut self.routes.list[place].lanes[lane as usize]);
        match &appended.result {
            &Ok(index) => {
                if let Some(state) = state {
                    state.segments.push_back((index, appended.outcomes_from));
                    (state.appends, state.next) = (false, Some(index + 1));
                }
            }
            Err(error) => {
                tracing::error!(alert = appended.alert.0, %error, "a segment could not be put on the bus; it will be tried again");
                if matches!(error, bus::BusError::Moved { .. }) && context.is_shared() {
                    return context.note_lead_lost();
                }
                state.into_iter().for_each(|state| state.appends = false);
                let now = context.now();
                self.blocked_until = Some(now.plus_us(PAUSE_AFTER_FAILURE_US));
                self.take_back(&appended, alerts, now);
            }
        }
        if let Some(term) = context.term() {
            self.append_next(route, lane, term);
        }
    }

    /// The endpoints of this segment are to be sent by another.
    fn take_back(&mut self, appended: &Appended, alerts: &mut Alerts, now: Timestamp) {
        let &Appended { alert: no, route, lane, units, ref endpoints, .. } = appended;
        if let Some(place) = self.routes.place(route) {
            let lane = &mut self.routes.list[place].lanes[lane as usize];
            lane.under_way = lane.under_way.saturating_sub(units);
        }
        if let Some(live) = alerts.live.get_mut(&no) {
            for &endpoint in endpoints {
                live.edit(endpoint, now, |cell| cell.flags &= !IN_SEGMENT);
            }
        }
        alerts.touch(no);
    }

    /// No route takes these addresses: they are not sent, and the next device is called for.
    fn fail_nowhere(&self, pass: &mut DispatchPass<'_>, no: AlertNo) {
        let Some(live) = pass.alerts.live.get_mut(&no) else { return };
        let mut missed = Vec::new();
        while let Some(endpoint) = live.next_ready(NOWHERE) {
            live.edit(endpoint, pass.now, |cell| {
                cell.state = DeliveryState::Failed;
                cell.reason = Reason::NoRoute;
            });
            missed.push(endpoint);
        }
        pass.alerts.touch(no);
        for endpoint in missed {
            pass.alerts.move_chain(no, endpoint, pass.now, false, |route| self.routes.has_receipts(route));
        }
    }

    /// An attempt has ended: its route has room again.
    pub fn release(&mut self, no: AlertNo, endpoint: EndpointNo, route: u16, alerts: &Alerts, parts: &Parts) {
        let Some(live) = alerts.live.get(&no) else { return };
        let lane = live.lane() as usize;
        let Some(place) = self.routes.place(route) else { return };
        let units = match live.meta(endpoint) {
            Some(meta) => u64::from(meta.units),
            None => self.estimate(no, place, alerts, parts),
        };
        let lane = &mut self.routes.list[place].lanes[lane];
        lane.under_way = lane.under_way.saturating_sub(units);
    }

    /// At a start: the entries of a segment that no gateway acknowledged are under way, unless an outcome has
    /// ended them.
    pub fn resume(&mut self, found: &FoundSegment, alerts: &mut Alerts, context: &Context) {
        let &FoundSegment { place, lane, index, ref segment } = found;
        let estimate = self.estimate(segment.alert, place, alerts, &context.parts);
        let (weigher, now) = (&context.parts.weigher, context.now());
        let route = &self.routes.classifier.routes()[place];
        let entry_of_route = &mut self.routes.list[place];
        let lane = &mut entry_of_route.lanes[lane];
        lane.segments.push_back((index, segment.outcomes_from));
        let Some(live) = alerts.live.get_mut(&segment.alert) else { return };
        for entry in &segment.entries {
            let Some(cell) = live.cell(entry.endpoint) else { continue };
            let under_way = cell.last < entry.attempt
                || (cell.last == entry.attempt && cell.state == DeliveryState::Submitted);
            if !under_way || cell.flags & IN_SEGMENT != 0 {
                continue;
            }
            live.edit(entry.endpoint, now, |cell| {
                cell.flags |= IN_SEGMENT;
                if cell.last < entry.attempt {
                    cell.flags &= !BEGUN;
                }
                cell.last = entry.attempt;
                if cell.route == NO_ROUTE {
                    cell.route = entry_of_route.no;
                }
            });
            if segment.answer {
                let of = (segment.alert, entry.endpoint);
                alerts.replies.note(route.channel, &entry.address, entry_of_route.no, of);
            }
            let units = match &entry.own {
                Some(own) if live.metas.is_some() && route.rate > 0.0 => {
                    u64::from(weigher.units(route, own).max(1))
                }
                _ => estimate,
            };
            live.set_units(entry.endpoint, units);
            lane.under_way += units;
        }
    }

    /// Routes changed: lanes that remain are taken over, and segments queued for a route that is gone are
    /// taken back.
    pub fn change_routes(
        &mut self,
        routes: Vec<Route>,
        alerts: &mut Alerts,
        context: &Context,
    ) -> Result<(), EngineError> {
        let mut table = RouteTable::of(&context.parts, routes, &mut alerts.strings)?;
        let mut gone = Vec::new();
        for old in std::mem::take(&mut self.routes.list) {
            match table.place(old.no) {
                Some(place) => {
                    table.list[place].lanes = old.lanes;
                    table.list[place].given = old.given;
                    table.list[place].health = old.health;
                    table.list[place].hold = old.hold;
                    table.list[place].activity = old.activity;
                }
                None => gone.extend(old.lanes.into_iter().flat_map(|lane| lane.queue)),
            }
        }
        self.routes = table;
        gone.iter().for_each(|queued| self.take_back(&queued.of, alerts, context.now()));
        self.health_version = u64::MAX;
        self.holds.forget();
        self.estimates.clear();
        Ok(())
    }

    /// Reads the health that gateways published, if it changed.
    pub fn read_health(&mut self, now: Timestamp) {
        let version = self.health.version();
        if version == self.health_version {
            return;
        }
        self.health_version = version;
        for (i, route) in self.routes.classifier.routes().iter().enumerate() {
            let published = self.health.value(&route.name);
            let health = published.and_then(|octets| records::RouteHealth::decode(&octets).ok());
            self.routes.list[i].set_health(health, now);
        }
    }

    /// An alert left memory.
    pub fn forget(&mut self, no: AlertNo) {
        self.estimates.remove(&no);
    }

    /// Lets go of segments that gateways acknowledged.
    pub fn trim(&self) {
        for lane in self.routes.list.iter().flat_map(|entry| entry.lanes.iter()) {
            let low = lane.group.low_water();
            if low > lane.topic.low() {
                let _ = lane.topic.trim(low);
            }
        }
    }

    /// A route as reports show it.
    pub fn view(&self, name: &str) -> Option<RouteView> {
        let place = self.routes.classifier.routes().iter().position(|route| route.name == name)?;
        let (route, entry) = (&self.routes.classifier.routes()[place], &self.routes.list[place]);
        Some(RouteView::new(route, entry.health.as_ref().filter(|_| entry.hold.is_none())))
    }

    /// Seconds until everything that is ready is with its carriers: units over the rates of the routes they
    /// may take, behind those under way there already.
    pub fn eta(&self, live: &LiveAlert, now: Timestamp) -> Option<f64> {
        if live.alert.state.is_final() {
            return Some(0.0);
        }
        let no = live.alert.no;
        let mut longest: f64 = 0.0;
        for class in live.ready_classes() {
            let tiers = self.routes.classifier.tiers(class);
            let tier = tiers.first()?;
            let rates: Vec<f64> = tier.iter().map(|&i| self.routes.classifier.routes()[i].rate).collect();
            let rate = if rates.contains(&0.0) { live.rate_now(now) } else { rates.iter().sum() };
            let before: u64 =
                tier.iter().flat_map(|&i| self.routes.list[i].lanes.iter()).map(|lane| lane.under_way).sum();
            let estimates = self.estimates.get(&no);
            let each = tier.first().and_then(|i| estimates?.get(i)).copied().unwrap_or(1);
            let units = u64::from(live.ready_in(class)) * each + before;
            if rate <= 0.0 {
                return None;
            }
            longest = longest.max(units as f64 / rate);
        }
        Some((longest * 10.0).round() / 10.0)
    }
}

impl DispatchPass<'_> {
    /// The next alert of a class, if it may be sent now. One that may not comes back when its moment has
    /// come, or when something of it changes.
    fn take_turn(&mut self, lane: Lane, class: u16) -> Option<AlertNo> {
        let no = self.alerts.turns.take(lane, class)?;
        let live = self.alerts.live.get_mut(&no)?;
        live.ready.leave_turn(class);
        if live.alert.state != AlertState::Running || !live.alert.may_send() {
            return None;
        }
        match live.alert.request.not_before.filter(|start| *start > self.now) {
            Some(start) => {
                self.alerts.turns.put_off(no, start);
                None
            }
            None => Some(no),
        }
    }
}

/// A segment that a start found on the bus: the place of its route, its lane and its index there.
pub struct FoundSegment {
    pub place: usize,
    pub lane: usize,
    pub index: u64,
    pub segment: Segment,
}

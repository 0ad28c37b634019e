//! The pass of dispatch: alerts in turn, lane by lane, each class to the way that has room.

use super::actor::{Appended, EngineActor, bus_error};
use super::alerts::Alerts;
use super::route_table::QueuedSegment;
use super::sharing::{append_seated, take_seat};
use crate::api::EngineError;
use crate::dispatch::{Builder, ShortBuilder};
use crate::plan::NOWHERE;
use crate::record::delivery_cell::IN_SEGMENT;
use futures_util::stream::StreamExt;
use records::{AlertNo, AlertState, DeliveryState, EndpointNo, Lane, Reason, Segment, Timestamp};

/// After a failed append (a full disk), dispatch waits so long, in microseconds.
const PAUSE_AFTER_FAILURE_US: i64 = 1_000_000;
/// Segments made in one pass, so that outcomes are looked at in between.
const SEGMENTS_AT_ONCE: usize = 8;
/// Seats taken side by side.
const SEATS_AT_ONCE: usize = 16;

impl EngineActor {
    /// Makes segments while there is room and somebody is ready.
    pub fn dispatch(&mut self, now: Timestamp) {
        if self.alerts.turns.is_empty()
            || self.stopping.is_some()
            || self.blocked_until.is_some_and(|until| now < until)
        {
            return;
        }
        let mut made = 0;
        for lane in Lane::ALL {
            let mut idle = 0;
            while made < SEGMENTS_AT_ONCE && idle < self.alerts.turns.len() {
                let Some(no) = self.alerts.turns.pop_front() else { break };
                self.alerts.turns.push_back(no);
                let sent = self.is_its_turn(no, lane, now) && self.dispatch_one(no, lane, now);
                idle = if sent { 0 } else { idle + 1 };
                made += usize::from(sent);
            }
        }
        let Alerts { turns, live, .. } = &mut self.alerts;
        turns.retain(|no| {
            live.get_mut(no).is_some_and(|live| {
                live.in_turn = !live.alert.state.is_final() && live.ready_classes().next().is_some();
                live.in_turn
            })
        });
    }

    fn is_its_turn(&self, no: AlertNo, lane: Lane, now: Timestamp) -> bool {
        self.alerts.live.get(&no).is_some_and(|live| {
            let started = live.alert.request.not_before.is_none_or(|start| start <= now);
            live.lane() == lane && live.alert.state == AlertState::Running && started
        })
    }

    /// One segment of an alert; false if none could be made.
    fn dispatch_one(&mut self, no: AlertNo, lane: Lane, now: Timestamp) -> bool {
        let Some(live) = self.alerts.live.get(&no) else { return false };
        let classes: Vec<u16> = live.ready_classes().collect();
        for class in classes {
            if class == NOWHERE {
                self.fail_nowhere(no, now);
                continue;
            }
            let Some((way, room)) = self.route_table.choose(class, lane) else { continue };
            if let Some((segment, units)) = self.build(no, class, way, room, now) {
                self.append(no, way, lane, segment, units);
                return true;
            }
        }
        false
    }

    /// A segment, and the units it costs.
    fn build(
        &mut self,
        no: AlertNo,
        class: u16,
        way: usize,
        room: u64,
        now: Timestamp,
    ) -> Option<(Segment, u64)> {
        // What is read may be ahead of what was heard.
        let outcomes_from = self.outcomes.head().max(self.next_outcome);
        let Alerts { blocks, live, .. } = &mut self.alerts;
        let live = live.get_mut(&no)?;
        let classifier = self.route_table.classifier.clone();
        let (route, route_no) = (&classifier.routes()[way], self.route_table.list[way].no);
        if live.metas.is_some() {
            let entry = &mut |endpoint| blocks.entry_to_send(no, endpoint);
            let weigher = &*self.parts.weigher;
            return ShortBuilder { route, route_no, room, weigher, outcomes_from, now, entry }
                .build(live, class);
        }
        let builder = Builder {
            route,
            route_no,
            room,
            weigher: &*self.parts.weigher,
            links: &*self.parts.links,
            outcomes_from,
            now,
            blocks: &mut |endpoint| blocks.read(no, endpoint),
        };
        let segment = builder.build(live, class)?;
        let units = self.estimate(no, way) * segment.entries.len() as u64;
        Some((segment, units))
    }

    fn append(&mut self, no: AlertNo, way: usize, lane: Lane, segment: Segment, units: u64) {
        let endpoints: Vec<EndpointNo> = segment.entries.iter().map(|entry| entry.endpoint).collect();
        self.route_table.gave(way, lane, units);
        self.note_asked(no, way, &segment);
        let topic = self.route_table.list[way].lanes[lane as usize].topic.clone();
        let (route, outcomes_from) = (self.route_table.list[way].no, segment.outcomes_from);
        let octets = segment.encode();
        if self.sharing.is_some() {
            let result = Err(bus::BusError::Closed);
            let of = Appended { alert: no, route, lane, endpoints, units, outcomes_from, result };
            self.route_table.list[way].lanes[lane as usize].queue.push_back(QueuedSegment { of, octets });
            return self.append_next(route, lane);
        }
        self.appends.push(Box::pin(async move {
            let result = topic.append(&[&octets]).await;
            Appended { alert: no, route, lane, endpoints, units, outcomes_from, result }
        }));
    }

    /// Appends the next segment of a lane at the head that is known, taking a fencing record first where none
    /// is taken.
    fn append_next(&mut self, route: u16, lane: Lane) {
        let (Some(sharing), Some(place)) = (&self.sharing, self.route_table.place(route)) else { return };
        let fencing_record = Segment::fencing_record(
            &self.route_table.classifier.routes()[place].name,
            lane,
            sharing.term.epoch(),
        );
        let term = sharing.term.clone();
        let state = &mut self.route_table.list[place].lanes[lane as usize];
        if state.appends {
            return;
        }
        let Some(QueuedSegment { of, octets }) = state.queue.pop_front() else { return };
        state.appends = true;
        let (topic, next) = (state.topic.clone(), state.next);
        self.appends.push(Box::pin(async move {
            let head = match next {
                Some(head) => Ok(head),
                None => take_seat(&*topic, &fencing_record, &term).await,
            };
            let result = match head {
                Ok(head) => append_seated(&*topic, head, &octets, &term).await,
                Err(error) => Err(error),
            };
            Appended { result, ..of }
        }));
    }

    /// Moves the heads of all topics of segments, when this process begins to lead.
    pub async fn take_fencing_records(&mut self) -> Result<(), EngineError> {
        let Some(sharing) = &self.sharing else { return Ok(()) };
        let term = &sharing.term;
        let routes = self.route_table.classifier.routes().iter().zip(&self.route_table.list).enumerate();
        let lanes = routes.flat_map(|(place, (route, way))| {
            Lane::ALL.into_iter().map(move |lane| (place, lane, route, &way.lanes[lane as usize].topic))
        });
        let fencing_records = lanes.map(|(place, lane, route, topic)| async move {
            let fencing_record = Segment::fencing_record(&route.name, lane, term.epoch());
            take_seat(&**topic, &fencing_record, term).await.map(|next| (place, lane, next))
        });
        let taken: Vec<_> =
            futures_util::stream::iter(fencing_records).buffer_unordered(SEATS_AT_ONCE).collect().await;
        for fencing_record in taken {
            let (place, lane, next) = fencing_record.map_err(bus_error)?;
            self.route_table.list[place].lanes[lane as usize].next = Some(next);
        }
        Ok(())
    }

    fn note_asked(&mut self, no: AlertNo, way: usize, segment: &Segment) {
        if !segment.answer {
            return;
        }
        let channel = self.route_table.classifier.routes()[way].channel;
        let route = self.route_table.list[way].no;
        for entry in &segment.entries {
            self.alerts.replies.note(channel, &entry.address, route, (no, entry.endpoint));
        }
    }

    /// Units one endpoint of an alert costs on a way, the same when it is counted in and out.
    pub fn estimate(&mut self, no: AlertNo, way: usize) -> u64 {
        let route = &self.route_table.classifier.routes()[way];
        if route.rate <= 0.0 {
            return 1;
        }
        if let Some(&known) = self.estimates.get(&(no, way)) {
            return known;
        }
        let sample = self.alerts.live.get(&no).and_then(|live| live.wording.sample(route.channel));
        let units = sample.map_or(1, |body| u64::from(self.parts.weigher.units(route, &body).max(1)));
        self.estimates.insert((no, way), units);
        units
    }

    /// A segment is on the bus, or could not be put there.
    pub fn appended(&mut self, appended: Appended) {
        let (route, lane) = (appended.route, appended.lane);
        let place = self.route_table.place(route);
        let state = place.map(|place| &mut self.route_table.list[place].lanes[lane as usize]);
        match &appended.result {
            &Ok(index) => {
                if let Some(state) = state {
                    state.segments.push_back((index, appended.outcomes_from));
                    (state.appends, state.next) = (false, Some(index + 1));
                }
            }
            Err(error) => {
                tracing::error!(alert = appended.alert.0, %error, "a segment could not be put on the bus; it will be tried again");
                if let (bus::BusError::Moved { .. }, Some(sharing)) = (error, &mut self.sharing) {
                    sharing.lost = true;
                    return;
                }
                state.into_iter().for_each(|state| state.appends = false);
                self.blocked_until = Some(self.now().plus_us(PAUSE_AFTER_FAILURE_US));
                self.take_back(&appended);
            }
        }
        self.append_next(route, lane);
    }

    /// What was to stand in this segment is to be sent by another.
    pub fn take_back(&mut self, appended: &Appended) {
        let now = self.now();
        let &Appended { alert: no, route, lane, units, ref endpoints, .. } = appended;
        if let Some(place) = self.route_table.place(route) {
            let lane = &mut self.route_table.list[place].lanes[lane as usize];
            lane.under_way = lane.under_way.saturating_sub(units);
        }
        if let Some(live) = self.alerts.live.get_mut(&no) {
            for &endpoint in endpoints {
                live.edit(endpoint, now, |cell| cell.flags &= !IN_SEGMENT);
            }
        }
        self.alerts.touch(no);
    }

    /// No route takes these addresses: they are not sent, and the next device is called for.
    fn fail_nowhere(&mut self, no: AlertNo, now: Timestamp) {
        let Some(live) = self.alerts.live.get_mut(&no) else { return };
        let mut missed = Vec::new();
        while let Some(endpoint) = live.next_ready(NOWHERE) {
            live.edit(endpoint, now, |cell| {
                cell.state = DeliveryState::Failed;
                cell.reason = Reason::NoRoute;
            });
            missed.push(endpoint);
        }
        self.alerts.touch(no);
        for endpoint in missed {
            self.alerts.move_chain(no, endpoint, now, false, |route| self.route_table.has_receipts(route));
        }
    }

    /// What gateways last said of their routes.
    pub fn look_at_health(&mut self) {
        let version = self.health.version();
        if version == self.health_seen {
            return;
        }
        self.health_seen = version;
        for (i, route) in self.route_table.classifier.routes().iter().enumerate() {
            let said = self.health.value(&route.name);
            self.route_table.list[i].health =
                said.and_then(|octets| records::RouteHealth::decode(&octets).ok());
        }
    }
}

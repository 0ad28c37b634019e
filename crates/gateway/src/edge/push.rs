//! One push: an archive to all sites of a segment that get the same.

use super::archive::{self, PackedArchive};
use super::{EdgeJob, RouteDispatcher, Signing, outcome};
use crate::GatewayContext;
use crate::context::Stop;
use crate::edge::EdgeEncoder;
use paced_udp::push::{PushProgress, SendOptions, Site, SiteKey, SiteOutcome as End};
use paced_udp::wire::Key;
use records::{AttemptResult, Body, Content, NotTried, Outcome, Receipt, ReceiptState, Timestamp, edge_key};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::lookup_host;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Whether a push is still wanted is looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A name must be looked up within this.
const LOOKUP_MAX: Duration = Duration::from_secs(5);

/// All that a push needs.
pub(super) struct Push {
    pub signing: Arc<Signing>,
    pub context: GatewayContext,
    pub dispatcher: Arc<RouteDispatcher<EdgeEncoder>>,
    /// Where its archive is made: no other push has it.
    pub file: PathBuf,
    /// Of one segment, with the same text and end.
    pub jobs: Vec<EdgeJob>,
    pub stop: Stop,
}

/// A copy that is under way.
struct Copy {
    job: EdgeJob,
    joined: bool,
    trouble: String,
}

/// Copies that are sent together, and where to.
struct Leg {
    copies: Vec<Option<Copy>>,
    sites: Vec<Site>,
}

impl Push {
    /// Sees to it that every job's fate is told.
    pub(super) async fn run(mut self) {
        match self.archive().await {
            Ok(packed) => self.carry_all(&packed).await,
            Err(result) => self.jobs.iter().for_each(|job| self.dispatcher.whole(job, &result)),
        }
        match tokio::fs::remove_file(&self.file).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(file = %self.file.display(), %error, "a pushed archive could not be removed: it only takes room");
            }
            _ => {}
        }
    }

    async fn carry_all(&mut self, packed: &PackedArchive) {
        let [first, second] = self.legs().await;
        // Sites reached by IPv4, and those by IPv6.
        tokio::join!(self.carry(first, packed), self.carry(second, packed));
    }

    /// Makes the archive.
    async fn archive(&self) -> Result<PackedArchive, AttemptResult> {
        let segment = &self.jobs[0].leased.segment;
        let content = segment.body(self.jobs[0].entry()).and_then(Body::content);
        let Some(Content { text, .. }) = content else {
            return Err(outcome::refused(true, "edge:body", "the body is not for an edge site"));
        };
        let Some(documents) = &self.context.documents else {
            return Err(outcome::refused(
                true,
                "edge:papers",
                "this process has no access to the alert's documents",
            ));
        };
        let documents = documents.documents(segment.alert).await;
        let documents = documents.map_err(|no| outcome::refused(no.permanent, "edge:papers", &no.why))?;
        let (file, alert, text) = (self.file.clone(), segment.alert_id, text.clone());
        let packing = tokio::task::spawn_blocking(move || archive::pack(&file, alert, &text, &documents));
        let packed = packing.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        packed.map_err(|error| {
            outcome::refused(false, "edge:bundle", &format!("no archive could be made: {error}"))
        })
    }

    /// Where each copy goes; what cannot go anywhere is told.
    async fn legs(&mut self) -> [Leg; 2] {
        let mut legs = [(); 2].map(|()| Leg { copies: Vec::new(), sites: Vec::new() });
        for job in std::mem::take(&mut self.jobs) {
            match self.site(&job.entry().address).await {
                Ok(site) => {
                    let leg = &mut legs[usize::from(site.address.is_ipv6())];
                    leg.sites.push(site);
                    leg.copies.push(Some(Copy { job, joined: false, trouble: String::new() }));
                }
                Err(result) => self.dispatcher.whole(&job, &result),
            }
        }
        legs
    }

    async fn site(&self, name: &str) -> Result<Site, AttemptResult> {
        let Some(site) = self.signing.route.sites.iter().find(|site| site.name == name) else {
            let text = format!("{name} is no [[edge.site]] of this server's config");
            return Err(outcome::refused(true, "edge:unknown", &text));
        };
        let found = tokio::time::timeout(LOOKUP_MAX, lookup_host(&site.address)).await;
        let lost = |why: &str| outcome::refused(false, "edge:address", &format!("{}: {why}", site.address));
        let mut found = match found {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => return Err(lost(&error.to_string())),
            Err(_) => return Err(lost("the address could not be resolved in time")),
        };
        let fits = |address: &SocketAddr| self.signing.route.group.is_none() || address.is_ipv4();
        let Some(address) = found.find(fits) else {
            return Err(lost("it has no address that fits: a group needs IPv4"));
        };
        let key = match &site.key {
            Some(key) => {
                Key::from_words(key.reveal()).map_err(|why| outcome::refused(true, "edge:key", &why))?
            }
            None if address.ip().is_loopback() => Key::NONE,
            None => {
                let text = "the site is on another machine and has no key_file";
                return Err(outcome::refused(true, "edge:key", text));
            }
        };
        Ok(Site { name: site.name.clone(), address, key: SiteKey::of(&key) })
    }

    /// Until when it makes sense.
    fn lasts(&self, copies: &[Option<Copy>]) -> Duration {
        let ends = copies.iter().flatten().map(|copy| {
            let leased = &copy.job.leased.segment;
            copy.job.entry().expires.unwrap_or(leased.expires).min(leased.expires)
        });
        let left = ends.min().map_or(0, |end| end.us_since(self.context.now()).max(0));
        self.signing.route.validity.min(Duration::from_micros(left as u64))
    }

    /// Pushes, and tells of each copy what became of it as soon as that is known.
    async fn carry(&self, mut leg: Leg, packed: &PackedArchive) {
        if leg.sites.is_empty() {
            return;
        }
        let lasts = self.lasts(&leg.copies);
        let options = SendOptions {
            file: self.file.clone(),
            name: Some(packed.name.clone()),
            sites: std::mem::take(&mut leg.sites),
            signing_key: self.signing.signing_key,
            rate: self.signing.route.bandwidth as u64,
            group: self.signing.route.group,
            interface: self.signing.route.interface.clone(),
            hops: self.signing.route.hops,
            deadline: Some(lasts),
            // Who comes late gets it too.
            give_up: lasts,
        };
        tracing::info!(
            route = self.signing.route.name,
            archive = packed.name,
            octets = packed.size,
            sites = options.sites.len(),
            "an archive is pushed"
        );
        let (tell, mut told) = unbounded_channel();
        let mut sending = std::pin::pin!(paced_udp::push::send(options, tell));
        let mut stop = self.stop.clone();
        let failed = loop {
            tokio::select! {
                biased;
                progress = told.recv() => match progress {
                    Some(progress) => self.hear(&mut leg.copies, progress, packed),
                    // It is over: only its report is to come.
                    None => break sending.await.err(),
                },
                report = &mut sending => {
                    self.drain(&mut leg.copies, told, packed);
                    break report.err();
                }
                () = stop.wait() => return self.give_back(&mut leg.copies, NotTried::Closing),
                () = tokio::time::sleep(LOOK_EVERY) => {
                    let Some(copy) = leg.copies.iter().flatten().next() else { continue };
                    if let Some(why) = self.dispatcher.refusal(&copy.job) {
                        return self.give_back(&mut leg.copies, why);
                    }
                }
            }
        };
        let why = failed
            .map_or_else(|| "it ended without a word of this site".to_owned(), |error| error.to_string());
        for copy in leg.copies.iter_mut().filter_map(Option::take) {
            self.dispatcher.whole(&copy.job, &outcome::refused(false, "edge:failed", &why));
        }
    }

    fn drain(
        &self,
        copies: &mut [Option<Copy>],
        mut told: UnboundedReceiver<PushProgress>,
        packed: &PackedArchive,
    ) {
        while let Ok(progress) = told.try_recv() {
            self.hear(copies, progress, packed);
        }
    }

    fn hear(&self, copies: &mut [Option<Copy>], progress: PushProgress, packed: &PackedArchive) {
        let (PushProgress::Joined { site, .. }
        | PushProgress::Going { site, .. }
        | PushProgress::Away { site, .. }
        | PushProgress::Ended { site, .. }) = progress;
        let Some(place) = copies.get_mut(site) else { return };
        match progress {
            PushProgress::Joined { .. } | PushProgress::Going { .. } => {
                if let Some(copy) = place {
                    copy.joined = true;
                }
            }
            PushProgress::Away { words, .. } => {
                if let Some(copy) = place {
                    copy.trouble = words;
                }
            }
            PushProgress::Ended { joined, outcome, .. } => {
                if let Some(copy) = place.take() {
                    self.settle(&copy, joined, &outcome, packed);
                }
            }
        }
    }

    /// A site's end, on record. Its receipt comes with its acceptance: what it says is that the archive is in
    /// its place.
    fn settle(&self, copy: &Copy, joined: bool, end: &End, packed: &PackedArchive) {
        let (segment, entry) = (&copy.job.leased.segment, copy.job.entry());
        let key = edge_key(segment.alert, entry.endpoint);
        self.dispatcher.whole(&copy.job, &outcome::result(end, joined, &copy.trouble, key, &packed.name));
        if *end == End::Done {
            self.dispatcher.note(&Outcome::Receipt(receipt(
                &self.signing.route.name,
                key,
                &packed.name,
                self.context.now(),
            )));
        }
    }

    /// A push that is not wanted any more. What a site has of the archive is no harm, since a second push of
    /// it is the same: so it was not tried, but where the sender stopped it and the site may have all of it.
    fn give_back(&self, copies: &mut [Option<Copy>], why: NotTried) {
        for copy in copies.iter_mut().filter_map(Option::take) {
            let result = match why {
                NotTried::Stopped | NotTried::Expired if copy.joined => {
                    AttemptResult::Unknown { text: "stopped while it was under way".to_owned() }
                }
                why => AttemptResult::NotTried { why },
            };
            self.dispatcher.whole(&copy.job, &result);
        }
    }
}

fn receipt(route: &str, key: u64, archive: &str, at: Timestamp) -> Receipt {
    Receipt {
        route: route.to_owned(),
        keys: vec![key],
        id: archive.to_owned(),
        state: ReceiptState::Delivered,
        text: "the site has it on disk".to_owned(),
        at,
    }
}

//! The demo's house: three carriers with limits, a mail relay, and the alert that goes out by them.

use super::SEED;
use crate::setup::{CallbackSetup, ConfiguredRoute, Retention, Setup, Simulator};
use doors::http::HttpConfig;
use engine::{ApprovalPolicy, ApprovalRule, OriginKind};
use gateway::im::{ImProtocol, ImRoute};
use gateway::mail::MailRoute;
use gateway::mqtt::MqttRoute;
use gateway::pager::text::TextShape;
use gateway::pager::{PagerRoute, PagingTransport, Polling, SnppSettings};
use gateway::sms::SmsRoute;
use gateway::sms::config::Source;
use gateway::{AnyRoute, Secret};
use records::{ApprovalNeed, ChannelNumber, Mode, Route};
use serde_json::{Value, json};
use sim::town::{Expected, OtherDevices, Town};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

/// What the alert is about.
pub const HEADLINE: &str = "Gas leak at the old harbour";

/// The domain of addresses that replies and bounces come to.
const DOMAIN: &str = "alerts.example";
/// The number that people answer to.
const SHORT_CODE: &str = "71700";
/// Waits between tries, in seconds: shorter than anybody would configure, so that the demo ends soon.
const RETRY_AFTER_S: [u32; 2] = [1, 2];
/// Carriers with their limits in messages a second; 0 is unlimited.
const CARRIERS: [(&str, f64); 3] = [("carrier-a", 120.0), ("carrier-b", 60.0), ("carrier-c", 20.0)];
/// Connections to the paging carrier.
const PAGING_SESSIONS: usize = 4;
/// Pages are asked for so often, so that the demo ends soon.
const POLLED_EVERY: std::time::Duration = std::time::Duration::from_secs(1);
/// Somebody looks on: a town of fewer people is sent to more slowly, by this share at the least, so that its
/// alert takes long enough to be watched.
const WATCHED_PEOPLE: f64 = 8_000.0;
const SLOWEST_SHARE: f64 = 0.25;
/// The relay's limit.
const RELAY: (&str, f64) = ("relay", 150.0);
/// The ways out of drills.
const DRILL_CARRIER: (&str, f64) = ("drill-sms", 60.0);
const DRILL_RELAY: (&str, f64) = ("drill-mail", 60.0);
/// Alerts from the console to more people than this need a second person.
const ALONE_MAX: u64 = 100;

/// Pagers, instant messages, and sirens, with the limits of their routes.
const PAGING: (&str, f64) = ("paging", 30.0);
const MATRIX: (&str, f64) = ("matrix", 60.0);
const SIRENS: (&str, f64) = ("sirens", 0.0);

/// The town: phones and mailboxes, and some pagers, messengers and sirens.
pub fn town(recipients: u64) -> Town {
    let others = OtherDevices { pager: 0.03, messenger: 0.08, siren: 0.004 };
    Town { others, ..Town::new(SEED, recipients) }
}

/// The server; its routes send by this share of their limits.
pub fn setup(town: &Town, folder: &Path, listen: SocketAddr, share: f64) -> Result<Setup, String> {
    // The door's port must be known before the mailbox that answers to it: a free one is taken and let go.
    let door = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let door = door.map_err(|error| format!("no free port: {error}"))?;
    let public_url = Some(format!("http://{listen}"));
    Ok(Setup {
        smpp: None,
        topics: None,
        ledger: None,
        external: None,
        diameter: None,
        platforms: Vec::new(),
        parties: Vec::new(),
        data: folder.to_owned(),
        kept: crate::setup::StoragePlace::Here {
            database: "campanile.db".into(),
            bus: "bus".into(),
            fsync: bus::embedded::Fsync::Always,
        },
        media: store::media::Media::at(&folder.join("media")),
        http: Some(HttpConfig::plain(listen, public_url)),
        smtp: Some(doors::smtp::SmtpConfig::new(door.to_string(), DOMAIN.to_owned())),
        routes: routes(town, share),
        sources: crate::setup::SourceSetup::default(),
        defaults: channels::Defaults::default(),
        engine: engine::Settings {
            retry_after_s: RETRY_AFTER_S.to_vec(),
            approval: approval(),
            ..engine::Settings::default()
        },
        callbacks: CallbackSetup { secret: None, outbound: outbound()? },
        retention: Retention::default(),
    })
}

/// One other person approves what the console sends to many.
fn approval() -> ApprovalPolicy {
    let rule = ApprovalRule {
        mode: Some(Mode::Live),
        people_over: Some(ALONE_MAX),
        origins: vec![OriginKind::Console],
        needs: ApprovalNeed::One,
        ..ApprovalRule::default()
    };
    ApprovalPolicy { rules: vec![rule] }
}

/// Who looks at the demo may have it call a program of their own beside it.
fn outbound() -> Result<net::OutboundPolicy, String> {
    let here = ["127.0.0.0/8".to_owned(), "::1".to_owned()];
    net::OutboundPolicy::new(&here).map_err(|_| "no loopback".to_owned())
}

fn routes(town: &Town, share: f64) -> Vec<ConfiguredRoute> {
    let slowed = |(name, rate): (&'static str, f64)| (name, (rate * share).ceil());
    let carriers = CARRIERS.map(slowed).map(|one| way(one, channels::SMS, carrier(one), town));
    let [mail, pages, chat] = [RELAY, PAGING, MATRIX].map(slowed);
    let sirens = way(SIRENS, channels::MQTT, sirens(SIRENS), town);
    carriers
        .into_iter()
        .chain([
            way(mail, channels::MAIL, relay(mail), town),
            way(pages, channels::PAGER, paging(pages), town),
            way(chat, channels::IM, matrix(chat), town),
            // Sirens confirm, and have no habits.
            ConfiguredRoute { simulator: Some(Simulator { habits: None }), ..sirens },
        ])
        .collect()
}

/// The share of its limits by which a town of so many people is sent to when somebody looks on.
pub fn watched_share(recipients: u64) -> f64 {
    (recipients as f64 / WATCHED_PEOPLE).clamp(SLOWEST_SHARE, 1.0)
}

/// Ways for drills, simulated as well.
pub fn drill_routes(town: &Town) -> [ConfiguredRoute; 2] {
    let drill = |configured: ConfiguredRoute| ConfiguredRoute {
        route: Route { mode: Mode::Drill, ..configured.route },
        ..configured
    };
    [
        drill(way(DRILL_CARRIER, channels::SMS, carrier(DRILL_CARRIER), town)),
        drill(way(DRILL_RELAY, channels::MAIL, relay(DRILL_RELAY), town)),
    ]
}

fn carrier((name, rate): (&str, f64)) -> AnyRoute {
    AnyRoute::new(SmsRoute {
        name: name.to_owned(),
        system_id: "campanile".to_owned(),
        password: Secret::from("demo"),
        // People can only answer to a number.
        source: Source { ton: 3, npi: 0, addr: SHORT_CODE.to_owned() },
        rate,
        ..SmsRoute::default()
    })
}

fn relay((name, rate): (&str, f64)) -> AnyRoute {
    AnyRoute::new(MailRoute {
        name: name.to_owned(),
        from: "Town of Harbourside <alerts@alerts.example>".to_owned(),
        domain: Some(DOMAIN.to_owned()),
        rate,
        ..MailRoute::default()
    })
}

fn paging((name, rate): (&str, f64)) -> AnyRoute {
    let two_way = Some(Polling { every: POLLED_EVERY, ..Polling::default() });
    let snpp = SnppSettings { two_way, ..SnppSettings::default() };
    let transport = PagingTransport::Snpp(Box::new(snpp));
    AnyRoute::new(PagerRoute {
        name: name.to_owned(),
        rate,
        sessions: PAGING_SESSIONS,
        shape: TextShape::default(),
        transport,
    })
}

fn matrix((name, rate): (&str, f64)) -> AnyRoute {
    AnyRoute::new(ImRoute {
        name: name.to_owned(),
        rate,
        protocol: Some(ImProtocol::Matrix),
        simulated: true,
        ..ImRoute::default()
    })
}

fn sirens((name, rate): (&str, f64)) -> AnyRoute {
    let response_topic = Some("answers/harbourside".to_owned());
    AnyRoute::new(MqttRoute { name: name.to_owned(), rate, response_topic, ..MqttRoute::default() })
}

fn way(
    (name, rate): (&str, f64),
    channel: ChannelNumber,
    settings: AnyRoute,
    town: &Town,
) -> ConfiguredRoute {
    let route = Route {
        name: name.to_owned(),
        channel,
        mode: Mode::Live,
        rate,
        simulated: true,
        prefixes: Vec::new(),
        senders: Vec::new(),
        accounts: Vec::new(),
        weight: 1,
        cost: 0,
        priority: 0,
        validity_s: 0,
        receipts: channels::traits(channel).receipts,
        window: 0,
        shares: None,
    };
    let simulator = Some(Simulator { habits: Some(town.habits()) });
    ConfiguredRoute { route, settings, simulator, address: None, lines: BTreeMap::new() }
}

/// The alert, as a client would send it.
pub fn alert() -> Value {
    json!({
        "headline": HEADLINE,
        "text": "Gas leak at the old harbour. Leave the area on foot, go up the hill, do not start engines.",
        "texts": {
            "sv": {"sms": "Gasläcka i gamla hamnen. Lämna området till fots, gå uppåt backen, starta inga motorer."},
            "de": {"sms": "Gasaustritt am alten Hafen. Gebiet zu Fuß verlassen, bergauf gehen, keine Motoren starten."},
        },
        "audience": ["all"],
        "priority": "emergency",
        "require_answer": true,
        "choices": super::choices(),
    })
}

/// What the counts of the report must be in the end.
pub fn counts(expected: &Expected) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::from([("excluded", expected.left_out()), ("endpoints", expected.endpoints())]);
    for (channel, fates) in &expected.channels {
        // A mailbox that takes a mail says nothing more of it: no receipt means accepted, not delivered. The
        // town's pagers are two-way, and confirm.
        let confirms = channels::traits(*channel).receipts || *channel == channels::PAGER;
        let (arrived, unheard) = match confirms {
            true => (fates.silent, fates.unheard),
            false => (0, fates.unheard + fates.silent),
        };
        *counts.entry("failed").or_default() += fates.refused + fates.lost;
        *counts.entry("accepted").or_default() += unheard;
        *counts.entry("delivered").or_default() += arrived;
        *counts.entry("answered").or_default() += fates.answering + fates.stopping;
    }
    counts.retain(|_, count| *count > 0);
    counts
}

/// The counts as the report tells them.
pub fn reported(counts: &Value) -> BTreeMap<&'static str, u64> {
    const NAMES: [&str; 10] = [
        "endpoints",
        "planned",
        "submitted",
        "accepted",
        "delivered",
        "answered",
        "failed",
        "unknown",
        "held",
        "excluded",
    ];
    NAMES
        .into_iter()
        .map(|name| (name, counts[name].as_u64().unwrap_or(0)))
        .filter(|(_, count)| *count > 0)
        .collect()
}

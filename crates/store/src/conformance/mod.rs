//! What every store must do, whatever is behind it. Each case gets a fresh store.

pub(crate) mod alerts;
pub(crate) mod deliveries;
pub(crate) mod imports;
pub(crate) mod leases;
pub(crate) mod others;
pub(crate) mod recipients;
pub(crate) mod rosters;
pub(crate) mod standing;

use records::{
    Alert, AlertId, AlertNo, AlertRequest, AlertState, AudienceEntry, Channel, Device, Mode, OnUnknown,
    Origin, Priority, Recipient, Strategy, Terminal, Texts, Timestamp,
};

/// The account of all cases that need but one.
pub(crate) const ACCOUNT: &str = "a";

pub(crate) fn person(id: &str, name: &str) -> Recipient {
    Recipient {
        id: id.to_owned(),
        name: name.to_owned(),
        language: Some("sv".to_owned()),
        devices: vec![Device {
            channel: Channel::Sms,
            address: "+46701234567".to_owned(),
            enabled: true,
            verified: false,
            opted_out: false,
        }],
        ..Recipient::default()
    }
}

pub(crate) fn member(id: &str, groups: &[&str]) -> Recipient {
    Recipient { groups: groups.iter().map(|group| (*group).to_owned()).collect(), ..person(id, "") }
}

/// The n-th alert of a test, `n` seconds after the beginning of time.
pub(crate) fn alert(n: u128) -> Alert {
    let created = Timestamp(i64::try_from(n).unwrap() * 1_000_000);
    Alert {
        no: AlertNo(0),
        id: AlertId(uuid::Uuid::from_u128(n)),
        account: ACCOUNT.to_owned(),
        token: "t1".to_owned(),
        created,
        state: AlertState::Accepted,
        version: 1,
        request: request(created.plus_s(60)),
        origin: Origin::Cap("<alert>å</alert>".to_owned()),
        note: String::new(),
    }
}

fn request(expires: Timestamp) -> AlertRequest {
    AlertRequest {
        headline: None,
        text: Some("Smoke. Close the windows".to_owned()),
        texts: Texts::default(),
        audience: vec![AudienceEntry {
            to: "group:staff".to_owned(),
            strategy: Some(Strategy::EscalateAfter { seconds: 300 }),
            expires: None,
        }],
        exclude: Vec::new(),
        channels: vec![Channel::Sms],
        strategy: Strategy::All,
        require_answer: false,
        choices: Vec::new(),
        terminal: Terminal::Accepted,
        not_before: None,
        expires,
        priority: Priority::Routine,
        on_unknown: OnUnknown::Hold,
        callback: None,
        sender: None,
        mode: Mode::Live,
        flash: false,
        resources: Vec::new(),
        area: None,
        participants_only: false,
    }
}

/// The number of an alert that was accepted just now, and is being solved.
pub(crate) async fn solving(store: &dyn crate::Store, n: u128) -> AlertNo {
    let alert = Alert { state: AlertState::Solving, ..alert(n) };
    match store.accept_alert(alert, None).await.unwrap() {
        crate::Accepted::New(alert) => alert.no,
        other => panic!("{other:?}"),
    }
}

//! Nouns for tests, each with everything filled in that the test does not speak of.

use records::{
    AlertRequest, AudienceEntry, ChannelNumber, Mode, OnUnknown, Priority, RosterEntry, Route, Strategy,
    Terminal, Texts, Timestamp,
};

/// A request that says `text` to all.
pub fn request(text: &str) -> AlertRequest {
    AlertRequest {
        headline: None,
        text: Some(text.to_owned()),
        texts: Texts::default(),
        audience: vec![AudienceEntry { to: "all".into(), strategy: None, expires: None }],
        exclude: Vec::new(),
        channels: Vec::new(),
        strategy: Strategy::All,
        require_answer: false,
        choices: Vec::new(),
        terminal: Terminal::Accepted,
        not_before: None,
        expires: Timestamp(i64::MAX),
        priority: Priority::Routine,
        on_unknown: OnUnknown::Hold,
        callback: None,
        sender: None,
        mode: Mode::Live,
        participants_only: false,
        answer_rules: records::AnswerRules::default(),
        follows: None,
        flash: false,
        resources: Vec::new(),
        attachments: Vec::new(),
        area: None,
    }
}

/// An unlimited live route.
pub fn route(name: &str, channel: ChannelNumber, change: impl FnOnce(&mut Route)) -> Route {
    let mut route = Route {
        name: name.into(),
        channel,
        mode: Mode::Live,
        rate: 0.0,
        simulated: false,
        prefixes: Vec::new(),
        senders: Vec::new(),
        accounts: Vec::new(),
        weight: 1,
        cost: 0,
        priority: 0,
        validity_s: 0,
        receipts: true,
        window: 0,
        shares: None,
    };
    change(&mut route);
    route
}

/// An endpoint with nobody special behind it.
pub fn entry(channel: ChannelNumber, address: &str) -> RosterEntry {
    RosterEntry {
        channel: Some(channel),
        address: address.into(),
        persons: Vec::new(),
        language: None,
        values: Vec::new(),
        not_before: None,
        expires: None,
        rule: 0,
        excluded: None,
        message: None,
    }
}

/// An alert with this request, accepted at time 0.
pub fn alert(no: u64, request: AlertRequest) -> records::Alert {
    records::Alert {
        no: records::AlertNo(no),
        id: records::AlertId(uuid::Uuid::from_u128(u128::from(no))),
        account: "default".into(),
        token: "t".into(),
        created: Timestamp(0),
        state: records::AlertState::Running,
        version: 1,
        request,
        origin: records::Origin::Api,
        note: String::new(),
        approval: None,
    }
}

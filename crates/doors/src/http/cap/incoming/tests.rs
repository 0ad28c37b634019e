use super::*;
use cap::{NamedValue, Reference};

const NOW: Timestamp = Timestamp(1_794_983_200_000_000);

fn at(seconds: i64) -> Option<cap::Timestamp> {
    cap::Timestamp::new(NOW.plus_s(seconds).0, 60)
}

fn info(language: &str, headline: &str) -> Info {
    Info {
        language: language.to_owned(),
        event: "Flood".to_owned(),
        headline: Some(headline.to_owned()),
        description: Some("The river rises.".to_owned()),
        instruction: Some("Go uphill.".to_owned()),
        expires: at(3_600),
        ..Info::default()
    }
}

fn message(infos: Vec<Info>) -> Alert {
    Alert {
        identifier: "i1".to_owned(),
        sender: "a@b".to_owned(),
        sent: at(0),
        status: Some(Status::Actual),
        msg_type: Some(MsgType::Alert),
        infos,
        ..Alert::default()
    }
}

fn read(alert: &Alert) -> Result<CapIntent, Vec<(String, String)>> {
    intent(alert, vec!["all".to_owned()], None, NOW).map_err(|problem| problem.listed())
}

fn request(alert: &Alert) -> AlertRequest {
    read(alert).unwrap().request.unwrap()
}

#[test]
fn status_decides_who_may_hear_it() {
    for (status, expected) in [
        (Some(Status::Actual), Ok((Mode::Live, false))),
        (Some(Status::Exercise), Ok((Mode::Drill, true))),
        (Some(Status::System), Ok((Mode::Drill, false))),
        (Some(Status::Test), Ok((Mode::Drill, false))),
        (None, Ok((Mode::Drill, false))),
        (Some(Status::Draft), Err("alert/status")),
    ] {
        let alert = Alert { status, ..message(vec![info("en", "x")]) };
        let found = read(&alert).map(|meant| meant.request.map(|r| (r.mode, r.participants_only)).unwrap());
        assert_eq!(
            found.map_err(|problems| problems[0].0.clone()),
            expected.map_err(str::to_owned),
            "{status:?}"
        );
    }
}

#[test]
fn urgency_severity_and_certainty_make_the_lane() {
    use Certainty as C;
    use Severity as S;
    use Urgency as U;
    for (urgency, severity, certainty, expected) in [
        (U::Immediate, S::Extreme, C::Observed, Priority::Emergency),
        (U::Expected, S::Severe, C::Likely, Priority::Emergency),
        (U::Immediate, S::Extreme, C::Possible, Priority::Urgent),
        (U::Future, S::Severe, C::Likely, Priority::Urgent),
        (U::Immediate, S::Moderate, C::Observed, Priority::Urgent),
        (U::Past, S::Extreme, C::Observed, Priority::Routine),
        (U::Expected, S::Moderate, C::Observed, Priority::Routine),
        (U::Unknown, S::Unknown, C::Unknown, Priority::Routine),
    ] {
        let worst = Info { urgency, severity, certainty, ..info("en", "x") };
        let request = request(&message(vec![info("sv", "y"), worst]));
        assert_eq!(request.priority, expected, "{urgency} {severity} {certainty}");
        assert_eq!(request.on_unknown == OnUnknown::Resend, expected == Priority::Emergency);
    }
}

#[test]
fn each_language_has_its_text_and_the_first_is_for_the_rest() {
    let mut phone = info("en-GB", "Flood in the north");
    phone.parameters =
        vec![NamedValue { name: "CMAMtext".to_owned(), value: "Flood. Go uphill now.".to_owned() }];
    let request =
        request(&message(vec![info("zh-Hant", "洪水"), phone, info("en-GB", "Flood in the south")]));
    let english = &request.texts.languages["en-gb"];
    assert_eq!(english.headline.as_deref(), Some("Flood in the north / Flood in the south"));
    assert_eq!(english.text.as_deref(), Some("The river rises.\n\nGo uphill."), "what both say is said once");
    assert_eq!(
        english.own[&channels::SMS].text.as_deref(),
        Some("Flood. Go uphill now.\nFlood in the south")
    );
    assert_eq!(request.texts.languages["zh-hant"].own[&channels::SMS].text.as_deref(), Some("洪水"));
    assert_eq!(request.texts.languages["en"], *english, "who reads en reads en-GB");
    assert_eq!(request.texts.default, request.texts.languages["zh-hant"]);
    assert_eq!(request.headline.as_deref(), Some("洪水"));
}

#[test]
fn a_bare_event_is_a_text_and_a_huge_one_is_cut() {
    let bare = Info { headline: None, description: None, instruction: None, ..info("en", "") };
    let request = request(&message(vec![bare]));
    assert_eq!((request.headline.as_deref(), request.text.as_deref()), (Some("Flood"), Some("Flood")));
    let huge = Info { description: Some("å".repeat(TEXT_CHARS_MAX + 5)), ..info("en", "x") };
    let meant = read(&message(vec![huge])).unwrap();
    assert!(meant.oddities.iter().any(|oddity| oddity.rule == "cut" && oddity.path == "alert/info[1]"));
    assert_eq!(meant.request.unwrap().text.unwrap().chars().count(), TEXT_CHARS_MAX);
}

#[test]
fn times_bound_the_alert() {
    let later = Info { effective: at(600), expires: at(86_400 * 60), ..info("en", "x") };
    let meant = read(&message(vec![later])).unwrap();
    let request = meant.request.unwrap();
    assert_eq!((request.not_before, request.expires), (Some(NOW.plus_s(600)), NOW.plus_s(EXPIRES_S_MAX)));
    assert_eq!(meant.oddities[0].rule, "cut");
    let endless = read(&message(vec![Info { expires: None, ..info("en", "x") }])).unwrap();
    assert_eq!(endless.request.unwrap().expires, NOW.plus_s(EXPIRES_S_DEFAULT));
    let over = read(&message(vec![Info { expires: at(-1), ..info("en", "x") }])).unwrap_err();
    assert_eq!(over, [("alert/info/expires".to_owned(), "is in the past".to_owned())]);
    let backwards = read(&message(vec![Info { effective: at(7_200), ..info("en", "x") }])).unwrap_err();
    assert_eq!(backwards[0].0, "alert/info/effective");
}

#[test]
fn areas_are_joined_and_geocodes_are_of_the_attributes_domain() {
    let code = |name: &str, value: &str| NamedValue { name: name.to_owned(), value: value.to_owned() };
    let ring = vec![(1.0, 1.0), (1.0, 2.0), (2.0, 2.0), (1.0, 1.0)];
    let part = |codes: Vec<NamedValue>| cap::Area {
        description: "North".to_owned(),
        polygons: vec![ring.clone()],
        geocodes: codes,
        ..cap::Area::default()
    };
    let mut alert = message(vec![info("en", "x"), info("sv", "y")]);
    alert.infos[0].areas = vec![part(vec![code("UGC", "B"), code("SAME", "1")])];
    alert.infos[1].areas = vec![part(vec![code("UGC", "A"), code("UGC", "B")])];
    let area = |attribute| {
        intent(&alert, vec!["area".to_owned()], attribute, NOW).unwrap().request.unwrap().area.unwrap()
    };
    let of_ugc = area(Some("ugc"));
    assert_eq!(
        (of_ugc.polygons.len(), of_ugc.geocodes, of_ugc.description.as_str()),
        (1, vec!["A".to_owned(), "B".to_owned()], "North")
    );
    assert_eq!(area(Some("zone")).geocodes, ["1", "A", "B"]);
    assert_eq!(area(None).geocode_attribute, None);
    alert.infos.iter_mut().for_each(|info| info.areas.clear());
    let problem = intent(&alert, vec!["area".to_owned()], None, NOW).unwrap_err();
    assert_eq!(problem.listed()[0].0, "alert/info/area");
}

#[test]
fn an_update_stops_what_it_refers_to_but_not_itself() {
    let reference = |identifier: &str| Reference {
        sender: "a@b".to_owned(),
        identifier: identifier.to_owned(),
        sent: at(-9),
    };
    let mut alert = message(vec![info("en", "x")]);
    alert.references = vec![reference("i0"), reference("i1")];
    assert_eq!(read(&alert).unwrap().stops, [], "a first alert stops nothing");
    for msg_type in [MsgType::Update, MsgType::Cancel] {
        alert.msg_type = Some(msg_type);
        let meant = read(&alert).unwrap();
        assert_eq!(meant.stops, [("a@b".to_owned(), "i0".to_owned())]);
        assert!(meant.request.is_some(), "what it says is said");
    }
    alert.infos.clear();
    assert_eq!(read(&alert).unwrap().request, None, "a cancellation may have no words");
    alert.msg_type = Some(MsgType::Update);
    assert_eq!(read(&alert).unwrap_err()[0].0, "alert/info");
    for msg_type in [MsgType::Ack, MsgType::Error] {
        alert.msg_type = Some(msg_type);
        assert_eq!(read(&alert).unwrap_err()[0].0, "alert/msgType");
    }
}

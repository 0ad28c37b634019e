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
    intent(alert, &to(&["all"], None), NOW).map_err(|problem| problem.listed())
}

fn to(entries: &[&str], geocode_attribute: Option<&str>) -> CapAudience {
    CapAudience {
        entries: entries.iter().map(|entry| (*entry).to_owned()).collect(),
        geocode_attribute: geocode_attribute.map(str::to_owned),
    }
}

/// The request of a message that makes one.
fn only(meant: CapIntent) -> AlertRequest {
    let [part] = <[PartIntent; 1]>::try_from(meant.parts).unwrap();
    part.request
}

fn request(alert: &Alert) -> AlertRequest {
    only(read(alert).unwrap())
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
        let found = read(&alert).map(only).map(|request| (request.mode, request.participants_only));
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
    let text = "The river rises.\n\nGo uphill.\n\nuntil 08:26";
    assert_eq!(english.text.as_deref(), Some(text), "what both say is said once");
    assert_eq!(
        english.own[&channels::SMS].text.as_deref(),
        Some("Flood. Go uphill now.\nFlood in the south. The river rises. Go uphill.\nuntil 08:26")
    );
    let chinese = request.texts.languages["zh-hant"].own[&channels::SMS].text.as_deref().unwrap();
    assert!(chinese.starts_with("洪水. The river rises."), "{chinese}");
    assert_eq!(request.texts.languages["en"], *english, "who reads en reads en-GB");
    assert_eq!(request.texts.default, request.texts.languages["zh-hant"]);
    assert_eq!(request.headline.as_deref(), Some("洪水"));
}

#[test]
fn a_bare_event_is_a_text_and_a_huge_one_is_cut() {
    let bare = Info { headline: None, description: None, instruction: None, expires: None, ..info("en", "") };
    let request = request(&message(vec![bare]));
    assert_eq!((request.headline.as_deref(), request.text.as_deref()), (Some("Flood"), Some("Flood")));
    let huge = Info { description: Some("å".repeat(TEXT_CHARS_MAX + 5)), ..info("en", "x") };
    let meant = read(&message(vec![huge])).unwrap();
    assert!(meant.oddities.iter().any(|oddity| oddity.rule == "cut" && oddity.path == "alert/info[1]"));
    assert_eq!(only(meant).text.unwrap().chars().count(), TEXT_CHARS_MAX);
}

#[test]
fn times_bound_the_alert() {
    let later = Info { effective: at(600), expires: at(86_400 * 60), ..info("en", "x") };
    let meant = read(&message(vec![later])).unwrap();
    assert_eq!(meant.oddities[0].rule, "cut");
    let request = only(meant);
    assert_eq!((request.not_before, request.expires), (Some(NOW.plus_s(600)), NOW.plus_s(EXPIRES_S_MAX)));
    let endless = read(&message(vec![Info { expires: None, ..info("en", "x") }])).unwrap();
    assert_eq!(only(endless).expires, NOW.plus_s(EXPIRES_S_DEFAULT));
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
    let area = |attribute| only(intent(&alert, &to(&["area"], attribute), NOW).unwrap()).area.unwrap();
    let of_ugc = area(Some("ugc"));
    assert_eq!(
        (of_ugc.polygons.len(), of_ugc.geocodes, of_ugc.description.as_str()),
        (1, vec!["A".to_owned(), "B".to_owned()], "North")
    );
    let of_all = area(Some("zone")).geocodes;
    assert!(["A", "B", "?00001"].iter().all(|code| of_all.contains(&(*code).to_owned())), "{of_all:?}");
    assert_eq!(area(None).geocode_attribute, None);
    alert.infos.iter_mut().for_each(|info| info.areas.clear());
    let problem = intent(&alert, &to(&["area"], None), NOW).unwrap_err();
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
    assert_eq!(read(&alert).unwrap().ends, [], "a first alert ends nothing");
    alert.msg_type = Some(MsgType::Update);
    let meant = read(&alert).unwrap();
    let ended: Vec<(&str, Option<cap::Timestamp>)> =
        meant.ends.iter().map(|one| (one.identifier.as_str(), one.sent)).collect();
    assert_eq!(ended, [("i0", at(-9)), ("i1", at(-9))], "also what had its identifier before");
    assert_eq!(meant.parts.len(), 1, "what it says is said");
    alert.references = vec![Reference { sent: at(0), ..reference("i1") }];
    assert_eq!(read(&alert).unwrap().ends, [], "not itself");
    alert.references.clear();
    let meant = read(&alert).unwrap();
    assert_eq!(
        meant.ends,
        [Reference { sent: None, ..reference("i1") }],
        "it refers to nothing: its identifier"
    );
    alert.infos[0].expires = at(-1);
    let over = read(&alert).unwrap();
    assert_eq!((over.parts.len(), over.ends.len()), (0, 1), "an update that is over ends what it replaces");
    alert.infos.clear();
    assert_eq!(read(&alert).unwrap_err()[0].0, "alert/info");
    for msg_type in [MsgType::Ack, MsgType::Error] {
        alert.msg_type = Some(msg_type);
        assert_eq!(read(&alert).unwrap_err()[0].0, "alert/msgType");
    }
}

#[test]
fn an_info_that_is_over_is_not_told_with_those_that_hold() {
    let over = Info { expires: at(-600), ..info("en", "Yesterday") };
    let meant = read(&message(vec![over, info("en", "High water tonight")])).unwrap();
    assert!(meant.oddities.iter().any(|one| one.path == "alert/info[1]/expires" && one.rule == "expired"));
    let request = only(meant);
    assert_eq!(request.headline.as_deref(), Some("High water tonight"));
    assert!(!request.text.unwrap().contains("Yesterday"));
}

#[test]
fn each_area_hears_its_own_infos_and_who_is_named_otherwise_hears_all() {
    let in_area = |headline: &str, lat: f64| Info {
        areas: vec![cap::Area {
            description: format!("At {lat}"),
            circles: vec![cap::Circle { center: (lat, 18.0), km: 3.0 }],
            ..cap::Area::default()
        }],
        ..info("en", headline)
    };
    let alert = message(vec![in_area("Leave the shore", 59.0), in_area("Stay at home", 61.0)]);
    let parts = |entries: &[&str]| {
        let meant = intent(&alert, &to(entries, None), NOW).unwrap();
        let told = |part: PartIntent| {
            let to: Vec<String> = part.request.audience.into_iter().map(|entry| entry.to).collect();
            (part.request.headline.unwrap(), to.join(" "), part.request.exclude.join(" "))
        };
        meant.parts.into_iter().map(told).collect::<Vec<_>>()
    };
    let own =
        |headline: &str, to: &str, without: &str| (headline.to_owned(), to.to_owned(), without.to_owned());
    let by_area = [own("Leave the shore", "area", ""), own("Stay at home", "area", "")];
    assert_eq!(parts(&["area"]), by_area);
    let all = "At 59: Leave the shore / At 61: Stay at home";
    assert_eq!(parts(&["group:staff"]), [own(all, "group:staff", "")]);
    assert_eq!(parts(&["area", "group:staff"])[2], own(all, "group:staff", "area"));
}

//! Alerts as public authorities issued them, with every fault they have.

use crate::{CapVersion, MsgType, ParsedAlert, ResponseType, Severity, Status, Timestamp, read};

const ALERTSWISS: &[u8] = include_bytes!("../../../testdata/kde-alertswiss-5.xml");
const IRELAND: &[u8] = include_bytes!("../../../testdata/kde-ireland-smallcraft.xml");
const ISRAEL: &[u8] = include_bytes!("../../../testdata/kde-israel-he.xml");
const MACAO: &[u8] = include_bytes!("../../../testdata/kde-macao-monsoon.xml");
const NOAA: &[u8] = include_bytes!("../../../testdata/kde-noaa-bde6.xml");

fn listed(reading: &ParsedAlert) -> Vec<String> {
    reading.problems.iter().map(|problem| format!("{} {}", problem.path, problem.rule)).collect()
}

#[test]
fn alertswiss_leaves_out_category_and_certainty_and_repeats_the_instruction() {
    let reading = read(ALERTSWISS).unwrap();
    assert_eq!(
        listed(&reading),
        [
            "alert/sender order",
            "alert/info[1]/instruction repeated",
            "alert/info[1]/event order",
            "alert/info[1]/category missing",
            "alert/info[1]/certainty missing",
            "alert/references references",
            "alert/references references",
        ]
    );
    let alert = &reading.alert;
    assert_eq!(
        (alert.identifier.as_str(), alert.sender.as_str()),
        ("POA-1222963954-5", "info@alertswiss.ch")
    );
    assert_eq!(
        (alert.status, alert.msg_type, reading.version),
        (Some(Status::Actual), Some(MsgType::Alert), CapVersion::V1_2)
    );
    assert_eq!(alert.references[0].sent, Timestamp::parse("2025-05-20T12:41:48+02:00"));
    let info = &alert.infos[0];
    assert_eq!(info.contact.as_deref().unwrap().lines().count(), 1);
    assert!(info.contact.as_deref().unwrap().contains("<a href=\"tel:112\">112</a><br/>Police"));
    let instruction = info.instruction.as_deref().unwrap();
    assert!(instruction.starts_with("Make a large detour") && instruction.ends_with("and the authorities."));
    assert_eq!(info.severity, Severity::Moderate);
    assert!(info.areas[0].contains(46.0520, 9.0130), "in the slide's area");
    assert!(!info.areas[0].contains(46.0520, 9.0300), "beside it");
}

#[test]
fn ireland_has_empty_elements() {
    let reading = read(IRELAND).unwrap();
    assert_eq!(listed(&reading), ["alert/incidents empty", "alert/info[1]/instruction empty"]);
    let info = &reading.alert.infos[0];
    assert_eq!((info.sender_name.as_deref(), &info.instruction), (Some("Met Éireann"), &None));
    let codes: Vec<&str> = info.areas[0].geocodes.iter().map(|code| code.value.as_str()).collect();
    assert_eq!(
        (codes, info.areas[0].geocodes[0].name.as_str()),
        (vec!["EI807", "EI809", "EI806", "EI808"], "EMMA_ID")
    );
    assert_eq!(info.expires, Timestamp::parse("2025-04-14T20:00:00+01:00"));
    assert_eq!(info.expires.unwrap().offset_minutes(), 60);
}

#[test]
fn israel_speaks_two_languages_and_has_empty_polygons() {
    let reading = read(ISRAEL).unwrap();
    let expected: Vec<String> = (1..=2)
        .flat_map(|info| (1..=3).map(move |area| format!("alert/info[{info}]/area[{area}]/polygon[1] empty")))
        .collect();
    assert_eq!(listed(&reading), expected);
    assert_eq!(reading.alert.info_for("he").unwrap().headline.as_deref(), Some("שטפונות בזק"));
    assert_eq!(reading.alert.info_for("en").unwrap().headline.as_deref(), Some("Flash Floods"));
    assert_eq!(reading.alert.info_for("sv").unwrap().language, "en-GB");
}

#[test]
fn macao_speaks_three_languages_and_refers_to_itself() {
    let reading = read(MACAO).unwrap();
    assert_eq!(
        listed(&reading),
        [
            "alert/info[1]/instruction empty",
            "alert/info[2]/instruction empty",
            "alert/info[3]/instruction empty",
            "alert/references references",
        ]
    );
    let alert = &reading.alert;
    assert_eq!(alert.msg_type, Some(MsgType::Update));
    assert_eq!(alert.infos[0].response_types, [ResponseType::AllClear]);
    for (wanted, event) in
        [("zh", "強烈季候風信號"), ("pt-BR", "VENTOS FORTES DE MONÇÃO"), ("en-GB", "STRONG MONSOON SIGNAL")]
    {
        assert_eq!(alert.info_for(wanted).unwrap().event, event, "{wanted}");
    }
    let area = &alert.infos[1].areas[0];
    assert_eq!(area.polygons[0].len(), 63, "pairs over many lines, with tabs");
    assert!(area.contains(22.19, 113.55) && !area.contains(22.28, 113.57), "Macao, and Zhuhai");
}

#[test]
fn noaa_has_geocodes_before_polygons_and_a_coast_of_6842_vertices() {
    let reading = read(NOAA).unwrap();
    assert_eq!(listed(&reading), ["alert/info[1]/area[1]/polygon order"]);
    let info = &reading.alert.infos[0];
    let area = &info.areas[0];
    assert_eq!((area.polygons.len(), area.polygons[17].len(), area.geocodes.len()), (18, 6_842, 8));
    assert_eq!(info.event_codes[0].value, "SPS");
    assert_eq!(info.parameters.iter().filter(|p| p.name == "BLOCKCHANNEL").count(), 3);
    assert_eq!(reading.alert.codes, ["IPAWSv1.0"]);
    assert!(area.contains(38.5632, -76.0788), "Cambridge, in Dorchester");
    assert!(!area.contains(38.3607, -75.5994), "Salisbury: its county is named by geocode only");
}

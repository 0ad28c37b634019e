use super::*;
use crate::alert::*;
use crate::{Timestamp, read};
use proptest::prelude::*;

const RECEIVED: &str = "2026-11-18T07:00:00+01:00";
const SAMPLES: [&[u8]; 5] = [
    include_bytes!("../../testdata/kde-alertswiss-5.xml"),
    include_bytes!("../../testdata/kde-ireland-smallcraft.xml"),
    include_bytes!("../../testdata/kde-israel-he.xml"),
    include_bytes!("../../testdata/kde-macao-monsoon.xml"),
    include_bytes!("../../testdata/kde-noaa-bde6.xml"),
];

fn received() -> Timestamp {
    Timestamp::parse(RECEIVED).unwrap()
}

fn passed_on(message: &str) -> Alert {
    let alert = read(message.as_bytes()).unwrap().alert;
    let again = read(&write_mended(&alert, received()).unwrap()).unwrap();
    assert_eq!(
        again.problems.iter().filter(|one| one.path != "alert/references").count(),
        0,
        "{:?}",
        again.problems
    );
    again.alert
}

fn message(header: &str, info: &str) -> String {
    format!(
        "<alert xmlns='urn:oasis:names:tc:emergency:cap:1.1'><identifier>i1</identifier><sender>a@b</sender>\
         <sent>{RECEIVED}</sent><status>Actual</status><scope>Public</scope>{header}\
         <info><category>Met</category><event>Storm</event><urgency>Immediate</urgency><severity>Severe</severity>\
         <certainty>Observed</certainty>{info}</info></alert>"
    )
}

#[test]
fn what_goes_out_is_the_message_that_came_mended_where_the_schema_wants_it() {
    let parameters = "<parameter><valueName>WMO</valueName><value/></parameter>\
                      <parameter><valueName>UGC</valueName><value>NVC013</value></parameter>";
    let alert = passed_on(&message("<msgType>Alert</msgType><code>c</code>", parameters));
    assert_eq!((alert.identifier.as_str(), alert.sender.as_str()), ("i1", "a@b"));
    assert_eq!((alert.scope, &alert.codes[..]), (Some(Scope::Public), &["c".to_owned()][..]));
    assert_eq!(alert.infos[0].parameters.len(), 1, "the empty one is left out");

    let resource = "<resource><resourceDesc>map</resourceDesc><uri>http://x.example/a b.gif</uri><digest>x</digest></resource>";
    let info = &passed_on(&message("<msgType>Alert</msgType>", resource)).infos[0];
    let file = &info.resources[0];
    assert_eq!(
        (file.mime_type.as_str(), file.uri.as_deref()),
        ("image/gif", Some("http://x.example/a%20b.gif"))
    );
    assert_eq!(file.digest, None);

    let area = "<area><areaDesc/><ceiling>900</ceiling><geocode><valueName>SAME</valueName><value>032013</value></geocode></area>";
    let area = &passed_on(&message("<msgType>Alert</msgType>", area)).infos[0].areas[0];
    assert_eq!(
        (area.description.as_str(), area.altitude, area.ceiling),
        ("not stated", Some(0.0), Some(900.0))
    );
}

#[test]
fn what_is_missing_is_said_to_be_so_and_a_cancel_without_references_is_one_still() {
    let bare = "<alert><identifier>a b</identifier><sender>x,y</sender><info><language>en_GB</language></info></alert>";
    let alert = passed_on(bare);
    assert_eq!((alert.identifier.as_str(), alert.sender.as_str()), ("a-b", "x-y"));
    assert_eq!(
        (alert.sent, alert.status, alert.scope),
        (Some(received()), Some(Status::Test), Some(Scope::Restricted))
    );
    assert_eq!((alert.infos[0].event.as_str(), alert.infos[0].language.as_str()), ("not stated", "en-GB"));
    let cancel = passed_on(&message("<msgType>Cancel</msgType>", ""));
    assert_eq!((cancel.msg_type, cancel.references.len()), (Some(MsgType::Cancel), 0));
    assert_eq!(passed_on(&message("<msgType>Update</msgType>", "")).msg_type, Some(MsgType::Alert));
    let private = message("<msgType>Alert</msgType>", "").replace("Public", "Private");
    assert_eq!(passed_on(&private).addresses, ["a@b"]);
    let odd = passed_on(&message(
        "<msgType>Update</msgType><references>a@b,i0,yesterday a@b,i9,2026-11-18T06:00:00Z</references>",
        "",
    ));
    assert_eq!(odd.references.len(), 1, "one without a time cannot be written");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(100)))]

    /// Whatever is missing from a real message, it can be passed on, and is the same message.
    #[test]
    fn a_message_with_holes_is_passed_on(sample in 0_usize..5, from in 0.0..1.0_f64, count in 1_usize..4) {
        let text = std::str::from_utf8(SAMPLES[sample]).unwrap().to_owned();
        let mut out = text.clone();
        for step in 0..count {
            // Empties the element that begins at a place.
            let at = (out.len() as f64 * ((from + step as f64 * 0.37) % 1.0)) as usize;
            let Some(start) = out.bytes().skip(at).position(|b| b == b'>').map(|found| at + found + 1) else { continue };
            let Some(end) = out[start..].find('<').map(|found| start + found) else { continue };
            out.replace_range(start..end, "");
        }
        if let Ok(reading) = read(out.as_bytes()) {
            let written = write_mended(&reading.alert, received());
            prop_assert!(written.is_ok(), "{:?}", written);
            let again = read(&written.unwrap()).unwrap().alert;
            prop_assert_eq!(again.infos.len(), reading.alert.infos.len());
            if !reading.alert.identifier.is_empty() {
                prop_assert_eq!(again.identifier, reading.alert.identifier);
            }
        }
    }
}

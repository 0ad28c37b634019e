//! Tests of faults that are read nevertheless: each once, with what was made of it.

use crate::*;

const HEADER: &str = "<identifier>1</identifier><sender>a@b</sender><sent>2025-01-01T00:00:00-00:00</sent>\
    <status>Actual</status><msgType>Alert</msgType><scope>Public</scope>";
const INFO: &str = "<category>Met</category><event>wind</event><urgency>Future</urgency><severity>Minor</severity>\
    <certainty>Likely</certainty>";

/// In the form of the examples of CAP 1.0.
const VERSION_1_0: &str = "<cap:alert xmlns:cap='http://www.incident.com/cap/1.0'>
  <cap:identifier>KSTO1055887203</cap:identifier>
  <cap:sender>KSTO@NWS.NOAA.GOV</cap:sender>
  <cap:password>x</cap:password>
  <cap:sent>2003-06-17T14:57:00-07:00</cap:sent>
  <cap:status>Actual</cap:status>
  <cap:msgType>Alert</cap:msgType>
  <cap:scope>Public</cap:scope>
  <cap:info>
    <cap:category>Met</cap:category>
    <cap:event>SEVERE THUNDERSTORM</cap:event>
    <cap:urgency>Immediate</cap:urgency>
    <cap:severity>Severe</cap:severity>
    <cap:certainty>Very Likely</cap:certainty>
    <cap:eventCode>same=SVR</cap:eventCode>
    <cap:area>
      <cap:areaDesc>Alpine County</cap:areaDesc>
      <cap:geocode>fips6=006109</cap:geocode>
    </cap:area>
  </cap:info>
</cap:alert>";

fn wrapped(content: &str) -> String {
    format!("<alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\">{content}</alert>")
}

fn with_header(header: &str) -> ParsedAlert {
    read(wrapped(&format!("{header}<info>{INFO}</info>")).as_bytes()).unwrap()
}

fn with_info(info: &str) -> ParsedAlert {
    read(wrapped(&format!("{HEADER}<info>{info}</info>")).as_bytes()).unwrap()
}

fn with_area(area: &str) -> ParsedAlert {
    with_info(&format!("{INFO}<area><areaDesc>x</areaDesc>{area}</area>"))
}

fn listed(reading: &ParsedAlert) -> Vec<String> {
    reading.problems.iter().map(|problem| format!("{} {}", problem.path, problem.rule)).collect()
}

#[test]
fn a_clean_alert_has_no_problems() {
    assert_eq!(listed(&with_info(INFO)), [""; 0]);
    assert_eq!(with_info(INFO).alert.infos[0].language, "en-US");
}

#[test]
fn faults_of_the_header_are_listed() {
    for (from, to, expected) in [
        ("<identifier>1</identifier>", "", "alert/identifier missing"),
        (">1<", ">a b<", "alert/identifier characters"),
        (">1<", ">a\u{7}b<", "alert/identifier characters"),
        (">1<", ">&#7;b<", "alert/identifier characters"),
        (">a@b<", "><", "alert/sender empty"),
        (">2025-01-01T00:00:00-00:00<", ">2025-01-01T00:00:00Z<", "alert/sent time-form"),
        (">2025-01-01T00:00:00-00:00<", ">2025-01-01T00:00:00+00:00<", "alert/sent time-form"),
        (">2025-01-01T00:00:00-00:00<", ">tomorrow<", "alert/sent time-form"),
        (">Actual<", ">actual<", "alert/status value"),
        (">Actual<", ">Real<", "alert/status value"),
        (">Alert<", ">Update<", "alert/references references"),
        (">Public<", ">Restricted<", "alert/restriction companion"),
        (">Public<", ">Private<", "alert/addresses companion"),
        ("</scope>", "</scope><scope>Public</scope>", "alert/scope repeated"),
        ("</scope>", "</scope><colour>red</colour>", "alert/colour unknown"),
        ("</scope>", "</scope><x:note xmlns:x=\"urn:x\">y</x:note>", "alert/note unknown"),
        ("</scope>", "</scope><source>x</source>", "alert/source order"),
        ("</scope>", "</scope><references>a,b</references>", "alert/references references"),
    ] {
        let header = HEADER.replacen(from, to, 1);
        assert_ne!(header, HEADER, "{from}");
        assert_eq!(listed(&with_header(&header)), [expected], "{to}");
    }
    assert_eq!(with_header(&HEADER.replace(">Actual<", ">actual<")).alert.status, Some(Status::Actual));
    assert_eq!(
        with_header(&HEADER.replace(">Actual<", ">Real<")).alert.status,
        None,
        "never taken for Actual"
    );
}

#[test]
fn faults_of_an_info_are_listed() {
    let long = "x".repeat(161);
    for (from, to, expected) in [
        ("<category>", "<language></language><category>", "language empty"),
        ("<category>", "<language>English</language><category>", ""),
        ("<category>", "<language>English (US)</language><category>", "language value"),
        ("<category>Met</category>", "", "category missing"),
        ("<category>Met</category>", "<category>Weather</category>", "category[1] value"),
        ("<event>wind</event>", "", "event missing"),
        ("<urgency>Future</urgency>", "", "urgency missing"),
        (">Minor<", ">Slight<", "severity value"),
        (">Likely<", ">Very Likely<", "certainty value"),
        ("</certainty>", "</certainty><expires>2024-12-31T00:00:00-00:00</expires>", "expires time-order"),
        ("</certainty>", &format!("</certainty><headline>{long}</headline>"), "headline length"),
        (
            "</certainty>",
            "</certainty><parameter><valueName>a</valueName></parameter>",
            "parameter[1]/value missing",
        ),
        ("</certainty>", "</certainty><parameter>a=b</parameter>", "parameter[1] value"),
        ("</event>", "</event><responseType>Run</responseType>", "responseType[1] value"),
        (
            "</certainty>",
            "</certainty><resource><resourceDesc>x</resourceDesc></resource>",
            "resource[1]/mimeType missing",
        ),
    ] {
        let info = INFO.replacen(from, to, 1);
        assert_ne!(info, INFO, "{from}");
        let expected: Vec<String> =
            if expected.is_empty() { Vec::new() } else { vec![format!("alert/info[1]/{expected}")] };
        assert_eq!(listed(&with_info(&info)), expected, "{to}");
    }
    let odd = with_info(&INFO.replace(">Met<", ">Weather<").replace(">Likely<", ">Very Likely<"));
    assert_eq!(odd.alert.infos[0].categories, [Category::Other]);
    assert_eq!(odd.alert.infos[0].certainty, Certainty::Likely);
}

#[test]
fn faults_of_an_area_are_listed() {
    for (area, expected) in [
        ("<polygon>1,2 3,4 5,6 1,2</polygon>", &[][..]),
        ("<polygon>\n\t1,2\r\n3,4  5,6 1,2 </polygon>", &[]),
        ("<polygon>1,2 3,4 5,6</polygon>", &["polygon[1] open-ring"]),
        ("<polygon/>", &["polygon[1] empty"]),
        ("<polygon>1,2 3,4</polygon><polygon>x</polygon>", &["polygon[1] shape", "polygon[2] shape"]),
        ("<circle>1,2</circle>", &["circle[1] shape"]),
        ("<circle>1,2 3</circle><circle/>", &["circle[2] empty"]),
        ("<ceiling>3</ceiling>", &["altitude companion"]),
        ("<altitude>high</altitude>", &["altitude value"]),
        ("<geocode><value>1</value></geocode>", &["geocode[1]/valueName missing"]),
        ("<circle>1,2 3</circle><polygon>1,2 3,4 5,6 1,2</polygon>", &["polygon order"]),
    ] {
        let expected: Vec<String> = expected.iter().map(|at| format!("alert/info[1]/area[1]/{at}")).collect();
        assert_eq!(listed(&with_area(area)), expected, "{area}");
    }
    let open = with_area("<polygon>1,2 3,4 5,6</polygon>");
    assert_eq!(open.alert.infos[0].areas[0].polygons[0], [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0), (1.0, 2.0)]);
}

#[test]
fn a_polygon_of_many_vertices_is_listed_and_not_cut() {
    let pairs: String =
        (0..10_050).map(|i| format!("{},{} ", f64::from(i % 90), f64::from(i) / 100.0)).collect();
    let reading = with_area(&format!("<polygon>{pairs}0,0</polygon>"));
    assert_eq!(listed(&reading), ["alert/info[1]/area[1]/polygon[1] length"]);
    assert_eq!(reading.alert.infos[0].areas[0].polygons[0].len(), 10_051);
}

#[test]
fn older_versions_and_missing_namespaces_are_read_up() {
    let reading = read(VERSION_1_0.as_bytes()).unwrap();
    assert_eq!((reading.version, listed(&reading)), (CapVersion::V1_0, vec![]));
    let info = &reading.alert.infos[0];
    assert_eq!((info.certainty, info.event_codes[0].name.as_str()), (Certainty::Likely, "same"));
    assert_eq!(info.areas[0].geocodes[0].value, "006109");

    let v1_1 = wrapped(&format!("{HEADER}<info>{INFO}</info>")).replace("cap:1.2", "cap:1.1");
    assert_eq!(read(v1_1.as_bytes()).unwrap().version, CapVersion::V1_1);
    for namespace in ["", "urn:oasis:names:tc:emergency:cap:1.3"] {
        let other = wrapped(&format!("{HEADER}<info>{INFO}</info>"))
            .replace("urn:oasis:names:tc:emergency:cap:1.2", namespace);
        let reading = read(other.as_bytes()).unwrap();
        assert_eq!(listed(&reading)[0], "alert namespace", "{namespace}");
    }
    let none = format!("<alert>{HEADER}<info>{INFO}</info></alert>");
    assert_eq!(listed(&read(none.as_bytes()).unwrap()), ["alert namespace"]);
}

#[test]
fn alerts_are_found_in_their_envelopes() {
    let alert = wrapped(&format!("{HEADER}<info>{INFO}</info>"));
    let edxl = format!(
        "<EDXLDistribution xmlns='urn:oasis:names:tc:emergency:EDXL:DE:1.0'><contentObject><xmlContent>\
         <embeddedXMLContent>{alert}</embeddedXMLContent></xmlContent></contentObject></EDXLDistribution>"
    );
    assert_eq!(listed(&read(edxl.as_bytes()).unwrap()), [""; 0]);
    let alerts = format!("<alerts>{alert}{}</alerts>", alert.replace(">1<", ">2<"));
    assert_eq!(listed(&read(alerts.as_bytes()).unwrap()), ["alert envelope", "alert envelope"]);
    let all = read_all(alerts.as_bytes()).unwrap();
    assert_eq!(all.iter().map(|reading| reading.alert.identifier.as_str()).collect::<Vec<_>>(), ["1", "2"]);
}

#[test]
fn other_encodings_are_read_and_listed() {
    let text = wrapped(&format!("{HEADER}<info>{}</info>", INFO.replace("wind", "väder")));
    let latin: Vec<u8> =
        format!("<?xml version='1.0' encoding='ISO-8859-1'?>{text}").chars().map(|c| c as u8).collect();
    let reading = read(&latin).unwrap();
    assert_eq!(
        (listed(&reading), reading.alert.infos[0].event.as_str()),
        (vec!["alert encoding".to_string()], "väder")
    );
    let marked =
        [b"\xEF\xBB\xBF".as_slice(), b"<?xml version='1.0' encoding='utf-8'?>", text.as_bytes()].concat();
    assert_eq!(listed(&read(&marked).unwrap()), [""; 0]);
}

#[test]
fn text_keeps_its_entities_sections_and_lines() {
    let info = format!(
        "{INFO}<description> a &lt;b&gt; &amp;amp; &#xE5;&#229;\r\n<![CDATA[<c> &amp; ]]>d<!-- no -->e </description>"
    );
    let reading = with_info(&info);
    assert_eq!(reading.alert.infos[0].description.as_deref(), Some("a <b> &amp; åå\n<c> &amp; de"));
    assert_eq!(listed(&reading), [""; 0]);
}

#[test]
fn a_signature_is_noticed_and_no_problem() {
    let header =
        format!("{HEADER}<Signature xmlns='http://www.w3.org/2000/09/xmldsig#'><SignedInfo/></Signature>");
    let reading = with_header(&header);
    assert!(reading.has_signature);
    assert_eq!(listed(&reading), [""; 0]);
    assert!(!with_header(HEADER).has_signature);
}

#[test]
fn an_alert_may_have_no_info() {
    let cancel =
        HEADER.replace(">Alert<", ">Cancel<") + "<references>a@b,0,2025-01-01T00:00:00-00:00</references>";
    let reading = read(wrapped(&cancel).as_bytes()).unwrap();
    assert_eq!((listed(&reading), reading.alert.infos.len()), (vec![], 0));
    assert_eq!(listed(&read(wrapped(HEADER).as_bytes()).unwrap()), ["alert/info missing"]);
}

#[test]
fn problems_are_bounded() {
    let reading = with_area(&"<polygon/>".repeat(5_000));
    assert_eq!(reading.problems.len(), PROBLEMS_MAX);
    assert_eq!(
        reading.problems.last().map(|last| (last.rule, last.message.as_str())),
        Some((Rule::More, "4001 more problems are not listed"))
    );
}

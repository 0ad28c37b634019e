//! The kinds of messages that authorities issue, each with what people are told of it: the samples, and
//! others made after the issuers' profiles and public descriptions.

use super::*;
use crate::{Info, parts, read_all};

const ALERTSWISS: &str = include_str!("../../testdata/kde-alertswiss-5.xml");
const IRELAND: &str = include_str!("../../testdata/kde-ireland-smallcraft.xml");
const ISRAEL: &str = include_str!("../../testdata/kde-israel-he.xml");
const MACAO: &str = include_str!("../../testdata/kde-macao-monsoon.xml");
const NOAA: &str = include_str!("../../testdata/kde-noaa-bde6.xml");

/// What somebody of a language is told of each part of a document.
struct Heard {
    subject: String,
    mail: String,
    sms: String,
}

fn heard(document: &str, language: &str) -> Vec<Heard> {
    let mut all = Vec::new();
    for reading in read_all(document.as_bytes()).unwrap() {
        let alert = reading.alert;
        for part in parts(&alert) {
            let infos: Vec<&Info> = part.infos.iter().map(|&place| &alert.infos[place]).collect();
            let texts = told(&alert, &infos, false);
            let tags = texts.iter().map(|told| told.language.as_str());
            let tag = crate::language::look_up(language, tags.clone()).or(tags.clone().next()).unwrap();
            let told = texts.iter().find(|told| told.language == tag).unwrap();
            all.push(Heard {
                subject: told.headline.clone(),
                mail: told.text.clone(),
                sms: told.short.clone(),
            });
        }
    }
    all
}

/// A message as authorities write them; `header` and `infos` are what a kind has of its own.
fn message(header: &str, infos: &str) -> String {
    let kind = if header.contains("<msgType>") { "" } else { "<msgType>Alert</msgType>" };
    format!(
        "<alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\"><identifier>i</identifier><sender>s@x</sender>\
         <sent>2026-11-18T14:00:00+01:00</sent><status>Actual</status>{kind}<scope>Public</scope>{header}{infos}</alert>"
    )
}

fn info(language: &str, event: &str, rest: &str) -> String {
    let language =
        if language.is_empty() { String::new() } else { format!("<language>{language}</language>") };
    format!(
        "<info>{language}<category>Met</category><event>{event}</event><urgency>Immediate</urgency>\
         <severity>Severe</severity><certainty>Observed</certainty>{rest}</info>"
    )
}

const UNTIL: &str = "<expires>2026-11-18T18:00:00+01:00</expires>";
const CANCEL: &str = "<msgType>Cancel</msgType><references>s@x,i0,2026-11-18T13:00:00+01:00</references>";
const UPDATE: &str = "<msgType>Update</msgType><references>s@x,i0,2026-11-18T13:00:00+01:00</references>";

fn area(name: &str, shape: &str) -> String {
    format!("<area><areaDesc>{name}</areaDesc>{shape}</area>")
}

/// The kind, the document, the language of who hears it; then of each part the mail's subject, its text, and
/// the short message.
type Kind = (&'static str, String, &'static str, Vec<(&'static str, &'static str, &'static str)>);

fn check(kinds: Vec<Kind>) {
    for (kind, document, language, expected) in kinds {
        let heard = heard(&document, language);
        let found: Vec<(&str, &str, &str)> =
            heard.iter().map(|one| (one.subject.as_str(), one.mail.as_str(), one.sms.as_str())).collect();
        assert_eq!(found, expected, "{kind}");
    }
}

#[test]
fn warnings_of_weather_services_say_what_where_until_when_and_by_whom() {
    check(vec![
        (
            "a European service with EMMA codes: one info for each language, areas in words and codes",
            message(
                "",
                &(info(
                    "en-GB",
                    "Yellow wind warning",
                    &format!(
                        "{UNTIL}<senderName>KNMI</senderName><headline>Yellow Wind Warning for Zeeland</headline>\
                              <description>Gusts of 90 km/h.</description><instruction>Take care outside.</instruction>{}",
                        area(
                            "Zeeland",
                            "<geocode><valueName>EMMA_ID</valueName><value>NL002</value></geocode>"
                        )
                    ),
                ) + &info(
                    "nl-NL",
                    "Code geel wind",
                    &format!(
                        "{UNTIL}<senderName>KNMI</senderName><headline>Code geel voor wind in Zeeland</headline>\
                              <description>Windstoten van 90 km/u.</description>{}",
                        area(
                            "Zeeland",
                            "<geocode><valueName>EMMA_ID</valueName><value>NL002</value></geocode>"
                        )
                    ),
                )),
            ),
            "nl",
            vec![(
                "Code geel voor wind in Zeeland",
                "Windstoten van 90 km/u.\n\nZeeland\ntot 18:00\nKNMI",
                "Code geel voor wind in Zeeland. Windstoten van 90 km/u.\ntot 18:00, KNMI",
            )],
        ),
        (
            "an event without a headline, an end on another day, in UTC",
            message(
                "",
                &info(
                    "",
                    "GALE WARNING",
                    "<expires>2026-11-20T06:00:00-00:00</expires><description>NW 8.</description>",
                ),
            ),
            "en",
            vec![(
                "GALE WARNING",
                "NW 8.\n\nuntil 2026-11-20 06:00 UTC",
                "GALE WARNING. NW 8.\nuntil 2026-11-20 06:00 UTC",
            )],
        ),
    ]);
}

#[test]
fn other_scripts_have_fewer_letters_and_say_the_same() {
    check(vec![
        (
            "Cyrillic: seventy letters a part",
            message(
                "",
                &info(
                    "ru",
                    "Шторм",
                    &format!(
                        "{UNTIL}<headline>Штормовое предупреждение</headline><description>Ветер 25 м/с.</description>{}",
                        area("Мурманск", "")
                    ),
                ),
            ),
            "ru",
            vec![(
                "Штормовое предупреждение",
                "Ветер 25 м/с.\n\nМурманск\nдо 18:00",
                "Штормовое предупреждение. Ветер 25 м/с.\nМурманск, до 18:00",
            )],
        ),
        (
            "Japanese, in a script without spaces",
            message(
                "",
                &info(
                    "ja",
                    "気象特別警報・警報・注意報",
                    &format!(
                        "{UNTIL}<headline>大雨警報</headline><description>土砂災害に警戒してください。</description>"
                    ),
                ),
            ),
            "ja",
            vec![(
                "大雨警報",
                "土砂災害に警戒してください。\n\n18:00まで",
                "大雨警報. 土砂災害に警戒してください。\n18:00まで",
            )],
        ),
    ]);
}

#[test]
fn a_headline_that_says_nothing_is_helped_and_an_end_is_said_to_be_one() {
    let mowas = info(
        "de",
        "Gefahrendurchsage",
        "<headline>Entwarnung: Probealarm</headline><description>Die Warnung ist aufgehoben.</description>",
    ) + &info(
        "en",
        "Gefahrendurchsage",
        "<responseType>AllClear</responseType><headline>Alert</headline>\
                <description>The warning is lifted.</description><instruction>There is no danger.</instruction>",
    );
    check(vec![
        (
            "German civil protection: the English headline is one word, also of an all-clear",
            message("", &mowas),
            "en",
            vec![(
                "All clear: Alert: Gefahrendurchsage",
                "The warning is lifted.\n\nThere is no danger.",
                "All clear: Alert: Gefahrendurchsage. The warning is lifted. There is no danger.",
            )],
        ),
        (
            "the same in German says so by itself",
            message("", &mowas),
            "de",
            vec![(
                "Entwarnung: Probealarm",
                "Die Warnung ist aufgehoben.",
                "Entwarnung: Probealarm. Die Warnung ist aufgehoben.",
            )],
        ),
        (
            "a Cancel whose info is that of the alert",
            message(CANCEL, &info("sv", "Brand", "<headline>Brand i hall 2</headline>")),
            "sv",
            vec![("Inställt: Brand i hall 2", "Inställt: Brand i hall 2", "Inställt: Brand i hall 2")],
        ),
        (
            "an Update that says AllClear, in a language whose words nobody has",
            message(
                UPDATE,
                &info("tlh", "qul", "<responseType>AllClear</responseType><headline>qul Hegh law</headline>"),
            ),
            "tlh",
            vec![("All clear: qul Hegh law", "All clear: qul Hegh law", "All clear: qul Hegh law")],
        ),
        (
            "a weather service's bulletin without description and instruction",
            message(
                "",
                &info("es", "Lluvia", "<headline>Aviso amarillo</headline><senderName>AEMET</senderName>"),
            ),
            "es",
            vec![("Aviso amarillo", "Aviso amarillo\n\nAEMET", "Aviso amarillo\nAEMET")],
        ),
        (
            "no headline and no event: the first line of what is said",
            message("", &info("", "", "<description>Boil water.\nFor three days.</description>")),
            "en",
            vec![("Boil water.", "Boil water.\nFor three days.", "Boil water. For three days.")],
        ),
    ]);
}

#[test]
fn an_issuers_own_text_for_phones_is_what_phones_get() {
    let ipaws = "<headline>Flash Flood Warning issued November 18</headline><description>Long.</description>\
                 <parameter><valueName>CMAMlongtext</valueName><value>National Weather Service: a much longer text.</value></parameter>\
                 <parameter><valueName>CMAMtext</valueName><value>Flash flood. Go to higher ground now.</value></parameter>";
    check(vec![
        (
            "IPAWS: the issuer's own text for phones",
            message("", &info("en-US", "Flash Flood Warning", ipaws)),
            "en",
            vec![(
                "Flash Flood Warning issued November 18",
                "Long.",
                "Flash flood. Go to higher ground now.",
            )],
        ),
        (
            "IPAWS: it is cancelled, and the text for phones is still that of the alert",
            message(CANCEL, &info("en-US", "Flash Flood Warning", ipaws)),
            "en",
            vec![(
                "Cancelled: Flash Flood Warning issued November 18",
                "Long.",
                "Cancelled: Flash Flood Warning issued November 18. Flash flood. Go to higher ground now.",
            )],
        ),
    ]);
}

#[test]
fn html_and_line_ends_are_not_read_to_people() {
    check(vec![
        (
            "HTML in a description, its entities escaped twice",
            message(
                "",
                &info(
                    "en",
                    "Test",
                    "<headline>All-clear for &amp;quot;Probealarm&amp;quot;</headline>\
                    <description>Passable again.&lt;br/&gt;&lt;br/&gt;See &lt;a href=\"https://x.example/\"&gt;here&lt;/a&gt;.</description>",
                ),
            ),
            "en",
            vec![(
                "All-clear for \"Probealarm\"",
                "Passable again.\n\nSee here (https://x.example/).",
                "All-clear for \"Probealarm\". Passable again. See here (https://x.example/).",
            )],
        ),
        (
            "CAP-AU: line ends within every element",
            message(
                "<code>\nurn:oasis:names:tc:emergency:cap:1.2:profile:CAP-AU:1.0\n</code>",
                &info(
                    "en-AU",
                    "\nBushfire\n",
                    "<headline>\nWatch and Act:\r\nGlen Road\n</headline><description>\nLeave now.\n</description>",
                ),
            ),
            "en",
            vec![("Watch and Act: Glen Road", "Leave now.", "Watch and Act: Glen Road. Leave now.")],
        ),
        (
            "CAP-CP: two languages, parameters of layers, infos of one language each",
            message(
                "<code>profile:CAP-CP:0.4</code>",
                &(info("en-CA", "snowfall", "<headline>snowfall warning in effect</headline>")
                    + &info(
                        "fr-CA",
                        "neige",
                        "<headline>avertissement de chute de neige en vigueur</headline>",
                    )),
            ),
            "fr",
            vec![(
                "avertissement de chute de neige en vigueur",
                "avertissement de chute de neige en vigueur",
                "avertissement de chute de neige en vigueur",
            )],
        ),
    ]);
}

#[test]
fn infos_for_areas_of_their_own_and_alerts_of_an_envelope_are_told_apart() {
    let (north, south) =
        (area("North", "<circle>59,18 3</circle>"), area("South", "<circle>61,18 3</circle>"));
    let two = info("en", "Gas", &format!("<headline>Evacuate now</headline>{north}"))
        + &info("en", "Gas", &format!("<headline>Stay inside</headline>{south}"));
    let bare = message("", &info("en", "Fire", "<headline>Bushfire 1</headline>"));
    let envelope = format!(
        "<EDXLDistribution xmlns=\"urn:oasis:names:tc:emergency:EDXL:DE:1.0\">{bare}{}</EDXLDistribution>",
        bare.replace("Bushfire 1", "Bushfire 2")
    );
    check(vec![
        (
            "two infos of one language for two areas",
            message("", &two),
            "en",
            vec![
                ("Evacuate now", "Evacuate now\n\nNorth", "Evacuate now\nNorth"),
                ("Stay inside", "Stay inside\n\nSouth", "Stay inside\nSouth"),
            ],
        ),
        (
            "EDXL-DE with two alerts",
            envelope,
            "en",
            vec![("Bushfire 1", "Bushfire 1", "Bushfire 1"), ("Bushfire 2", "Bushfire 2", "Bushfire 2")],
        ),
        (
            "CAP 1.0 without a language, with codes in its old form",
            message("", &info("", "Earthquake", "<headline>EQ 3.4 Imperial County</headline><area><areaDesc>Imperial</areaDesc><geocode>fips6=006025</geocode></area>"))
                .replace("urn:oasis:names:tc:emergency:cap:1.2", "http://www.incident.com/cap/1.0"),
            "en",
            vec![("EQ 3.4 Imperial County", "EQ 3.4 Imperial County", "EQ 3.4 Imperial County")],
        ),
    ]);
    let alert = &read_all(message("", &two).as_bytes()).unwrap()[0].alert;
    let told = told(alert, &alert.infos.iter().collect::<Vec<_>>(), true);
    assert_eq!(told[0].short, "North: Evacuate now\nSouth: Stay inside", "who is named otherwise hears both");
}

#[test]
fn the_samples_are_told_in_their_languages_without_a_tag_or_a_loose_line_end() {
    for (name, document, language, subject, in_sms) in [
        ("Alertswiss", ALERTSWISS, "en", "Landslide", "Make a large detour"),
        ("Met Éireann", IRELAND, "en", "Small Craft warning from Fair Head", "Met Éireann"),
        ("IMS Israel", ISRAEL, "he", "שטפונות בזק", "שטפונות בזק"),
        ("SMG Macao", MACAO, "zh-MO", "強烈季候風", "強烈季候風"),
        ("SMG Macao", MACAO, "pt", "O sinal de ventos fortes", "O sinal de ventos fortes"),
        ("NOAA", NOAA, "en", "Special Weather Statement", "Special Weather Statement"),
    ] {
        let heard = heard(document, language);
        assert_eq!(heard.len(), 1, "{name}");
        let Heard { subject: found, mail, sms } = &heard[0];
        assert!(found.starts_with(subject) && !found.contains('\n'), "{name}: {found}");
        assert!(sms.contains(in_sms), "{name}: {sms}");
        for text in [found, mail, sms] {
            assert!(
                !text.contains("<br") && !text.contains("&quot;") && !text.contains('\r'),
                "{name}: {text}"
            );
        }
        let alone = letters::parts(&plain_line(found));
        assert!(letters::parts(sms) <= alone.max(PARTS_MAX), "{name}: {sms}");
    }
}

#[test]
fn a_short_message_takes_whole_sentences_as_far_as_two_parts_have_room() {
    let long = "Water rises. ".repeat(30);
    let text = short(
        "Flood in the valley",
        &long,
        "Go uphill.",
        &Ends { area: "Valley".into(), until: String::new(), sender: "City".into() },
    );
    assert!(text.starts_with("Flood in the valley. Go uphill. Water rises."), "{text}");
    assert!(letters::parts(&text) <= 2 && !text.contains('…'), "{text}");
    let endless = "water and more water ".repeat(30);
    let text = short(
        "Flood",
        "",
        &endless,
        &Ends { area: String::new(), until: String::new(), sender: String::new() },
    );
    assert!(
        text.starts_with("Flood. water and more") && text.ends_with('…') && letters::parts(&text) == 2,
        "{text}"
    );
    let headline = "x".repeat(400);
    let none = Ends { area: "Valley".into(), until: String::new(), sender: String::new() };
    assert!(short(&headline, "More.", "Much more.", &none).starts_with(&headline));
}

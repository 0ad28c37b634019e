//! The published table of message sizes beside ours: one audience submitted as a list of endpoints, plain and
//! compressed, and as a group.

use super::{HttpOptions, check_one, open, submission};
use crate::deployment::{Api, fdatasync_p50_us};
use crate::measured::{Measured, percentile, shown};
use crate::published::{self, MessageSize};
use async_compression::tokio::write::{GzipEncoder, ZstdEncoder};
use plot::Curve;
use records::Recipient;
use sim::town::{Town, ndjson_line};
use std::io;
use std::time::Instant;
use tokio::io::AsyncWriteExt;

/// The town's seed.
const SEED: u64 = 1;
/// Submissions of a row, and where their sizes stand in a measurement.
const FORMS: [&str; 4] = ["octets_listed", "octets_gzip", "octets_zstd", "octets_group"];

/// One body as it goes over the wire.
struct Submission {
    encoding: Option<&'static str>,
    body: Vec<u8>,
}

/// Measures the table against a server of its own, whose people are imported first. Of `options` the program,
/// the folder and when an append is done are taken.
///
/// # Errors
/// What did not work, in words.
pub(crate) async fn run(options: &HttpOptions) -> Result<Vec<Measured>, String> {
    let deployment = open(&HttpOptions { channel: channels::MAIL, ..options.clone() }).await?;
    let (api, table) = (deployment.server.api()?, published::message_sizes());
    let people = people(&table);
    import(&api, &people).await?;
    let mut measured = Vec::new();
    for row in table {
        let fdatasync_us =
            fdatasync_p50_us(deployment.folder()).map_err(|error| format!("fdatasync: {error}"))?;
        let audience = people.iter().take(row.endpoints as usize).map(address).collect();
        let mut one = measure(&api, row, audience).await?.with("fsync", options.fsync.as_str());
        one.peak_rss_mb = Some(deployment.usage().0.peak_rss as f64 / 1e6);
        one.fdatasync_p50_us = Some(fdatasync_us);
        measured.push(one);
    }
    Ok(measured)
}

/// As many as the largest row asks for; each is in the group of every row that reaches so far.
fn people(table: &[MessageSize]) -> Vec<Recipient> {
    let most = table.iter().map(|row| row.endpoints).max().unwrap_or(0);
    let town = Town::plain(SEED, most, &[channels::MAIL]);
    let grouped = |(index, person)| {
        let groups = table.iter().filter(|row| index < row.endpoints).map(|row| group(row.endpoints));
        Recipient { groups: groups.collect(), ..person }
    };
    (0..).zip(town.people()).map(grouped).collect()
}

fn group(endpoints: u64) -> String {
    format!("first-{endpoints}")
}

/// As an audience names it.
fn address(person: &Recipient) -> String {
    let address = person.devices.first().map_or("", |device| &device.address);
    format!("{}:{address}", channels::name(channels::MAIL))
}

async fn import(api: &Api, people: &[Recipient]) -> Result<(), String> {
    let mut lines = Vec::new();
    people.iter().for_each(|person| ndjson_line(person, &mut lines));
    let answer = api.post("/api/v1/recipients:import", "application/x-ndjson", lines, 200).await?;
    if answer["imported"].as_u64() != Some(people.len() as u64) {
        return Err(format!("{} people were sent, the import says {answer}", people.len()));
    }
    Ok(())
}

/// Submits one audience in each form; the report of each must come to all its endpoints.
async fn measure(api: &Api, row: MessageSize, audience: Vec<String>) -> Result<Measured, String> {
    let submissions = submissions(audience, row.endpoints).await.map_err(|error| error.to_string())?;
    let mut measured = Measured::new("http-paper-sizes")
        .with("endpoints", row.endpoints)
        .and("octets_published", row.octets);
    let (mut times, mut ids, mut seconds) = (Vec::new(), Vec::new(), 0.0);
    for (form, Submission { encoding, body }) in FORMS.into_iter().zip(submissions) {
        measured = measured.and(form, body.len());
        let asked = Instant::now();
        ids.push(api.submit_encoded(body, encoding).await?);
        seconds += asked.elapsed().as_secs_f64();
        times.push(asked.elapsed().as_micros() as u64);
    }
    for id in &ids {
        measured.errors += check_one(api, id, row.endpoints).await?;
    }
    times.sort_unstable();
    measured.rate_per_s = ids.len() as f64 / f64::max(seconds, 1e-6);
    (measured.p50_us, measured.p99_us) = (percentile(&times, 0.5), percentile(&times, 0.99));
    let smaller = |form: &str| measured.number(form).map(|octets| row.octets as f64 / octets);
    let (listed, group) = (smaller("octets_listed"), smaller("octets_group"));
    Ok(measured.and("times_smaller", listed).and("times_smaller_group", group))
}

/// In the order of [`FORMS`].
async fn submissions(audience: Vec<String>, endpoints: u64) -> io::Result<[Submission; 4]> {
    let listed = submission(&audience, channels::MAIL).into_bytes();
    let group = submission(&[format!("group:{}", group(endpoints))], channels::MAIL).into_bytes();
    let mut gzip = GzipEncoder::new(Vec::new());
    gzip.write_all(&listed).await?;
    gzip.shutdown().await?;
    let mut zstd = ZstdEncoder::new(Vec::new());
    zstd.write_all(&listed).await?;
    zstd.shutdown().await?;
    Ok([
        Submission { encoding: None, body: listed },
        Submission { encoding: Some("gzip"), body: gzip.into_inner() },
        Submission { encoding: Some("zstd"), body: zstd.into_inner() },
        Submission { encoding: None, body: group },
    ])
}

/// The rows of a table for people.
pub(crate) fn rows(measured: &[Measured]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let head = vec![
        "endpoints",
        "published",
        "listed",
        "gzip",
        "zstd",
        "as a group",
        "listed, times smaller",
        "group, times smaller",
        "errors",
    ];
    let rows = measured.iter().map(|m| {
        let octets = |name: &str| m.number(name).map_or("-".to_owned(), |octets| format!("{octets:.0}"));
        let times = |name: &str| m.number(name).map_or("-".to_owned(), shown);
        let mut row = vec![m.params["endpoints"].to_string(), octets("octets_published")];
        row.extend(FORMS.map(octets));
        row.extend([times("times_smaller"), times("times_smaller_group"), m.errors.to_string()]);
        row
    });
    (head, rows.collect())
}

/// Octets against endpoints, a curve for each form.
pub(crate) fn curves(measured: &[Measured]) -> Vec<Curve> {
    let named = [
        ("published", "octets_published"),
        ("listed", FORMS[0]),
        ("gzip", FORMS[1]),
        ("zstd", FORMS[2]),
        ("as a group", FORMS[3]),
    ];
    let points = |field| {
        let point = |m: &Measured| Some((m.number("endpoints")?, m.number(field)?));
        measured.iter().filter_map(point).collect()
    };
    named.into_iter().map(|(name, field)| Curve { name: name.to_owned(), points: points(field) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_compression::tokio::bufread::{GzipDecoder, ZstdDecoder};
    use serde_json::{Value, json};
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn all_forms_of_a_submission_name_the_same_people() {
        let table = published::message_sizes();
        let people = people(&table);
        for row in table {
            let members: Vec<String> = people
                .iter()
                .filter(|person| person.groups.contains(&group(row.endpoints)))
                .map(address)
                .collect();
            assert_eq!(members.len() as u64, row.endpoints);
            let [plain, gzip, zstd, group] = submissions(members.clone(), row.endpoints).await.unwrap();
            let listed: Value = serde_json::from_slice(&plain.body).unwrap();
            assert_eq!(listed["audience"], json!(members));
            let named: Value = serde_json::from_slice(&group.body).unwrap();
            assert_eq!(named["audience"], json!([format!("group:first-{}", row.endpoints)]));
            let (mut unzipped, mut unpacked) = (Vec::new(), Vec::new());
            GzipDecoder::new(&gzip.body[..]).read_to_end(&mut unzipped).await.unwrap();
            ZstdDecoder::new(&zstd.body[..]).read_to_end(&mut unpacked).await.unwrap();
            assert!(unzipped == plain.body && unpacked == plain.body);
            assert_eq!((gzip.encoding, zstd.encoding), (Some("gzip"), Some("zstd")));
        }
    }

    #[test]
    fn the_table_has_a_column_for_each_form_beside_the_published_one() {
        let mut measured =
            Measured::new("http-paper-sizes").with("endpoints", 32).and("octets_published", 49_362);
        for (form, octets) in FORMS.into_iter().zip([1_300, 500, 490, 120]) {
            measured = measured.and(form, octets);
        }
        let measured = measured.and("times_smaller", 37.97).and("times_smaller_group", 411.35);
        let (head, rows) = rows(std::slice::from_ref(&measured));
        assert_eq!(rows, [["32", "49362", "1300", "500", "490", "120", "38.0", "411", "0"]]);
        assert_eq!(head.len(), rows[0].len());
        let curves = curves(&[measured]);
        assert_eq!((curves.len(), curves[4].points[0]), (5, (32.0, 120.0)));
    }
}

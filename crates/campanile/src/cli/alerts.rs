//! `campanile alert` and `campanile forecast`.

use super::args::{Forecast, ListAlerts, One, ReportCommand, ReportFormat, Send};
use super::client::{ApiClient, segment};
use super::report::{Style, picture, span};
use super::watch::{Screen, follow};
use super::{Failure, Outcome, print, table};
use reqwest::Method;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{self, BufWriter};
use std::time::SystemTime;

pub(super) async fn send(send: Box<Send>) -> Outcome {
    let client = ApiClient::new(&send.server)?;
    let mut body = send.alert.request(SystemTime::now())?;
    if !send.attach.is_empty() {
        body["attachments"] = super::attach::upload(&client, &send.attach).await?;
    }
    let path = if send.sync { "/api/v1/alerts?mode=sync" } else { "/api/v1/alerts" };
    let mut request = client.request(Method::POST, path).json(&body);
    if let Some(key) = &send.idempotency_key {
        request = request.header("Idempotency-Key", key);
    }
    let answer = client.json(request).await?;
    let id =
        answer["id"].as_str().ok_or_else(|| Failure::Failed(format!("the server gave no id: {answer}")))?;
    let json = send.format.is_json();
    if json {
        print(&format!("{answer}\n"))?;
    } else {
        let endpoints =
            answer["endpoints"].as_u64().map(|count| format!(", {count} endpoints")).unwrap_or_default();
        print(&format!("alert {id} {}{endpoints}\n", answer["state"].as_str().unwrap_or("accepted")))?;
        warn(&answer["problems"]);
    }
    if !send.watch {
        return Ok(());
    }
    follow(&client, id, if json { Screen::Json } else { Screen::new() }).await
}

/// What is odd and did not stop it.
fn warn(problems: &Value) {
    for problem in problems.as_array().into_iter().flatten() {
        let text = |key: &str| table::one_line(problem[key].as_str().unwrap_or_default());
        eprintln!("campanile: {}: {}", text("field"), text("reason"));
    }
}

pub(super) async fn list(list: ListAlerts) -> Outcome {
    let client = ApiClient::new(&list.server)?;
    let items = client.list("/api/v1/alerts", None, list.limit.limit).await?;
    if list.format.is_json() {
        return items.iter().try_for_each(|alert| print(&format!("{alert}\n")));
    }
    let keys = ["id", "state", "created", "priority", "mode", "headline"];
    let row = |alert: &Value| keys.map(|key| alert[key].as_str().unwrap_or_default().to_owned());
    print(&table::columns(keys, items.iter().map(row)))
}

pub(super) async fn show(one: One) -> Outcome {
    let alert = ApiClient::new(&one.server)?.get(&path(&one.id)).await?;
    if one.format.is_json() {
        return print(&format!("{alert}\n"));
    }
    let mut out = String::new();
    members(&mut out, &alert, "");
    print(&out)
}

/// Every member a line, those within indented; what is empty is passed over.
fn members(out: &mut String, value: &Value, indent: &str) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let words = match value {
            Value::Null => continue,
            Value::Object(within) if !within.is_empty() => {
                let _ = writeln!(out, "{indent}{key}");
                members(out, value, &format!("{indent}  "));
                continue;
            }
            Value::Object(_) => continue,
            Value::String(text) if text.is_empty() => continue,
            Value::String(text) => table::one_line(text),
            Value::Array(items) if items.is_empty() => continue,
            Value::Array(items) => {
                let words =
                    items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned));
                table::one_line(&words.collect::<Vec<_>>().join(", "))
            }
            other => other.to_string(),
        };
        let _ = writeln!(out, "{indent}{key:<18} {words}");
    }
}

pub(super) async fn steer(one: One, verb: &'static str) -> Outcome {
    let alert = ApiClient::new(&one.server)?.post(&format!("{}:{verb}", path(&one.id)), None).await?;
    if one.format.is_json() {
        return print(&format!("{alert}\n"));
    }
    print(&format!("alert {} is {}\n", one.id, alert["state"].as_str().unwrap_or("changed")))
}

pub(super) async fn report(report: ReportCommand) -> Outcome {
    let client = ApiClient::new(&report.server)?;
    let path = format!("{}/report", path(&report.id));
    let accept = match report.format {
        ReportFormat::Table => return print(&picture(&client.get(&path).await?, Style::PLAIN)),
        ReportFormat::Csv => "text/csv",
        ReportFormat::Json => "application/json",
        ReportFormat::Xml => "application/xml",
    };
    client.copy(&path, accept, &mut BufWriter::new(io::stdout().lock())).await?;
    if report.format == ReportFormat::Csv { Ok(()) } else { print("\n") }
}

pub(super) async fn forecast(forecast: Box<Forecast>) -> Outcome {
    let client = ApiClient::new(&forecast.server)?;
    let body = forecast.alert.request(SystemTime::now())?;
    let answer = client.post("/api/v1/alerts:forecast", Some(&body)).await?;
    if forecast.format.is_json() {
        return print(&format!("{answer}\n"));
    }
    print(&forecast_text(&answer))?;
    warn(&answer["problems"]);
    Ok(())
}

fn forecast_text(forecast: &Value) -> String {
    let number = |value: &Value, key: &str| value[key].as_u64().unwrap_or(0);
    let seconds = |value: &Value| span(value["seconds"].as_f64().unwrap_or(0.0));
    let mut out = format!(
        "{} recipients, {} endpoints; the last is with its carrier after {}; cost {}\n",
        number(forecast, "recipients"),
        number(forecast, "endpoints"),
        seconds(forecast),
        forecast["cost"]
    );
    if let Some(half) = forecast["p50"].as_f64() {
        let rest = ["p95", "p99"].map(|key| forecast[key].as_f64().map_or("never".to_owned(), span));
        let people = number(forecast, "people");
        let [most, last] = rest;
        let _ = writeln!(
            out,
            "of {people} people half are handed over after {}, 95 of 100 after {most}, 99 after {last}",
            span(half)
        );
    }
    let counted = |title: &str, count: &str, members: &Value| {
        let rows =
            members.as_object().into_iter().flatten().map(|(name, count)| [name.clone(), count.to_string()]);
        let rows: Vec<_> = rows.collect();
        if rows.is_empty() { String::new() } else { format!("\n{}", table::columns([title, count], rows)) }
    };
    out.push_str(&counted("channel", "#endpoints", &forecast["channels"]));
    let routes = forecast["routes"].as_object().into_iter().flatten().map(|(name, route)| {
        let of = |key: &str| number(route, key).to_string();
        [name.clone(), of("endpoints"), of("units"), seconds(route), route["cost"].to_string()]
    });
    let routes: Vec<_> = routes.collect();
    if !routes.is_empty() {
        let header = ["route", "#endpoints", "#parts", "#time", "#cost"];
        let _ = write!(out, "\n{}", table::columns(header, routes));
    }
    out.push_str(&kinds(&forecast["devices"]));
    out.push_str(&counted("left out", "#endpoints", &forecast["excluded"]));
    out.push_str(&counted("without a value for", "#people", &forecast["missing_values"]));
    out
}

/// What each kind of device gets, where there are several.
fn kinds(devices: &Value) -> String {
    /// Letters of a text in the table.
    const TEXT_CHARS_MAX: usize = 60;
    let Some(devices) = devices.as_array().filter(|devices| devices.len() > 1) else { return String::new() };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rows = devices.iter().map(|device| {
        let members = device["profile"].as_object().into_iter().flatten();
        let profile: Vec<String> =
            members.map(|(name, value)| format!("{name} {}", value.to_string().trim_matches('"'))).collect();
        let said = text(if device["problem"].is_null() { &device["text"] } else { &device["problem"] });
        let line: Vec<&str> = said.split_whitespace().collect();
        let mut said: String = line.join(" ");
        if let Some((end, _)) = said.char_indices().nth(TEXT_CHARS_MAX) {
            said.replace_range(end.., "…");
        }
        let number = |name: &str| device[name].as_u64().unwrap_or(0).to_string();
        let kind = [text(&device["channel"]), text(&device["language"]), profile.join(", ")];
        let [channel, language, profile] = kind;
        [channel, language, profile, number("devices"), number("letters"), number("parts"), said]
    });
    let header = ["channel", "language", "profile", "#devices", "#letters", "#parts", "text"];
    format!("\n{}", table::columns(header, rows.collect::<Vec<_>>()))
}

fn path(id: &str) -> String {
    format!("/api/v1/alerts/{}", segment(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_forecast_says_who_which_way_how_long_and_what_cost() {
        let forecast = json!({
            "recipients": 3, "endpoints": 4, "seconds": 12.2, "cost": 40,
            "people": 3, "p50": 6.0, "p95": 12.0, "p99": null,
            "channels": {"sms": 3, "mail": 1}, "excluded": {"opted out": 2}, "missing_values": {"ward": 7},
            "routes": {"carrier-1": {"endpoints": 3, "units": 6, "seconds": 12.2, "cost": 40}}, "problems": [],
            "devices": [
                {"channel": "sms", "devices": 2, "text": "Leave\nnow", "letters": 9, "parts": 2},
                {"channel": "sms", "profile": {"length": 20, "links": false}, "devices": 1, "problem": "none", "letters": 0, "parts": 0},
            ],
        });
        let text = forecast_text(&forecast);
        for words in [
            "3 recipients, 4 endpoints; the last is with its carrier after 12 s; cost 40\n",
            "of 3 people half are handed over after 6.0 s, 95 of 100 after 12 s, 99 after never\n",
            "channel  endpoints\nmail             1\nsms              3\n",
            "route      endpoints  parts  time  cost\ncarrier-1          3      6  12 s    40\n",
            "channel  language  profile                 devices  letters  parts  text\n",
            "sms                                              2        9      2  Leave now\n",
            "sms                length 20, links false        1        0      0  none\n",
            "left out   endpoints\nopted out          2\n",
            "without a value for  people\nward                      7\n",
        ] {
            assert!(text.contains(words), "{words:?} is not in\n{text}");
        }
    }

    #[test]
    fn an_alert_is_shown_member_by_member_and_what_is_empty_is_passed_over() {
        let alert = json!({"id": "a", "note": "", "request": {"audience": ["all", {"to": "x"}], "exclude": [], "flash": false}});
        let mut out = String::new();
        members(&mut out, &alert, "");
        assert_eq!(
            out,
            "id                 a\nrequest\n  audience           all, {\"to\":\"x\"}\n  flash              false\n"
        );
    }
}

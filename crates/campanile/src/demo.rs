//! `campanile demo`: a simulated town and its carriers, one alert, its report. Everything is real but the
//! town: the people come in by the HTTP API, messages go out over SMPP and SMTP to listeners of the
//! simulator.

mod carriers;
pub mod charging;
mod picture;
mod stage;
mod town;

use crate::server::RunningServer;
use carriers::RunningCarriers;
use records::ChannelNumber;
use serde_json::{Value, json};
use sim::town::{Expected, Form, Town};
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The demo's town is the same each time.
const SEED: u64 = 1;
/// How often the picture is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(200);
/// People answer for some seconds after the last message; the demo waits no longer than this for the last of
/// them.
const PATIENCE: Duration = Duration::from_secs(120);
/// Deliveries read in one page.
const PAGE: usize = 1_000;

/// What the command line says.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// People in the town.
    pub recipients: u64,
    /// End after the report.
    pub exit: bool,
    /// Where the HTTP door listens.
    pub listen: std::net::SocketAddr,
}

/// Runs the demo; true if every recipient is accounted for.
pub async fn run(options: DemoOptions) -> Result<bool, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let town = town::town(options.recipients);
    let share = if options.exit { 1.0 } else { town::watched_share(options.recipients) };
    let mut setup = town::setup(&town, folder.path(), options.listen, share)?;
    if !options.exit {
        setup.routes.extend(town::drill_routes(&town));
    }
    let channels = setup.routes.iter().map(|way| (way.route.name.clone(), way.route.channel));
    let channels: BTreeMap<String, ChannelNumber> = channels.collect();
    let mut server = RunningServer::open(setup, None).await?;
    let carriers = RunningCarriers::new(server.simulators(), |name| channels.get(name).copied());
    server.show_demo(Arc::new(carriers));
    // The demo says its token itself.
    server.ensure_admin_token(|_| Ok(())).await?;
    let result = show(&server, &town, &options).await;
    if result.is_ok() && !options.exit {
        println!("Everything stays up until you press Ctrl-C.");
        let _ = tokio::signal::ctrl_c().await;
    }
    server.close().await;
    result
}

async fn show(server: &RunningServer, town: &Town, options: &DemoOptions) -> Result<bool, String> {
    let address = server.http().ok_or("the HTTP door is not open")?;
    let token = server.admin_token.clone().ok_or("there is no token")?;
    let api = DemoApi { url: format!("http://{address}"), token, client: client()? };
    println!("campanile demo: a town of {} people, simulated carriers on real ports.\n", options.recipients);
    for (route, carrier) in server.simulators().each() {
        println!("  route {route:<9} simulated, listens on {}", carrier.address());
    }
    let imported = import(&api, town).await?;
    println!("\n  {imported} people imported.");
    if !options.exit {
        stage::prepare(&api).await?;
    }
    let expected = town.expected(Form::Ndjson);
    let id = submit(&api).await?;
    println!("  alert {id} accepted: \"{}\"", town::HEADLINE);
    if !options.exit {
        say_where(&api, &id);
        let links = stage::links(&api, server).await?;
        println!(
            "  Open this in your browser: it signs you in as the Demo operator, once, within 10 minutes,"
        );
        println!("  on this machine. The page goes on from there.");
        println!("    {}", links.operator);
        println!("  And this one in a private window, to approve as a second person:");
        println!("    {}\n", links.approver);
    }
    let report = follow(&api, &id, &expected).await?;
    println!("{}", picture::report(&report));
    let complete = account(&api, &id, town, &expected, &report).await?;
    if !options.exit {
        println!("\n  Look at it:  {}{}/{id}", api.url, alert_pages());
        println!("  Or:          export CAMPANILE_URL={} CAMPANILE_TOKEN={}", api.url, api.token);
        println!("               campanile alert report {id} --format csv\n");
    }
    Ok(complete)
}

/// What takes a token: programs, and the pages without scripts. The console is signed in to by a link.
fn say_where(api: &DemoApi, id: &str) {
    match console_files::embedded() {
        true => println!("\n  For programs: {}/api/v1 with the token {}\n", api.url, api.token),
        false => println!(
            "\n  Watch it in a browser: {}{}/{id}\n  with the token {}\n",
            api.url,
            alert_pages(),
            api.token
        ),
    }
}

/// Where people look at alerts: in the console, if the program has one.
fn alert_pages() -> &'static str {
    if console_files::embedded() { "/alerts" } else { "/plain/alerts" }
}

/// Asks this machine: no proxy of the environment is.
fn client() -> Result<reqwest::Client, String> {
    reqwest::Client::builder().no_proxy().build().map_err(|error| format!("no HTTP client: {error}"))
}

/// The HTTP API, as any client uses it.
struct DemoApi {
    url: String,
    token: String,
    client: reqwest::Client,
}

impl DemoApi {
    async fn get(&self, path: &str) -> Result<Value, String> {
        self.send(self.client.get(format!("{}{path}", self.url))).await
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.send(self.client.post(format!("{}{path}", self.url)).json(body)).await
    }

    async fn patch(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.send(self.client.patch(format!("{}{path}", self.url)).json(body)).await
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<Value, String> {
        let answer = request.bearer_auth(&self.token).send().await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let body: Value = answer.json().await.map_err(|error| error.to_string())?;
        if status.is_success() { Ok(body) } else { Err(format!("{status}: {body}")) }
    }
}

async fn import(api: &DemoApi, town: &Town) -> Result<u64, String> {
    for group in Town::groups() {
        let body = serde_json::to_value(&group).map_err(|error| error.to_string())?;
        api.post("/api/v1/groups", &body).await?;
    }
    let mut people = Vec::new();
    sim::town::write_ndjson(town, &mut people).map_err(|error| error.to_string())?;
    let request = api
        .client
        .post(format!("{}/api/v1/recipients:import", api.url))
        .header("content-type", "application/x-ndjson")
        .body(people);
    let answer = api.send(request).await?;
    answer["imported"].as_u64().ok_or_else(|| format!("unexpected answer to the import: {answer}"))
}

async fn submit(api: &DemoApi) -> Result<String, String> {
    let answer = api.post("/api/v1/alerts", &town::alert()).await?;
    answer["id"]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| format!("unexpected answer to the alert: {answer}"))
}

/// Draws until everybody is accounted for as the town knows it, or patience ends.
async fn follow(api: &DemoApi, id: &str, expected: &Expected) -> Result<Value, String> {
    let begun = Instant::now();
    let mut picture = picture::Picture::new(std::io::stdout().is_terminal());
    loop {
        let report = api.get(&format!("/api/v1/alerts/{id}/report")).await?;
        picture.draw(&report, begun.elapsed());
        let settled =
            report["state"] == "done" && town::counts(expected) == town::reported(&report["counts"]);
        if settled || begun.elapsed() > PATIENCE {
            picture.finish();
            return Ok(report);
        }
        tokio::time::sleep(DRAW_EVERY).await;
    }
}

/// Is every person of the town in the list of deliveries, and every count what the town says it must be?
async fn account(
    api: &DemoApi,
    id: &str,
    town: &Town,
    expected: &Expected,
    report: &Value,
) -> Result<bool, String> {
    let mut seen = BTreeSet::new();
    let mut cursor = String::new();
    loop {
        let page = api.get(&format!("/api/v1/alerts/{id}/deliveries?limit={PAGE}{cursor}")).await?;
        let people = page["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|delivery| delivery["recipients"].as_array());
        seen.extend(people.flatten().filter_map(|person| person["id"].as_str().map(str::to_owned)));
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let missing = town.people().filter(|person| !seen.contains(&person.id)).count();
    let (wanted, told) = (town::counts(expected), town::reported(&report["counts"]));
    let complete = missing == 0 && wanted == told;
    if complete {
        println!(
            "  Every one of the {} people is accounted for, and every count equals the town's own.",
            seen.len()
        );
    } else {
        println!(
            "  NOT accounted for: {missing} people missing; the town counts {wanted:?}, the report {told:?}"
        );
    }
    Ok(complete)
}

/// What the demo's own alert asks.
pub fn choices() -> Value {
    json!([{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need help", "needs_help": true}])
}

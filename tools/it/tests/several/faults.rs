//! Faults of the servers of others, NATS and PostgreSQL: each is said with the server, the problem and the
//! remedy, `GET /readyz` tells it, and all goes on when it is over.

use super::AT_LAST;
use it::{Server, Setup, eventually, free_port};
use reqwest::Method;
use serde_json::Value;
use servers::nats::{self, NatsServer};
use servers::postgres::PostgresServer;
use std::time::Duration;
use tokio::task::block_in_place;

const PREFIX: &str = "faults";

fn config(store: &str, bus: &str, more: &str) -> Setup {
    let config = format!(
        "[node]\nname = \"a\"\nlease = \"5s\"\n[store]\nurl = \"{store}\"\n[bus]\nurl = \"{bus}\"\nprefix = \"{PREFIX}\"\n{more}\n"
    );
    Setup { config, ..Setup::default() }
}

/// What is wrong, `[store] url`, `[bus] url`, more keys of `[bus]`, what is said, whether the process ends.
type Case<'a> = (&'a str, &'a str, &'a str, &'a str, &'a [&'a str], bool);

/// What a process says and does that starts so.
async fn starts(what: &str, setup: Setup, parts: &[&str], ends: bool) {
    let mut server = Server::spawned(setup);
    let log = eventually(what, AT_LAST, async || {
        let log = server.log();
        if parts.iter().all(|part| log.contains(part)) { Ok(log) } else { Err(log) }
    })
    .await;
    assert!(!log.contains(":secret"), "{what}: {log}");
    if ends {
        assert!(!server.ends().await.success(), "{what}");
    } else {
        assert!(server.is_alive(), "{what}: it is tried again: {log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_start_without_a_server_says_which_and_why_and_what_to_do() {
    let postgres = block_in_place(PostgresServer::start);
    let nats = block_in_place(NatsServer::start);
    let closed = block_in_place(|| {
        NatsServer::start_with(&nats::program(), "authorization { user: u, password: right }\n")
    });
    let (store, bus) = (block_in_place(|| postgres.create_database()), nats.url());
    let absent = postgres.url("absent");
    let nobody = store.replace("campanile@", "nobody:secret@");
    let no_port = free_port();
    let away = format!("postgres://u:secret@127.0.0.1:{no_port}/d");
    let nats_away = format!("nats://u:secret@127.0.0.1:{no_port}");
    let wrong = closed.url().replace("nats://", "nats://u:secret@");
    let at_postgres = format!("PostgreSQL at 127.0.0.1:{}", postgres.port());
    let at_nats = format!("NATS at 127.0.0.1:{}", nats.port());
    let with_tls = format!("{store}?sslmode=require");
    let cases: [Case<'_>; 7] = [
        ("no PostgreSQL", &away, &bus, "", &["nothing listens there", "start PostgreSQL"], false),
        ("no database", &absent, &bus, "", &[&at_postgres, "createdb"], true),
        ("no such user", &nobody, &bus, "", &[&at_postgres, "does not let us in"], true),
        (
            "TLS to a plain server",
            &with_tls,
            &bus,
            "",
            &[&at_postgres, "does not speak TLS", "ssl = on"],
            true,
        ),
        ("no NATS", &store, &nats_away, "", &["nothing listens there", "start nats-server"], false),
        ("a wrong password", &store, &wrong, "", &["NATS at 127.0.0.1", "does not let us in", "[bus]"], true),
        ("TLS to a plain NATS", &store, &bus, "tls = true", &[&at_nats, "does not speak TLS"], true),
    ];
    for (what, store, bus, more, parts, ends) in cases {
        starts(what, config(store, bus, more), parts, ends).await;
    }
}

/// What `/readyz` says, once it is as it is wanted.
async fn readiness(server: &Server, what: &str, is_wanted: impl Fn(u16, &Value) -> bool) -> Value {
    let api = server.api();
    eventually(what, AT_LAST, async || {
        let reply = api.try_send(api.request(Method::GET, "/readyz")).await?;
        let view = reply.json();
        if is_wanted(reply.status, &view) { Ok(view) } else { Err(reply.text) }
    })
    .await
}

fn is_of<'a>(part: &'a str, why: &'a str) -> impl Fn(u16, &Value) -> bool + 'a {
    move |status, view| {
        let servers = view["servers"].as_array().cloned().unwrap_or_default();
        let told = |server: &Value| {
            server["part"] == part && server["why"].as_str().is_some_and(|words| words.contains(why))
        };
        status == 503 && servers.iter().any(told)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_goes_or_is_wiped_is_told_by_readyz_and_the_log_until_it_works_again() {
    let postgres = block_in_place(PostgresServer::start);
    let mut nats = block_in_place(NatsServer::start);
    let store = block_in_place(|| postgres.create_database());
    let server = Server::start_with(config(&store, &nats.url(), "")).await;
    let is_ready = |status: u16, view: &Value| status == 200 && view["servers"] == serde_json::json!([]);
    readiness(&server, "it is ready", is_ready).await;

    block_in_place(|| nats.kill());
    let view = readiness(&server, "NATS is gone", is_of("bus", "nothing listens there")).await;
    assert_eq!(view["servers"][0]["server"], format!("127.0.0.1:{}", nats.port()), "{view}");
    assert!(server.log().contains("start nats-server, or correct [bus] url"), "{}", server.log());
    block_in_place(|| nats.restart());
    readiness(&server, "NATS is back", is_ready).await;
    assert!(server.log().contains("works again"), "{}", server.log());

    block_in_place(|| nats.pause());
    readiness(&server, "NATS stands still", is_of("bus", "does not answer")).await;
    block_in_place(|| nats.resume());
    readiness(&server, "NATS goes on", is_ready).await;

    block_in_place(|| postgres.kill());
    readiness(&server, "PostgreSQL is gone", is_of("store", "nothing listens there")).await;
    block_in_place(|| postgres.restart());
    readiness(&server, "PostgreSQL is back", is_ready).await;

    block_in_place(|| postgres.pause());
    readiness(&server, "PostgreSQL stands still", is_of("store", "does not answer")).await;
    block_in_place(|| postgres.resume());
    readiness(&server, "PostgreSQL goes on", is_ready).await;

    let stream = format!("{PREFIX}-t-outcomes");
    block_in_place(|| nats.ask(&format!("$JS.API.STREAM.DELETE.{stream}"), "")).expect("an answer");
    readiness(&server, "a stream is gone", is_of("bus", &format!("the stream {stream} is gone"))).await;

    let database = store.rsplit_once('/').expect("a URL").1;
    block_in_place(|| postgres.sql(database, "DROP SCHEMA public CASCADE; CREATE SCHEMA public"));
    readiness(&server, "the tables are gone", is_of("store", "the tables of campanile are gone")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_start_with_a_server_that_comes_later_goes_on_by_itself() {
    let postgres = block_in_place(PostgresServer::start);
    let mut nats = block_in_place(NatsServer::start);
    let store = block_in_place(|| postgres.create_database());
    block_in_place(|| nats.kill());
    let mut server = Server::spawned(config(&store, &nats.url(), ""));
    eventually("it says that NATS is not there", Duration::from_secs(60), async || {
        let log = server.log();
        if log.contains("nothing listens there") { Ok(()) } else { Err(log) }
    })
    .await;
    block_in_place(|| nats.restart());
    server.ready().await;
}

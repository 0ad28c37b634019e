//! Every operation of the table, tried by every role of two accounts, on what is its own and on what is
//! another's: the answer is what the matrix of roles says. What another has is not there.

use super::*;
use crate::http::role_matrix::{ROLES, Reach};
use crate::http::routes::{Operation, ROWS, RequiredRole};
use std::sync::atomic::AtomicU32;

const ACCOUNTS: [&str; 2] = ["default", "north"];
pub(super) const CAP: &str = "<alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\"><identifier>ID</identifier><sender>town@example.org</sender>\
    <sent>2026-11-18T07:00:00+01:00</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope>\
    <info><language>en</language><category>Fire</category><event>Fire</event><urgency>Immediate</urgency><severity>Severe</severity>\
    <certainty>Observed</certainty><expires>2026-11-19T07:00:00+01:00</expires><headline>h</headline></info></alert>";

/// What an operation's path names.
#[derive(Clone, Copy, PartialEq)]
enum Thing {
    /// Nothing of anybody's.
    Nothing,
    Alert,
    Observer,
    Recipient,
    /// Words that are perhaps a stop.
    Stop,
    Group,
    /// A person's request to join a group.
    Wish,
    /// An import that waits for a decision.
    Import,
    Attachment,
    Token,
    /// The account itself, as its money is kept.
    Money,
    /// A user who was not invited yet.
    User,
    Draft,
    Template,
    Area,
    Schedule,
    /// A token with a profile, which has its id.
    Profile,
    /// A test message to a device.
    Test,
    /// Something that nobody has.
    Nobodys,
}

enum Sent {
    Nothing,
    Json(Value),
    Raw(&'static str, String),
}

/// One operation: what it needs, what is sent (of the thing's id and a fresh number), and the status where it
/// is allowed; `another` where what it names is another's, 404 but where the caller then makes its own.
struct Case {
    thing: Thing,
    sent: fn(&str, u32) -> Sent,
    done: u16,
    another: u16,
}

fn case(thing: Thing, done: u16, sent: fn(&str, u32) -> Sent) -> Case {
    Case { thing, sent, done, another: 404 }
}

fn nothing(_: &str, _: u32) -> Sent {
    Sent::Nothing
}

/// The case of an operation. One that is not here is a new one: say here how it is tried.
fn case_of(row: &Operation) -> Case {
    use Thing::{Alert, Attachment, Nothing, Observer};
    let alert = |_: &str, n: u32| Sent::Json(json!({"text": n.to_string(), "audience": ["recipient:ann"]}));
    let observer = |_: &str, _: u32| Sent::Json(json!({"url": "https://x.example/hook"}));
    match (row.method, row.path.strip_prefix("/api/v1/").unwrap_or(row.path)) {
        ("POST", "recipients") => case(Nothing, 201, |_, n| Sent::Json(json!({"id": format!("r{n}")}))),
        (
            "GET",
            "approvals" | "reviews" | "help-cases" | "imports" | "directories" | "recipients"
            | "recipients:export" | "stops" | "group-requests" | "groups" | "alerts" | "tokens" | "audit"
            | "audit:verify" | "accounts" | "callback-secret" | "evidence-key" | "messages" | "clients"
            | "topics" | "edge-sites" | "server" | "setup" | "config" | "readiness" | "map" | "demo",
        )
        | ("GET", "tariffs" | "diameter-peers" | "events") => case(Nothing, 200, nothing),
        ("POST", "alerts") => case(Nothing, 202, alert),
        ("POST", "alerts:forecast") => case(Nothing, 200, alert),
        // Its evidence is not made: with the alert the caller comes as far as that.
        ("GET", "alerts/{id}/evidence" | "alerts/{id}/evidence/export") => case(Alert, 409, nothing),
        ("POST", "drills:replay") => case(Alert, 200, |id, _| Sent::Json(json!({"alert": id}))),
        ("GET", path) if path.starts_with("alerts/{id}") => case(Alert, 200, nothing),
        // Nothing is paused: with the alert the caller comes as far as that.
        ("POST", "alerts/{id}:resume") => case(Alert, 409, nothing),
        // These are decisions of people: no token takes them.
        (
            "POST",
            "alerts/{id}:approve" | "alerts/{id}:return" | "alerts/{id}:reject" | "alerts/{id}:review",
        ) => case(Alert, 403, nothing),
        ("POST", "alerts/{id}:send-alone") => {
            case(Alert, 403, |_, _| Sent::Json(json!({"reason": "nobody can be reached"})))
        }
        ("POST", "alerts/{id}:cancel" | "alerts/{id}:pause" | "alerts/{id}:retry-failed") => {
            case(Alert, 200, nothing)
        }
        ("POST", "alerts/{id}/observers") => case(Alert, 201, observer),
        ("POST", "alerts/{id}/people/{recipient}:answer") => {
            case(Alert, 204, |_, _| Sent::Json(json!({"text": "safe, says the warden"})))
        }
        ("POST", "alerts/{id}/follow-ups") => case(Alert, 202, |_, n| {
            Sent::Json(json!({"kind": "all_clear", "alert": {"text": n.to_string()}}))
        }),
        ("POST", "alerts/{id}:extend") => {
            case(Alert, 200, |_, _| Sent::Json(json!({"expires": "2026-12-01T00:00:00Z"})))
        }
        ("POST", "help-cases/{id}:take") => case(Thing::Nobodys, 404, nothing),
        ("POST", "help-cases/{id}:note" | "help-cases/{id}:resolve") => {
            case(Thing::Nobodys, 404, |_, _| Sent::Json(json!({"text": "x"})))
        }
        ("DELETE", "alerts/{id}/observers/{observer}") => case(Observer, 204, nothing),
        ("POST", "answers") => {
            case(Alert, 204, |id, _| Sent::Json(json!({"alert": id, "recipient": "ann", "text": "yes"})))
        }
        ("POST", "cap") => {
            case(Nothing, 202, |_, n| Sent::Raw("text/xml", CAP.replace("ID", &n.to_string())))
        }
        ("POST", "attachments") => case(Nothing, 201, |_, n| Sent::Raw("audio/wav", n.to_string())),
        ("GET", "attachments/{id}") => case(Attachment, 200, nothing),
        // A token is nobody's own: it is refused before anything is looked at.
        (_, path) if row.need == RequiredRole::SignedIn => {
            assert!(path.starts_with("me") || path.starts_with("session"), "{path}");
            case(if path.contains('{') { Thing::Nobodys } else { Nothing }, 200, nothing)
        }
        other => prepared_case_of(row)
            .or_else(|| directory_case_of(row))
            .or_else(|| account_case_of(row))
            .unwrap_or_else(|| panic!("{other:?} has no case: say in case_of how it is tried, and on what")),
    }
}

/// The case of an operation on people and groups.
fn directory_case_of(row: &Operation) -> Option<Case> {
    use Thing::{Group, Import, Nobodys, Nothing, Recipient, Stop, Wish};
    let person = |id: &str, _: u32| Sent::Json(json!({"id": id, "name": "Put"}));
    let renamed = |_: &str, _: u32| Sent::Json(json!({"name": "Put"}));
    Some(match (row.method, row.path.strip_prefix("/api/v1/").unwrap_or(row.path)) {
        ("GET", "recipients/{id}") => case(Recipient, 200, nothing),
        ("PUT", "recipients/{id}") => Case { another: 201, ..case(Recipient, 200, person) },
        ("PATCH", "recipients/{id}") => case(Recipient, 200, renamed),
        ("DELETE", "recipients/{id}") => case(Recipient, 204, nothing),
        ("POST", "recipients/{id}:erase") | ("GET", "recipients/{id}/export") => {
            case(Recipient, 200, nothing)
        }
        ("POST", "recipients/{id}:page-link") => case(Recipient, 200, nothing),
        // They have no device: with the person the caller comes as far as that.
        ("POST", "recipients/{id}/devices/{n}:test") => case(Recipient, 404, |_, _| Sent::Json(json!({}))),
        ("POST", "recipients:import") => {
            case(Nothing, 200, |_, n| Sent::Raw("text/csv", format!("id,name\ni{n},Import\n")))
        }
        ("GET", "imports/{id}" | "imports/{id}/problems.csv") => case(Import, 200, nothing),
        ("POST", "imports/{id}:commit" | "imports/{id}:discard") => case(Import, 200, nothing),
        // It was not committed: with the import the caller comes as far as that.
        ("POST", "imports/{id}:undo") => case(Import, 409, nothing),
        ("POST", "directories/{id}:run") => case(Nobodys, 404, nothing),
        ("GET", "groups/{id}/people") => case(Group, 200, nothing),
        ("POST", "groups:preview") => {
            case(Nothing, 200, |_, _| Sent::Json(json!({"rule": {"attribute": "a", "is": "b"}})))
        }
        ("POST", "stops/{id}:confirm" | "stops/{id}:dismiss") => case(Stop, 204, nothing),
        ("POST", "group-requests/{id}:approve" | "group-requests/{id}:reject") => case(Wish, 204, nothing),
        ("POST", "groups") => case(Nothing, 201, |_, n| Sent::Json(json!({"id": format!("g{n}")}))),
        ("GET", "groups/{id}") => case(Group, 200, nothing),
        ("PUT", "groups/{id}") => Case { another: 201, ..case(Group, 200, renamed) },
        ("DELETE", "groups/{id}") => case(Group, 204, nothing),
        _ => return None,
    })
}

/// The case of an operation on tokens, profiles, users and accounts.
fn account_case_of(row: &Operation) -> Option<Case> {
    use Thing::{Money, Nobodys, Nothing, Profile, Test, Token, User};
    Some(match (row.method, row.path.strip_prefix("/api/v1/").unwrap_or(row.path)) {
        ("POST", "tokens") => case(Money, 201, |id, _| Sent::Json(json!({"role": "submit", "account": id}))),
        ("DELETE", "tokens/{id}") => case(Token, 204, nothing),
        ("GET", "profiles") => case(Nothing, 200, nothing),
        ("GET", "profiles/{id}") => case(Profile, 200, nothing),
        ("PUT", "profiles/{id}") => {
            case(Profile, 200, |_, _| Sent::Json(json!({"defaults": {"priority": "routine"}})))
        }
        ("DELETE", "profiles/{id}") => case(Profile, 204, nothing),
        ("POST", "accounts") => case(Nothing, 201, |_, n| Sent::Json(json!({"id": format!("e164:{n}")}))),
        ("GET", "accounts/{id}" | "accounts/{id}/records") => case(Money, 200, nothing),
        ("GET", "credit-sessions") => case(Money, 200, nothing),
        ("POST", "accounts/{id}:topup") => case(Money, 200, |_, _| Sent::Json(json!({"amount": 1}))),
        ("POST", "accounts/{id}:block" | "accounts/{id}:unblock") => case(Money, 200, nothing),
        ("PATCH", "accounts/{id}") => case(Money, 200, |_, _| Sent::Json(json!({"limit": 1}))),
        ("DELETE", "credit-sessions/{id}" | "diameter-peers/{id}") => case(Nobodys, 404, nothing),
        ("PUT", "tariffs") => case(Nothing, 200, |_, _| Sent::Json(json!({"items": []}))),
        ("DELETE", "tariffs") => case(Nothing, 200, nothing),
        ("POST", "diameter-peers") => {
            case(Nothing, 201, |_, _| Sent::Json(json!({"origin_host": "*", "realm": "x.example"})))
        }
        ("GET", "routes") => case(Nothing, 200, nothing),
        ("GET", path) if path.starts_with("routes/") => case(Nobodys, 404, nothing),
        ("POST", "routes/{id}:release") => case(Nobodys, 404, nothing),
        ("POST", "routes/{id}:hold") => case(Nobodys, 404, |_, _| Sent::Json(json!({"reason": "x"}))),
        ("POST", "routes/{id}:test") => case(Nobodys, 404, |_, _| Sent::Json(json!({"to": "+46701000001"}))),
        ("GET", "tests/{id}") => case(Test, 200, nothing),
        ("POST", "reload") => case(Nothing, 200, nothing),
        ("PATCH", "setup") => case(Nothing, 200, |_, _| Sent::Json(json!({"time_zone": "Europe/Stockholm"}))),
        ("GET", path) if path.starts_with("map/") => case(Nobodys, 404, nothing),
        ("POST", "demo/carriers/{id}") => case(Nobodys, 404, |_, _| Sent::Json(json!({"behaviour": "down"}))),
        ("POST", "config:check") => case(Nothing, 200, |_, _| Sent::Json(json!({"text": "[http]"}))),
        ("GET", "messages/{id}" | "clients/{id}" | "topics/{id}/messages") => case(Nobodys, 404, nothing),
        ("POST", "clients/{id}:unbind") => {
            case(Nobodys, 404, |_, _| Sent::Json(json!({"reason": "it floods"})))
        }
        ("GET", "users") => case(Nothing, 200, nothing),
        ("POST", "users") => {
            case(Nothing, 201, |_, n| Sent::Json(json!({"name": format!("u{n}"), "roles": ["viewer"]})))
        }
        ("GET", "users/{id}" | "users/{id}/sessions") | ("POST", "users/{id}:invite") => {
            case(User, 200, nothing)
        }
        ("PATCH", "users/{id}") => case(User, 200, |_, _| Sent::Json(json!({"full_name": "Put"}))),
        ("POST", "users/{id}:reset") => case(User, 200, |_, _| Sent::Json(json!({}))),
        ("DELETE", "users/{id}" | "users/{id}/sessions") => case(User, 204, nothing),
        ("DELETE", "users/{id}/sessions/{session}") => case(Nobodys, 404, nothing),
        _ => return None,
    })
}

/// The case of an operation on what alerts are prepared with.
fn prepared_case_of(row: &Operation) -> Option<Case> {
    use Thing::{Area, Draft, Nothing, Schedule, Template};
    let alert = |_: &str, n: u32| Sent::Json(json!({"text": n.to_string(), "audience": ["recipient:ann"]}));
    let renamed = |_: &str, _: u32| Sent::Json(json!({"name": "Put"}));
    Some(match (row.method, row.path.strip_prefix("/api/v1/")?) {
        ("POST", "alerts:check" | "alerts:preview") => case(Nothing, 200, alert),
        ("POST", "audience:count" | "audience:people") => case(Nothing, 200, alert),
        // Its page is the session's that made it.
        ("GET", "previews/{id}") => case(Thing::Nobodys, 404, nothing),
        ("GET", "drafts" | "templates" | "areas" | "schedules") => case(Nothing, 200, nothing),
        ("POST", "drafts") => case(Nothing, 201, alert),
        ("GET", path) if path.starts_with("drafts/{id}") => case(Draft, 200, nothing),
        ("PUT" | "PATCH", "drafts/{id}") => case(Draft, 200, alert),
        ("DELETE", "drafts/{id}") => case(Draft, 204, nothing),
        ("POST", "drafts/{id}:submit") => case(Draft, 202, nothing),
        ("POST", "drafts/{id}:copy") => case(Draft, 201, nothing),
        ("POST", "templates") => case(Nothing, 201, |_, n| Sent::Json(json!({"name": n.to_string()}))),
        ("GET", "templates/{id}") => case(Template, 200, nothing),
        ("PUT", "templates/{id}") => Case { another: 201, ..case(Template, 200, renamed) },
        ("DELETE", "templates/{id}") => case(Template, 204, nothing),
        ("POST", "templates/{id}:draft") => case(Template, 201, nothing),
        ("POST", "areas") => case(Nothing, 201, |_, n| Sent::Json(circle(&format!("a{n}")))),
        ("GET", "areas/{id}") => case(Area, 200, nothing),
        ("PUT", "areas/{id}") => Case { another: 201, ..case(Area, 200, |id, _| Sent::Json(circle(id))) },
        ("DELETE", "areas/{id}") => case(Area, 204, nothing),
        ("POST", "schedules") => case(Nothing, 201, |_, n| Sent::Json(weekly(&format!("s{n}"), "Weekly"))),
        ("GET", "schedules/{id}") => case(Schedule, 200, nothing),
        ("PUT", "schedules/{id}") => {
            Case { another: 201, ..case(Schedule, 200, |id, _| Sent::Json(weekly(id, "Put"))) }
        }
        ("PATCH", "schedules/{id}") => case(Schedule, 200, renamed),
        ("DELETE", "schedules/{id}") => case(Schedule, 204, nothing),
        ("POST", "schedules/{id}:run") => case(Schedule, 202, nothing),
        ("POST", "schedules/{id}:skip" | "schedules/{id}:unskip") => case(Schedule, 200, nothing),
        _ => return None,
    })
}

fn circle(id: &str) -> Value {
    let geometry = json!({"type": "Point", "coordinates": [18, 59]});
    json!({"type": "Feature", "id": id, "geometry": geometry, "properties": {"radius": 100}})
}

fn weekly(id: &str, name: &str) -> Value {
    let request = json!({"text": "Test", "audience": ["recipient:ann"]});
    json!({"id": id, "name": name, "start": "2026-12-07T12:00:00", "time_zone": "Europe/Stockholm",
        "rule": "RRULE:FREQ=WEEKLY", "request": request})
}

/// Two accounts with people, money and a token of every role.
struct Walls {
    server: TestServer,
    /// By account and role, in the order of the constants.
    tokens: [[String; ROLES.len()]; ACCOUNTS.len()],
    fresh: AtomicU32,
}

impl Walls {
    async fn open() -> Walls {
        let reload: Reload = Arc::new(|| Box::pin(async { Ok(Vec::new()) }));
        let server = TestServer::with_ledger(reload).await;
        let mut tokens: [[String; ROLES.len()]; ACCOUNTS.len()] = Default::default();
        for (account, of_account) in ACCOUNTS.iter().zip(&mut tokens) {
            for (role, token) in ROLES.iter().zip(of_account.iter_mut()) {
                let body = json!({"role": role.name(), "account": account, "name": format!("of {account}")});
                *token = server.post("/api/v1/tokens", body).await.1["token"].as_str().unwrap().to_owned();
            }
            assert_eq!(server.post("/api/v1/accounts", json!({"id": account, "balance": 7})).await.0, 201);
            let people = json!([{"id": "ann", "name": format!("Ann of {account}"), "sms": "+46701000001"}]);
            let put =
                server.anon(Method::POST, "/api/v1/recipients").bearer_auth(&of_account[1]).json(&people);
            assert_eq!(said(put).await.0, 200);
        }
        assert_eq!(server.post("/api/v1/accounts", json!({"id": "e164:46701000001"})).await.0, 201);
        Walls { server, tokens, fresh: AtomicU32::new(1) }
    }

    fn number(&self) -> u32 {
        self.fresh.fetch_add(1, Ordering::Relaxed)
    }

    async fn made(&self, token: &str, path: &str, body: Value) -> String {
        let made = self.server.anon(Method::POST, path).bearer_auth(token).json(&body);
        let (status, made) = said(made).await;
        assert!(status.is_success(), "{path}: {made}");
        made["id"].as_str().unwrap_or_default().to_owned()
    }

    /// A token with a profile.
    async fn profile(&self, admin: &str) -> String {
        let id = self.made(admin, "/api/v1/tokens", json!({"role": "submit", "name": "spare"})).await;
        let path = format!("/api/v1/profiles/{id}");
        let put = self.server.anon(Method::PUT, &path).bearer_auth(admin);
        let (status, put) = said(put.json(&json!({"defaults": {"priority": "urgent"}}))).await;
        assert_eq!(status, 201, "{put}");
        id
    }

    /// A test message to a device of somebody new.
    async fn test_message(&self, operator: &str, n: u32) -> String {
        let person = json!({"id": format!("d{n}"), "sms": format!("+4670{n:07}")});
        let person = self.made(operator, "/api/v1/recipients", person).await;
        self.made(operator, &format!("/api/v1/recipients/{person}/devices/1:test"), json!({})).await
    }

    /// A fresh thing of an account, by this role of it; its id, and that of its observer.
    async fn thing(&self, thing: Thing, account: usize, maker: usize) -> (String, String) {
        let (admin, operator) = (&self.tokens[account][0], &self.tokens[account][1]);
        let maker = &self.tokens[account][maker];
        let n = self.number();
        let alert = json!({"headline": format!("{n} of {}", ACCOUNTS[account]), "text": "x",
            "audience": ["recipient:ann"], "require_answer": true});
        let id = match thing {
            Thing::Nothing => String::new(),
            Thing::Alert | Thing::Observer => self.made(maker, "/api/v1/alerts?mode=sync", alert).await,
            Thing::Recipient => {
                let person = json!({"id": format!("p{n}"), "name": format!("{n} of {}", ACCOUNTS[account])});
                self.made(operator, "/api/v1/recipients", person).await
            }
            Thing::Stop => self.server.perhaps_stop(ACCOUNTS[account], &format!("+4670{n:07}")).await,
            Thing::Group => {
                let group = json!({"id": format!("q{n}"), "name": format!("{n} of {}", ACCOUNTS[account])});
                self.made(operator, "/api/v1/groups", group).await
            }
            Thing::Wish => {
                let group = json!({"id": format!("w{n}"), "join": "approval"});
                let group = self.made(operator, "/api/v1/groups", group).await;
                self.server.join_request(ACCOUNTS[account], &group, "ann").await
            }
            Thing::Import => self.server.import_job(operator, &format!("id,name\nj{n},Import\n")).await,
            Thing::Attachment => {
                let request = self.server.anon(Method::POST, "/api/v1/attachments").bearer_auth(maker);
                let (status, stored) = said(request.body(format!("{n} of {account}"))).await;
                assert_eq!(status, 201, "{stored}");
                stored["id"].as_str().unwrap().to_owned()
            }
            Thing::Token => {
                self.made(admin, "/api/v1/tokens", json!({"role": "viewer", "name": "spare"})).await
            }
            Thing::Profile => self.profile(admin).await,
            Thing::Test => self.test_message(operator, n).await,
            Thing::Draft => self.made(maker, "/api/v1/drafts", alert).await,
            Thing::Template => {
                let template =
                    json!({"id": format!("t{n}"), "name": format!("{n} of {}", ACCOUNTS[account])});
                self.made(operator, "/api/v1/templates", template).await
            }
            Thing::Area => self.made(operator, "/api/v1/areas", circle(&format!("b{n}"))).await,
            Thing::Schedule => {
                let name = format!("{n} of {}", ACCOUNTS[account]);
                self.made(operator, "/api/v1/schedules", weekly(&format!("v{n}"), &name)).await
            }
            Thing::Money => ACCOUNTS[account].to_owned(),
            Thing::User => {
                let user = json!({"name": format!("u{n}"), "full_name": format!("of {}", ACCOUNTS[account]), "roles": ["viewer"]});
                self.made(admin, "/api/v1/users", user).await
            }
            Thing::Nobodys => return (format!("0-{n:032}"), String::new()),
        };
        let observer = match thing {
            Thing::Observer => {
                let at = format!("/api/v1/alerts/{id}/observers");
                self.made(operator, &at, json!({"url": "https://x.example/"})).await
            }
            _ => String::new(),
        };
        (id, observer)
    }

    /// Carries it out; gives the status, and the words of a refusal. A stream is not waited for.
    async fn tried(&self, row: &Operation, token: &str, (id, observer): (&str, &str)) -> (u16, String) {
        let case = case_of(row);
        let mut path = row.path.replace("{id}", id).replace("{observer}", observer).replace("{version}", "1");
        path = path.replace("{n}", "1").replace("{z}/{x}/{y}", "0/0/0");
        path = path.replace("{recipient}", "ann");
        if row.path.ends_with("/credit-sessions") {
            path.push_str(&format!("?account={id}"));
        }
        if row.path.ends_with("/cap") && row.method == "POST" {
            path.push_str("?audience=all");
        }
        let method = Method::from_bytes(row.method.as_bytes()).unwrap();
        let request = self.server.anon(method, &path).bearer_auth(token);
        let request = match (case.sent)(id, self.number()) {
            Sent::Nothing => request,
            Sent::Json(body) => request.json(&body),
            Sent::Raw(media, body) => request.header("content-type", media).body(body),
        };
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let refusal = if status >= 400 { response.text().await.unwrap() } else { String::new() };
        (status, refusal)
    }
}

fn rows() -> impl Iterator<Item = &'static Operation> {
    ROWS.iter().filter(|row| row.need != RequiredRole::Nothing)
}

/// The column of a role that makes things of an account by itself.
fn maker(role: Role) -> usize {
    let maker = if role == Role::Submit { Role::Submit } else { Role::Operator };
    ROLES.iter().position(|known| *known == maker).unwrap()
}

#[tokio::test]
async fn every_operation_of_every_role_reaches_as_far_as_the_matrix_says() {
    let walls = Walls::open().await;
    for row in rows() {
        let case = case_of(row);
        for (account, name) in ACCOUNTS.iter().enumerate() {
            for (column, role) in ROLES.iter().enumerate() {
                let reach = row.need.reach_of(*role, name);
                let token = &walls.tokens[account][column];
                let operator = maker(Role::Operator);
                // Its own; of another token of its account; of the other account.
                for (of, by, least) in [
                    (account, maker(*role), Reach::Mine),
                    (account, operator, Reach::Own),
                    (1 - account, operator, Reach::All),
                ] {
                    if case.thing == Thing::Nothing && least > Reach::Mine {
                        continue;
                    }
                    let expected = match reach {
                        Reach::Nothing => 403,
                        _ if reach >= least => case.done,
                        // Templates are there for everybody of the account who drafts.
                        _ if case.thing == Thing::Template && least == Reach::Own => case.done,
                        _ if case.thing == Thing::Nobodys => case.done,
                        _ => case.another,
                    };
                    let (id, observer) = walls.thing(case.thing, of, by).await;
                    let (status, refusal) = walls.tried(row, token, (&id, &observer)).await;
                    let who = format!("{} {} as {} of {name}, {least:?}", row.method, row.path, role.name());
                    assert_eq!(status, expected, "{who}: {refusal}");
                }
            }
        }
    }
    walls.server.close().await;
}

/// SCIM is no row of the table: its rows of the matrix are those for people and, where roles are given or
/// somebody who signs in is switched off, for users.
#[tokio::test]
async fn scim_reaches_as_far_as_the_matrix_says_and_never_into_another_account() {
    let walls = Walls::open().await;
    let call = async |method: Method, path: &str, token: &str, body: Value| {
        said(walls.server.anon(method, &format!("/scim/v2{path}")).bearer_auth(token).json(&body)).await
    };
    let person = |n: u32| json!({"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": format!("scim{n}"), "externalId": format!("s{n}")});
    let may = |need: RequiredRole, role: Role, account: &str| need.reach_of(role, account) > Reach::Nothing;
    for (account, name) in ACCOUNTS.iter().enumerate() {
        let others = &walls.tokens[1 - account][0];
        let (status, theirs) = call(Method::POST, "/Users", others, person(walls.number())).await;
        assert_eq!(status, 201, "{theirs}");
        let theirs = format!("/Users/{}", theirs["id"].as_str().unwrap());
        for (column, role) in ROLES.into_iter().enumerate() {
            let token = &walls.tokens[account][column];
            let who = format!("{} of {name}", role.name());
            let is_admitted = may(RequiredRole::Directory, role, name);
            let mut body = person(walls.number());
            let (status, made) = call(Method::POST, "/Users", token, body.clone()).await;
            assert_eq!(status.as_u16(), if is_admitted { 201 } else { 403 }, "{who}: {made}");
            for method in [Method::GET, Method::PUT, Method::DELETE] {
                let (status, problem) = call(method.clone(), &theirs, token, body.clone()).await;
                assert_eq!(
                    status.as_u16(),
                    if is_admitted { 404 } else { 403 },
                    "{method}, {who}: {problem}"
                );
                assert_eq!(problem["schemas"][0], "urn:ietf:params:scim:api:messages:2.0:Error", "{who}");
            }
            (body["userName"], body["roles"]) =
                (format!("role-{column}").into(), json!([{"value": "viewer"}]));
            body["externalId"] = format!("role-{column}").into();
            let (status, made) = call(Method::POST, "/Users", token, body).await;
            let expected = if is_admitted && may(RequiredRole::Users, role, name) { 201 } else { 403 };
            assert_eq!(status.as_u16(), expected, "{who}: {made}");
        }
        let (status, still) = call(Method::GET, &theirs, others, Value::Null).await;
        assert_eq!(status, 200, "{still}");
    }
    walls.server.close().await;
}

/// Past its 24 hours nobody undoes an import, whatever the role.
#[tokio::test]
async fn an_import_past_its_day_is_undone_by_nobody() {
    let walls = Walls::open().await;
    let row = rows().find(|row| row.path == "/api/v1/imports/{id}:undo").unwrap();
    for (account, name) in ACCOUNTS.iter().enumerate() {
        let operator = &walls.tokens[account][maker(Role::Operator)];
        let (id, _) = walls.thing(Thing::Import, account, maker(Role::Operator)).await;
        let commit = walls.server.anon(Method::POST, &format!("/api/v1/imports/{id}:commit"));
        assert_eq!(said(commit.bearer_auth(operator)).await.0, 200);
        walls.server.clock.fetch_add(86_400_000_000, Ordering::Relaxed);
        for (column, role) in ROLES.into_iter().enumerate() {
            let (status, refusal) = walls.tried(row, &walls.tokens[account][column], (&id, "")).await;
            let expected = if row.need.reach_of(role, name) == Reach::Nothing { 403 } else { 409 };
            assert_eq!(status, expected, "{} of {name}: {refusal}", role.name());
        }
    }
    walls.server.close().await;
}

#[tokio::test]
async fn what_another_has_is_refused_in_the_words_for_what_nobody_has() {
    let walls = Walls::open().await;
    for row in rows() {
        let case = case_of(row);
        if matches!(case.thing, Thing::Nothing | Thing::Nobodys) || case.another != 404 {
            continue;
        }
        for (column, role) in ROLES.iter().enumerate() {
            let token = &walls.tokens[1][column];
            let (id, observer) = walls.thing(case.thing, 0, maker(Role::Operator)).await;
            let nobodys = match case.thing {
                Thing::Alert | Thing::Observer | Thing::Test => uuid::Uuid::from_u128(7).to_string(),
                Thing::Attachment => "7".repeat(64),
                _ => "nobodys".to_owned(),
            };
            let others = walls.tried(row, token, (&id, &observer)).await;
            let of_nobody = walls.tried(row, token, (&nobodys, "7")).await;
            let who = format!("{} {} as {}", row.method, row.path, role.name());
            let words = |words: &str| words.replace(&id, "ID").replace(&nobodys, "ID");
            assert_eq!(words(&others.1), words(&of_nobody.1), "{who}");
            assert_eq!(others.0, of_nobody.0, "{who}");
        }
    }
    walls.server.close().await;
}

#[tokio::test]
async fn lists_hold_what_is_the_accounts_own() {
    let walls = Walls::open().await;
    for account in 0..ACCOUNTS.len() {
        for thing in [
            Thing::Observer,
            Thing::Recipient,
            Thing::Group,
            Thing::Wish,
            Thing::Attachment,
            Thing::Token,
            Thing::User,
            Thing::Draft,
            Thing::Template,
            Thing::Area,
            Thing::Schedule,
        ] {
            walls.thing(thing, account, maker(Role::Submit)).await;
        }
    }
    // A stream has no end; what it shows is tried in its own tests.
    let is_list = |row: &&Operation| row.method == "GET" && !row.path.contains('{') && !row.is_event_stream();
    for row in rows().filter(is_list) {
        for (account, name) in ACCOUNTS.iter().enumerate() {
            for (column, role) in ROLES.iter().enumerate() {
                let reach = row.need.reach_of(*role, name);
                if matches!(reach, Reach::Nothing | Reach::All) || case_of(row).thing != Thing::Nothing {
                    continue;
                }
                let other = ACCOUNTS[1 - account];
                let request = walls.server.anon(Method::GET, row.path);
                let list = request.bearer_auth(&walls.tokens[account][column]).send().await.unwrap();
                let list = list.text().await.unwrap();
                let who = format!("{} as {} of {name}: {list}", row.path, role.name());
                for mark in
                    [format!("of {other}"), format!("\"account\":\"{other}\""), format!("\"id\":\"{other}\"")]
                {
                    assert!(!list.contains(&mark), "{who}");
                }
                let subscribers = list.contains("e164:46701000001");
                assert_eq!(subscribers, row.path.ends_with("/accounts") && *name == "default", "{who}");
            }
        }
    }
    walls.server.close().await;
}

#[tokio::test]
async fn nothing_of_another_account_is_changed_by_a_put_of_its_id() {
    let walls = Walls::open().await;
    let (person, _) = walls.thing(Thing::Recipient, 0, maker(Role::Operator)).await;
    let path = format!("/api/v1/recipients/{person}");
    let put = walls.server.anon(Method::PUT, &path).bearer_auth(&walls.tokens[1][1]);
    assert_eq!(said(put.json(&json!({"name": "Mallory"}))).await.0, 201);
    let (_, stored) = walls.server.get(&path).await;
    assert!(stored["name"].as_str().unwrap().ends_with("of default"), "{stored}");
    walls.server.close().await;
}

#[tokio::test]
async fn an_alert_names_files_of_its_own_uploader_or_account_alone() {
    let walls = Walls::open().await;
    let operators = walls.thing(Thing::Attachment, 0, maker(Role::Operator)).await.0;
    let submits = walls.thing(Thing::Attachment, 0, maker(Role::Submit)).await.0;
    for (account, column, id, expected) in [
        (0, 1, &operators, 202),
        (0, 0, &operators, 202),
        (0, 3, &operators, 422),
        (0, 3, &submits, 202),
        (0, 1, &submits, 202),
        (1, 1, &operators, 422),
        (1, 3, &submits, 422),
    ] {
        let body =
            json!({"text": "x", "audience": ["recipient:ann"], "attachments": [{"id": id, "name": "a"}]});
        let request =
            walls.server.anon(Method::POST, "/api/v1/alerts").bearer_auth(&walls.tokens[account][column]);
        let (status, told) = said(request.json(&body)).await;
        assert_eq!(status, expected, "{} of {}: {told}", ROLES[column].name(), ACCOUNTS[account]);
        if expected == 422 {
            let words = reason(&told, "attachments[0].id");
            assert!(words.starts_with("names no stored attachment"), "{words}");
        }
    }
    // The same content again is the other account's own.
    let content =
        walls.server.call(Method::GET, &format!("/api/v1/attachments/{operators}")).send().await.unwrap();
    let upload = walls.server.anon(Method::POST, "/api/v1/attachments").bearer_auth(&walls.tokens[1][1]);
    let (status, stored) = said(upload.body(content.bytes().await.unwrap())).await;
    assert_eq!((status.as_u16(), &stored["id"]), (201, &json!(operators)));
    let path = format!("/api/v1/attachments/{operators}");
    let again = walls.server.anon(Method::GET, &path).bearer_auth(&walls.tokens[1][2]);
    assert_eq!(again.send().await.unwrap().status(), 200);
    walls.server.close().await;
}

#[tokio::test]
async fn an_idempotency_key_is_its_tokens() {
    let walls = Walls::open().await;
    let submit = |account: usize, column: usize, text: &str| {
        let request =
            walls.server.anon(Method::POST, "/api/v1/alerts").bearer_auth(&walls.tokens[account][column]);
        let body = json!({"text": text, "audience": ["recipient:ann"]});
        let request = request.header("idempotency-key", "fire-1").json(&body);
        async move {
            let response = request.send().await.unwrap();
            let replayed = response.headers().contains_key("idempotency-replayed");
            (response.status().as_u16(), replayed)
        }
    };
    assert_eq!(submit(0, 1, "a").await, (202, false));
    assert_eq!(submit(0, 3, "b").await, (202, false), "of another token");
    assert_eq!(submit(1, 1, "c").await, (202, false), "of another account");
    assert_eq!(submit(0, 1, "a").await, (202, true));
    assert_eq!(submit(0, 1, "d").await, (422, false));
    walls.server.close().await;
}

#[tokio::test]
async fn the_last_admin_of_the_system_stays_whoever_else_is_one() {
    let walls = Walls::open().await;
    let (_, list) = walls.server.get("/api/v1/tokens").await;
    let admin = |name: &str| {
        let items = list["items"].as_array().unwrap();
        let found = items.iter().find(|item| item["role"] == "admin" && item["name"] == name);
        found.unwrap()["id"].as_str().unwrap().to_owned()
    };
    let revoke = |token: &str, id: &str| {
        said(walls.server.anon(Method::DELETE, &format!("/api/v1/tokens/{id}")).bearer_auth(token))
    };
    let (first, second, north) = (admin("first admin token"), admin("of default"), admin("of north"));
    assert_eq!(revoke(&walls.tokens[1][0], &first).await.0, 404, "it is another account's");
    assert_eq!(revoke(&walls.server.admin, &second).await.0, 204);
    assert_eq!(revoke(&walls.server.admin, &first).await.0, 409, "that of north is not the system's");
    assert_eq!(revoke(&walls.server.admin, &north).await.0, 204, "the system can make another");
    walls.server.close().await;
}

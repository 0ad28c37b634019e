//! Decisions as the door takes them: by whom, about which version, with what; and who is told.

use super::*;
use crate::http::auth::signed_in::{SignedInUser, UserScope};
use crate::http::problem::HttpProblem;
use crate::http::role_matrix::Reach;
use crate::http::tests::browser::Browser;
use crate::http::tests::*;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use engine::{ApprovalPolicy, ApprovalRule, ApprovalSubject, Draft, Steer};
use records::{Account, Alert, ApprovalNeed, Origin, Token, UserRole};
use store::{DocumentKind, Expected, NewDocument};
use tokio::sync::watch;

/// A server, and the state of a door over the same engine and store.
struct ApprovalServer {
    server: TestServer,
    app: App,
}

fn user(id: &str, person: &str, roles: &[UserRole]) -> Caller {
    let token = Token {
        id: format!("user:{id}"),
        hash: [0; 32],
        role: Role::Operator,
        account: Account::DEFAULT.to_owned(),
        name: id.to_owned(),
        created: NOW,
        revoked: None,
    };
    let user = SignedInUser {
        id: id.to_owned(),
        name: id.to_owned(),
        full_name: format!("{id} of {person}"),
        person: person.to_owned(),
        roles: roles.to_vec(),
        scope: UserScope { groups: None, areas: None, spaces: vec![Mode::Live, Mode::Drill] },
        space: Mode::Live,
        session: [0; 32],
        is_confirmed: false,
    };
    Caller { reach: Reach::Own, user: Some(Arc::new(user)), ..Caller::new(Arc::new(token)) }
}

fn changed(caller: &Caller, change: impl FnOnce(&mut SignedInUser)) -> Caller {
    let mut user = caller.user.as_deref().unwrap().clone();
    change(&mut user);
    Caller { user: Some(Arc::new(user)), ..caller.clone() }
}

const APPROVES: &[UserRole] = &[UserRole::Approver];
const SENDS: &[UserRole] = &[UserRole::Author, UserRole::Operator];

fn jonas() -> Caller {
    user("jonas", "jonas", SENDS)
}

fn mia() -> Caller {
    user("mia", "mia", APPROVES)
}

impl ApprovalServer {
    async fn open(rules: Vec<ApprovalRule>) -> ApprovalServer {
        let server = TestServer::open().await;
        server.people().await;
        server.engine.change_approval_policy(ApprovalPolicy { rules }).await.unwrap();
        let clock = server.clock.clone();
        let deps = Deps {
            engine: server.engine.clone(),
            store: server.store.clone(),
            media: store::media::Media::at(&server.dir.path().join("media")),
            clock: Arc::new(move || Timestamp(clock.load(Ordering::Relaxed))),
            secrets: secrets(),
            links: server.links.clone(),
            messages: Arc::new(server.engine.messages()),
            live_tokens: Arc::default(),
            guessing: Arc::default(),
            policies: server.policies.clone(),
            forget_elsewhere: None,
            reload: None,
            ledger: None,
            metrics: None,
            forwarding: None,
        };
        let config = HttpConfig::plain(([127, 0, 0, 1], 0).into(), Some("https://alerts.example".to_owned()));
        let app = App::new(deps, &config, watch::channel(false).1);
        ApprovalServer { server, app }
    }

    async fn submitted(&self, caller: &Caller, change: impl FnOnce(&mut records::AlertRequest)) -> Alert {
        let body = json!({"text": "Leave hall 2 now", "audience": ["group:staff"]});
        let node = crate::http::request::json::parse(body.to_string().as_bytes()).unwrap();
        let mut request =
            crate::http::alerts::body::parse(node, self.app.now(), &channels::Defaults::default()).unwrap();
        change(&mut request);
        let draft = Draft {
            account: Account::DEFAULT.to_owned(),
            token: caller.token.id.clone(),
            authors: deciders::authors(caller),
            request,
            origin: deciders::origin(caller),
            key: None,
            wait_solved: true,
            note: None,
        };
        self.server.engine.submit(draft).await.unwrap().alert
    }

    async fn decide(
        &self,
        caller: &Caller,
        alert: &Alert,
        word: &str,
        (version, body): (Option<u32>, Value),
    ) -> Result<Value, (u16, &'static str, Value)> {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        if let Some(version) = version {
            headers.insert("if-match", format!("\"{version}\"").parse().unwrap());
        }
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        let id = alert.id.to_string();
        match super::decide(&self.app, caller, (&id, word), &headers, body).await {
            Ok(response) => Ok(read(response).await),
            Err(problem) => Err(told(problem).await),
        }
    }

    async fn approve(&self, caller: &Caller, alert: &Alert) -> Result<Value, (u16, &'static str, Value)> {
        self.decide(caller, alert, "approve", (Some(alert.version), Value::Null)).await
    }

    async fn put_user(&self, id: &str, body: Value) {
        let document = NewDocument { id: id.to_owned(), lookup: None, due: None, body: body.to_string() };
        let put = self.server.store.put_document(
            Account::DEFAULT,
            DocumentKind::User,
            document,
            Expected::Any,
            NOW,
        );
        put.await.unwrap();
    }

    /// Notices so far: to whom, and the text.
    async fn notices(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut no = 1;
        while let Some(alert) = self.server.store.alert_by_no(AlertNo(no)).await.unwrap() {
            no += 1;
            if alert.origin == Origin::Notice {
                let to =
                    alert.request.audience.iter().map(|entry| entry.to.replace("recipient:", "")).collect();
                found.push((to, alert.request.text.unwrap_or_default()));
            }
        }
        found
    }

    async fn close(self) {
        self.server.close().await;
    }
}

async fn read(response: Response) -> Value {
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

async fn told(problem: HttpProblem) -> (u16, &'static str, Value) {
    use axum::response::IntoResponse as _;
    let (status, slug) = (problem.status().as_u16(), problem.slug());
    (status, slug, read(problem.into_response()).await)
}

fn rule(change: impl FnOnce(&mut ApprovalRule)) -> Vec<ApprovalRule> {
    let mut rule = ApprovalRule { needs: ApprovalNeed::One, ..ApprovalRule::default() };
    change(&mut rule);
    vec![rule]
}

fn is_waiting(alert: &Alert) -> bool {
    alert.state == records::AlertState::AwaitingApproval
}

#[tokio::test]
async fn who_may_not_decide_is_refused_with_what_to_do() {
    let own = ApprovalServer::open(rule(|_| {})).await;
    let alert = own.submitted(&jonas(), |_| {}).await;
    assert!(is_waiting(&alert));
    let everything = user("jonas", "jonas", &UserRole::ALL);
    let token = Caller { user: None, ..mia() };
    let limited = |groups: &[&str]| {
        let groups = Some(groups.iter().map(|group| (*group).to_owned()).collect());
        changed(&mia(), |user| user.scope.groups = groups)
    };
    for (what, caller, status, slug, words) in [
        ("its author", everything.clone(), 403, "another-person", "you wrote this alert"),
        (
            "its author as another user",
            user("j2", "jonas", APPROVES),
            403,
            "another-person",
            "another one of yours",
        ),
        (
            "an administrator who is no approver",
            user("ada", "ada", &[UserRole::Administrator]),
            403,
            "wrong-role",
            "the role approver",
        ),
        ("a viewer", user("vi", "vi", &[UserRole::Viewer]), 403, "wrong-role", "the role approver"),
        ("a token", token, 403, "wrong-role", "a token never approves"),
        (
            "from the drill space",
            changed(&mia(), |user| user.space = Mode::Drill),
            403,
            "wrong-space",
            "in the live space",
        ),
        (
            "of drills alone",
            changed(&mia(), |user| user.scope.spaces = vec![Mode::Drill]),
            403,
            "wrong-role",
            "beyond your groups",
        ),
        ("of another group", limited(&["night"]), 403, "out-of-scope", "is not within your groups"),
    ] {
        let refused = own.approve(&caller, &alert).await.unwrap_err();
        assert_eq!((refused.0, refused.1), (status, slug), "{what}: {}", refused.2);
        assert!(refused.2["detail"].as_str().unwrap().contains(words), "{what}: {}", refused.2);
    }
    let without = own.decide(&mia(), &alert, "approve", (None, Value::Null)).await.unwrap_err();
    assert_eq!((without.0, reason(&without.2, "If-Match").contains("which version you read")), (400, true));
    let stale = own.decide(&mia(), &alert, "approve", (Some(1), Value::Null)).await.unwrap_err();
    assert_eq!((stale.0, stale.1), (412, "version-changed"));
    let still = own.server.engine.alert(Account::DEFAULT, alert.id).await.unwrap();
    assert!(is_waiting(&still) && still.approval == alert.approval, "nothing has changed");
    let approved = own.approve(&limited(&["staff"]), &alert).await.unwrap();
    assert_eq!(
        (&approved["state"], &approved["approval"]["approvals"][0]["by"]["person"]),
        (&json!("running"), &json!("mia"))
    );
    let again = own.approve(&user("ola", "ola", APPROVES), &alert).await.unwrap_err();
    assert_eq!(again.0, 412, "it has another version now: {}", again.2);
    own.close().await;
}

#[tokio::test]
async fn by_http_no_token_approves_and_no_client_chooses_its_origin() {
    let own = ApprovalServer::open(rule(|rule| rule.origins = vec![engine::OriginKind::Api])).await;
    let server = &own.server;
    let body = json!({"text": "Out", "audience": ["group:staff"]});
    let id = server.submit(body.clone()).await;
    let (_, shown) = server.get(&format!("/api/v1/alerts/{id}")).await;
    assert_eq!((&shown["state"], &shown["origin"]), (&json!("awaiting_approval"), &json!("api")));
    assert_eq!(shown["approval"]["authors"][0]["person"], Value::Null, "{shown}");
    for verb in ["approve", "return", "reject", "review", "send-alone"] {
        let request = server.call(Method::POST, &format!("/api/v1/alerts/{id}:{verb}"));
        let (status, problem) = said(request.json(&json!({"reason": "nobody answers"}))).await;
        assert_eq!((status.as_u16(), slug(&problem)), (403, "wrong-role"), "{verb}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains("a token never approves"), "{verb}: {problem}");
    }
    for forged in ["console", "schedule"] {
        let mut forging = body.clone();
        forging["origin"] = forged.into();
        let (status, problem) = server.post("/api/v1/alerts", forging).await;
        assert_eq!((status.as_u16(), reason(&problem, "origin").starts_with("is unknown")), (422, true));
    }
    assert_eq!(deciders::origin(&jonas()), Origin::Console);
    assert_eq!(deciders::origin(&Caller { user: None, ..jonas() }), Origin::Api);
    let (_, list) = server.get("/api/v1/approvals").await;
    assert_eq!(
        (&list["items"][0]["id"], &list["items"][0]["may_approve"]),
        (&json!(id), &json!(false)),
        "{list}"
    );
    let stopped = server.call(Method::POST, &format!("/api/v1/alerts/{id}:cancel"));
    assert_eq!(said(stopped).await.0, 200, "what waits is stopped by anybody");
    own.close().await;
}

#[tokio::test]
async fn two_approve_who_are_two_and_type_the_number() {
    let rules = rule(|rule| (rule.needs, rule.type_people_over) = (ApprovalNeed::Two, Some(1)));
    let own = ApprovalServer::open(rules).await;
    let alert = own.submitted(&jonas(), |_| {}).await;
    let list = read_list(&own, &mia()).await;
    assert_eq!((&list[0]["waits_s"], &list[0]["may_approve"]), (&json!(0), &json!(true)));
    assert_eq!(list[0]["approval"]["type_people"], true, "{list}");
    let untyped = own.approve(&mia(), &alert).await.unwrap_err();
    assert_eq!((untyped.0, &untyped.2["people"]), (422, &json!(2)), "{}", untyped.2);
    let typed = (Some(alert.version), json!({"people": 2}));
    let one = own.decide(&mia(), &alert, "approve", typed.clone()).await.unwrap();
    assert_eq!((&one["state"], &one["version"]), (&json!("awaiting_approval"), &json!(alert.version)));
    let same = own.decide(&user("m2", "mia", APPROVES), &alert, "approve", typed.clone()).await.unwrap_err();
    assert_eq!((same.0, same.1), (403, "another-person"));
    assert_eq!(read_list(&own, &mia()).await[0]["may_approve"], false);
    let other = own.decide(&user("ola", "ola", APPROVES), &alert, "approve", typed).await.unwrap();
    assert_eq!(other["state"], "running");
    assert_eq!(read_list(&own, &mia()).await, json!([]));
    own.close().await;
}

#[tokio::test]
async fn a_forecast_says_what_the_rules_ask_before_anything_is_submitted() {
    let rules = rule(|rule| {
        (rule.needs, rule.type_people_over) = (ApprovalNeed::Two, Some(1));
        (rule.priorities, rule.audience) =
            (vec![records::Priority::Emergency], vec!["group:staff".to_owned()]);
    });
    let own = ApprovalServer::open(rules).await;
    let nobody = json!({"needs": "nobody", "type_people": false});
    for (priority, asked) in
        [("emergency", json!({"needs": "two", "type_people": true})), ("routine", nobody)]
    {
        let body = json!({"text": "Leave hall 2 now", "audience": ["group:staff"], "priority": priority});
        let (status, told) = own.server.post("/api/v1/alerts:forecast", body).await;
        assert_eq!((status.as_u16(), &told["approval"]), (200, &asked), "{priority}: {told}");
    }
    own.close().await;
}

async fn read_list(own: &ApprovalServer, caller: &Caller) -> Value {
    let listed =
        super::list(State(own.app.clone()), caller.clone(), "/api/v1/approvals".parse().unwrap()).await;
    listed.unwrap_or_else(|problem| panic!("{problem:?}")).0["items"].clone()
}

#[tokio::test]
async fn an_audience_that_grew_is_looked_at_again() {
    let own = ApprovalServer::open(rule(|_| {})).await;
    let alert = own.submitted(&jonas(), |_| {}).await;
    let cy = json!({"id": "cy", "groups": ["staff"], "sms": "+46701000003"});
    assert_eq!(own.server.post("/api/v1/recipients", cy).await.0, 201);
    let grew = own.approve(&mia(), &alert).await.unwrap_err();
    assert_eq!((grew.0, &grew.2["people"], &grew.2["version"]), (412, &json!(3), &json!(alert.version + 1)));
    let now = own.server.engine.alert(Account::DEFAULT, alert.id).await.unwrap();
    assert_eq!(own.approve(&mia(), &now).await.unwrap()["state"], "running");
    own.close().await;
}

/// Submits a draft, and waits until its alert waits for approval; its path.
async fn submitted_draft(own: &ApprovalServer, by: &mut Browser, draft: &str) -> String {
    let (status, submitted) = by.post(&format!("{draft}:submit"), json!({})).await;
    assert_eq!(status, 202, "{submitted}");
    let id: records::AlertId = submitted["id"].as_str().unwrap().parse().unwrap();
    while !is_waiting(&own.server.engine.alert(Account::DEFAULT, id).await.unwrap()) {
        tokio::task::yield_now().await;
    }
    format!("/api/v1/alerts/{id}")
}

async fn approved_by(browser: &mut Browser, alert: &str) -> (StatusCode, Value) {
    let version = browser.get(alert).await.1["version"].to_string();
    let approve = browser.request(Method::POST, &format!("{alert}:approve"));
    browser.send(approve.header("if-match", format!("\"{version}\"")).json(&json!({}))).await
}

#[tokio::test]
async fn an_approver_changes_nothing_after_approving_and_approves_nothing_that_they_changed() {
    let own = ApprovalServer::open(rule(|_| {})).await;
    let rights = |roles: &[&str]| json!({"roles": roles, "spaces": ["live"]});
    let server = &own.server;
    let mut jonas = server.signed_in("jonas", rights(&["author", "operator"])).await.in_space("live");
    let mut mia = server.signed_in("mia", rights(&["author", "approver"])).await.in_space("live");
    let mut ola = server.signed_in("ola", rights(&["approver"])).await.in_space("live");
    let write = |browser: &Browser, draft: &str, text: &str| {
        browser.request(Method::PATCH, draft).json(&json!({"text": text}))
    };
    let mut drafts = Vec::new();
    for _ in 0..2 {
        let body = json!({"text": "Leave hall 2 now", "audience": ["group:staff"]});
        let (status, made) = jonas.post("/api/v1/drafts", body).await;
        assert_eq!(status, 201, "{made}");
        drafts.push(format!("/api/v1/drafts/{}", made["id"].as_str().unwrap()));
    }
    let alert = submitted_draft(&own, &mut jonas, &drafts[0]).await;
    assert_eq!(approved_by(&mut mia, &alert).await.0, 200);
    let after = write(&mia, &drafts[0], "Stay in hall 2");
    let (status, problem) = mia.send(after).await;
    assert_eq!((status.as_u16(), slug(&problem)), (409, "wrong-state"), "{problem}");
    let (_, shown) = mia.get(&alert).await;
    assert_eq!(shown["request"]["text"], "Leave hall 2 now", "what was approved is what is sent");

    let alert = submitted_draft(&own, &mut jonas, &drafts[1]).await;
    assert_eq!(mia.post(&format!("{alert}:return"), json!({"reason": "it is hall 3"})).await.0, 200);
    let before = write(&mia, &drafts[1], "Leave hall 3 now");
    assert_eq!(mia.send(before).await.0, 200);
    let alert = submitted_draft(&own, &mut jonas, &drafts[1]).await;
    let (status, problem) = approved_by(&mut mia, &alert).await;
    assert_eq!((status.as_u16(), slug(&problem)), (403, "another-person"), "{problem}");
    assert_eq!(approved_by(&mut ola, &alert).await.0, 200);
    own.close().await;
}

#[tokio::test]
async fn a_return_and_a_rejection_say_who_and_why() {
    let own = ApprovalServer::open(rule(|_| {})).await;
    for (word, kind) in [("return", "returned"), ("reject", "rejected")] {
        let alert = own.submitted(&jonas(), |_| {}).await;
        let empty = own.decide(&mia(), &alert, word, (None, json!({}))).await.unwrap_err();
        assert_eq!((empty.0, reason(&empty.2, "reason")), (422, "is needed"));
        let because = (None, json!({"reason": "the area is wrong"}));
        let ended = own.decide(&mia(), &alert, word, because.clone()).await.unwrap();
        assert_eq!((&ended["state"], &ended["ended_by"]["kind"]), (&json!("cancelled"), &json!(kind)));
        assert_eq!(ended["ended_by"]["reason"], "the area is wrong");
        let again = own.decide(&mia(), &alert, word, because).await;
        assert_eq!(again.is_ok(), word == "return", "a return is made good, nothing else is done again");
        let late = own.approve(&user("ola", "ola", APPROVES), &alert).await.unwrap_err();
        assert_eq!(late.0, 412, "{}", late.2);
    }
    let trail = own.server.get("/api/v1/audit?verb=alert.return").await.1;
    assert_eq!(
        (&trail["items"][0]["token"], &trail["items"][0]["detail"]),
        (&json!("user:mia"), &json!("the area is wrong"))
    );
    own.close().await;
}

#[tokio::test]
async fn breaking_the_glass_tells_all_administrators_and_asks_for_a_review() {
    let own = ApprovalServer::open(rule(|_| {})).await;
    let spaces = json!({"spaces": ["live", "drill"]});
    own.put_user(
        "ada",
        json!({"full_name": "Ada", "person": "ann", "roles": ["administrator"], "scope": spaces}),
    )
    .await;
    own.put_user(
        "bob",
        json!({"full_name": "Bob", "person": "bo", "roles": ["administrator"], "scope": spaces}),
    )
    .await;
    own.put_user("old", json!({"full_name": "Old", "person": "cy", "roles": ["administrator"], "scope": spaces, "active": false})).await;
    let alert = own.submitted(&jonas(), |_| {}).await;
    let short =
        own.decide(&jonas(), &alert, "send-alone", (None, json!({"reason": "urgent"}))).await.unwrap_err();
    assert_eq!((short.0, reason(&short.2, "reason").contains("at least 10")), (422, true));
    let unable = own
        .decide(&mia(), &alert, "send-alone", (None, json!({"reason": "nobody answers"})))
        .await
        .unwrap_err();
    assert_eq!((unable.0, unable.1), (403, "wrong-role"), "who does not send does not send alone");
    let sent = own
        .decide(&jonas(), &alert, "send-alone", (None, json!({"reason": "nobody answers"})))
        .await
        .unwrap();
    assert_eq!(
        (&sent["state"], &sent["approval"]["sent_alone"]["reason"]),
        (&json!("running"), &json!("nobody answers"))
    );
    reviews::tell_administrators(&own.app).await.unwrap();
    reviews::tell_administrators(&own.app).await.unwrap();
    let told = own.notices().await;
    assert_eq!((told.len(), told[0].0.as_str()), (1, "annbo"), "{told:?}");
    assert!(told[0].1.contains("nobody answers") && told[0].1.contains("/alerts/"), "{told:?}");
    let open = own.server.get("/api/v1/reviews").await.1;
    assert_eq!(open["items"][0]["alert"], alert.id.to_string(), "{open}");
    let verdict = (None, json!({"verdict": "justified", "note": "the plant confirmed it"}));
    let own_review =
        own.decide(&user("j2", "jonas", APPROVES), &alert, "review", verdict.clone()).await.unwrap_err();
    assert_eq!((own_review.0, own_review.1), (403, "another-person"));
    let reviewed = own.decide(&mia(), &alert, "review", verdict.clone()).await.unwrap();
    assert_eq!(
        (&reviewed["answer"]["verdict"], &reviewed["answer"]["by"]["person"]),
        (&json!("justified"), &json!("mia"))
    );
    assert_eq!(own.decide(&mia(), &alert, "review", verdict).await.unwrap_err().0, 409);
    assert_eq!(own.server.get("/api/v1/reviews").await.1["items"], json!([]));
    own.close().await;
}

#[tokio::test]
async fn what_is_not_sent_alone_after_all_leaves_no_review() {
    let own = ApprovalServer::open(rule(|rule| rule.type_people_over = Some(1))).await;
    let alert = own.submitted(&jonas(), |_| {}).await;
    let untyped =
        own.decide(&jonas(), &alert, "send-alone", (None, json!({"reason": "nobody answers"}))).await;
    assert_eq!(untyped.unwrap_err().0, 422);
    assert_eq!(own.server.get("/api/v1/reviews").await.1["items"], json!([]));
    // A process that ended between the two left one.
    let reviewer = jonas();
    reviews::open(&own.app, &alert, reviewer.user.as_deref().unwrap(), "nobody answers").await.unwrap();
    reviews::tell_administrators(&own.app).await.unwrap();
    assert_eq!(own.server.get("/api/v1/reviews").await.1["items"].as_array().unwrap().len(), 1);
    own.server.clock.fetch_add(61_000_000, Ordering::Relaxed);
    reviews::tell_administrators(&own.app).await.unwrap();
    assert_eq!(own.server.get("/api/v1/reviews").await.1["items"], json!([]));
    own.close().await;
}

#[tokio::test]
async fn approvers_are_told_at_once_and_again_and_then_the_next_ones() {
    let own = ApprovalServer::open(rule(|_| {})).await;
    let people = json!([{"id": "p1", "sms": "+46701000011"}, {"id": "p2", "sms": "+46701000012"},
        {"id": "p3", "sms": "+46701000013"}, {"id": "p4", "sms": "+46701000014"}]);
    assert_eq!(own.server.post("/api/v1/recipients", people).await.0, 200);
    let live = json!({"spaces": ["live"]});
    for n in 1..=4 {
        let body = json!({"full_name": format!("P{n}"), "person": format!("p{n}"), "roles": ["approver"], "scope": live});
        own.put_user(&format!("u{n}"), body).await;
    }
    let near = json!({"spaces": ["live"], "groups": ["staff"]});
    own.put_user("near", json!({"person": "bo", "roles": ["approver"], "scope": near})).await;
    for (id, body) in [
        ("self", json!({"person": "jonas", "roles": ["approver"], "scope": live})),
        (
            "far",
            json!({"person": "ann", "roles": ["approver"], "scope": {"spaces": ["live"], "groups": ["night"]}}),
        ),
        ("drill", json!({"person": "ann", "roles": ["approver"], "scope": {"spaces": ["drill"]}})),
        ("gone", json!({"person": "ann", "roles": ["approver"], "scope": live, "active": false})),
        ("viewer", json!({"person": "ann", "roles": ["viewer"], "scope": live})),
    ] {
        own.put_user(id, body).await;
    }
    let alert = own.submitted(&jonas(), |_| {}).await;
    // The server's own door tells too: whoever comes first, each round is told once.
    let mut before = 0;
    for (passes_s, expected) in [
        (0, vec!["bop1p2"]),
        (119, vec![]),
        (1, vec!["bop1p2"]),
        (120, vec!["p3p4"]),
        (120, vec!["p3p4"]),
        (500, vec![]),
    ] {
        own.server.clock.fetch_add(passes_s * 1_000_000, Ordering::Relaxed);
        notices::tell_approvers(&own.app).await.unwrap();
        notices::tell_approvers(&own.app).await.unwrap();
        let told: Vec<String> = own.notices().await.split_off(before).into_iter().map(|one| one.0).collect();
        before += told.len();
        assert_eq!(told, expected, "after {passes_s} s");
    }
    let text = &own.notices().await[0].1;
    assert!(text.contains("jonas of jonas asks you to approve: Leave hall 2 now. To 2 people."), "{text}");
    let (_, list) = own.server.get("/api/v1/alerts").await;
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "no list shows notices: {list}");
    let waits = own.server.engine.alert(Account::DEFAULT, alert.id).await.unwrap();
    assert!(is_waiting(&waits), "silence never sends");
    own.close().await;
}

#[tokio::test]
async fn a_stop_needs_nobody_unless_a_rule_says_so() {
    let own = ApprovalServer::open(Vec::new()).await;
    let alert = own.submitted(&jonas(), |_| {}).await;
    assert_eq!(steering::confirmed(&own.app, &jonas(), &alert, Steer::Cancel).await.unwrap(), None);
    let rules = rule(|rule| rule.applies_to = vec![ApprovalSubject::Stop]);
    own.server.engine.change_approval_policy(ApprovalPolicy { rules }).await.unwrap();
    assert_eq!(steering::confirmed(&own.app, &jonas(), &alert, Steer::Pause).await.unwrap(), None);
    let stop = Method::POST;
    let by_token = said(own.server.call(stop, &format!("/api/v1/alerts/{}:cancel", alert.id))).await;
    assert_eq!((by_token.0.as_u16(), slug(&by_token.1)), (403, "wrong-role"), "{}", by_token.1);
    let asked = steering::confirmed(&own.app, &jonas(), &alert, Steer::Cancel).await.unwrap().unwrap();
    assert_eq!(view::approval(&asked)["steering"]["by"][0]["person"], "jonas");
    let alone =
        steering::confirmed(&own.app, &user("j2", "jonas", SENDS), &asked, Steer::Cancel).await.unwrap();
    assert!(alone.is_some(), "one person is one");
    let both = steering::confirmed(&own.app, &mia(), &asked, Steer::Cancel).await.unwrap();
    assert_eq!(both, None, "it may be carried out");
    own.close().await;
}

#[tokio::test]
async fn what_waits_is_in_no_public_feed() {
    let own = ApprovalServer::open(rule(|_| {})).await;
    let server = &own.server;
    let cap = walls_cap();
    let request = server.call(Method::POST, "/api/v1/cap?audience=group:staff&mode=sync");
    let (status, told) = said(request.header("content-type", "text/xml").body(cap)).await;
    assert_eq!(status, 201, "{told}");
    let feed =
        || async { server.anon(Method::GET, "/cap/feed.atom").send().await.unwrap().text().await.unwrap() };
    assert!(!feed().await.contains("<entry>"));
    let id: records::AlertId = told["id"].as_str().unwrap().parse().unwrap();
    let alert = server.engine.alert(Account::DEFAULT, id).await.unwrap();
    assert_eq!(server.anon(Method::GET, &format!("/cap/{id}")).send().await.unwrap().status(), 404);
    assert_eq!(own.approve(&mia(), &alert).await.unwrap()["origin"], "cap");
    assert!(feed().await.contains("<entry>"));
    own.close().await;
}

/// A public message.
fn walls_cap() -> String {
    "<alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\"><identifier>w1</identifier><sender>town@example.org</sender>\
     <sent>2026-11-18T07:00:00+01:00</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope>\
     <info><language>en</language><category>Fire</category><event>Fire</event><urgency>Immediate</urgency><severity>Severe</severity>\
     <certainty>Observed</certainty><expires>2026-11-19T07:00:00+01:00</expires><headline>Fire in hall 2</headline></info></alert>"
        .to_owned()
}

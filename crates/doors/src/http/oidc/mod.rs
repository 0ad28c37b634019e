//! Signing in at a provider of OpenID Connect: authorization code flow with PKCE.
//!
//! `GET /auth/oidc/start` · `GET /auth/oidc/callback`. What ties the way back to the browser is in a cookie
//! of its own ([`attempts`]), ten minutes long, `SameSite=Lax`, for the provider leads here from another
//! site. Roles follow from a claim at each sign-in, groups and spaces are an administrator's.

pub(crate) mod attempts;
pub(crate) mod provider;
mod provider_calls;
#[cfg(test)]
mod tests;

use self::provider::misled;
use crate::guessing::Attempt;
use crate::http::app::App;
use crate::http::auth::password_hasher::fill_random;
use crate::http::auth::signed_in::UserScope;
use crate::http::auth::user_session::{self, seconds};
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use crate::http::session;
use crate::http::users::body::{NAME_CHARS_MAX, UserBody};
use crate::http::users::record::{self, StoredUser, UserCredentials, UserProfile};
use crate::http::users::sign_in_state::OidcSettings;
use crate::http::users::{client_of, new_user};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use records::UserRole;
use ring::digest::{SHA256, digest};
use serde_json::json;
use sign_in::oidc::authorization::{AuthorizationWish, RANDOM_OCTETS, SignInAttempt};
use sign_in::oidc::claims::{self, OidcUser};
use sign_in::oidc::{OidcClient, callback};
use std::net::IpAddr;
use std::time::Instant;
use store::Act;

/// The door, as the log, the metric and the audit trail name it.
const DOOR: &str = "oidc";
const CALLBACK: &str = "/auth/oidc/callback";
/// Octets of the hash that a user's id is made of.
const ID_OCTETS: usize = 15;
/// Names that are tried for a new user, where others have the first ones.
const NAMES_TRIED: usize = 20;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/auth/oidc/start", get(start)).route(CALLBACK, get(back))
}

fn settings(app: &App) -> HttpResult<OidcSettings> {
    let policy = app.auth.sign_in.policy.load();
    policy.oidc.clone().ok_or_else(|| {
        HttpProblem::new(ProblemKind::NotFound, "no provider is configured; the section [oidc] names one")
    })
}

fn client(app: &App, settings: &OidcSettings) -> OidcClient {
    OidcClient {
        id: settings.client_id.clone(),
        secret: settings.client_secret.clone(),
        redirect_uri: format!("{}{CALLBACK}", app.auth.sign_in.base),
        method: None,
    }
}

fn away(to: &str, cookies: Vec<HeaderValue>) -> Response {
    let mut response = (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response();
    cookies.into_iter().for_each(|cookie| _ = response.headers_mut().append(SET_COOKIE, cookie));
    response
}

async fn start(State(app): State<App>) -> HttpResult<Response> {
    let settings = settings(&app)?;
    let provider = app.auth.sign_in.providers.provider(&settings.issuer).await?;
    let mut random = [[0; RANDOM_OCTETS]; 3];
    random.iter_mut().try_for_each(|octets| fill_random(octets))?;
    let attempt = SignInAttempt::new(random);
    let scopes: Vec<&str> = settings.scopes.iter().map(String::as_str).collect();
    let wish = AuthorizationWish { scopes: &scopes, ..AuthorizationWish::default() };
    let url = attempt.url(&provider, &client(&app, &settings), wish).map_err(|why| misled(&why))?;
    Ok(away(&url, vec![attempts::begun(&app, &settings.issuer, &attempt)?]))
}

async fn back(State(app): State<App>, request: Request) -> Response {
    let attempt_over = attempts::over(&app);
    let mut response = match guarded(&app, request).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    };
    // It counts once, whatever came of it.
    if let Ok(cookie) = attempt_over {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// The way back within the failures that an address has.
async fn guarded(app: &App, request: Request) -> HttpResult<Response> {
    let (settings, client) = (settings(app)?, client_of(&request));
    let guessing = &app.auth.guessing;
    let turn = app.auth.sign_in.throttle.take_address_turn(client, app.now_ms());
    let turn = turn.inspect_err(|_| guessing.failures().count(DOOR, client))?;
    let outcome = signed_in(app, &settings, request, client).await;
    match &outcome {
        Ok(_) => turn.succeeded(),
        // The provider failed, or this server: nobody guessed.
        Err(problem) if problem.status().is_server_error() => turn.succeeded(),
        Err(_) => {
            let attempt = Attempt { door: DOOR, name: b"", ip: client, is_known: false };
            guessing.note_failed(attempt, Instant::now());
        }
    }
    outcome
}

async fn signed_in(
    app: &App,
    settings: &OidcSettings,
    request: Request,
    client_address: IpAddr,
) -> HttpResult<Response> {
    let headers = request.headers();
    let attempt = attempts::take(app, &settings.issuer, headers)?;
    let providers = &app.auth.sign_in.providers;
    let provider = providers.provider(&settings.issuer).await?;
    let query = request.uri().query().unwrap_or_default();
    let code = callback::read(query, &attempt, &provider).map_err(|why| misled(&why))?;
    let own = client(app, settings);
    let claims = providers.claims(&own, (&settings.issuer, &code), &attempt, seconds(app.now())).await?;
    let named = claims::user(&claims, &settings.claim);
    let user = user_of(app, settings, &named, client_address).await?;
    let session = session::begin(app, (headers, client_address), &user, false).await?;
    Ok(away("/", vec![user_session::set_cookie(app, Some(&session))?]))
}

/// The user of a subject, with the roles that the claim gives today; made at the first sign-in.
async fn user_of(
    app: &App,
    settings: &OidcSettings,
    named: &OidcUser,
    client: IpAddr,
) -> HttpResult<StoredUser> {
    let (account, id) = (settings.account.as_str(), id_of(&settings.issuer, &named.subject));
    if let Some(user) = provisioned(app, (account, &id), named, client).await? {
        return if user.record.is_active { Ok(user) } else { Err(disabled()) };
    }
    let roles = roles(settings, named);
    if roles.is_empty() {
        let detail = format!(
            "the provider gives you none of the {} that sign in here; ask an administrator",
            settings.claim
        );
        return Err(HttpProblem::new(ProblemKind::WrongRole, detail));
    }
    let Some(known) = record::find(&app.store, account, &id).await? else {
        return added(app, settings, (named, roles, id), client).await;
    };
    if !known.record.is_active {
        return Err(disabled());
    }
    if known.record.roles == roles {
        return Ok(known);
    }
    let act = act(app, account, (&id, &known.record.profile.name), client);
    let words: Vec<&str> = roles.iter().map(|role| role.name()).collect();
    let act = Act { verb: "user.change".to_owned(), detail: format!("roles {}", words.join(", ")), ..act };
    let changing = record::change(app, (account, &id), |user| {
        user.record.roles.clone_from(&roles);
        user.record.revision += 1;
        Ok(())
    });
    let (user, ()) = app.noted(act, changing).await?;
    user_session::end_all(app, (account, &id), None).await?;
    Ok(user)
}

fn disabled() -> HttpProblem {
    HttpProblem::new(ProblemKind::SignInFailed, "the user is disabled here")
}

/// The user whom SCIM made for this subject, with the roles that SCIM gave. The first sign-in ties them, by a
/// name that is the address which the provider saw to; from then on the subject counts as well.
async fn provisioned(
    app: &App,
    (account, id): (&str, &str),
    named: &OidcUser,
    client: IpAddr,
) -> HttpResult<Option<StoredUser>> {
    let Some(mail) = named.mail.as_deref().filter(|_| named.is_mail_verified) else { return Ok(None) };
    let Some(known) = record::find_by_name(&app.store, account, mail).await? else { return Ok(None) };
    let credentials = &known.record.credentials;
    let is_free = |of: &UserCredentials| of.is_of_provider && of.subject.is_none() && !of.is_usable();
    // A user whom the first sign-in made has the subject as its id, and the roles of the claim.
    if known.id != id && credentials.subject.as_deref() == Some(id) {
        return Ok(Some(known));
    }
    if !is_free(credentials) {
        return Ok(None);
    }
    if !known.record.is_active {
        return Ok(Some(known));
    }
    let detail = json!({"subject": named.subject}).to_string();
    let act = act(app, account, (&known.id, &known.record.profile.name), client);
    let act = Act { verb: "user.tie".to_owned(), detail, ..act };
    let tying = record::change(app, (account, &known.id), |user| {
        let credentials = &mut user.record.credentials;
        if is_free(credentials) {
            credentials.subject = Some(id.to_owned());
            user.record.revision += 1;
        }
        Ok(())
    });
    let (user, ()) = app.noted(act, tying).await?;
    Ok(Some(user).filter(|user| user.record.credentials.subject.as_deref() == Some(id)))
}

/// The roles of all values of the claim, each once.
fn roles(settings: &OidcSettings, named: &OidcUser) -> Vec<UserRole> {
    let groups = named.groups.as_deref().unwrap_or_default();
    let given = settings.roles.iter().filter(|(value, _)| groups.contains(value));
    let given: Vec<UserRole> = given.flat_map(|(_, roles)| roles.iter().copied()).collect();
    UserRole::ALL.into_iter().filter(|role| given.contains(role)).collect()
}

/// The id of the user that a subject of a provider is, for ever: a name may be given to somebody else.
fn id_of(issuer: &str, subject: &str) -> String {
    let hash = digest(&SHA256, format!("{issuer}\n{subject}").as_bytes());
    format!("o_{}", URL_SAFE_NO_PAD.encode(&hash.as_ref()[..ID_OCTETS]))
}

fn act(app: &App, account: &str, (id, name): (&str, &str), client: IpAddr) -> Act {
    Act {
        at: app.now(),
        account: account.to_owned(),
        token: format!("{}{id}", crate::http::auth::signed_in::USER_PREFIX),
        token_name: name.to_owned(),
        from: client.to_string(),
        object: id.to_owned(),
        ..Act::default()
    }
}

async fn added(
    app: &App,
    settings: &OidcSettings,
    (named, roles, id): (&OidcUser, Vec<UserRole>, String),
    client: IpAddr,
) -> HttpResult<StoredUser> {
    let wanted = named.mail.clone().or_else(|| named.name.clone()).unwrap_or_else(|| named.subject.clone());
    let wanted: String = wanted.chars().take(NAME_CHARS_MAX - 4).collect();
    let body = UserBody {
        profile: UserProfile {
            name: wanted.clone(),
            full_name: named.name.clone().unwrap_or_default(),
            mail: named.mail.clone(),
            person: None,
        },
        roles,
        scope: UserScope { groups: None, areas: None, spaces: settings.spaces.clone() },
        is_active: true,
    };
    // What an administrator writes is checked; so is this.
    let body = UserBody::read(crate::http::request::json::tree_of(&body.to_json())?)?;
    let mut user = new_user(&settings.account, id, body, app.now());
    user.record.credentials.is_of_provider = true;
    user.record.credentials.subject = Some(user.id.clone());
    for number in 1..=NAMES_TRIED {
        if number > 1 {
            user.record.profile.name = format!("{wanted} {number}");
        }
        let name = &user.record.profile.name;
        if record::find_by_name(&app.store, &settings.account, name).await?.is_some() {
            continue;
        }
        let act = Act {
            verb: "user.create".to_owned(),
            detail: json!({"issuer": settings.issuer, "subject": named.subject}).to_string(),
            ..act(app, &settings.account, (&user.id, name), client)
        };
        app.noted(act, record::add(&app.store, &user, app.now())).await?;
        return Ok(user);
    }
    let detail = "other users have your name; ask an administrator to rename one of them";
    Err(HttpProblem::new(ProblemKind::WrongState, detail))
}

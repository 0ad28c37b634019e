//! SCIM 2.0: an identity provider provisions people, groups, and users who sign in.
//!
//! `/scim/v2/Users`, `/Groups` (each `GET`, `POST`, `/.search`, `/{id}` with `GET`, `PUT`, `PATCH`,
//! `DELETE`) ·
//! `/ServiceProviderConfig`, `/ResourceTypes`, `/Schemas` · `/.search` · `/Bulk` and `/Me`, refused.
//!
//! The protocol is `libs/scim`; here are the HTTP around it, the resources in the store ([`resources`]), and
//! what they are here: recipients ([`people`]), groups ([`group_members`]) and users ([`provisioned_users`]).
//! SCIM describes itself by `/Schemas`, so it is in no row of the table of routes: [`caller`] is its guard,
//! by the row of the matrix for people. Errors and answers are `application/scim+json`.

mod answer;
mod caller;
mod group_members;
mod people;
mod provisioned_users;
mod resources;
#[cfg(test)]
mod tests;

use self::answer::{ScimAnswer, ScimProblem, ScimResult};
use self::caller::ScimCaller;
use self::resources::Resources;
use crate::http::app::App;
use crate::http::request::body::{media_type, off_thread};
use crate::http::request::query::Captured;
use ::scim::list::{self, ListQuery};
use ::scim::patch::PatchRequest;
use ::scim::resource::{self, etag_matches};
use ::scim::schema::{resource_type, resource_types, schema_document, schemas, service_provider_config};
use ::scim::{ResourceKind, ScimError, ScimType};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{HOST, IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, any, get, post};
use serde_json::Value;

/// Octets of a request's body.
const BODY_OCTETS_MAX: usize = 8 << 20;
/// Media types of bodies.
const TYPES: [&str; 2] = ["application/scim+json", "application/json"];
/// Where everything stands.
const BASE: &str = "/scim/v2";
/// Where this is described for people.
const DOCUMENTATION: &str = "https://github.com/campanile/campanile/blob/main/docs/directory.md";

pub(crate) fn routes() -> Router<App> {
    let one = |routes: MethodRouter<App>| routes.fallback(wrong_method);
    Router::new()
        .route("/scim/v2/ServiceProviderConfig", one(get(provider)))
        .route("/scim/v2/ResourceTypes", one(get(types)))
        .route("/scim/v2/ResourceTypes/{id}", one(get(one_type)))
        .route("/scim/v2/Schemas", one(get(all_schemas)))
        .route("/scim/v2/Schemas/{id}", one(get(one_schema)))
        .route("/scim/v2/Users", one(get(list_users).post(create_user)))
        .route("/scim/v2/Users/.search", one(post(search_users)))
        .route("/scim/v2/Users/{id}", one(get(show_user).put(put_user).patch(patch_user).delete(delete_user)))
        .route("/scim/v2/Groups", one(get(list_groups).post(create_group)))
        .route("/scim/v2/Groups/.search", one(post(search_groups)))
        .route(
            "/scim/v2/Groups/{id}",
            one(get(show_group).put(put_group).patch(patch_group).delete(delete_group)),
        )
        .route("/scim/v2/.search", one(post(search_all)))
        .route("/scim/v2/Bulk", any(bulk))
        .route("/scim/v2/Me", any(me))
        .route("/scim/v2/{*rest}", any(unknown))
}

const USER: ResourceKind = ResourceKind::User;
const GROUP: ResourceKind = ResourceKind::Group;

async fn wrong_method(_: ScimCaller, uri: Uri) -> ScimProblem {
    let path: String = uri.path().chars().take(100).collect();
    ScimError::plain(405, format!("the method is not allowed at {path}")).into()
}

async fn unknown(_: ScimCaller, uri: Uri) -> ScimProblem {
    ScimError::not_found(uri.path()).into()
}

async fn bulk(_: ScimCaller) -> ScimProblem {
    ::scim::bulk::refusal().into()
}

async fn me(_: ScimCaller) -> ScimProblem {
    ScimError::not_implemented("a token is nobody's: name the user, /Users/{id}").into()
}

async fn provider(State(app): State<App>, _: ScimCaller, headers: HeaderMap) -> ScimAnswer {
    ScimAnswer::json(service_provider_config(&base_url(&app, &headers), Some(DOCUMENTATION)))
}

async fn types(State(app): State<App>, _: ScimCaller, headers: HeaderMap, uri: Uri) -> ScimResult {
    no_filter(&uri)?;
    let types = resource_types(&base_url(&app, &headers));
    Ok(ScimAnswer::json(list::response(types.len() as u64, 1, types)))
}

async fn one_type(
    State(app): State<App>,
    _: ScimCaller,
    Captured(id): Captured,
    headers: HeaderMap,
) -> ScimResult {
    let found = resource_type(&base_url(&app, &headers), &id);
    Ok(ScimAnswer::json(found.ok_or_else(|| ScimError::not_found(&id))?))
}

async fn all_schemas(State(app): State<App>, _: ScimCaller, headers: HeaderMap, uri: Uri) -> ScimResult {
    no_filter(&uri)?;
    let schemas = schemas(&base_url(&app, &headers));
    Ok(ScimAnswer::json(list::response(schemas.len() as u64, 1, schemas)))
}

async fn one_schema(
    State(app): State<App>,
    _: ScimCaller,
    Captured(id): Captured,
    headers: HeaderMap,
) -> ScimResult {
    let found = schema_document(&base_url(&app, &headers), &id);
    Ok(ScimAnswer::json(found.ok_or_else(|| ScimError::not_found(&id))?))
}

/// What describes the service is not filtered (RFC 7644 4).
fn no_filter(uri: &Uri) -> Result<(), ScimError> {
    match parameters(uri).iter().any(|(name, _)| name.eq_ignore_ascii_case("filter")) {
        true => Err(ScimError::plain(403, "these documents are not filtered: leave out `filter`")),
        false => Ok(()),
    }
}

macro_rules! handlers {
    ($kind:ident: $list:ident $create:ident $search:ident $show:ident $put:ident $patch:ident $delete:ident) => {
        async fn $list(
            State(app): State<App>,
            caller: ScimCaller,
            headers: HeaderMap,
            uri: Uri,
        ) -> ScimResult {
            listed(&app, &caller, &headers, &[$kind], &uri).await
        }
        async fn $create(
            State(app): State<App>,
            caller: ScimCaller,
            headers: HeaderMap,
            body: Body,
        ) -> ScimResult {
            created(&app, &caller, &headers, $kind, body).await
        }
        async fn $search(
            State(app): State<App>,
            caller: ScimCaller,
            headers: HeaderMap,
            body: Body,
        ) -> ScimResult {
            searched(&app, &caller, &headers, &[$kind], body).await
        }
        async fn $show(
            State(app): State<App>,
            caller: ScimCaller,
            Captured(id): Captured,
            headers: HeaderMap,
            uri: Uri,
        ) -> ScimResult {
            shown(&app, &caller, &headers, ($kind, &id), &uri).await
        }
        async fn $put(
            State(app): State<App>,
            caller: ScimCaller,
            Captured(id): Captured,
            headers: HeaderMap,
            body: Body,
        ) -> ScimResult {
            replaced(&app, &caller, &headers, ($kind, &id), body).await
        }
        async fn $patch(
            State(app): State<App>,
            caller: ScimCaller,
            Captured(id): Captured,
            headers: HeaderMap,
            body: Body,
        ) -> ScimResult {
            patched(&app, &caller, &headers, ($kind, &id), body).await
        }
        async fn $delete(
            State(app): State<App>,
            caller: ScimCaller,
            Captured(id): Captured,
            headers: HeaderMap,
        ) -> ScimResult {
            deleted(&app, &caller, &headers, ($kind, &id)).await
        }
    };
}

handlers! { USER: list_users create_user search_users show_user put_user patch_user delete_user }
handlers! { GROUP: list_groups create_group search_groups show_group put_group patch_group delete_group }

async fn listed(
    app: &App,
    caller: &ScimCaller,
    headers: &HeaderMap,
    kinds: &[ResourceKind],
    uri: &Uri,
) -> ScimResult {
    let parameters = parameters(uri);
    let pairs = parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let query = ListQuery::from_parameters(kinds, pairs)?;
    page(app, caller, headers, kinds, &query).await
}

async fn search_all(
    State(app): State<App>,
    caller: ScimCaller,
    headers: HeaderMap,
    body: Body,
) -> ScimResult {
    searched(&app, &caller, &headers, &ResourceKind::ALL, body).await
}

async fn searched(
    app: &App,
    caller: &ScimCaller,
    headers: &HeaderMap,
    kinds: &[ResourceKind],
    body: Body,
) -> ScimResult {
    let query = ListQuery::from_search(kinds, &read_json(app, headers, body).await?)?;
    page(app, caller, headers, kinds, &query).await
}

async fn page(
    app: &App,
    caller: &ScimCaller,
    headers: &HeaderMap,
    kinds: &[ResourceKind],
    query: &ListQuery,
) -> ScimResult {
    let resources = Resources::of(app, caller, base_url(app, headers));
    let (total, found) = resources.list(kinds, query).await?;
    Ok(ScimAnswer::json(list::response(total, query.start_index, found)))
}

async fn created(
    app: &App,
    caller: &ScimCaller,
    headers: &HeaderMap,
    kind: ResourceKind,
    body: Body,
) -> ScimResult {
    let new = resource::check(kind, &read_json(app, headers, body).await?)?;
    let resources = Resources::of(app, caller, base_url(app, headers));
    let stored = resources.create(kind, new).await?;
    Ok(resources.answer(&stored, StatusCode::CREATED, &ListQuery::default().projection))
}

async fn shown(
    app: &App,
    caller: &ScimCaller,
    headers: &HeaderMap,
    (kind, id): (ResourceKind, &str),
    uri: &Uri,
) -> ScimResult {
    let parameters = parameters(uri);
    let pairs = parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let query = ListQuery::from_parameters(&[kind], pairs)?;
    let resources = Resources::of(app, caller, base_url(app, headers));
    let stored = resources.find(kind, id).await?;
    if header(headers, &IF_NONE_MATCH).is_some_and(|tags| etag_matches(tags, stored.version)) {
        return Ok(ScimAnswer::empty(StatusCode::NOT_MODIFIED));
    }
    Ok(resources.answer(&stored, StatusCode::OK, &query.projection))
}

async fn replaced(
    app: &App,
    caller: &ScimCaller,
    headers: &HeaderMap,
    (kind, id): (ResourceKind, &str),
    body: Body,
) -> ScimResult {
    let new = resource::check(kind, &read_json(app, headers, body).await?)?;
    let resources = Resources::of(app, caller, base_url(app, headers));
    let change = |before: &::scim::Object| resource::replace(kind, before, new.clone()).map(Some);
    let stored = resources.change(kind, id, header(headers, &IF_MATCH), &change).await?;
    Ok(resources.answer(&stored, StatusCode::OK, &ListQuery::default().projection))
}

async fn patched(
    app: &App,
    caller: &ScimCaller,
    headers: &HeaderMap,
    (kind, id): (ResourceKind, &str),
    body: Body,
) -> ScimResult {
    let patch = PatchRequest::read(kind, &read_json(app, headers, body).await?)?;
    let resources = Resources::of(app, caller, base_url(app, headers));
    let change = |before: &::scim::Object| {
        let after = patch.apply(before)?;
        Ok::<_, ScimError>(after.is_changed.then_some(after.attributes))
    };
    let stored = resources.change(kind, id, header(headers, &IF_MATCH), &change).await?;
    Ok(resources.answer(&stored, StatusCode::OK, &ListQuery::default().projection))
}

async fn deleted(
    app: &App,
    caller: &ScimCaller,
    headers: &HeaderMap,
    (kind, id): (ResourceKind, &str),
) -> ScimResult {
    let resources = Resources::of(app, caller, base_url(app, headers));
    resources.delete(kind, id, header(headers, &IF_MATCH)).await?;
    Ok(ScimAnswer::empty(StatusCode::NO_CONTENT))
}

fn header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Parameters of the query, decoded; a query that cannot be decoded has none.
fn parameters(uri: &Uri) -> Vec<(String, String)> {
    let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri);
    pairs.map(|pairs| pairs.0).unwrap_or_default()
}

async fn read_json(app: &App, headers: &HeaderMap, body: Body) -> Result<Value, ScimProblem> {
    media_type(headers, &TYPES)?;
    let octets = app.bodies.whole(headers, body, BODY_OCTETS_MAX).await?;
    let read = off_thread(octets.len(), move || serde_json::from_slice(&octets)).await?;
    read.map_err(|error| {
        ScimError::new(ScimType::InvalidSyntax, format!("the body is not JSON: {error}")).into()
    })
}

/// The URL that `/Users` follows: by the public one, else as the client came.
fn base_url(app: &App, headers: &HeaderMap) -> String {
    match &app.cap.public_url {
        Some(url) => format!("{}{BASE}", url.trim_end_matches('/')),
        None => format!("http://{}{BASE}", header(headers, &HOST).unwrap_or("localhost")),
    }
}

impl IntoResponse for ScimProblem {
    fn into_response(self) -> axum::response::Response {
        self.answer().into_response()
    }
}

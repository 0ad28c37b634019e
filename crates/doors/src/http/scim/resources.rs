//! SCIM resources in the store: documents of the kind Provisioned, found by id, by name, by the provider's
//! identifier, or by looking through them.
//!
//! | id | lookup | what |
//! |---|---|---|
//! | `u/UUID`, `g/UUID` | `u:USERNAME`, `g:DISPLAYNAME` in small letters | a user, a group |
//! | `x/u/HASH`, `x/g/HASH` | | ids of the resources with an externalId, by its hash |
//!
//! What a resource is here (a recipient, a group, a user who signs in) is written before its document: a
//! crash between them leaves what the provider's next try writes again, and no document without it.

use super::answer::{ScimAnswer, ScimProblem};
use super::caller::ScimCaller;
use super::{group_members, people};
use crate::http::app::App;
use crate::http::problem::{HttpProblem, HttpResult, ProblemKind};
use ::scim::filter::IndexKey;
use ::scim::list::ListQuery;
use ::scim::resource::{NewResource, Projection, ResourceMeta, etag_matches, weak_etag};
use ::scim::{Object, ResourceKind, ScimError, ScimType};
use axum::http::StatusCode;
use records::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{Act, Document, DocumentKind, DocumentWritten, Expected, NewDocument, StoreError};
use uuid::Uuid;

/// Resources that one list looks through; beyond, it must be narrowed by a name or an identifier.
const SCAN_MAX: usize = 50_000;
/// Documents read at a time.
const PAGE: usize = 500;
/// Characters of a name that a resource is found by.
const NAME_CHARS_MAX: usize = 120;
/// Resources with one externalId that are remembered.
const SAME_EXTERNAL_MAX: usize = 16;
/// Octets of the attributes of a resource as JSON, without members.
const ATTRIBUTES_OCTETS_MAX: usize = 128 << 10;
const KIND: DocumentKind = DocumentKind::Provisioned;

/// A change of a resource's attributes: those after it, or nothing where it changes nothing.
pub(super) type Change<'a> = &'a (dyn Fn(&Object) -> Result<Option<Object>, ScimError> + Sync);

/// A resource as its document keeps it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ResourceRecord {
    /// Without id, meta, members and password.
    pub attributes: Object,
    pub created: Timestamp,
    /// The recipient or the group that it is.
    pub target: String,
    /// The recipient or group was there before it.
    pub was_there: bool,
    /// The name of the user who signs in, if it is one.
    #[serde(default)]
    pub signs_in: Option<String>,
    /// Members of a group, packed.
    #[serde(default)]
    pub members: String,
}

/// A resource with its place.
pub(super) struct StoredResource {
    pub kind: ResourceKind,
    pub id: String,
    pub version: u64,
    pub changed: Timestamp,
    pub record: ResourceRecord,
}

/// The resources of a caller's account.
pub(super) struct Resources<'a> {
    pub(super) app: &'a App,
    pub(super) caller: &'a ScimCaller,
    base_url: String,
}

/// The letter of a kind in ids.
fn letter(kind: ResourceKind) -> char {
    match kind {
        ResourceKind::User => 'u',
        ResourceKind::Group => 'g',
    }
}

/// The attribute that a kind is found by.
fn name_attribute(kind: ResourceKind) -> &'static str {
    match kind {
        ResourceKind::User => "userName",
        ResourceKind::Group => "displayName",
    }
}

/// Ids are UUIDs: others are nobody's.
fn document_id(kind: ResourceKind, id: &str) -> Option<String> {
    Uuid::try_parse(id).ok().map(|_| format!("{}/{}", letter(kind), id.to_ascii_lowercase()))
}

fn lookup(kind: ResourceKind, name: &str) -> String {
    format!("{}:{}", letter(kind), name.trim().to_lowercase())
}

fn external_id_document(kind: ResourceKind, external_id: &str) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, external_id.as_bytes());
    let hex: String = hash.as_ref()[..16].iter().map(|octet| format!("{octet:02x}")).collect();
    format!("x/{}/{hex}", letter(kind))
}

pub(super) fn text<'o>(attributes: &'o Object, name: &str) -> Option<&'o str> {
    attributes.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

impl<'a> Resources<'a> {
    pub(super) fn of(app: &'a App, caller: &'a ScimCaller, base_url: String) -> Resources<'a> {
        Resources { app, caller, base_url }
    }

    pub(super) fn account(&self) -> &str {
        self.caller.account()
    }

    /// One of them, or 404.
    pub(super) async fn find(&self, kind: ResourceKind, id: &str) -> Result<StoredResource, ScimProblem> {
        self.get(kind, id).await?.ok_or_else(|| ScimError::not_found(id).into())
    }

    pub(super) async fn get(
        &self,
        kind: ResourceKind,
        id: &str,
    ) -> Result<Option<StoredResource>, ScimProblem> {
        let Some(id) = document_id(kind, id) else { return Ok(None) };
        let found = self.app.store.document(self.account(), KIND, &id).await?;
        Ok(found.map(|document| read(kind, document)).transpose()?)
    }

    /// A resource as an answer.
    pub(super) fn answer(
        &self,
        stored: &StoredResource,
        status: StatusCode,
        projection: &Projection,
    ) -> ScimAnswer {
        let body = projection.apply(stored.kind, &self.whole(stored, projection));
        let location = self.meta(stored).location(&self.base_url);
        ScimAnswer::resource(status, body.into(), weak_etag(stored.version), location)
    }

    fn meta<'r>(&self, stored: &'r StoredResource) -> ResourceMeta<'r> {
        ResourceMeta {
            kind: stored.kind,
            id: &stored.id,
            created: as_time(stored.record.created),
            last_modified: as_time(stored.changed),
            version: stored.version,
        }
    }

    /// All attributes; members where an answer may have them.
    fn whole(&self, stored: &StoredResource, projection: &Projection) -> Object {
        let mut resource = stored.record.attributes.clone();
        if stored.kind == ResourceKind::Group && projection.includes(stored.kind, "members") {
            group_members::write(&stored.record.members, &self.base_url, &mut resource);
        }
        self.meta(stored).stamp(&self.base_url, &mut resource);
        resource
    }

    /// How many resources a query finds, and those of its page.
    pub(super) async fn list(
        &self,
        kinds: &[ResourceKind],
        query: &ListQuery,
    ) -> Result<(u64, Vec<Value>), ScimProblem> {
        let (mut total, mut page) = (0, Vec::new());
        for kind in kinds {
            match self.candidates(*kind, query).await? {
                Some(found) => found.iter().for_each(|one| self.take(one, query, &mut total, &mut page)),
                None => self.scan(*kind, query, &mut total, &mut page).await?,
            }
        }
        Ok((total, page))
    }

    fn take(&self, stored: &StoredResource, query: &ListQuery, total: &mut u64, page: &mut Vec<Value>) {
        let everything = Projection::default();
        let is_found = query
            .filter
            .as_ref()
            .is_none_or(|filter| filter.matches(stored.kind, &self.whole(stored, &everything)));
        if !is_found {
            return;
        }
        *total += 1;
        if *total >= query.start_index && page.len() < query.count {
            let whole = self.whole(stored, &query.projection);
            page.push(query.projection.apply(stored.kind, &whole).into());
        }
    }

    /// The only resources that a filter can find, by an index; nothing: no index answers it.
    async fn candidates(
        &self,
        kind: ResourceKind,
        query: &ListQuery,
    ) -> Result<Option<Vec<StoredResource>>, ScimProblem> {
        let Some(found) = query.filter.as_ref().and_then(|filter| filter.index_lookup(kind)) else {
            return Ok(None);
        };
        Ok(match found.key {
            IndexKey::Id => Some(self.get(kind, found.value).await?.into_iter().collect()),
            IndexKey::UserName | IndexKey::DisplayName => {
                Some(self.by_name(kind, found.value).await?.into_iter().collect())
            }
            IndexKey::ExternalId => {
                let ids = self.with_external_id(kind, found.value).await?;
                if ids.len() >= SAME_EXTERNAL_MAX {
                    return Ok(None);
                }
                let mut candidates = Vec::with_capacity(ids.len());
                for id in ids {
                    candidates.extend(self.get(kind, &id).await?);
                }
                Some(candidates)
            }
        })
    }

    async fn by_name(&self, kind: ResourceKind, name: &str) -> Result<Option<StoredResource>, ScimProblem> {
        let key = lookup(kind, name);
        if key.len() > store::DOCUMENT_KEY_OCTETS_MAX {
            return Ok(None);
        }
        let found = self.app.store.document_by(self.account(), KIND, &key).await?;
        Ok(found.map(|document| read(kind, document)).transpose()?)
    }

    async fn with_external_id(&self, kind: ResourceKind, external_id: &str) -> HttpResult<Vec<String>> {
        let id = external_id_document(kind, external_id);
        let found = self.app.store.document(self.account(), KIND, &id).await?;
        Ok(found.and_then(|document| serde_json::from_str(&document.body).ok()).unwrap_or_default())
    }

    /// Whether a user has this externalId: then a recipient of this id is theirs.
    pub(super) async fn is_external_id_taken(&self, external_id: &str) -> HttpResult<bool> {
        Ok(!self.with_external_id(ResourceKind::User, external_id).await?.is_empty())
    }

    /// Looks through all of a kind, within the limit.
    async fn scan(
        &self,
        kind: ResourceKind,
        query: &ListQuery,
        total: &mut u64,
        page: &mut Vec<Value>,
    ) -> Result<(), ScimProblem> {
        let prefix = format!("{}/", letter(kind));
        let (mut after, mut seen) = (prefix.clone(), 0);
        loop {
            let documents = self.app.store.documents_after(self.account(), KIND, &after, PAGE).await?;
            let is_last = documents.len() < PAGE;
            for document in documents {
                if !document.id.starts_with(&prefix) {
                    return Ok(());
                }
                seen += 1;
                if seen > SCAN_MAX {
                    let detail = format!(
                        "a list looks through at most {SCAN_MAX} resources: filter by userName, displayName, externalId or id"
                    );
                    return Err(ScimError::new(ScimType::TooMany, detail).into());
                }
                after.clone_from(&document.id);
                self.take(&read(kind, document)?, query, total, page);
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Adds a resource.
    pub(super) async fn create(
        &self,
        kind: ResourceKind,
        new: NewResource,
    ) -> Result<StoredResource, ScimProblem> {
        let _held = self.app.uploads.directory.provisioning.lock().await;
        let name = self.free_name(kind, &new.attributes, None).await?;
        let now = self.app.now();
        let stored = StoredResource {
            kind,
            id: Uuid::now_v7().to_string(),
            version: 0,
            changed: now,
            record: ResourceRecord {
                attributes: Object::new(),
                created: now,
                target: String::new(),
                was_there: false,
                signs_in: None,
                members: String::new(),
            },
        };
        self.write(stored, new.attributes, name).await
    }

    /// Changes a resource of the version that `if_match` names.
    pub(super) async fn change(
        &self,
        kind: ResourceKind,
        id: &str,
        if_match: Option<&str>,
        change: Change<'_>,
    ) -> Result<StoredResource, ScimProblem> {
        let _held = self.app.uploads.directory.provisioning.lock().await;
        let stored = self.matched(kind, id, if_match).await?;
        let mut before = stored.record.attributes.clone();
        if kind == ResourceKind::Group {
            group_members::write(&stored.record.members, &self.base_url, &mut before);
        }
        let Some(after) = change(&before)? else { return Ok(stored) };
        let name = self.free_name(kind, &after, Some(&stored.id)).await?;
        self.write(stored, after, name).await
    }

    async fn matched(
        &self,
        kind: ResourceKind,
        id: &str,
        if_match: Option<&str>,
    ) -> Result<StoredResource, ScimProblem> {
        let stored = self.find(kind, id).await?;
        match if_match.is_none_or(|tags| etag_matches(tags, stored.version)) {
            true => Ok(stored),
            false => Err(ScimError::version_mismatch().into()),
        }
    }

    /// The name that a resource is found by, if no other has it.
    async fn free_name(
        &self,
        kind: ResourceKind,
        attributes: &Object,
        own: Option<&str>,
    ) -> Result<String, ScimProblem> {
        let attribute = name_attribute(kind);
        let name = text(attributes, attribute).unwrap_or_default();
        let key = lookup(kind, name);
        if name.chars().count() > NAME_CHARS_MAX || key.len() > store::DOCUMENT_KEY_OCTETS_MAX {
            let detail = format!("{attribute} has more than {NAME_CHARS_MAX} characters");
            return Err(ScimError::new(ScimType::InvalidValue, detail).into());
        }
        match self.by_name(kind, name).await? {
            Some(other) if own != Some(other.id.as_str()) => Err(ScimError::taken(attribute, name).into()),
            _ => Ok(key),
        }
    }

    /// Writes what a resource is here, then its document.
    async fn write(
        &self,
        mut stored: StoredResource,
        mut attributes: Object,
        name: String,
    ) -> Result<StoredResource, ScimProblem> {
        // A password is nobody's here: who signs in does so at the provider, or is invited.
        attributes.remove("password");
        let before = text(&stored.record.attributes, "externalId").map(str::to_owned);
        let members = attributes.remove("members");
        check_size(&attributes)?;
        stored.record.attributes = attributes;
        let change = match stored.kind {
            ResourceKind::User => people::plan(self, &mut stored).await?,
            ResourceKind::Group => group_members::plan(self, &mut stored, members).await?,
        };
        let expected = if stored.version == 0 { Expected::Absent } else { Expected::Version(stored.version) };
        let act = self.act(&stored, "put");
        let writing = async {
            change.carry_out(self.app, &self.caller.0).await?;
            let version = self.put(&stored, name, expected).await?;
            self.note_external_id(&stored, before.as_deref()).await?;
            Ok::<_, HttpProblem>(version)
        };
        stored.version = self.app.noted(act, writing).await?;
        stored.changed = self.app.now();
        Ok(stored)
    }

    async fn put(&self, stored: &StoredResource, name: String, expected: Expected) -> HttpResult<u64> {
        let failed = |why: String| HttpProblem::new(ProblemKind::Internal, why);
        let body = serde_json::to_string(&stored.record).map_err(|error| failed(error.to_string()))?;
        let id = format!("{}/{}", letter(stored.kind), stored.id);
        let document = NewDocument { id, lookup: Some(name), due: None, body };
        let put = self.app.store.put_document(self.account(), KIND, document, expected, self.app.now());
        match put.await? {
            DocumentWritten::Done(version) => Ok(version),
            // Another process was faster.
            DocumentWritten::Conflict(_) | DocumentWritten::LookupTaken => {
                let detail =
                    "another request changed the resource at the same time: read it again, then repeat";
                Err(HttpProblem::new(ProblemKind::WrongState, detail))
            }
        }
    }

    async fn note_external_id(&self, stored: &StoredResource, before: Option<&str>) -> HttpResult<()> {
        let after = text(&stored.record.attributes, "externalId");
        if before == after {
            return Ok(());
        }
        if let Some(before) = before {
            self.change_external_id(stored, before, false).await?;
        }
        match after {
            Some(after) => self.change_external_id(stored, after, true).await,
            None => Ok(()),
        }
    }

    async fn change_external_id(
        &self,
        stored: &StoredResource,
        external_id: &str,
        is_added: bool,
    ) -> HttpResult<()> {
        let mut ids = self.with_external_id(stored.kind, external_id).await?;
        ids.retain(|id| *id != stored.id);
        if is_added && ids.len() < SAME_EXTERNAL_MAX {
            ids.push(stored.id.clone());
        }
        let id = external_id_document(stored.kind, external_id);
        if ids.is_empty() {
            self.app.store.delete_document(self.account(), KIND, &id, Expected::Any).await?;
            return Ok(());
        }
        let body = serde_json::json!(ids).to_string();
        let document = NewDocument { id, lookup: None, due: None, body };
        self.app.store.put_document(self.account(), KIND, document, Expected::Any, self.app.now()).await?;
        Ok(())
    }

    /// Removes a resource and what it is here, unless that was there before it.
    pub(super) async fn delete(
        &self,
        kind: ResourceKind,
        id: &str,
        if_match: Option<&str>,
    ) -> Result<(), ScimProblem> {
        let _held = self.app.uploads.directory.provisioning.lock().await;
        let stored = self.matched(kind, id, if_match).await?;
        let change = match kind {
            ResourceKind::User => people::removal(self, &stored).await?,
            ResourceKind::Group => group_members::removal(self, &stored),
        };
        let act = self.act(&stored, "delete");
        let deleting = async {
            change.carry_out(self.app, &self.caller.0).await?;
            if let Some(external_id) = text(&stored.record.attributes, "externalId") {
                self.change_external_id(&stored, external_id, false).await?;
            }
            let id = format!("{}/{}", letter(kind), stored.id);
            self.app.store.delete_document(self.account(), KIND, &id, Expected::Any).await?;
            Ok::<_, HttpProblem>(())
        };
        Ok(self.app.noted(act, deleting).await?)
    }

    fn act(&self, stored: &StoredResource, verb: &str) -> Act {
        let of = match stored.kind {
            ResourceKind::User => "user",
            ResourceKind::Group => "group",
        };
        let target = &stored.record.target;
        let person = (stored.kind == ResourceKind::User).then(|| target.clone());
        Act { person, ..self.app.act(&self.caller.0, &format!("scim.{of}.{verb}"), target, &stored.id) }
    }
}

fn check_size(attributes: &Object) -> Result<(), ScimError> {
    let octets = serde_json::to_string(attributes).map_or(usize::MAX, |text| text.len());
    if octets > ATTRIBUTES_OCTETS_MAX {
        let detail = format!("the attributes have {octets} octets, more than {ATTRIBUTES_OCTETS_MAX}");
        return Err(ScimError::new(ScimType::TooMany, detail));
    }
    Ok(())
}

fn read(kind: ResourceKind, document: Document) -> Result<StoredResource, StoreError> {
    let damaged = |error| StoreError::Damaged { what: format!("the resource {}: {error}", document.id) };
    let record = serde_json::from_str(&document.body).map_err(damaged)?;
    let id = document.id[2..].to_owned();
    Ok(StoredResource { kind, id, version: document.version, changed: document.changed, record })
}

fn as_time(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_microsecond(at.0).unwrap_or_default()
}

//! A SCIM user as a recipient, and as a user who signs in where its roles say so.
//!
//! | SCIM | here |
//! |---|---|
//! | `externalId`, else `userName` | the recipient's id, fixed when it is created |
//! | `displayName`, else `name` | name |
//! | `preferredLanguage`, `locale`; `timezone` | language; time zone |
//! | `phoneNumbers` that are mobile; others but fax and pager where none is | devices: sms |
//! | `emails`; `ims` of type xmpp | devices: mail, im |
//! | `title`, `userType`, `userName`, the enterprise extension | attributes |
//! | `active: false` | all devices off, attribute `active` is `false`, sessions ended |
//! | `roles` with names of roles here | a user who signs in, by an admin token alone |
//!
//! What cannot be used (a number that is none) is left out: a provider's data is not refused for it.

use super::answer::ScimProblem;
use super::provisioned_users::{self, ProvisionedUser};
use super::resources::{Resources, StoredResource, text};
use crate::http::app::App;
use crate::http::auth::Caller;
use crate::http::problem::HttpResult;
use ::scim::resource::{canonical_email, canonical_phone};
use ::scim::{Object, ScimError};
use records::{Device, Group, Recipient, UserRole};
use serde_json::{Value, json};
use store::import::{ATTRIBUTE_OCTETS_MAX, NAME_OCTETS_MAX, check_id, from_json};

/// Attributes that a provider sets here; those that it leaves out go.
const OWN_ATTRIBUTES: [&str; 9] = [
    "active",
    "title",
    "user_type",
    "user_name",
    "employee_number",
    "cost_center",
    "organization",
    "division",
    "department",
];
const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
/// Devices of one person that a provider gives.
const DEVICES_MAX: usize = 16;

/// What a request writes beside its document, once it is noted.
pub(super) enum ProvisionedChange {
    Person { account: String, person: Box<Recipient>, user: UserChange },
    RemovedPerson { account: String, id: String, user: UserChange },
    Group { account: String, group: Group },
    RemovedGroup { account: String, id: String },
    Nothing,
}

/// What becomes of the user who signs in.
pub(super) enum UserChange {
    /// There is none.
    Nothing,
    Put(Box<ProvisionedUser>),
    /// Sessions and streams end at once; the user may not sign in any more.
    End(String),
}

impl ProvisionedChange {
    /// The user comes first: where an account would lose its last administrator, nothing is changed.
    pub(super) async fn carry_out(self, app: &App, caller: &Caller) -> HttpResult<()> {
        match self {
            ProvisionedChange::Person { account, person, user } => {
                user.carry_out(app, caller).await?;
                let _held = app.hold(&account, &person.id).await;
                app.store.put_recipients(&account, vec![*person]).await?;
            }
            ProvisionedChange::RemovedPerson { account, id, user } => {
                user.carry_out(app, caller).await?;
                let _held = app.hold(&account, &id).await;
                app.store.delete_recipient(&account, &id).await?;
            }
            ProvisionedChange::Group { account, group } => {
                let _held = app.hold(&account, &format!("group {}", group.id)).await;
                app.store.put_group(&account, group).await?;
            }
            ProvisionedChange::RemovedGroup { account, id } => {
                let _held = app.hold(&account, &format!("group {id}")).await;
                app.store.delete_group(&account, &id).await?;
            }
            ProvisionedChange::Nothing => {}
        }
        Ok(())
    }
}

impl UserChange {
    async fn carry_out(self, app: &App, caller: &Caller) -> HttpResult<()> {
        match self {
            UserChange::Nothing => Ok(()),
            UserChange::Put(user) => provisioned_users::put(app, caller, *user).await,
            UserChange::End(name) => provisioned_users::end(app, caller, &name).await,
        }
    }

    /// Refuses what concerns somebody who signs in, by a token that may not change users.
    async fn checked(self, resources: &Resources<'_>) -> Result<UserChange, ScimProblem> {
        if let UserChange::End(name) = &self
            && !resources.caller.changes_users()
            && provisioned_users::is_there(resources.app, resources.account(), name).await?
        {
            let detail =
                format!("{name:?} signs in here: only a token of the role admin may switch them off");
            return Err(ScimError::plain(403, detail).into());
        }
        Ok(self)
    }
}

/// What a user that was created or changed is here.
pub(super) async fn plan(
    resources: &Resources<'_>,
    stored: &mut StoredResource,
) -> Result<ProvisionedChange, ScimProblem> {
    let (app, account) = (resources.app, resources.account());
    if stored.record.target.is_empty() {
        stored.record.target = target(resources, stored).await?;
        let there = app.store.recipient(account, &stored.record.target).await?;
        stored.record.was_there = there.is_some();
    }
    let there = app.store.recipient(account, &stored.record.target).await?.map(|(person, _)| person);
    let person = person(app, stored, there);
    let user = user(resources, stored, &person)?.checked(resources).await?;
    let account = account.to_owned();
    Ok(ProvisionedChange::Person { account, person: Box::new(person), user })
}

/// The id of the recipient that a new user is: the provider's identifier of it, else its name, unless another
/// resource has that one.
async fn target(resources: &Resources<'_>, stored: &StoredResource) -> Result<String, ScimProblem> {
    let attributes = &stored.record.attributes;
    let external_id = text(attributes, "externalId").filter(|id| check_id(id.trim()).is_ok());
    if let Some(id) = external_id
        && !resources.is_external_id_taken(id).await?
    {
        return Ok(id.trim().to_owned());
    }
    let name = text(attributes, "userName").map(str::trim).filter(|name| check_id(name).is_ok());
    Ok(name.filter(|_| external_id.is_none()).map_or_else(|| stored.id.clone(), str::to_owned))
}

/// The recipient after the change. What a provider says nothing of stays.
fn person(app: &App, stored: &StoredResource, there: Option<Recipient>) -> Recipient {
    let attributes = &stored.record.attributes;
    let is_active = attributes.get("active") != Some(&Value::Bool(false));
    let mut person = there.unwrap_or_default();
    let was_active = person.attributes.get("active").is_none_or(|active| active != "false");
    person.id = stored.record.target.clone();
    person.name = cut(&full_name(attributes), NAME_OCTETS_MAX).to_owned();
    let usable = |field: &str, value: Option<&str>| {
        let value = value?;
        let read = from_json(&json!({"id": "x", field: value}), &app.defaults.load()).ok()?;
        if field == "language" { read.language } else { read.time_zone }
    };
    // The first of what Accept-Language lists; `en_US` is written, too.
    let language = text(attributes, "preferredLanguage").or(text(attributes, "locale"));
    let first =
        language.and_then(|tags| tags.split([',', ';']).next()).map(|tag| tag.trim().replace('_', "-"));
    person.language = usable("language", first.as_deref()).or(person.language);
    person.time_zone = usable("time_zone", text(attributes, "timezone")).or(person.time_zone);
    person.devices = devices(app, attributes, std::mem::take(&mut person.devices));
    for device in &mut person.devices {
        device.enabled = is_active && (device.enabled || !was_active);
    }
    person.attributes.retain(|name, _| !OWN_ATTRIBUTES.contains(&name.as_str()));
    for (name, value) in own_attributes(attributes, is_active) {
        person.attributes.insert(name.to_owned(), cut(value, ATTRIBUTE_OCTETS_MAX).to_owned());
    }
    person
}

fn own_attributes(attributes: &Object, is_active: bool) -> Vec<(&'static str, &str)> {
    let enterprise = attributes.get(ENTERPRISE).and_then(Value::as_object);
    let of_enterprise = |name: &str| enterprise.and_then(|object| text(object, name));
    let all = [
        ("active", (!is_active).then_some("false")),
        ("title", text(attributes, "title")),
        ("user_type", text(attributes, "userType")),
        ("user_name", text(attributes, "userName")),
        ("employee_number", of_enterprise("employeeNumber")),
        ("cost_center", of_enterprise("costCenter")),
        ("organization", of_enterprise("organization")),
        ("division", of_enterprise("division")),
        ("department", of_enterprise("department")),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn full_name(attributes: &Object) -> String {
    let name = attributes.get("name").and_then(Value::as_object);
    let part = |part: &str| name.and_then(|name| text(name, part));
    let parts =
        || [part("givenName"), part("familyName")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let shown = text(attributes, "displayName").or(part("formatted")).map(str::to_owned);
    let shown = shown.unwrap_or_else(parts);
    match shown.trim() {
        "" => text(attributes, "userName").unwrap_or_default().to_owned(),
        shown => shown.to_owned(),
    }
}

/// Values of a multi-valued attribute, the preferred one first, each with its type.
fn values<'o>(attributes: &'o Object, name: &str) -> Vec<(&'o str, &'o str, bool)> {
    let all = attributes.get(name).and_then(Value::as_array).into_iter().flatten();
    let mut found: Vec<(&str, &str, bool)> = all
        .filter_map(|one| {
            let kind = one.get("type").and_then(Value::as_str).unwrap_or_default();
            let is_primary = one.get("primary") == Some(&Value::Bool(true));
            Some((one.get("value")?.as_str()?, kind, is_primary))
        })
        .collect();
    found.sort_by_key(|(.., is_primary)| !is_primary);
    found
}

/// The devices that a provider gives, in the order in which they are tried, then those of channels that it
/// says nothing of. What was known of an address stays known.
fn devices(app: &App, attributes: &Object, there: Vec<Device>) -> Vec<Device> {
    let phones = values(attributes, "phoneNumbers");
    let is_mobile = |kind: &str| kind.eq_ignore_ascii_case("mobile");
    let has_mobile = phones.iter().any(|(_, kind, _)| is_mobile(kind));
    let is_sms = |kind: &str| {
        if has_mobile {
            is_mobile(kind)
        } else {
            !["fax", "pager"].iter().any(|not| kind.eq_ignore_ascii_case(not))
        }
    };
    let phones = phones.into_iter().filter(|(_, kind, _)| is_sms(kind));
    let phones = phones.filter_map(|(number, ..)| Some(("sms", canonical_phone(number)?)));
    let mails = values(attributes, "emails").into_iter();
    let mails = mails.filter_map(|(mail, ..)| Some(("mail", canonical_email(mail)?)));
    let chats =
        values(attributes, "ims").into_iter().filter(|(_, kind, _)| kind.eq_ignore_ascii_case("xmpp"));
    let chats = chats.map(|(chat, ..)| ("im", format!("xmpp:{chat}")));
    let mut devices: Vec<Device> = Vec::new();
    for (channel, address) in phones.chain(mails).chain(chats).take(DEVICES_MAX) {
        let one = json!({"id": "x", "devices": [{"channel": channel, "address": address}]});
        let Ok(read) = from_json(&one, &app.defaults.load()) else { continue };
        for device in read.devices {
            let is_same =
                |other: &&Device| other.channel == device.channel && other.address == device.address;
            if !devices.iter().any(|other| is_same(&other)) {
                devices.push(there.iter().find(is_same).cloned().unwrap_or(device));
            }
        }
    }
    let ours = [channels::SMS, channels::MAIL];
    let others = there.into_iter().filter(|device| {
        let is_given = devices.iter().any(|own| own.channel == device.channel);
        !ours.contains(&device.channel) && !is_given
    });
    let others: Vec<Device> = others.collect();
    devices.extend(others);
    devices
}

/// The user who signs in. Roles that have no name here are the provider's own and mean nothing.
fn user(
    resources: &Resources<'_>,
    stored: &mut StoredResource,
    person: &Recipient,
) -> Result<UserChange, ScimProblem> {
    let attributes = &stored.record.attributes;
    let name = text(attributes, "userName").unwrap_or_default().to_owned();
    let is_active = attributes.get("active") != Some(&Value::Bool(false));
    let named = values(attributes, "roles").into_iter();
    let roles: Vec<UserRole> =
        named.filter_map(|(role, ..)| role.to_ascii_lowercase().parse().ok()).collect();
    let before = stored.record.signs_in.take();
    if !roles.is_empty() && !resources.caller.changes_users() {
        let detail = "only a token of the role admin may give roles to users who sign in: leave out `roles`";
        return Err(ScimError::plain(403, detail).into());
    }
    if roles.is_empty() || !is_active {
        // A user with this name may have been made otherwise; the provider says that they are gone.
        let ended = before.clone().or_else(|| (!is_active).then_some(name));
        stored.record.signs_in = before.filter(|_| !roles.is_empty());
        return Ok(ended.map_or(UserChange::Nothing, UserChange::End));
    }
    stored.record.signs_in = Some(name.clone());
    let mail = person.devices.iter().find(|device| device.channel == channels::MAIL);
    Ok(UserChange::Put(Box::new(ProvisionedUser {
        before: before.unwrap_or_else(|| name.clone()),
        name,
        full_name: person.name.clone(),
        mail: mail.map(|device| device.address.clone()),
        person: person.id.clone(),
        roles,
    })))
}

/// What becomes of a user's recipient when it is deleted: one that was there before it stays, switched off.
pub(super) async fn removal(
    resources: &Resources<'_>,
    stored: &StoredResource,
) -> Result<ProvisionedChange, ScimProblem> {
    let account = resources.account().to_owned();
    let name = stored.record.signs_in.as_deref().or(text(&stored.record.attributes, "userName"));
    let user = name.map_or(UserChange::Nothing, |name| UserChange::End(name.to_owned()));
    let user = user.checked(resources).await?;
    let id = stored.record.target.clone();
    if !stored.record.was_there {
        return Ok(ProvisionedChange::RemovedPerson { account, id, user });
    }
    let Some((mut person, _)) = resources.app.store.recipient(&account, &id).await? else {
        return Ok(ProvisionedChange::RemovedPerson { account, id, user });
    };
    person.devices.iter_mut().for_each(|device| device.enabled = false);
    person.attributes.insert("active".to_owned(), "false".to_owned());
    Ok(ProvisionedChange::Person { account, person: Box::new(person), user })
}

fn cut(text: &str, octets_max: usize) -> &str {
    &text[..text.floor_char_boundary(octets_max)]
}

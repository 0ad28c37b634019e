//! Members of a SCIM group, and the group that it is here.
//!
//! A group is found by its `displayName`, which makes its id here when it is created. Its members are
//! recipients; members that are groups are nested. A document keeps members as 16 octets each, in base64.

use super::answer::ScimProblem;
use super::people::ProvisionedChange;
use super::resources::{Resources, StoredResource, text};
use ::scim::{Object, ResourceKind, ScimError, ScimType};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use channels::legible;
use records::Group;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use store::import::{ID_OCTETS_MAX, NAME_OCTETS_MAX, check_group};
use uuid::Uuid;

/// Members of one group: as many as a document holds, packed.
pub(super) const MEMBERS_MAX: usize = 40_000;
/// Groups within a group.
const NESTED_MAX: usize = 100;
const ID_OCTETS: usize = 16;

/// Members as they are packed: each an id, and whether it is a group's (the first bit of a UUID's variant
/// octet, which is always set, is not).
fn pack(members: &BTreeSet<(Uuid, bool)>) -> String {
    let mut octets = Vec::with_capacity(members.len() * ID_OCTETS);
    for (id, is_group) in members {
        let mut id = *id.as_bytes();
        if *is_group {
            id[8] &= 0x7f;
        }
        octets.extend_from_slice(&id);
    }
    STANDARD_NO_PAD.encode(octets)
}

fn unpack(packed: &str) -> BTreeSet<(Uuid, bool)> {
    let octets = STANDARD_NO_PAD.decode(packed).unwrap_or_default();
    let ids = octets.chunks_exact(ID_OCTETS).filter_map(|chunk| <[u8; ID_OCTETS]>::try_from(chunk).ok());
    ids.map(|mut id| {
        let is_group = id[8] & 0x80 == 0;
        id[8] |= 0x80;
        (Uuid::from_bytes(id), is_group)
    })
    .collect()
}

/// Writes members into a resource.
pub(super) fn write(packed: &str, base_url: &str, resource: &mut Object) {
    let member = |(id, is_group): (Uuid, bool)| {
        let kind = if is_group { ResourceKind::Group } else { ResourceKind::User };
        json!({"value": id, "type": kind.name(), "$ref": format!("{base_url}{}/{id}", kind.endpoint())})
    };
    let members: Vec<Value> = unpack(packed).into_iter().map(member).collect();
    if !members.is_empty() {
        resource.insert("members".to_owned(), members.into());
    }
}

/// The group after the change.
pub(super) async fn plan(
    resources: &Resources<'_>,
    stored: &mut StoredResource,
    members: Option<Value>,
) -> Result<ProvisionedChange, ScimProblem> {
    let before = unpack(&stored.record.members);
    let after = named(resources, stored, &before, members.as_ref()).await?;
    let (app, account) = (resources.app, resources.account());
    if stored.record.target.is_empty() {
        stored.record.target = target(stored);
        stored.record.was_there = app.store.group(account, &stored.record.target).await?.is_some();
    }
    let there = app.store.group(account, &stored.record.target).await?.map(|(group, _)| group);
    let mut group = there.unwrap_or_else(|| Group { id: stored.record.target.clone(), ..Group::default() });
    let name = text(&stored.record.attributes, "displayName").unwrap_or_default();
    group.name = name[..name.floor_char_boundary(NAME_OCTETS_MAX)].to_owned();
    for (id, is_group) in before.difference(&after) {
        if let Some(target) = target_of(resources, *id, *is_group).await? {
            group.members.retain(|member| *is_group || *member != target);
            group.groups.retain(|inner| !is_group || *inner != target);
        }
    }
    for (id, is_group) in after.difference(&before) {
        let Some(target) = target_of(resources, *id, *is_group).await? else { continue };
        let list = if *is_group { &mut group.groups } else { &mut group.members };
        list.push(target);
    }
    for list in [&mut group.members, &mut group.groups] {
        list.sort_unstable();
        list.dedup();
    }
    check_group(&group).map_err(|faults| {
        let detail = faults.first().map_or_else(String::new, |fault| fault.to_string());
        ScimError::new(ScimType::InvalidValue, format!("the group cannot be kept: {detail}"))
    })?;
    stored.record.members = pack(&after);
    Ok(ProvisionedChange::Group { account: account.to_owned(), group })
}

/// Members that a request names; each new one has to be there.
async fn named(
    resources: &Resources<'_>,
    stored: &StoredResource,
    before: &BTreeSet<(Uuid, bool)>,
    members: Option<&Value>,
) -> Result<BTreeSet<(Uuid, bool)>, ScimProblem> {
    let invalid = |detail: String| ScimError::new(ScimType::InvalidValue, detail);
    let mut after = BTreeSet::new();
    for member in members.and_then(Value::as_array).into_iter().flatten() {
        let value = member.get("value").and_then(Value::as_str).unwrap_or_default();
        let shown: String = value.chars().take(80).collect();
        let absent = || invalid(format!("the member {shown:?} does not exist: create it first"));
        let id = Uuid::try_parse(value).map_err(|_| absent())?;
        if id.to_string() == stored.id {
            return Err(invalid("a group cannot be in itself".to_owned()).into());
        }
        let known = [false, true].into_iter().find(|is_group| before.contains(&(id, *is_group)));
        let is_group = match known {
            Some(is_group) => is_group,
            None if resources.get(ResourceKind::User, value).await?.is_some() => false,
            None if resources.get(ResourceKind::Group, value).await?.is_some() => true,
            None => return Err(absent().into()),
        };
        after.insert((id, is_group));
    }
    let nested = after.iter().filter(|(_, is_group)| *is_group).count();
    for (what, count, max) in [("members", after.len(), MEMBERS_MAX), ("groups", nested, NESTED_MAX)] {
        if count > max {
            let detail = format!("the group has {count} {what}, more than {max}: divide it");
            return Err(ScimError::new(ScimType::TooMany, detail).into());
        }
    }
    Ok(after)
}

/// The recipient or the group that a member is; nothing: it was deleted meanwhile.
async fn target_of(
    resources: &Resources<'_>,
    id: Uuid,
    is_group: bool,
) -> Result<Option<String>, ScimProblem> {
    let kind = if is_group { ResourceKind::Group } else { ResourceKind::User };
    Ok(resources.get(kind, &id.to_string()).await?.map(|stored| stored.record.target))
}

/// The id of the group that a new one is: its name, where that can be an id.
fn target(stored: &StoredResource) -> String {
    let name = legible::name(text(&stored.record.attributes, "displayName").unwrap_or_default()).into_owned();
    let group = Group { id: name, ..Group::default() };
    match check_group(&group) {
        Ok(()) if group.id.len() <= ID_OCTETS_MAX => group.id,
        _ => format!("scim-{}", stored.id),
    }
}

/// A group that was there before stays.
pub(super) fn removal(resources: &Resources<'_>, stored: &StoredResource) -> ProvisionedChange {
    match stored.record.was_there {
        true => ProvisionedChange::Nothing,
        false => ProvisionedChange::RemovedGroup {
            account: resources.account().to_owned(),
            id: stored.record.target.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_packed_and_unpacked_with_their_kinds() {
        let ids = [Uuid::now_v7(), uuid::Builder::from_random_bytes([7; 16]).into_uuid(), Uuid::now_v7()];
        let members: BTreeSet<(Uuid, bool)> = ids.into_iter().zip([false, true, true]).collect();
        let packed = pack(&members);
        assert_eq!(unpack(&packed), members);
        assert_eq!(unpack(""), BTreeSet::new());
        assert!(packed.len() <= 22 * members.len());
    }
}

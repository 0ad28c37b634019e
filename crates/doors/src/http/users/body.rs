//! A user as a client writes one.

use super::record::UserProfile;
use crate::http::auth::signed_in::{UserScope, space_name};
use crate::http::problem::{Fields, HttpProblem, HttpResult, ProblemKind};
use crate::http::request::fields::Object;
use crate::http::request::json::JsonNode;
use channels::legible;
use records::{Mode, UserRole};
use serde_json::{Value, json};

/// Characters of the name to sign in with.
pub(crate) const NAME_CHARS_MAX: usize = 64;
/// Characters of a full name, of a person.
const FULL_NAME_CHARS_MAX: usize = 200;
/// Characters of a mail address.
const MAIL_CHARS_MAX: usize = 254;
/// Characters of a person's id.
const PERSON_CHARS_MAX: usize = 128;
/// Groups, and areas, that a user is limited to.
const LIMITS_MAX: usize = 64;
/// Octets of the id of such a group or area.
const LIMIT_OCTETS_MAX: usize = 128;

const MEMBERS: [&str; 9] =
    ["name", "full_name", "mail", "person", "roles", "groups", "areas", "spaces", "active"];

/// What a client says of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserBody {
    pub profile: UserProfile,
    pub roles: Vec<UserRole>,
    pub scope: UserScope,
    pub is_active: bool,
}

impl UserBody {
    /// The same as JSON, for a merge patch.
    pub(crate) fn to_json(&self) -> Value {
        let UserBody { profile, roles, scope, is_active } = self;
        json!({
            "name": profile.name,
            "full_name": profile.full_name,
            "mail": profile.mail,
            "person": profile.person,
            "roles": roles.iter().map(|role| role.name()).collect::<Vec<_>>(),
            "groups": scope.groups,
            "areas": scope.areas,
            "spaces": scope.spaces.iter().map(|space| space_name(*space)).collect::<Vec<_>>(),
            "active": is_active,
        })
    }

    /// Reads one. Without spaces it is in the drill space alone.
    ///
    /// # Errors
    /// Every field that is wrong.
    pub(crate) fn read(node: JsonNode) -> HttpResult<UserBody> {
        let mut fields = Fields::default();
        let body = parse(node, &mut fields);
        let body = body.filter(|_| fields.is_empty());
        body.ok_or_else(|| HttpProblem::fields(ProblemKind::InvalidFields, fields))
    }
}

fn parse(node: JsonNode, fields: &mut Fields) -> Option<UserBody> {
    let mut object = Object::open(node, "", &MEMBERS, fields)?;
    let name = object.needed_text("name", NAME_CHARS_MAX, fields);
    let name = name.and_then(|name| checked_name(&name, fields));
    // An empty one is none.
    let full_name = object.take("full_name").filter(|node| *node != JsonNode::Text(String::new()));
    let full_name = full_name
        .and_then(|node| crate::http::request::fields::text(node, "full_name", FULL_NAME_CHARS_MAX, fields));
    let mail = object.text("mail", MAIL_CHARS_MAX, fields);
    if mail.as_ref().is_some_and(|mail| !mail.contains('@') || mail.contains(char::is_whitespace)) {
        fields.push("mail", "is no mail address");
    }
    let person = object.text("person", PERSON_CHARS_MAX, fields);
    let roles = words(&mut object, "roles", &UserRole::ALL, |role| role.name(), fields).unwrap_or_default();
    let groups = limits(&mut object, "groups", fields);
    let areas = limits(&mut object, "areas", fields);
    let spaces = words(&mut object, "spaces", &[Mode::Live, Mode::Drill], |mode| space_name(*mode), fields);
    let is_active = object.flag("active", fields).unwrap_or(true);
    if roles.is_empty() && fields.is_empty() {
        fields.push("roles", "is empty; name at least one role");
    }
    Some(UserBody {
        profile: UserProfile { name: name?, full_name: full_name.unwrap_or_default(), mail, person },
        roles,
        scope: UserScope { groups, areas, spaces: spaces.unwrap_or_else(|| vec![Mode::Drill]) },
        is_active,
    })
}

/// A name in the form that it is shown in.
fn checked_name(name: &str, fields: &mut Fields) -> Option<String> {
    let name = legible::name(name).into_owned();
    let is_wrong = |c: char| c.is_control();
    if !legible::has_visible(&name) || name.contains(is_wrong) {
        fields.push("name", "has no visible character, or an invisible one");
        return None;
    }
    if super::record::name_key(&name).len() > store::DOCUMENT_KEY_OCTETS_MAX {
        fields.push("name", "is too long in lower case");
        return None;
    }
    Some(name)
}

/// Ids that a user is limited to; absent: no limit.
fn limits(object: &mut Object, name: &str, fields: &mut Fields) -> Option<Vec<String>> {
    let node = object.take(name)?;
    let items = crate::http::request::fields::list(node, name, LIMITS_MAX, fields)?;
    let mut ids = Vec::with_capacity(items.len());
    for (index, node) in items.into_iter().enumerate() {
        let at = format!("{name}[{index}]");
        let id = crate::http::request::fields::text(node, &at, LIMIT_OCTETS_MAX, fields)?;
        if id.len() > LIMIT_OCTETS_MAX {
            fields.push(at, format!("is longer than {LIMIT_OCTETS_MAX} octets"));
            return None;
        }
        ids.push(legible::name(&id).into_owned());
    }
    Some(ids)
}

/// Words of a list, each once, in the order in which `known` has them; absent: nothing.
fn words<T: Copy + PartialEq>(
    object: &mut Object,
    name: &str,
    known: &[T],
    word: impl Fn(&T) -> &'static str,
    fields: &mut Fields,
) -> Option<Vec<T>> {
    let node = object.take(name)?;
    let items = crate::http::request::fields::list(node, name, known.len(), fields)?;
    let mut found = Vec::with_capacity(items.len());
    for (index, node) in items.into_iter().enumerate() {
        let at = format!("{name}[{index}]");
        let text = crate::http::request::fields::text(node, &at, NAME_CHARS_MAX, fields)?;
        match known.iter().find(|one| word(one) == text) {
            Some(one) => found.push(*one),
            None => {
                let list: Vec<&str> = known.iter().map(&word).collect();
                fields.push(at, format!("is {text:?}; must be one of {}", list.join(", ")));
            }
        }
    }
    Some(known.iter().filter(|one| found.contains(one)).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::json;

    fn read(body: &str) -> Result<UserBody, Vec<(String, String)>> {
        UserBody::read(json::parse(body.as_bytes()).unwrap()).map_err(|problem| problem.listed())
    }

    #[test]
    fn a_new_user_is_in_the_drill_space_alone() {
        let body = read(r#"{"name": "eva", "roles": ["operator", "author", "operator"]}"#).unwrap();
        assert_eq!(body.scope, UserScope { groups: None, areas: None, spaces: vec![Mode::Drill] });
        assert_eq!(body.roles, [UserRole::Author, UserRole::Operator]);
        assert!(body.is_active);
    }

    #[test]
    fn a_user_written_out_is_read_back_the_same() {
        let body = r#"{"name": "eva", "full_name": "Eva Lind", "mail": "eva@x.se", "person": "ext-7",
            "roles": ["viewer"], "groups": ["north"], "areas": [], "spaces": ["live", "drill"], "active": false}"#;
        let body = read(body).unwrap();
        assert_eq!(read(&body.to_json().to_string()).unwrap(), body);
    }

    #[test]
    fn each_wrong_field_is_named() {
        for (body, field, says) in [
            (r#"{"roles": ["viewer"]}"#, "name", "is needed"),
            (r#"{"name": "\u200b", "roles": ["viewer"]}"#, "name", "no visible"),
            (r#"{"name": "eva"}"#, "roles", "at least one"),
            (r#"{"name": "eva", "roles": ["king"]}"#, "roles[0]", "must be one of viewer, author"),
            (r#"{"name": "eva", "roles": ["viewer"], "spaces": ["dril"]}"#, "spaces[0]", "live, drill"),
            (r#"{"name": "eva", "roles": ["viewer"], "mail": "eva"}"#, "mail", "no mail address"),
            (r#"{"name": "eva", "roles": ["viewer"], "group": ["x"]}"#, "group", "did you mean"),
        ] {
            let problems = read(body).unwrap_err();
            let found = problems.iter().find(|(name, _)| name == field);
            assert!(found.is_some_and(|(_, reason)| reason.contains(says)), "{body}: {problems:?}");
        }
    }
}

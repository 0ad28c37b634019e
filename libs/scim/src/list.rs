//! Queries and list responses (RFC 7644 3.4.2, 3.4.3).

use crate::filter::FilterExpr;
use crate::limits::{COUNT_DEFAULT, COUNT_MAX, PROJECTED_MAX};
use crate::resource::Projection;
use crate::{ResourceKind, ScimError, ScimType, field};
use serde_json::{Value, json};

/// Schema of a list response.
pub const LIST_SCHEMA: &str = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
/// Schema of the body of `POST /.search`.
pub const SEARCH_SCHEMA: &str = "urn:ietf:params:scim:api:messages:2.0:SearchRequest";

/// The parameters of a GET of many resources, or the body of a `.search`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    /// The resources that are wanted; all without it. It makes sense for the kinds that were asked for.
    pub filter: Option<FilterExpr>,
    /// The first resource of the page, counted from 1.
    pub start_index: u64,
    /// The most resources of the page: 0 to [`COUNT_MAX`]. 0 asks for the total only.
    pub count: usize,
    /// The attributes of each resource.
    pub projection: Projection,
}

impl Default for ListQuery {
    fn default() -> ListQuery {
        ListQuery { filter: None, start_index: 1, count: COUNT_DEFAULT, projection: Projection::default() }
    }
}

/// Parameters as they were given.
#[derive(Default)]
struct Given<'a> {
    filter: Option<&'a str>,
    start_index: Option<i64>,
    count: Option<i64>,
    attributes: Option<String>,
    excluded: Option<String>,
}

impl ListQuery {
    /// Reads the parameters of a URL, decoded, in any order; their names are taken in any case, unknown ones
    /// are ignored. `kinds` are the resources that the endpoint has.
    ///
    /// # Errors
    /// `invalidFilter`; `invalidValue` for a number that is none and for both `attributes` and
    /// `excludedAttributes`; 501 for `sortBy`, which is not supported.
    pub fn from_parameters<'a>(
        kinds: &[ResourceKind],
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<ListQuery, ScimError> {
        let mut given = Given::default();
        for (name, value) in parameters {
            let number = |name: &str| {
                let number = value.trim().parse::<i64>();
                number.map(Some).map_err(|_| ScimError::value(format!("{name} is a whole number")))
            };
            match name.to_ascii_lowercase().as_str() {
                "filter" => given.filter = Some(value),
                "startindex" => given.start_index = number("startIndex")?,
                "count" => given.count = number("count")?,
                "attributes" => given.attributes = Some(value.to_owned()),
                "excludedattributes" => given.excluded = Some(value.to_owned()),
                "sortby" if !value.trim().is_empty() => return Err(no_sorting()),
                _ => {}
            }
        }
        given.query(kinds)
    }

    /// Reads the body of a `POST /.search`, `/Users/.search` or `/Groups/.search`.
    ///
    /// # Errors
    /// As [`from_parameters`](ListQuery::from_parameters); `invalidSyntax` for a body that is no search.
    pub fn from_search(kinds: &[ResourceKind], body: &Value) -> Result<ListQuery, ScimError> {
        let Some(body) = body.as_object() else {
            return Err(ScimError::syntax("the body is not a JSON object"));
        };
        let schemas = field(body, "schemas").and_then(Value::as_array);
        let is_search = |urn: &Value| urn.as_str().is_some_and(|urn| urn.eq_ignore_ascii_case(SEARCH_SCHEMA));
        if !schemas.is_some_and(|urns| urns.iter().take(PROJECTED_MAX).any(is_search)) {
            return Err(ScimError::syntax(format!("the body has no `schemas` with {SEARCH_SCHEMA}")));
        }
        let value = |name: &str| field(body, name).filter(|value| !value.is_null());
        let number = |name: &str| match value(name).map(Value::as_i64) {
            Some(None) => Err(ScimError::value(format!("{name} is a whole number"))),
            other => Ok(other.flatten()),
        };
        if value("sortBy").is_some() {
            return Err(no_sorting());
        }
        let filter = match value("filter") {
            Some(Value::String(filter)) => Some(filter.as_str()),
            Some(_) => return Err(ScimError::new(ScimType::InvalidFilter, "`filter` is a string")),
            None => None,
        };
        let given = Given {
            filter,
            start_index: number("startIndex")?,
            count: number("count")?,
            attributes: value("attributes").map(|names| names_of("attributes", names)).transpose()?,
            excluded: value("excludedAttributes")
                .map(|names| names_of("excludedAttributes", names))
                .transpose()?,
        };
        given.query(kinds)
    }

    /// The part of all results that goes on this page, as a range of places counted from 0.
    pub fn page(&self, total: u64) -> std::ops::Range<u64> {
        let start = (self.start_index - 1).min(total);
        start..start.saturating_add(self.count as u64).min(total)
    }
}

impl Given<'_> {
    fn query(self, kinds: &[ResourceKind]) -> Result<ListQuery, ScimError> {
        let filter = match self.filter.map(str::trim).filter(|filter| !filter.is_empty()) {
            Some(text) => {
                let filter = FilterExpr::parse(text)?;
                filter.check(kinds)?;
                Some(filter)
            }
            None => None,
        };
        Ok(ListQuery {
            filter,
            // A value under 1 is 1, a negative count is 0 (RFC 7644 3.4.2.4).
            start_index: self.start_index.map_or(1, |index| u64::try_from(index).unwrap_or(1).max(1)),
            count: match self.count {
                Some(count) => usize::try_from(count.max(0)).unwrap_or(COUNT_MAX).min(COUNT_MAX),
                None => COUNT_DEFAULT,
            },
            projection: Projection::read(self.attributes.as_deref(), self.excluded.as_deref())?,
        })
    }
}

/// The list response (RFC 7644 3.4.2): a page of `total` results. `resources` are documents of answers.
pub fn response(total: u64, start_index: u64, resources: Vec<Value>) -> Value {
    json!({
        "schemas": [LIST_SCHEMA],
        "totalResults": total,
        "startIndex": start_index,
        "itemsPerPage": resources.len(),
        "Resources": resources,
    })
}

/// An array of names, or names separated by commas.
fn names_of(name: &str, value: &Value) -> Result<String, ScimError> {
    let unfit = || ScimError::value(format!("{name} is an array of at most {PROJECTED_MAX} names"));
    match value {
        Value::String(names) => Ok(names.clone()),
        Value::Array(names) if names.len() <= PROJECTED_MAX => {
            let names: Option<Vec<&str>> = names.iter().map(Value::as_str).collect();
            Ok(names.ok_or_else(unfit)?.join(","))
        }
        _ => Err(unfit()),
    }
}

fn no_sorting() -> ScimError {
    ScimError::not_implemented(
        "sorting is not supported (sort.supported of /ServiceProviderConfig is false): leave out sortBy",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: &[ResourceKind] = &[ResourceKind::User];

    fn query(parameters: &[(&str, &str)]) -> Result<ListQuery, ScimError> {
        ListQuery::from_parameters(USERS, parameters.iter().copied())
    }

    #[test]
    fn indices_and_counts_keep_to_their_bounds() {
        for (parameters, start, count) in [
            (&[][..], 1, COUNT_DEFAULT),
            (&[("startIndex", "1"), ("count", "10")], 1, 10),
            (&[("STARTINDEX", "0"), ("Count", "-5")], 1, 0),
            (&[("startIndex", "-7"), ("count", "0")], 1, 0),
            (
                &[("startIndex", "9223372036854775807"), ("count", "999999")],
                9_223_372_036_854_775_807,
                COUNT_MAX,
            ),
        ] {
            let read = query(parameters).unwrap();
            assert_eq!((read.start_index, read.count), (start, count), "{parameters:?}");
        }
        for name in ["startIndex", "count"] {
            assert_eq!(query(&[(name, "x")]).unwrap_err().scim_type, Some(ScimType::InvalidValue));
        }
    }

    #[test]
    fn a_page_is_the_part_of_the_results_from_its_index_on() {
        for (start, count, total, page) in [
            (1, 10, 25, 0..10),
            (21, 10, 25, 20..25),
            (26, 10, 25, 25..25),
            (99, 10, 25, 25..25),
            (1, 0, 25, 0..0),
        ] {
            let query = ListQuery { start_index: start, count, ..ListQuery::default() };
            assert_eq!(query.page(total), page, "{start} {count}");
        }
    }

    #[test]
    fn sorting_is_refused_with_a_way_out() {
        let error = query(&[("sortBy", "userName")]).unwrap_err();
        assert_eq!(error.status, 501);
        assert!(error.detail.contains("leave out sortBy"));
        assert!(query(&[("sortOrder", "ascending"), ("sortBy", "")]).is_ok());
    }

    #[test]
    fn the_search_of_section_3_4_3_is_read() {
        let body = json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"],
            "attributes": ["displayName", "userName"],
            "filter": "displayName sw \"smith\"",
            "startIndex": 1,
            "count": 10
        });
        let read = ListQuery::from_search(&ResourceKind::ALL, &body).unwrap();
        assert_eq!((read.start_index, read.count), (1, 10));
        assert_eq!(read.filter.unwrap().to_string(), "displayName sw \"smith\"");
        let same =
            [("attributes", "displayName,userName"), ("filter", "displayName sw \"smith\""), ("count", "10")];
        assert_eq!(query(&same).unwrap().projection, read.projection);
    }

    #[test]
    fn a_search_that_is_none_is_refused() {
        let schemas = json!([SEARCH_SCHEMA]);
        for (body, status, scim_type) in [
            (json!([]), 400, Some(ScimType::InvalidSyntax)),
            (json!({"filter": "id pr"}), 400, Some(ScimType::InvalidSyntax)),
            (json!({"schemas": schemas, "filter": 1}), 400, Some(ScimType::InvalidFilter)),
            (json!({"schemas": schemas, "filter": "shoeSize pr"}), 400, Some(ScimType::InvalidFilter)),
            (json!({"schemas": schemas, "count": "x"}), 400, Some(ScimType::InvalidValue)),
            (json!({"schemas": schemas, "attributes": [1]}), 400, Some(ScimType::InvalidValue)),
            (json!({"schemas": schemas, "sortBy": "id"}), 501, None),
            (
                json!({"schemas": schemas, "attributes": ["id"], "excludedAttributes": ["meta"]}),
                400,
                Some(ScimType::InvalidValue),
            ),
        ] {
            let error = ListQuery::from_search(USERS, &body).unwrap_err();
            assert_eq!((error.status, error.scim_type), (status, scim_type), "{body}");
        }
    }

    #[test]
    fn a_list_response_has_the_form_of_section_3_4_2() {
        let expected = json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
            "totalResults": 2, "startIndex": 1, "itemsPerPage": 1,
            "Resources": [{"userName": "bjensen"}]
        });
        assert_eq!(response(2, 1, vec![json!({"userName": "bjensen"})]), expected);
        assert_eq!(response(0, 1, Vec::new())["Resources"], json!([]));
    }
}

//! Named areas of an audience: read from the store when an alert is accepted or forecast, and kept with the
//! request, so that a later change of an area changes no alert.

use super::Engine;
use super::actor::store_error;
use crate::api::{EngineError, Problem};
use crate::solve::audience::To;
use channels::legible;
use records::{AlertRequest, NamedArea};
use serde::Deserialize;
use std::collections::BTreeSet;
use store::DocumentKind;

/// Named areas of one alert.
const NAMED_AREAS_MAX: usize = 100;
/// How an entry of an audience begins that names an area.
const PREFIX: &str = "area:";

/// As much of the document of a named area as solving needs.
#[derive(Deserialize)]
struct AreaDocument {
    area: NamedArea,
}

impl Engine {
    /// Reads the areas that a request names. Those that are not there are left to [`check`].
    pub(crate) async fn fill_named_areas(
        &self,
        account: &str,
        request: &mut AlertRequest,
    ) -> Result<(), EngineError> {
        let ids = named_ids(request);
        if ids.len() > NAMED_AREAS_MAX {
            let reason = format!("names {} areas; at most {NAMED_AREAS_MAX} are taken", ids.len());
            return Err(EngineError::Unprocessable(vec![Problem { field: "audience".into(), reason }]));
        }
        let mut named = Vec::with_capacity(ids.len());
        for id in ids {
            let store = &self.inner.parts.store;
            let found = store.document(account, DocumentKind::Area, &id).await.map_err(store_error)?;
            let Some(found) = found else { continue };
            let read: AreaDocument = serde_json::from_str(&found.body)
                .map_err(|error| EngineError::Internal(format!("the area {id:?} cannot be read: {error}")))?;
            named.push(NamedArea { id, ..read.area });
        }
        match &mut request.area {
            Some(area) => area.named = named,
            None if named.is_empty() => {}
            none => *none = Some(records::AreaRequest { named, ..records::AreaRequest::default() }),
        }
        Ok(())
    }
}

fn named_ids(request: &AlertRequest) -> BTreeSet<String> {
    let entries = request.audience.iter().map(|entry| &entry.to).chain(&request.exclude);
    let ids = entries.filter_map(|entry| entry.strip_prefix(PREFIX));
    ids.map(|id| legible::trimmed(id).to_owned()).filter(|id| !id.is_empty()).collect()
}

/// Notes each entry that names an area which is not there.
pub(super) fn check(request: &AlertRequest, (wanted, unwanted): (&[To], &[To]), problems: &mut Vec<Problem>) {
    for (field, entries) in [("audience", wanted), ("exclude", unwanted)] {
        for (i, to) in entries.iter().enumerate() {
            let To::NamedArea(id) = to else { continue };
            if request.area.as_ref().and_then(|area| area.named(id)).is_none() {
                let reason = format!("there is no area {id:?}: GET /api/v1/areas lists those that there are");
                problems.push(Problem { field: format!("{field}[{i}]"), reason });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use records::AudienceEntry;

    #[test]
    fn each_entry_of_an_area_that_is_not_there_is_named() {
        let entry = |to: &str| AudienceEntry { to: to.into(), strategy: None, expires: None };
        let mut request = testing::request("x");
        request.audience = ["area:harbour", "all", "area: quay "].map(entry).to_vec();
        request.exclude = vec!["area:harbour".into()];
        assert_eq!(named_ids(&request), BTreeSet::from(["harbour".to_owned(), "quay".to_owned()]));
        let quay = NamedArea { id: "quay".into(), ..NamedArea::default() };
        request.area = Some(records::AreaRequest { named: vec![quay], ..Default::default() });
        let harbour = || To::NamedArea("harbour".into());
        let wanted = [harbour(), To::All, To::NamedArea("quay".into())];
        let mut problems = Vec::new();
        check(&request, (&wanted, &[harbour()]), &mut problems);
        let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(fields, ["audience[0]", "exclude[0]"]);
    }
}

//! Parts of an alert: infos that hold for the same area, each part for its own people (sections 3.1.2 and
//! 3.2.2).

use crate::alert::{Alert, Area, Info};
use std::collections::HashMap;

/// Infos that are said together to the same people.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertPart {
    /// Their places in [`Alert::infos`], in order.
    pub infos: Vec<usize>,
    /// Where the part holds: shapes and codes of all its infos. Empty where none has any.
    pub areas: Vec<Area>,
    /// The same for the same areas, whatever the time: what tells this part from the others of its alert.
    pub key: String,
}

/// An alert in its parts, in the order of its infos; at least one if it has an info. An info without an area
/// belongs to the part of the info it translates (the one at the same place in its language), else to all.
/// Infos that translate each other make one part, though their shapes may differ; parts that say the same,
/// word for word, are one.
pub fn parts(alert: &Alert) -> Vec<AlertPart> {
    let infos = &alert.infos;
    let mut groups = Groups::of(infos);
    groups.join_translations(infos);
    groups.join_same_words(infos);
    let mut parts = groups.parts(infos);
    if parts.is_empty() && !infos.is_empty() {
        parts.push(AlertPart { infos: (0..infos.len()).collect(), areas: Vec::new(), key: String::new() });
    }
    parts
}

/// Infos that nobody can be found by, though others of the alert have shapes or codes: places in
/// [`Alert::infos`].
pub fn infos_nowhere(alert: &Alert, parts: &[AlertPart]) -> Vec<usize> {
    (0..alert.infos.len()).filter(|info| !parts.iter().any(|part| part.infos.contains(info))).collect()
}

/// Which group each info is in; `None` for those without an area.
struct Groups {
    of: Vec<Option<usize>>,
    keys: Vec<String>,
    count: usize,
}

impl Groups {
    fn of(infos: &[Info]) -> Groups {
        let keys: Vec<String> = infos.iter().map(|info| key(&info.areas)).collect();
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut of = Vec::with_capacity(infos.len());
        for key in &keys {
            let next = known.len();
            of.push((!key.is_empty()).then(|| *known.entry(key.as_str()).or_insert(next)));
        }
        let count = known.len();
        Groups { of, keys, count }
    }

    fn join(&mut self, into: usize, from: usize) {
        self.of.iter_mut().filter(|group| **group == Some(from)).for_each(|group| *group = Some(into));
    }

    fn languages<'a>(&self, infos: &'a [Info], group: usize) -> Vec<&'a str> {
        let members = self.of.iter().zip(infos).filter(|(of, _)| **of == Some(group));
        members.map(|(_, info)| info.language.as_str()).collect()
    }

    /// Where every language has as many infos as the first, those at the same place are one info in several
    /// languages, if nothing but their shapes tells them apart.
    fn join_translations(&mut self, infos: &[Info]) {
        let places = places_by_language(infos);
        let Some(first) = places.first() else { return };
        for translated in &places[1..] {
            if translated.len() != first.len() {
                continue;
            }
            for (&original, &translation) in first.iter().zip(translated) {
                self.join_translation(infos, original, translation);
            }
        }
    }

    fn join_translation(&mut self, infos: &[Info], original: usize, translation: usize) {
        match (self.of[original], self.of[translation]) {
            (Some(group), None) => self.of[translation] = Some(group),
            (None, Some(group)) => self.of[original] = Some(group),
            (Some(into), Some(from)) if into != from => {
                let languages = self.languages(infos, from);
                let is_apart = self.languages(infos, into).iter().all(|one| !languages.contains(one));
                let level = |info: &Info| (info.urgency, info.severity, info.certainty, info.expires);
                if is_apart && level(&infos[original]) == level(&infos[translation]) {
                    self.join(into, from);
                }
            }
            _ => {}
        }
    }

    fn join_same_words(&mut self, infos: &[Info]) {
        let mut known: HashMap<String, usize> = HashMap::new();
        for group in 0..self.count {
            let members = self.of.iter().zip(infos).filter(|(of, _)| **of == Some(group));
            let said: Vec<String> = members.map(|(_, info)| words(info)).collect();
            if said.is_empty() {
                continue;
            }
            let said = said.join("\u{1}");
            match known.get(&said) {
                Some(&into) => self.join(into, group),
                None => _ = known.insert(said, group),
            }
        }
    }

    fn parts(self, infos: &[Info]) -> Vec<AlertPart> {
        let mut parts: Vec<(usize, AlertPart)> = Vec::new();
        for (place, group) in self.of.iter().enumerate() {
            let Some(group) = *group else { continue };
            let at = parts.iter().position(|(known, _)| *known == group).unwrap_or_else(|| {
                parts.push((group, AlertPart { infos: Vec::new(), areas: Vec::new(), key: String::new() }));
                parts.len() - 1
            });
            let part = &mut parts[at].1;
            part.infos.push(place);
            part.areas.extend(infos[place].areas.iter().cloned());
            if !part.key.contains(&self.keys[place]) {
                part.key.push_str(&self.keys[place]);
            }
        }
        let is_alone = parts.len() == 1;
        for (place, info) in infos.iter().enumerate() {
            // An info that names an area in words alone is for that area, which nobody can be found by.
            if self.of[place].is_none() && (is_alone || info.areas.is_empty()) {
                parts.iter_mut().for_each(|(_, part)| part.infos.push(place));
            }
        }
        parts.iter_mut().for_each(|(_, part)| part.infos.sort_unstable());
        parts.into_iter().map(|(_, part)| part).collect()
    }
}

/// Places of infos by language, languages in the order they come in.
fn places_by_language(infos: &[Info]) -> Vec<Vec<usize>> {
    let mut languages: Vec<(String, Vec<usize>)> = Vec::new();
    for (place, info) in infos.iter().enumerate() {
        let language = info.language.to_lowercase();
        match languages.iter_mut().find(|(known, _)| *known == language) {
            Some((_, places)) => places.push(place),
            None => languages.push((language, vec![place])),
        }
    }
    languages.into_iter().map(|(_, places)| places).collect()
}

/// Shapes and codes in a form that is the same whatever their order; empty if there are none.
fn key(areas: &[Area]) -> String {
    let mut shapes: Vec<String> = Vec::new();
    for area in areas {
        shapes.extend(area.polygons.iter().map(|ring| format!("p{ring:?}")));
        shapes.extend(area.circles.iter().map(|circle| format!("c{:?} {}", circle.center, circle.km)));
        shapes.extend(area.geocodes.iter().map(|code| format!("g{}={}", code.name, code.value)));
    }
    shapes.sort_unstable();
    shapes.dedup();
    shapes.iter().map(|shape| format!("{shape};")).collect()
}

/// Everything that people are told of an info but where.
fn words(info: &Info) -> String {
    let times = (info.effective, info.expires);
    let level = (info.urgency, info.severity, info.certainty, &info.response_types);
    let texts = (&info.language, &info.event, &info.headline, &info.description, &info.instruction);
    format!("{texts:?}{times:?}{level:?}{:?}{:?}", info.parameters, info.sender_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::{Circle, Severity};

    fn area(name: &str, lat: Option<f64>) -> Area {
        let circles = lat.map(|lat| Circle { center: (lat, 18.0), km: 3.0 }).into_iter().collect();
        Area { description: name.to_owned(), circles, ..Area::default() }
    }

    fn info(language: &str, headline: &str, areas: Vec<Area>) -> Info {
        Info { language: language.to_owned(), headline: Some(headline.to_owned()), areas, ..Info::default() }
    }

    fn split(infos: Vec<Info>) -> (Vec<Vec<usize>>, Vec<usize>) {
        let alert = Alert { infos, ..Alert::default() };
        let parts = parts(&alert);
        let nowhere = infos_nowhere(&alert, &parts);
        (parts.into_iter().map(|part| part.infos).collect(), nowhere)
    }

    #[test]
    fn infos_of_one_area_are_one_part_and_others_go_to_their_own_people() {
        let (north, south) = (|| vec![area("North", Some(59.0))], || vec![area("South", Some(61.0))]);
        let in_words = |name: &str| vec![area(name, None)];
        for (what, infos, expected, nowhere) in [
            ("one area", vec![info("en", "a", north()), info("en", "b", north())], vec![vec![0, 1]], vec![]),
            (
                "two areas",
                vec![info("en", "a", north()), info("en", "b", south())],
                vec![vec![0], vec![1]],
                vec![],
            ),
            (
                "two areas in two languages, in any order",
                vec![
                    info("en", "a", north()),
                    info("en", "b", south()),
                    info("sv", "c", south()),
                    info("sv", "d", north()),
                ],
                vec![vec![0, 3], vec![1, 2]],
                vec![],
            ),
            (
                "a translation without an area of its own",
                vec![
                    info("en", "a", north()),
                    info("en", "b", south()),
                    info("sv", "c", vec![]),
                    info("sv", "d", in_words("Syd")),
                ],
                vec![vec![0, 2], vec![1, 3]],
                vec![],
            ),
            (
                "a translation drawn otherwise",
                vec![info("en", "a", north()), info("sv", "b", vec![area("Norr", Some(59.1))])],
                vec![vec![0, 1]],
                vec![],
            ),
            (
                "an info for everywhere",
                vec![info("en", "a", north()), info("en", "b", south()), info("en", "c", vec![])],
                vec![vec![0, 2], vec![1, 2]],
                vec![],
            ),
            (
                "an area that is only named",
                vec![info("en", "a", north()), info("en", "b", south()), info("en", "c", in_words("West"))],
                vec![vec![0], vec![1]],
                vec![2],
            ),
            (
                "the same words for two areas",
                vec![info("en", "a", north()), info("en", "a", south())],
                vec![vec![0, 1]],
                vec![],
            ),
            (
                "no area at all",
                vec![info("en", "a", in_words("x")), info("en", "b", vec![])],
                vec![vec![0, 1]],
                vec![],
            ),
            ("nothing", vec![], vec![], vec![]),
        ] {
            assert_eq!(split(infos), (expected, nowhere), "{what}");
        }
    }

    #[test]
    fn a_translation_of_another_level_is_another_info() {
        let mut infos =
            vec![info("en", "a", vec![area("N", Some(59.0))]), info("sv", "b", vec![area("S", Some(61.0))])];
        infos[1].severity = Severity::Extreme;
        assert_eq!(split(infos).0, [vec![0], vec![1]]);
    }

    #[test]
    fn a_part_is_known_by_its_areas_whatever_their_order() {
        let (a, b) = (area("a", Some(1.0)), area("b", Some(2.0)));
        let of =
            |areas| parts(&Alert { infos: vec![info("en", "x", areas)], ..Alert::default() }).remove(0).key;
        assert_eq!(of(vec![a.clone(), b.clone()]), of(vec![b.clone(), a.clone()]));
        assert_ne!(of(vec![a]), of(vec![b]));
    }
}

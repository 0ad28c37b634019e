//! From the tree to the alert: each element of section 3.2 once, in its order.

use super::survey::{ALERT, AREA, INFO, NAMED_VALUE, Problems, RESOURCE, Schema, is_known, survey};
use super::tree::Element;
use super::values::{self, Budget, Drawn};
use super::{CapVersion, ReadError};
use crate::alert::{Alert, Area, Category, Certainty, Circle, Info, NamedValue, Point, Resource, Word};
use crate::limits::{HEADLINE_CHARACTERS_ADVISED, POLYGON_VERTICES_ADVISED};
use crate::problem::Rule;
use crate::rules;
use crate::time::{self, Timestamp};

/// Reads one alert.
pub(super) struct AlertReader<'a> {
    pub(super) version: CapVersion,
    pub(super) problems: &'a mut Problems,
    pub(super) budget: &'a mut Budget,
}

impl AlertReader<'_> {
    pub(super) fn alert(&mut self, element: &Element) -> Result<Alert, ReadError> {
        survey(element, ALERT, self.problems);
        let mut alert = Alert {
            identifier: self.required(element, "identifier"),
            sender: self.required(element, "sender"),
            sent: self.time(element, "sent"),
            status: self.word(element, "status"),
            msg_type: self.word(element, "msgType"),
            source: self.text(element, "source"),
            scope: self.word(element, "scope"),
            restriction: self.text(element, "restriction"),
            addresses: self.list(element, "addresses"),
            codes: self.texts(element, "code"),
            note: self.joined(element, "note"),
            references: self.references(element),
            incidents: self.list(element, "incidents"),
            infos: Vec::new(),
        };
        if first(element, "sent").is_none() {
            self.missing("sent");
        }
        for (path, child) in numbered(element, "info") {
            let info = self.inside(&path, |reader| reader.info(child, alert.sent))?;
            alert.infos.push(info);
        }
        for breach in rules::of_header(&alert) {
            self.problems.add_at(breach.child, breach.rule, breach.message);
        }
        Ok(alert)
    }

    fn info(&mut self, element: &Element, sent: Option<Timestamp>) -> Result<Info, ReadError> {
        survey(element, INFO, self.problems);
        let default = Info::default();
        let mut info = Info {
            language: self.text(element, "language").unwrap_or(default.language),
            categories: self.categories(element),
            event: self.required(element, "event"),
            response_types: self.words(element, "responseType"),
            urgency: self.word(element, "urgency").unwrap_or(default.urgency),
            severity: self.word(element, "severity").unwrap_or(default.severity),
            certainty: self.certainty(element),
            audience: self.joined(element, "audience"),
            event_codes: self.named_values(element, "eventCode"),
            effective: self.time(element, "effective"),
            onset: self.time(element, "onset"),
            expires: self.time(element, "expires"),
            sender_name: self.text(element, "senderName"),
            headline: self.text(element, "headline"),
            description: self.joined(element, "description"),
            instruction: self.joined(element, "instruction"),
            web: self.text(element, "web"),
            contact: self.joined(element, "contact"),
            parameters: self.named_values(element, "parameter"),
            resources: Vec::new(),
            areas: Vec::new(),
        };
        self.advise(&info, sent);
        for (path, child) in numbered(element, "resource") {
            info.resources.push(self.inside(&path, |reader| reader.resource(child)));
        }
        for (path, child) in numbered(element, "area") {
            let area = self.inside(&path, |reader| reader.area(child))?;
            info.areas.push(area);
        }
        Ok(info)
    }

    /// What the standard advises, or what contradicts itself.
    fn advise(&mut self, info: &Info, sent: Option<Timestamp>) {
        for breach in rules::of_info(info, sent) {
            self.problems.add_at(breach.child, breach.rule, breach.message);
        }
        let headline = info.headline.as_deref().map_or(0, |headline| headline.chars().count());
        if headline > HEADLINE_CHARACTERS_ADVISED {
            let message = format!("has {headline} characters, {HEADLINE_CHARACTERS_ADVISED} are advised");
            self.problems.add_at("headline", Rule::Length, message);
        }
    }

    fn resource(&mut self, element: &Element) -> Resource {
        survey(element, RESOURCE, self.problems);
        let mime_type = match self.version {
            CapVersion::V1_2 => self.required(element, "mimeType"),
            CapVersion::V1_0 | CapVersion::V1_1 => self.text(element, "mimeType").unwrap_or_default(),
        };
        let size = self.text(element, "size").and_then(|text| {
            let size = text.parse().ok();
            if size.is_none() {
                self.problems.add_at(
                    "size",
                    Rule::Value,
                    format!("{text:?} is no count of octets, left out"),
                );
            }
            size
        });
        let deref_uri = self.text(element, "derefUri").map(|text| text.split_whitespace().collect());
        let resource = Resource {
            description: self.required(element, "resourceDesc"),
            mime_type,
            size,
            uri: self.text(element, "uri"),
            deref_uri,
            digest: self.text(element, "digest"),
        };
        for breach in rules::of_resource(&resource) {
            self.problems.add_at(breach.child, breach.rule, breach.message);
        }
        resource
    }

    fn area(&mut self, element: &Element) -> Result<Area, ReadError> {
        survey(element, AREA, self.problems);
        let area = Area {
            description: self.required(element, "areaDesc"),
            polygons: self.polygons(element)?,
            circles: self.circles(element)?,
            geocodes: self.named_values(element, "geocode"),
            altitude: self.feet(element, "altitude"),
            ceiling: self.feet(element, "ceiling"),
        };
        for breach in rules::of_area(&area) {
            self.problems.add_at(breach.child, breach.rule, breach.message);
        }
        Ok(area)
    }

    fn polygons(&mut self, element: &Element) -> Result<Vec<Vec<Point>>, ReadError> {
        let mut polygons = Vec::new();
        for (path, child) in numbered(element, "polygon") {
            self.budget.take_shape()?;
            let polygon = self.inside(&path, |reader| reader.shape(child, values::polygon));
            let Some(polygon) = polygon else { continue };
            self.budget.take_vertices(polygon.len())?;
            if polygon.len() > POLYGON_VERTICES_ADVISED {
                let message = format!("has {} vertices, more than {POLYGON_VERTICES_ADVISED}", polygon.len());
                self.problems.add_at(&path, Rule::Length, message);
            }
            polygons.push(polygon);
        }
        Ok(polygons)
    }

    fn circles(&mut self, element: &Element) -> Result<Vec<Circle>, ReadError> {
        let mut circles = Vec::new();
        for (path, child) in numbered(element, "circle") {
            self.budget.take_shape()?;
            circles.extend(self.inside(&path, |reader| reader.shape(child, values::circle)));
        }
        Ok(circles)
    }

    fn shape<T>(&mut self, element: &Element, draw: fn(&str) -> Result<Drawn<T>, String>) -> Option<T> {
        if element.text.is_empty() {
            self.problems.add(Rule::Empty, "is empty, left out".to_string());
            return None;
        }
        match draw(&element.text) {
            Ok(drawn) => {
                if drawn.was_open {
                    self.problems.add(Rule::OpenRing, "does not end where it begins, closed".to_string());
                }
                drawn
                    .deviations
                    .iter()
                    .for_each(|deviation| self.problems.add(Rule::Shape, deviation.to_string()));
                Some(drawn.shape)
            }
            Err(reason) => {
                self.problems.add(Rule::Shape, reason);
                None
            }
        }
    }

    fn feet(&mut self, element: &Element, name: &str) -> Option<f64> {
        let text = self.text(element, name)?;
        let feet = values::number(&text);
        if feet.is_none() {
            self.problems.add_at(name, Rule::Value, format!("{text:?} is no number of feet, left out"));
        }
        feet
    }

    fn references(&mut self, element: &Element) -> Vec<crate::alert::Reference> {
        let Some(text) = self.text(element, "references") else { return Vec::new() };
        let (references, others) = values::references(&text);
        for other in others {
            let message = format!("{other:?} is no `sender,identifier,sent`, left out");
            self.problems.add_at("references", Rule::References, message);
        }
        references
    }

    fn categories(&mut self, element: &Element) -> Vec<Category> {
        let categories = self.words_or(element, "category", Some(Category::Other));
        if categories.is_empty() {
            self.missing("category");
        }
        categories
    }

    fn certainty(&mut self, element: &Element) -> Certainty {
        let is_1_0_word = first(element, "certainty").is_some_and(|child| child.text == "Very Likely");
        if is_1_0_word {
            if self.version > CapVersion::V1_0 {
                let message = "`Very Likely` is a word of CAP 1.0, read as `Likely`".to_string();
                self.problems.add_at("certainty", Rule::Value, message);
            }
            return Certainty::Likely;
        }
        self.word(element, "certainty").unwrap_or(Certainty::Unknown)
    }

    fn named_values(&mut self, element: &Element, name: &str) -> Vec<NamedValue> {
        numbered(element, name)
            .into_iter()
            .filter_map(|(path, child)| self.inside(&path, |r| r.named_value(child)))
            .collect()
    }

    fn named_value(&mut self, element: &Element) -> Option<NamedValue> {
        // CAP 1.0 wrote <geocode>fips6=017200</geocode>.
        if element.children.is_empty()
            && let Some((name, value)) = element.text.split_once('=')
        {
            if self.version > CapVersion::V1_0 {
                self.problems.add(Rule::Value, "is written `name=value`, as in CAP 1.0".to_string());
            }
            return Some(NamedValue { name: name.trim().to_string(), value: value.trim().to_string() });
        }
        survey(element, NAMED_VALUE, self.problems);
        let named =
            NamedValue { name: self.required(element, "valueName"), value: self.required(element, "value") };
        (named != NamedValue::default()).then_some(named)
    }

    /// A word of an enumeration that is required.
    fn word<T: Word>(&mut self, element: &Element, name: &str) -> Option<T> {
        let Some(child) = first(element, name) else {
            self.missing(name);
            return None;
        };
        self.problems.within(name, |problems| word_of(child, None, problems))
    }

    /// Words of an enumeration that may occur any number of times.
    fn words<T: Word>(&mut self, element: &Element, name: &str) -> Vec<T> {
        self.words_or(element, name, None)
    }

    fn words_or<T: Word>(&mut self, element: &Element, name: &str, instead: Option<T>) -> Vec<T> {
        let children = numbered(element, name).into_iter();
        children
            .filter_map(|(path, child)| self.problems.within(&path, |p| word_of(child, instead, p)))
            .collect()
    }

    fn time(&mut self, element: &Element, name: &str) -> Option<Timestamp> {
        let text = self.text(element, name)?;
        let Some(read) = time::read(&text) else {
            self.problems.add_at(name, Rule::TimeForm, format!("{text:?} is no time, left out"));
            return None;
        };
        if let Some(deviation) = read.deviation {
            self.problems.add_at(name, Rule::TimeForm, format!("{text:?} {deviation}"));
        }
        Some(read.timestamp)
    }

    /// The text of an element that may be absent, but not empty.
    fn text(&mut self, element: &Element, name: &str) -> Option<String> {
        let child = first(element, name)?;
        self.content(child, name)
    }

    /// The text of a required element; empty if it is not there.
    fn required(&mut self, element: &Element, name: &str) -> String {
        match first(element, name) {
            Some(child) => self.content(child, name).unwrap_or_default(),
            None => {
                self.missing(name);
                String::new()
            }
        }
    }

    /// Running text: of an element that is repeated, nothing is lost.
    fn joined(&mut self, element: &Element, name: &str) -> Option<String> {
        let texts = self.texts(element, name);
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// The texts of an element that may occur any number of times, the empty ones left out.
    fn texts(&mut self, element: &Element, name: &str) -> Vec<String> {
        let children = children(element, name).collect::<Vec<_>>();
        children.into_iter().filter_map(|child| self.content(child, name)).collect()
    }

    fn list(&mut self, element: &Element, name: &str) -> Vec<String> {
        self.text(element, name).map(|text| values::quoted_list(&text)).unwrap_or_default()
    }

    fn content(&mut self, child: &Element, name: &str) -> Option<String> {
        if child.text.is_empty() {
            self.problems.add_at(name, Rule::Empty, "is empty".to_string());
            return None;
        }
        Some(child.text.clone())
    }

    fn missing(&mut self, name: &str) {
        self.problems.add_at(name, Rule::Missing, "is required and not there".to_string());
    }

    fn inside<T>(&mut self, path: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let outside = self.problems.enter(path);
        let result = read(self);
        self.problems.leave(outside);
        result
    }
}

/// A word; `instead` of one the standard does not know.
fn word_of<T: Word>(child: &Element, instead: Option<T>, problems: &mut Problems) -> Option<T> {
    if child.text.is_empty() {
        problems.add(Rule::Empty, "is empty".to_string());
        return None;
    }
    let found = T::WORDS.iter().copied().find(|word| word.word().eq_ignore_ascii_case(&child.text));
    match found {
        Some(word) if word.word() != child.text => {
            problems.add(Rule::Value, format!("{:?} is written `{}`", child.text, word.word()));
        }
        Some(_) => {}
        None => {
            let words: Vec<&str> = T::WORDS.iter().map(|word| word.word()).collect();
            let made = instead.map_or("left out".to_string(), |word| format!("read as `{}`", word.word()));
            problems.add(Rule::Value, format!("{:?} is none of {}; {made}", child.text, words.join(", ")));
        }
    }
    found.or(instead)
}

fn children<'a>(element: &'a Element, name: &'a str) -> impl Iterator<Item = &'a Element> {
    element.children.iter().filter(move |child| child.name == name && is_known(schema_of(element), child))
}

/// All children of a name that CAP knows, whatever the parent: the survey has listed the strangers.
fn schema_of(element: &Element) -> Schema {
    match element.name.as_str() {
        "alert" => ALERT,
        "info" => INFO,
        "resource" => RESOURCE,
        "area" => AREA,
        _ => NAMED_VALUE,
    }
}

fn first<'a>(element: &'a Element, name: &'a str) -> Option<&'a Element> {
    children(element, name).find(|child| !child.text.is_empty()).or_else(|| children(element, name).next())
}

/// Children of a name with their place in the path, from 1.
fn numbered<'a>(element: &'a Element, name: &'a str) -> Vec<(String, &'a Element)> {
    children(element, name)
        .enumerate()
        .map(|(index, child)| (format!("{name}[{}]", index + 1), child))
        .collect()
}

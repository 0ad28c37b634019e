//! An alert as CAP 1.2 describes it (section 3.2), older versions read up to it.

use crate::language;
use crate::time::Timestamp;

/// The language of an info that names none (section 3.2.2).
pub const LANGUAGE_DEFAULT: &str = "en-US";

/// What all enumerations of the standard can do.
pub(crate) trait Word: Copy + 'static {
    const WORDS: &'static [Self];
    fn word(self) -> &'static str;
}

/// An enumeration whose variants are the words of the standard.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All words, in the standard's order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The word as it is written in XML.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }

            /// The word, whatever its case; `None` if the standard has no such word.
            pub fn parse(text: &str) -> Option<$name> {
                Self::ALL.iter().copied().find(|word| word.as_str().eq_ignore_ascii_case(text))
            }
        }

        impl Word for $name {
            const WORDS: &'static [$name] = Self::ALL;

            fn word(self) -> &'static str {
                self.as_str()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// How the alert is to be handled (section 3.2.1).
    pub enum Status {
        /// To be acted on by all it is meant for.
        Actual = "Actual",
        /// Only for the participants of an exercise, who are named in the note.
        Exercise = "Exercise",
        /// For the alerting systems themselves.
        System = "System",
        /// A technical test; all recipients disregard it.
        Test = "Test",
        /// Not to be acted on in this form.
        Draft = "Draft",
    }
}

words! {
    /// The nature of the alert (section 3.2.1).
    pub enum MsgType {
        /// The first word on an event.
        Alert = "Alert",
        /// Replaces the messages it refers to.
        Update = "Update",
        /// Ends the messages it refers to.
        Cancel = "Cancel",
        /// Acknowledges the messages it refers to.
        Ack = "Ack",
        /// Rejects the messages it refers to.
        Error = "Error",
    }
}

words! {
    /// Whom the alert may reach (section 3.2.1).
    pub enum Scope {
        /// Everybody.
        Public = "Public",
        /// Who meets the restriction.
        Restricted = "Restricted",
        /// The addresses alone.
        Private = "Private",
    }
}

words! {
    /// What the event is about (section 3.2.2).
    pub enum Category {
        /// Geophysical, landslides included.
        Geo = "Geo",
        /// Weather, floods included.
        Met = "Met",
        /// General emergency and public safety.
        Safety = "Safety",
        /// Law enforcement, military, homeland and private security.
        Security = "Security",
        /// Rescue and recovery.
        Rescue = "Rescue",
        /// Fire suppression and rescue.
        Fire = "Fire",
        /// Medical and public health.
        Health = "Health",
        /// Pollution and other environment.
        Env = "Env",
        /// Public and private transport.
        Transport = "Transport",
        /// Utilities, telecommunication, other infrastructure.
        Infra = "Infra",
        /// Chemical, biological, radiological, nuclear or explosive threat.
        Cbrne = "CBRNE",
        /// Anything else.
        Other = "Other",
    }
}

words! {
    /// What people should do (section 3.2.2).
    pub enum ResponseType {
        /// Take shelter where you are, or as the instruction says.
        Shelter = "Shelter",
        /// Go elsewhere, as the instruction says.
        Evacuate = "Evacuate",
        /// Make ready, as the instruction says.
        Prepare = "Prepare",
        /// Do what the instruction names.
        Execute = "Execute",
        /// Keep away from what the instruction names.
        Avoid = "Avoid",
        /// Watch the sources the instruction names.
        Monitor = "Monitor",
        /// Judge what is said here.
        Assess = "Assess",
        /// The event is no threat any more.
        AllClear = "AllClear",
        /// Nothing.
        None = "None",
    }
}

words! {
    /// How soon to act (section 3.2.2).
    pub enum Urgency {
        /// At once.
        Immediate = "Immediate",
        /// Within the hour.
        Expected = "Expected",
        /// In the near future.
        Future = "Future",
        /// No more.
        Past = "Past",
        /// Not known, or not said.
        Unknown = "Unknown",
    }
}

words! {
    /// How bad it is (section 3.2.2).
    pub enum Severity {
        /// Extraordinary threat to life or property.
        Extreme = "Extreme",
        /// Significant threat.
        Severe = "Severe",
        /// Possible threat.
        Moderate = "Moderate",
        /// Minimal threat or none known.
        Minor = "Minor",
        /// Not known, or not said.
        Unknown = "Unknown",
    }
}

words! {
    /// How sure it is (section 3.2.2).
    pub enum Certainty {
        /// It has happened or goes on.
        Observed = "Observed",
        /// Over 50 %; 1.0's `Very Likely` is read as this.
        Likely = "Likely",
        /// Up to 50 %.
        Possible = "Possible",
        /// About 0 %.
        Unlikely = "Unlikely",
        /// Not known, or not said.
        Unknown = "Unknown",
    }
}

/// A CAP message. What the message did not have is `None` or empty; the reader's problems say so where it was
/// required.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Alert {
    /// Unique with the sender and the time it was sent.
    pub identifier: String,
    /// Who vouches for it.
    pub sender: String,
    /// When it was sent.
    pub sent: Option<Timestamp>,
    /// `None` if missing or not known: then it is not `Actual`.
    pub status: Option<Status>,
    /// `None` if missing or not known.
    pub msg_type: Option<MsgType>,
    /// The operator or device it came from.
    pub source: Option<String>,
    /// `None` if missing or not known.
    pub scope: Option<Scope>,
    /// The rule of a restricted scope.
    pub restriction: Option<String>,
    /// The recipients of a private scope.
    pub addresses: Vec<String>,
    /// Codes for special handling.
    pub codes: Vec<String>,
    /// Purpose or significance; for an exercise, who takes part.
    pub note: Option<String>,
    /// Earlier messages that this one is about.
    pub references: Vec<Reference>,
    /// Names of the incidents it is about.
    pub incidents: Vec<String>,
    /// What is said, by language and part of the event.
    pub infos: Vec<Info>,
}

/// An earlier message: its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Its sender.
    pub sender: String,
    /// Its identifier.
    pub identifier: String,
    /// When it was sent; `None` if unreadable.
    pub sent: Option<Timestamp>,
}

/// What an alert says in one language about one part of the event.
#[derive(Debug, Clone, PartialEq)]
pub struct Info {
    /// Language tag; [`LANGUAGE_DEFAULT`] if none was given.
    pub language: String,
    /// What it is about.
    pub categories: Vec<Category>,
    /// The event in words.
    pub event: String,
    /// What to do.
    pub response_types: Vec<ResponseType>,
    /// How soon.
    pub urgency: Urgency,
    /// How bad.
    pub severity: Severity,
    /// How sure.
    pub certainty: Certainty,
    /// Whom it is meant for, in words.
    pub audience: Option<String>,
    /// The event in codes (SAME and others).
    pub event_codes: Vec<NamedValue>,
    /// From when it holds; `None`: from when it was sent.
    pub effective: Option<Timestamp>,
    /// When the event is expected to begin.
    pub onset: Option<Timestamp>,
    /// Until when it holds; `None`: the recipient's policy decides.
    pub expires: Option<Timestamp>,
    /// The sender's name for people.
    pub sender_name: Option<String>,
    /// One line.
    pub headline: Option<String>,
    /// What happens.
    pub description: Option<String>,
    /// What to do, in words.
    pub instruction: Option<String>,
    /// Where to read more.
    pub web: Option<String>,
    /// Whom to ask.
    pub contact: Option<String>,
    /// What the issuer adds.
    pub parameters: Vec<NamedValue>,
    /// Pictures, sounds, documents.
    pub resources: Vec<Resource>,
    /// Where.
    pub areas: Vec<Area>,
}

impl Default for Info {
    fn default() -> Self {
        Info {
            language: LANGUAGE_DEFAULT.to_string(),
            categories: Vec::new(),
            event: String::new(),
            response_types: Vec::new(),
            urgency: Urgency::Unknown,
            severity: Severity::Unknown,
            certainty: Certainty::Unknown,
            audience: None,
            event_codes: Vec::new(),
            effective: None,
            onset: None,
            expires: None,
            sender_name: None,
            headline: None,
            description: None,
            instruction: None,
            web: None,
            contact: None,
            parameters: Vec::new(),
            resources: Vec::new(),
            areas: Vec::new(),
        }
    }
}

/// A name and a value, as in `eventCode`, `parameter` and `geocode`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedValue {
    /// `valueName`: the domain of the code.
    pub name: String,
    /// `value`: the code.
    pub value: String,
}

/// A file that belongs to an info (section 3.2.3).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resource {
    /// What it is, for people.
    pub description: String,
    /// MIME type.
    pub mime_type: String,
    /// Size in octets.
    pub size: Option<u64>,
    /// Where it is.
    pub uri: Option<String>,
    /// Its content in base64, not decoded.
    pub deref_uri: Option<String>,
    /// SHA-1 of the content, hexadecimal.
    pub digest: Option<String>,
}

/// Latitude and longitude in degrees, WGS 84.
pub type Point = (f64, f64);

/// A disc on the earth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Circle {
    /// Its middle.
    pub center: Point,
    /// Its radius in kilometres.
    pub km: f64,
}

/// Where an info holds (section 3.2.4): the union of its shapes, and of what its geocodes name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Area {
    /// The area in words.
    pub description: String,
    /// Closed rings, the first vertex again at the end; each at least four long, latitudes -90 to 90,
    /// longitudes -180 to 180.
    pub polygons: Vec<Vec<Point>>,
    /// Discs.
    pub circles: Vec<Circle>,
    /// The area in codes (SAME, UGC, EMMA_ID and others).
    pub geocodes: Vec<NamedValue>,
    /// Lowest altitude in feet above mean sea level.
    pub altitude: Option<f64>,
    /// Highest altitude in feet above mean sea level.
    pub ceiling: Option<f64>,
}

impl Alert {
    /// The first info for a reader of a language: see [`infos_for`](Self::infos_for). `None` if there is no
    /// info.
    pub fn info_for(&self, language: &str) -> Option<&Info> {
        self.infos_for(language).next()
    }

    /// All infos for a reader of a language: those of the same tag, else of the longest tag that it narrows
    /// (`en-AU` finds `en`), else of the first with the same primary language (`en` finds `en-GB`), else of
    /// the alert's first language. An issuer may have several infos of one language, for parts of the event.
    pub fn infos_for(&self, language: &str) -> impl Iterator<Item = &Info> {
        let available = self.infos.iter().map(|info| info.language.as_str());
        let tag = language::look_up(language, available.clone()).or_else(|| available.clone().next());
        self.infos.iter().filter(move |info| tag.is_some_and(|tag| info.language.eq_ignore_ascii_case(tag)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_languages(languages: &[&str]) -> Alert {
        let info = |language: &&str| Info { language: language.to_string(), ..Info::default() };
        Alert { infos: languages.iter().map(info).collect(), ..Alert::default() }
    }

    #[test]
    fn a_reader_gets_the_info_of_their_language_or_the_first() {
        let alert = in_languages(&["zh-mo", "pt-PT", "en-US"]);
        for (wanted, expected) in [("pt", "pt-PT"), ("en-GB", "en-US"), ("sv-SE", "zh-mo"), ("", "zh-mo")] {
            assert_eq!(alert.info_for(wanted).unwrap().language, expected, "{wanted}");
        }
        assert_eq!(Alert::default().info_for("en"), None);
    }

    #[test]
    fn all_parts_of_the_event_in_a_language_are_found() {
        let alert = in_languages(&["de", "en-GB", "DE", "en-US"]);
        assert_eq!(alert.infos_for("de-AT").count(), 2);
        assert_eq!(alert.infos_for("en").map(|info| info.language.as_str()).collect::<Vec<_>>(), ["en-GB"]);
    }

    #[test]
    fn words_are_found_whatever_their_case() {
        assert_eq!(Category::parse("cbrne"), Some(Category::Cbrne));
        assert_eq!(Category::parse("Earth"), None);
        for word in ResponseType::ALL {
            assert_eq!(ResponseType::parse(word.as_str()), Some(*word));
        }
    }
}

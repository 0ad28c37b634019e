//! The macros that declare sections and the formats of values.

/// Declares a section: a struct with a field for each key, its defaults, its reader and its part of the
/// manual.
///
/// ```
/// use std::time::Duration;
///
/// settings::section! {
///     /// The door for widgets. This text is the section's prose in the manual.
///     Widgets {
///         /// Address and port. This text is the key's documentation in the manual.
///         listen: Option<std::net::SocketAddr> = None,
///         /// Silence after which a connection ends.
///         idle: Duration = Duration::from_secs(30),
///         /// The widgets' owner.
///         #[manual(required, example = "city")]
///         owner: String = String::new(),
///         /// A name among other processes.
///         #[manual(default = "the machine's name", example = "node-1")]
///         name: Option<String> = None,
///     }
/// }
/// assert_eq!(Widgets::default().idle, Duration::from_secs(30));
/// ```
///
/// A doc comment may use Markdown; in the commented file backticks are left out. A field
/// `key: Type as Format = default` is read and written by a [`crate::ValueFormat`] whose value the type is.
/// `#[manual(…)]` may have, in any order and `example` last:
/// - `required`: the manual says so; that it is there is for the section's own check,
/// - `default = "words"`: the default, where TOML cannot say it,
/// - `commented`: the manual shows the key commented out although it has a default, for keys that are refused
///   where they are of no use,
/// - `inline`: a table that is written in one line,
/// - `example = TOML`: a value to show where there is no default, or one that says more.
#[macro_export]
macro_rules! section {
    (
        $(#[doc = $doc:literal])*
        $name:ident {
            $(
                $(#[doc = $key_doc:literal])*
                $(#[manual($($manual:tt)*)])?
                $key:ident: $type:ty $(as $format:ty)? = $default:expr
            ),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[doc = $key_doc])* pub $key: $type,)* }

        impl ::std::default::Default for $name {
            fn default() -> $name {
                $name { $($key: $default,)* }
            }
        }

        impl $crate::Section for $name {
            const KEYS: &'static [&'static str] = &[$(::std::stringify!($key)),*];

            fn read_keys(table: &$crate::Table<'_>, problems: &mut $crate::Problems) -> $name {
                let defaults = <$name as ::std::default::Default>::default();
                // A section may be without keys.
                let _ = (&table, &problems, &defaults);
                $name {
                    $($key: table.read::<$crate::__format!($type $(, $format)?)>(
                        ::std::stringify!($key), defaults.$key, problems,
                    ),)*
                }
            }

            fn write_keys(&self) -> ::std::vec::Vec<(&'static str, ::std::string::String)> {
                let keys: ::std::vec::Vec<(&str, ::std::option::Option<::std::string::String>)> = ::std::vec![$((
                    ::std::stringify!($key),
                    <$crate::__format!($type $(, $format)?) as $crate::ValueFormat>::write(&self.$key),
                )),*];
                keys.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
            }

            fn outline() -> $crate::Outline {
                let defaults = <$name as ::std::default::Default>::default();
                let _ = &defaults;
                let keys = ::std::vec![$($crate::__manual!(
                    $crate::KeyDoc::new::<$crate::__format!($type $(, $format)?)>(
                        ::std::stringify!($key), ::std::concat!($($key_doc, "\n"),*), &defaults.$key,
                    )
                    $(, $($manual)*)?
                )),*];
                $crate::Outline::new(::std::concat!($($doc, "\n"),*), keys)
            }
        }

        impl $crate::ValueFormat for $name {
            type Value = $name;

            fn read(
                node: &$crate::Node,
                path: &str,
                problems: &mut $crate::Problems,
            ) -> ::std::option::Option<$name> {
                let table = $crate::Table::open(node, path, problems)?;
                table.refuse_unknown(<$name as $crate::Section>::KEYS, problems);
                ::std::option::Option::Some(<$name as $crate::Section>::read_keys(&table, problems))
            }

            fn write(value: &$name) -> ::std::option::Option<::std::string::String> {
                ::std::option::Option::Some($crate::manual::inline_table(value))
            }

            fn schema() -> $crate::Schema {
                $crate::Schema::Table(<$name as $crate::Section>::outline)
            }
        }
    };
}

/// Declares words that a key takes: an enum of its own (`Colour { Red = "red" }`), or a format of an enum
/// that is declared elsewhere (`VersionWords for Version { V3_4 = "3.4" }`), which must be `Copy` and
/// `PartialEq`.
///
/// ```
/// settings::words! {
///     /// A colour.
///     Colour {
///         /// Like a rose.
///         Red = "red",
///         Green = "green",
///     }
/// }
/// settings::words! {
///     /// An ordering, in words.
///     OrderingWords for std::cmp::Ordering { Less = "less", Equal = "equal", Greater = "greater" }
/// }
/// settings::section! {
///     /// A shape.
///     Shape {
///         colour: Colour = Colour::Red,
///         order: std::cmp::Ordering as OrderingWords = std::cmp::Ordering::Less,
///     }
/// }
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[doc = $doc:literal])*
        $name:ident { $($(#[doc = $word_doc:literal])* $variant:ident = $word:literal),* $(,)? }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[doc = $word_doc])* $variant,)* }

        $crate::__words!($name, $name, $($variant = $word, ::std::concat!($($word_doc, "\n"),*);)*);
    };
    (
        $(#[doc = $doc:literal])*
        $name:ident for $value:ty { $($(#[doc = $word_doc:literal])* $variant:ident = $word:literal),* $(,)? }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug)]
        pub enum $name {}

        $crate::__words!($name, $value, $($variant = $word, ::std::concat!($($word_doc, "\n"),*);)*);
    };
}

/// Declares a format of a value that is written as a text: its name, the type, what it is in words, the
/// parser, and the function that writes it as the text that is parsed. `own Type: …` makes a type of this
/// crate its own format.
///
/// ```
/// settings::text_format! {
///     /// Bits per second.
///     BitRate for f64: "bits per second such as `\"20M\"`",
///     |text| text.trim_end_matches('M').parse::<f64>().map(|millions| millions * 1e6).map_err(|error| error.to_string()),
///     |rate| format!("{}M", rate / 1e6)
/// }
/// settings::section! {
///     /// A push.
///     Push {
///         /// How fast it is.
///         bandwidth: f64 as BitRate = 20e6,
///     }
/// }
/// ```
#[macro_export]
macro_rules! text_format {
    (own $value:ty: $words:literal, $parse:expr, $write:expr $(,)?) => {
        $crate::__text_format!($value, $value, $words, $parse, $write);
    };
    ($(#[doc = $doc:literal])* $name:ident for $value:ty: $words:literal, $parse:expr, $write:expr $(,)?) => {
        $(#[doc = $doc])*
        #[derive(Debug)]
        pub enum $name {}

        $crate::__text_format!($name, $value, $words, $parse, $write);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __text_format {
    ($format:ty, $value:ty, $words:literal, $parse:expr, $write:expr) => {
        impl $crate::ValueFormat for $format {
            type Value = $value;

            fn read(
                node: &$crate::Node,
                path: &str,
                problems: &mut $crate::Problems,
            ) -> ::std::option::Option<$value> {
                let parse: fn(&str) -> ::std::result::Result<$value, ::std::string::String> = $parse;
                $crate::read_parsed(node, path, problems, parse)
            }

            fn write(value: &$value) -> ::std::option::Option<::std::string::String> {
                let write: fn(&$value) -> ::std::string::String = $write;
                ::std::option::Option::Some($crate::format_text(&write(value)))
            }

            fn schema() -> $crate::Schema {
                $crate::Schema::Plain($words)
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __words {
    ($format:ty, $value:ty, $($variant:ident = $word:literal, $doc:expr;)*) => {
        impl $crate::ValueFormat for $format {
            type Value = $value;

            fn read(
                node: &$crate::Node,
                path: &str,
                problems: &mut $crate::Problems,
            ) -> ::std::option::Option<$value> {
                $crate::read_one_of(node, path, &[$(($word, <$value>::$variant)),*], problems)
            }

            fn write(value: &$value) -> ::std::option::Option<::std::string::String> {
                $crate::format_one_of(value, &[$(($word, <$value>::$variant)),*])
            }

            fn schema() -> $crate::Schema {
                $crate::Schema::Words(::std::vec![$($crate::AllowedWord { word: $word, doc: $doc }),*])
            }
        }
    };
}

/// A field's format: the one beside its type, or its type.
#[doc(hidden)]
#[macro_export]
macro_rules! __format {
    ($type:ty) => {
        $type
    };
    ($type:ty, $format:ty) => {
        $format
    };
}

/// The attributes of `#[manual(…)]`, one after the other.
#[doc(hidden)]
#[macro_export]
macro_rules! __manual {
    ($key:expr) => { $key };
    ($key:expr,) => { $key };
    ($key:expr, required $(, $($rest:tt)*)?) => {
        $crate::__manual!($key.required() $(, $($rest)*)?)
    };
    ($key:expr, commented $(, $($rest:tt)*)?) => {
        $crate::__manual!($key.commented() $(, $($rest)*)?)
    };
    ($key:expr, inline $(, $($rest:tt)*)?) => {
        $crate::__manual!($key.inline() $(, $($rest)*)?)
    };
    ($key:expr, default = $words:literal $(, $($rest:tt)*)?) => {
        $crate::__manual!($key.default_in_words($words) $(, $($rest)*)?)
    };
    ($key:expr, example = $($toml:tt)*) => {
        $key.example(::std::stringify!($($toml)*))
    };
}

use crate::{
    AnySection, KeyDoc, Node, Outline, Problems, Schema, Section, SectionType, Table, ValueFormat, Variant,
    overlay, parse,
};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

crate::words! {
    /// A colour.
    Colour {
        /// Like a rose.
        Red = "red",
        Green = "green",
    }
}

crate::words! {
    /// An ordering in words.
    OrderingWords for Ordering { Less = "less", Equal = "equal", Greater = "greater" }
}

crate::section! {
    /// Keys of all shapes.
    ///
    /// Each has a name.
    Shape {
        /// Its name.
        #[manual(required, example = "ring")]
        name: String = String::new(),
        /// Its colour.
        colour: Colour = Colour::Red,
        /// Orders, of another crate's type.
        orders: Vec<Ordering> as Vec<OrderingWords> = vec![Ordering::Less, Ordering::Equal],
        /// A pause.
        #[manual(example = "5m")]
        pause: Option<Duration> = None,
    }
}

crate::section! {
    /// Keys of rings.
    Ring {
        /// Its radius.
        radius: u32 = 7,
        /// Where it is.
        #[manual(inline)]
        centre: Point = Point::default(),
    }
}

crate::section! {
    /// A point.
    Point {
        /// Across.
        x: i64 = 0,
        /// Down.
        y: i64 = -1,
    }
}

fn read<F: ValueFormat>(text: &str) -> (Option<F::Value>, Vec<String>) {
    let mut problems = Problems::new("c.toml").with_known_paths(vec!["other.radius".to_owned()]);
    let root = parse(text, &mut problems);
    let value = F::read(&root, "", &mut problems);
    problems.sort();
    let lines = problems.to_string();
    (value, lines.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

#[test]
fn values_of_other_crates_types_are_read_and_written_by_their_format() {
    let (shape, problems) = read::<Shape>("name = \"a\"\norders = [\"greater\"]\ncolour = \"green\"");
    let shape = shape.unwrap();
    assert_eq!(problems, [""; 0]);
    assert_eq!((&shape.orders[..], shape.colour), (&[Ordering::Greater][..], Colour::Green));
    let written = Shape::write(&shape).unwrap();
    assert_eq!(written, "{name = \"a\", colour = \"green\", orders = [\"greater\"]}");
}

#[test]
fn problems_name_their_line_and_the_nearest_key_or_one_elsewhere() {
    let (shape, problems) = read::<Shape>("color = \"red\"\nradius = 1\norders = [\"les\"]\npause = 5\n");
    assert!(shape.is_some());
    assert_eq!(
        problems,
        [
            "c.toml:1:1: color: is unknown; did you mean colour?",
            "c.toml:2:1: radius: is unknown; known are name, colour, orders, pause; there is other.radius",
            "c.toml:3:11: orders[0]: \"les\" is none of less, equal, greater; did you mean less?",
            "c.toml:4:9: pause: must be a text, not an integer",
        ]
    );
}

#[test]
fn a_table_is_read_by_several_sections_and_refuses_what_is_in_none_of_them() {
    let registry = [("ring", SectionType::of::<Ring>()), ("point", SectionType::of::<Point>())];
    let mut problems = Problems::new("c.toml");
    let root = parse("name = \"a\"\nradius = 9\nradios = 3\nx = 1\n", &mut problems);
    let table = Table::open(&root, "shape[0]", &mut problems).unwrap();
    let shape = Shape::read_keys(&table, &mut problems);
    let ring = registry[0].1.read_keys(&table, &mut problems);
    assert!(problems.is_empty(), "{problems}");
    let known: Vec<&str> =
        Shape::KEYS.iter().chain(registry.iter().flat_map(|(_, section)| section.keys)).copied().collect();
    table.refuse_unknown(&known, &mut problems);
    assert_eq!(problems.to_string(), "c.toml:3:1: shape[0].radios: is unknown; did you mean radius?");
    assert_eq!((shape.name.as_str(), ring.get::<Ring>().unwrap().radius), ("a", 9));
    assert!(ring.get::<Point>().is_none());
    assert_eq!(registry[1].1.outline().paths(), ["x", "y"]);
}

#[test]
fn sections_of_hidden_types_are_equal_when_type_and_values_are() {
    let ring = || AnySection::new(Ring::default());
    assert_eq!(ring(), ring().clone());
    assert_ne!(ring(), AnySection::new(Ring { radius: 8, ..Ring::default() }));
    assert_ne!(ring(), AnySection::new(Point::default()));
    assert_eq!(format!("{:?}", ring()), format!("{:?}", Ring::default()));
}

#[test]
fn the_declaration_keeps_documentation_defaults_and_examples() {
    let Outline { doc, keys, .. } = Shape::outline();
    assert_eq!(doc, " Keys of all shapes.\n\n Each has a name.\n");
    let [name, colour, orders, pause] = &keys[..] else { panic!("four keys") };
    assert_eq!((name.doc, name.example, name.is_required), (" Its name.\n", Some("\"ring\""), true));
    assert_eq!(colour.schema.in_words(), "`\"red\"` or `\"green\"`");
    assert_eq!(orders.default.as_deref(), Some("[\"less\", \"equal\"]"));
    assert_eq!(orders.schema.in_words(), "list: `\"less\"`, `\"equal\"` or `\"greater\"`");
    assert_eq!((pause.default.as_deref(), pause.example), (None, Some("\"5m\"")));
    assert_eq!(pause.schema.in_words(), "duration such as `\"30s\"`");
    assert_eq!(Ring::outline().paths(), ["radius", "centre.x", "centre.y"]);
    assert_eq!(Ring::outline().keys[1].default.as_deref(), Some("{x = 0, y = -1}"));
}

#[test]
fn environment_variables_go_over_the_file_by_their_prefix() {
    let mut problems = Problems::new("c.toml");
    let mut root = parse("name = \"a\"", &mut problems);
    let variables = [("APP__NAME", "b"), ("APP__ORDERS", "less,greater"), ("OTHER__NAME", "c")];
    let variables: BTreeMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    overlay(&mut root, "APP__", &variables, &mut problems);
    let shape = Shape::read(&root, "", &mut problems).unwrap();
    assert!(problems.is_empty(), "{problems}");
    assert_eq!((shape.name.as_str(), shape.orders.len()), ("b", 2));
}

crate::section! {
    /// A file. See [Shapes](shapes.md#rings).
    ///
    /// - One thing.
    /// - Another thing.
    File {
        /// A ring.
        ring: Ring = Ring::default(),
        /// A shape.
        shape: Option<Shape> = None,
        /// Points.
        point: Vec<Point> = Vec::new(),
    }
}

const FILE: &str = r#"# A file. See Shapes (docs/shapes.md).
#
# - One thing.
# - Another thing.

# Keys of rings.
[ring]
# Its radius.
radius = 7
# Where it is.
centre = {x = 0, y = -1}

# Keys of all shapes.
#
# Each has a name.
#[shape]
# Its name. Required.
#name = "ring"
# Its colour. Of: "red", "green".
#colour = "red"
# Orders, of another crate's type. Of: "less", "equal", "greater".
#orders = ["less", "equal"]
# A pause. Default: none.
#pause = "5m"

# A point.
#[[point]]
# Across.
#x = 0
# Down.
#y = -1
"#;

#[test]
fn the_commented_file_has_every_key_with_its_documentation_and_default() {
    let text = crate::manual::toml(&File::outline());
    assert_eq!(text, FILE);
    assert_eq!(read::<File>(&text), (Some(File::default()), vec![]));
}

#[test]
fn the_tables_stand_between_their_marks_and_are_replaced_there() {
    let marked = |name: &str, text: &str| {
        format!("<!-- generated: {name} -->\n{text}<!-- end of generated text -->\n")
    };
    let document = format!(
        "# Title\n{}\nText.\n{}{}",
        marked("ring", "old\n"),
        marked("shape", ""),
        marked("point", "")
    );
    let filled = crate::manual::fill(&document, &File::outline()).unwrap();
    let ring = "\nKeys of rings.\n\n| key | value | default | meaning and bounds |\n|---|---|---|---|\n\
                | `radius` | whole number | `7` | Its radius. |\n\
                | `centre` | table of `x`, `y` | `{x = 0, y = -1}` | Where it is. |\n\
                | `centre.x` | whole number, also below 0 | `0` | Across. |\n\
                | `centre.y` | whole number, also below 0 | `-1` | Down. |\n\n";
    assert!(filled.starts_with(&format!("# Title\n{}\nText.\n", marked("ring", ring))), "{filled}");
    assert!(filled.contains("| `name` | text | required | Its name. |\n"), "{filled}");
    assert!(filled.contains("| `pause` | duration such as `\"30s\"` | none | A pause. |\n"), "{filled}");
    assert_eq!(crate::manual::fill(&filled, &File::outline()).as_ref(), Ok(&filled));
    for (wrong, reason) in [
        (marked("ring", ""), "<!-- generated: shape --> is missing"),
        (format!("{document}{}", marked("ring", "")), "ring: no section, or twice"),
        ("<!-- generated: ring -->\n".to_owned(), "ring: <!-- end of generated text --> is missing"),
    ] {
        assert_eq!(crate::manual::fill(&wrong, &File::outline()), Err(reason.to_owned()));
    }
}

/// A table whose `kind` decides on further keys.
struct Tagged;

impl ValueFormat for Tagged {
    type Value = Tagged;

    fn read(_node: &Node, _path: &str, _problems: &mut Problems) -> Option<Tagged> {
        Some(Tagged)
    }

    fn write(_value: &Tagged) -> Option<String> {
        None
    }

    fn schema() -> Schema {
        Schema::Table(|| {
            let variant = |word, section: SectionType| Variant {
                tag: ("name", word),
                shared: vec![("name", format!("{word:?}"))],
                outline: section.outline(),
            };
            let variants = vec![
                variant("ring", SectionType::of::<Ring>()),
                variant("point", SectionType::of::<Point>()),
            ];
            Outline { variants, ..Shape::outline() }
        })
    }
}

const VARIANTS: &str = r#"# A file of variants.

# Keys of all shapes.
#
# Each has a name.

# Keys of rings.
#[[tagged]]
# Its name. Required.
#name = "ring"
# Its colour. Of: "red", "green".
#colour = "red"
# Orders, of another crate's type. Of: "less", "equal", "greater".
#orders = ["less", "equal"]
# A pause. Default: none.
#pause = "5m"
# Its radius.
#radius = 7
# Where it is.
#centre = {x = 0, y = -1}

# A point.
#[[tagged]]
#name = "point"
# Across.
#x = 0
# Down.
#y = -1
"#;

#[test]
fn keys_of_variants_are_shown_in_an_example_of_each() {
    let outline = || {
        Outline::new(
            " A file of variants.\n",
            vec![KeyDoc::new::<Vec<Tagged>>("tagged", " Tagged.\n", &vec![])],
        )
    };
    assert_eq!(crate::manual::toml(&outline()), VARIANTS);
    let paths = ["name", "colour", "orders", "pause", "radius", "centre.x", "centre.y", "x", "y"];
    assert_eq!(outline().paths(), paths.map(|path| format!("tagged.{path}")));
    let markdown = crate::manual::markdown("tagged", &outline().keys[0]);
    assert!(markdown.contains("\n### tagged of name point\n\nA point.\n\n| key |"), "{markdown}");
}

use super::*;

const SMALL: &str = "\
vendor TGPP 10415
avp Outer 1 Grouped M
avp Inner 2 Enumerated !M 0..3
avp Other 3 UTF8String -
Outer ::= < AVP Header: 1 10415 >
  1*{ Inner }   # with a comment
 0*0[ Other ]
   *[ AVP ]
Ask-Request (AR) ::= < Diameter Header: 9, REQ, PXY >
    < Outer >
";

fn read(text: &str) -> Result<Dictionary, String> {
    let mut dictionary = Dictionary::default();
    parse::parse("x.dict", text, &mut dictionary)?;
    Ok(dictionary)
}

fn error(text: &str) -> String {
    match read(text).and_then(|mut dictionary| render::render(&mut dictionary)) {
        Ok(_) => panic!("{text} was accepted"),
        Err(error) => error,
    }
}

#[test]
fn a_data_file_is_read_in_the_grammar_of_the_rfc() {
    let dictionary = read(SMALL).unwrap();
    assert_eq!(dictionary.vendors, [("TGPP".to_string(), 10415)]);
    let inner = &dictionary.avps[1];
    assert_eq!(
        (inner.code, inner.vendor, inner.mandatory, inner.values),
        (2, 10415, Mandatory::MustNot, Some((0, 3)))
    );
    let outer = &dictionary.grammars[0];
    assert_eq!(outer.of, Of::Group { code: 1, vendor: 10415 });
    assert!(outer.is_open);
    assert_eq!((outer.members[0].min, outer.members[0].max), (1, None));
    assert_eq!((outer.members[1].min, outer.members[1].max), (0, Some(0)));
    let request = &dictionary.grammars[1];
    assert!(!request.is_open);
    assert_eq!((request.members[0].min, request.members[0].max), (1, Some(1)));
    assert!(
        matches!(&request.of, Of::Command { code: 9, abbreviation, is_request: true, is_proxiable: true, is_error: false } if abbreviation == "AR")
    );
}

#[test]
fn the_tables_hold_what_the_data_says() {
    let text = render::render(&mut read(SMALL).unwrap()).unwrap();
    for line in [
        "pub const INNER: AvpName = AvpName { code: 2, vendor: 10415 };",
        "pub const ASK: u32 = 9;",
        "rule(2, 10415, \"Inner\", Enumerated, MustNot, NO_GRAMMAR, Some((0, 3))),",
        "rule(1, 10415, \"Outer\", Grouped, Must, 0, None),",
        "static VENDOR_10415: [u16; 4] = [",
        "        banned: 0x2,",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (text, expected) in [
        ("avp X", "x.dict:1: `avp X` is neither"),
        ("\navp X 1 Unsigned32 Q", "x.dict:2: `Q` is no flag rule"),
        ("avp X one Unsigned32 M", "`one` is no number"),
        ("avp X 1 Unsigned33 M", "`Unsigned33` is no type"),
        ("avp X 1 Unsigned32 M 0..1", "no range of an Enumerated"),
        ("avp X 1 Unsigned32 M\navp X 2 Unsigned32 M", "X is defined twice"),
        ("avp X 1 Unsigned32 M\navp Y 1 Unsigned32 M", "Y and X have the same code 1"),
        ("  { X }", "a member outside a grammar"),
        ("avp X 1 Unsigned32 M\nX ::= < AVP Header: 1 >", "X is no Grouped AVP 0:1"),
        ("avp X 1 Grouped M\nX ::= < AVP Header: 1 >\n  { Y }", "Y in X is no known AVP"),
        ("avp X 1 Grouped M\nX ::= < AVP Header: 1 >\n  { X }\n  [ X ]", "X stands twice"),
        ("avp X 1 Grouped M\nX ::= < AVP Header: 1 >\n  2*3{ X }", "only none, one and any number"),
        ("avp X 1 Grouped M\nX ::= < AVP Header: 1 >\n  { X ]", "lacks `}`"),
    ] {
        let error = error(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn the_generated_file_is_fresh() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    assert_eq!(is_fresh(&root), Ok(true), "run `cargo xtask dictionary`");
}

#[test]
fn a_stale_table_is_noticed_and_written_anew() {
    let root = std::env::temp_dir().join(format!("xtask-dictionary-{}", std::process::id()));
    let generated = root.join(GENERATED);
    std::fs::create_dir_all(root.join(SOURCES)).unwrap();
    std::fs::create_dir_all(generated.parent().unwrap()).unwrap();
    std::fs::write(root.join(SOURCES).join("x.dict"), SMALL).unwrap();
    std::fs::write(root.join(SOURCES).join("notes.txt"), "not read").unwrap();
    std::fs::write(&generated, "old").unwrap();
    let found = (is_fresh(&root), run(&root), is_fresh(&root), run(&root));
    std::fs::remove_dir_all(&root).unwrap();
    assert_eq!(found, (Ok(false), Ok(true), Ok(true), Ok(false)));
}

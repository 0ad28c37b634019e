use super::built_files::{self, content_type, script_hashes};
use super::*;
use std::fs;
use std::path::Path;

static SCRIPT: EmbeddedFile = EmbeddedFile {
    path: "/_app/immutable/a.js",
    content_type: "text/javascript; charset=utf-8",
    tag: "0a",
    identity: b"let a = 1;",
    brotli: Some(b"br"),
    gzip: Some(b"gz"),
};

static TABLE: FileTable = FileTable {
    files: &[
        EmbeddedFile { path: "/_app/immutable/a.js", ..fields_of_a_font("1a") },
        EmbeddedFile { path: "/index.html", ..fields_of_a_font("2b") },
        EmbeddedFile { path: "/licenses.txt", ..fields_of_a_font("3c") },
    ],
    script_hashes: &[],
};

/// A file without compressed forms.
const fn fields_of_a_font(tag: &'static str) -> EmbeddedFile {
    EmbeddedFile { path: "", content_type: "font/woff2", tag, identity: b"font", brotli: None, gzip: None }
}

#[test]
fn a_client_gets_the_form_that_its_accept_encoding_likes_best() {
    for (accept, encoding) in [
        ("gzip, deflate, br, zstd", Some("br")),
        ("gzip, deflate", Some("gzip")),
        ("br;q=0.5, gzip;q=0.8", Some("gzip")),
        ("BR", Some("br")),
        ("x-gzip", Some("gzip")),
        ("*", Some("br")),
        ("br;q=0, *", Some("gzip")),
        ("br;q=0, *;q=0.5, identity", None),
        ("identity, br;q=0.5", None),
        ("br; q=0.001", Some("br")),
        ("br;q=x", None),
        ("deflate", None),
        ("identity", None),
        ("", None),
        ("identity;q=0", None),
        ("*;q=0", None),
        ("brotli, gzipped", None),
    ] {
        let form = SCRIPT.form(accept);
        assert_eq!(form.encoding, encoding, "{accept:?}");
        let (etag, octets): (_, &[u8]) = match encoding {
            Some("br") => ("\"0a-br\"", b"br"),
            Some(_) => ("\"0a-gzip\"", b"gz"),
            None => ("\"0a\"", b"let a = 1;"),
        };
        assert_eq!((form.etag.as_str(), form.octets), (etag, octets), "{accept:?}");
    }
}

#[test]
fn a_file_without_compressed_forms_is_given_as_it_is() {
    let font = TABLE.find("/licenses.txt").unwrap();
    assert_eq!(font.form("br, gzip"), FileForm { encoding: None, etag: "\"3c\"".into(), octets: b"font" });
}

#[test]
fn a_path_finds_the_file_of_exactly_that_path() {
    for path in ["/_app/immutable/a.js", "/index.html", "/licenses.txt"] {
        assert_eq!(TABLE.find(path).unwrap().path, path);
    }
    for path in [
        "",
        "/",
        "index.html",
        "//index.html",
        "/./index.html",
        "/index.html/",
        "/INDEX.HTML",
        "/%69ndex.html",
        "/_app/immutable",
        "/_app/immutable/",
        "/_app/../index.html",
        "/_app/%2e%2e/index.html",
        "/..%2findex.html",
        "/../../etc/passwd",
        "/index.html\0",
    ] {
        assert!(TABLE.find(path).is_none(), "{path:?}");
    }
}

#[test]
fn the_embedded_table_is_in_the_order_of_its_paths_and_has_a_page_or_nothing() {
    assert!(FILES.is_sorted_by(|a, b| a.path < b.path));
    assert_eq!(embedded(), !FILES.is_empty());
    assert_eq!(CONSOLE.script_hashes().is_empty(), !embedded());
    for file in FILES {
        assert!(CONSOLE.find(file.path).is_some_and(|found| !found.identity.is_empty()), "{}", file.path);
    }
}

fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }
    folder
}

#[test]
fn built_files_are_found_with_the_forms_that_are_shorter_than_they_are() {
    let folder = folder_with(&[
        ("index.html", "<!doctype html>"),
        ("index.html.br", "br"),
        ("index.html.gz", "gz"),
        ("_app/version.json", "{}"),
        ("_app/version.json.br", "longer than it"),
        ("_app/immutable/entry/start.Bx_1-a.js", "let a;"),
        ("archive.gz", "no form of anything"),
    ]);
    let files = built_files::read(folder.path()).unwrap();
    let found: Vec<(&str, bool, bool)> =
        files.iter().map(|file| (file.path.as_str(), file.brotli.is_some(), file.gzip.is_some())).collect();
    assert_eq!(
        found,
        [
            ("/_app/immutable/entry/start.Bx_1-a.js", false, false),
            ("/_app/version.json", false, false),
            ("/archive.gz", false, false),
            ("/index.html", true, true),
        ]
    );
    assert_eq!(built_files::read(Path::new("/nowhere/build")).unwrap(), []);
}

#[test]
fn a_name_that_a_url_would_have_to_escape_ends_the_build() {
    for name in ["a b.js", "a%20b.js", "a?b", "é.svg", "a#b"] {
        let folder = folder_with(&[(name, "x")]);
        assert!(built_files::read(folder.path()).unwrap_err().contains("rename it"), "{name}");
    }
}

#[test]
fn the_source_of_the_table_has_each_form_once_and_a_tag_of_the_content() {
    let folder = folder_with(&[
        ("index.html", "<script>let a = 1;</script>"),
        ("index.html.br", "br"),
        ("a.css", "abc"),
    ]);
    let source = built_files::source(&built_files::read(folder.path()).unwrap()).unwrap();
    let count = |text: &str| source.matches(text).count();
    assert_eq!((count("index.html\")"), count("index.html.br\")"), count("a.css\")")), (1, 1, 1), "{source}");
    // SHA-256 of abc, as FIPS 180-4 has it.
    assert!(source.contains("tag: \"ba7816bf8f01cfea414140de5dae2223\""), "{source}");
    assert!(source.contains("content_type: \"text/css; charset=utf-8\""), "{source}");
    let hashes = script_hashes("<script>let a = 1;</script>");
    assert!(source.contains(&format!("SCRIPT_HASHES: &[&str] = &{hashes:?};")), "{source}");
    let nothing = built_files::source(&[]).unwrap();
    assert_eq!(nothing, "static FILES: &[EmbeddedFile] = &[\n];\nstatic SCRIPT_HASHES: &[&str] = &[];\n");
}

/// The hashes are those that a browser prints when it refuses such a script.
#[test]
fn inline_scripts_are_hashed_as_they_stand_between_their_tags() {
    const ALERT: &str = "sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng=";
    for (page, hashes) in [
        ("<script>alert('Hello, world.');</script>", vec![ALERT]),
        ("<SCRIPT type=\"module\">alert('Hello, world.');</SCRIPT >", vec![ALERT]),
        ("<script src=\"/a.js\"></script><script>alert('Hello, world.');</script>", vec![ALERT]),
        ("<script\nsrc=/a.js></script>", vec![]),
        ("<p>none</p>", vec![]),
        ("<script>never closed", vec![]),
    ] {
        assert_eq!(script_hashes(page), hashes, "{page}");
    }
    assert_ne!(script_hashes("<script> alert('Hello, world.');</script>"), [ALERT], "each space counts");
    assert_eq!(script_hashes("<script>a\r\nb</script>"), script_hashes("<script>a\nb</script>"));
}

#[test]
fn files_have_the_media_types_that_browsers_ask_for() {
    for (path, expected) in [
        ("/index.html", "text/html; charset=utf-8"),
        ("/_app/immutable/chunks/a.B1.js", "text/javascript; charset=utf-8"),
        ("/_app/immutable/assets/0.css", "text/css; charset=utf-8"),
        ("/licenses.txt", "text/plain; charset=utf-8"),
        ("/_app/version.json", "application/json"),
        ("/font.woff2", "font/woff2"),
        ("/favicon.svg", "image/svg+xml"),
        ("/no.ending/file", "application/octet-stream"),
    ] {
        assert_eq!(content_type(path), expected, "{path}");
    }
}

//! Writes the table of the console's built files, of which the crate is made. Without them it is empty.

#[path = "src/built_files.rs"]
mod built_files;

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use std::{env, fs};

/// Where `npm run build` in `console/` leaves its files.
const BUILT: &str = "../../console/build";

fn main() -> Result<(), String> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from).ok_or_else(|| format!("no {name}"));
    let built = variable("CARGO_MANIFEST_DIR")?.join(BUILT);
    watched(&built);
    println!("cargo:rerun-if-changed={}", built.display());
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/built_files.rs");
    let table = variable("OUT_DIR")?.join("table.rs");
    write(&built, &table)
}

/// Makes an empty folder where there is none. What is not there counts as changed, and all that stands on
/// this crate would be built each time, which is the price where none can be made.
fn watched(folder: &Path) {
    if !folder.is_dir() && fs::create_dir_all(folder).is_ok() {
        // Older than this run, or the next one would take it for changed.
        let _ = fs::File::open(folder).and_then(|folder| folder.set_modified(UNIX_EPOCH));
    }
}

fn write(built: &Path, table: &Path) -> Result<(), String> {
    let files = built_files::read(built)?;
    fs::write(table, built_files::source(&files)?).map_err(|error| format!("{}: {error}", table.display()))
}

//! `[map]`: tiles and outlines of the operators' own.

use super::Config;
use doors::http::{MapFiles, MapPaths};
use settings::section;
use std::path::{Path, PathBuf};

section! {
    /// The map on which areas are drawn. Without files the console shows the outlines of the world's coasts
    /// and borders. Nothing is fetched from another server. [The map](operating.md#the-map) describes it.
    Map {
        /// Tiles, in a file as MBTiles 1.3 has them: pictures (png, jpg or webp) of at most a mebibyte each.
        /// It is opened to be read; a reload opens it again.
        #[manual(example = "city.mbtiles")]
        file: Option<PathBuf> = None,
        /// Outlines over the map, such as districts: GeoJSON of at most 4 MiB.
        #[manual(example = "city.geojson")]
        outlines: Option<PathBuf> = None,
    }
}

impl Config {
    /// Where the files are.
    pub(super) fn map_paths(&self, data: &Path) -> MapPaths {
        let below = |path: &Option<PathBuf>| path.as_ref().map(|path| data.join(path));
        MapPaths { tiles: below(&self.map.file), outlines: below(&self.map.outlines) }
    }
}

/// What is wrong with the files, each with its key.
pub(super) fn problems(config: &Config, data: &Path) -> Vec<(&'static str, String)> {
    MapFiles::open(&config.map_paths(data)).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn parsed(text: &str, data: &Path) -> Result<Config, String> {
        let parsed = crate::config::parse(text, "c.toml", data, &BTreeMap::new());
        parsed.map_err(|error| error.to_string())
    }

    #[test]
    fn files_of_the_map_are_below_the_data_folder_and_one_that_is_no_map_is_refused_by_its_key() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join("city.geojson"),
            r#"{"type": "FeatureCollection", "features": []}"#,
        )
        .unwrap();
        let config = parsed("[map]\noutlines = \"city.geojson\"\n", folder.path()).unwrap();
        let paths = config.map_paths(folder.path());
        assert_eq!(paths, MapPaths { tiles: None, outlines: Some(folder.path().join("city.geojson")) });
        for (text, field) in [
            ("[map]\nfile = \"city.geojson\"\n", "map.file"),
            ("[map]\nfile = \"none.mbtiles\"\n", "map.file"),
            ("[map]\noutlines = \"none.geojson\"\n", "map.outlines"),
            ("[map]\nfiles = \"city.mbtiles\"\n", "map.files"),
        ] {
            let error = parsed(text, folder.path()).unwrap_err();
            assert!(error.contains(field) && error.contains("c.toml:2"), "{error}");
        }
    }
}

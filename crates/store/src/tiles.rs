//! Map tiles of a file of the operators', as MBTiles 1.3 has them: pictures by zoom, column and row, read and
//! never written.

use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;
use tokio::sync::Semaphore;

/// The greatest zoom that is looked for.
pub const ZOOM_MAX: u8 = 22;
/// Tiles that are read at once; who comes beyond waits.
const READS_MAX: usize = 4;
/// Octets of the largest tile that is read.
pub const TILE_OCTETS_MAX: u32 = 1 << 20;
/// Characters of what the file says of itself that are read.
const TEXT_CHARS_MAX: u32 = 1_000;

/// What a file of tiles says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct TileFacts {
    /// The type of its pictures: `png`, `jpg` or `webp`.
    pub format: String,
    /// The smallest zoom that it has.
    pub min_zoom: u8,
    /// The greatest.
    pub max_zoom: u8,
    /// West, south, east, north, in degrees.
    pub bounds: Option<[f64; 4]>,
    /// Longitude and latitude at which a map begins.
    pub center: Option<[f64; 2]>,
    /// Whose data it is, as it is to be shown.
    pub attribution: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Another one for each state of the file.
    pub version: String,
}

/// A file of tiles.
pub struct TileFile {
    path: PathBuf,
    facts: TileFacts,
    idle: Mutex<Vec<Connection>>,
    places: Arc<Semaphore>,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tile {
    /// Its media type, by its octets.
    pub media_type: &'static str,
    /// The picture.
    pub octets: Vec<u8>,
}

impl TileFile {
    /// Opens a file and reads what it says of itself.
    ///
    /// # Errors
    /// In words: it cannot be read, is no file of tiles, or its tiles are no pictures.
    pub fn open(path: &Path) -> Result<TileFile, String> {
        let version = version(path)?;
        let connection = connect(path)?;
        let facts = facts(&connection, version).map_err(|error| no_tiles(path, &error))??;
        Ok(TileFile {
            path: path.to_owned(),
            facts,
            idle: Mutex::new(vec![connection]),
            places: Arc::new(Semaphore::new(READS_MAX)),
        })
    }

    /// What it says of itself.
    pub fn facts(&self) -> &TileFacts {
        &self.facts
    }

    /// The tile at a place, whose rows are counted from the north. Nothing: there is none, or it is no
    /// picture.
    ///
    /// # Errors
    /// In words: the file cannot be read any more.
    pub async fn tile(self: &Arc<Self>, zoom: u8, column: u32, row: u32) -> Result<Option<Tile>, String> {
        let is_known = (self.facts.min_zoom..=self.facts.max_zoom).contains(&zoom);
        if !is_known || zoom > ZOOM_MAX || column >= 1 << zoom || row >= 1 << zoom {
            return Ok(None);
        }
        let place = self.places.clone().acquire_owned().await.map_err(|error| error.to_string())?;
        let file = self.clone();
        let read = move || {
            let _place = place;
            file.read(zoom, column, row)
        };
        tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())?
    }

    fn read(&self, zoom: u8, column: u32, row: u32) -> Result<Option<Tile>, String> {
        let idle = self.idle().pop();
        let connection = idle.map_or_else(|| connect(&self.path), Ok)?;
        // In the file rows are counted from the south.
        let from_south = (1_u32 << zoom) - 1 - row;
        let octets =
            tile(&connection, (zoom, column, from_south)).map_err(|error| no_tiles(&self.path, &error))?;
        self.idle().push(connection);
        Ok(octets.and_then(|octets| media_type(&octets).map(|media_type| Tile { media_type, octets })))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn no_tiles(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{} is no file of tiles (MBTiles): {error}", path.display())
}

/// Changes with the file.
fn version(path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let about = std::fs::metadata(path).map_err(unreadable)?;
    let changed = about.modified().map_err(unreadable)?;
    let changed = changed.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Ok(format!("{changed:x}{:x}", about.len()))
}

/// Reads alone. What a schema may do is limited to what it needs: the file is somebody else's work.
fn connect(path: &Path) -> Result<Connection, String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;")?;
        Ok::<_, rusqlite::Error>(connection)
    };
    open().map_err(|error| no_tiles(path, &error))
}

fn facts(connection: &Connection, version: String) -> rusqlite::Result<Result<TileFacts, String>> {
    let said = |name: &str| {
        let query = "SELECT substr(value, 1, ?2) FROM metadata WHERE name = ?1";
        connection.query_row(query, (name, TEXT_CHARS_MAX), |row| row.get::<_, String>(0)).optional()
    };
    let format = match said("format")?.unwrap_or_default().to_ascii_lowercase().as_str() {
        "png" => "png",
        "jpg" | "jpeg" => "jpg",
        "webp" => "webp",
        other => {
            let why = format!("its tiles are {other:?}; pictures are needed: png, jpg or webp");
            return Ok(Err(why));
        }
    };
    let zooms = "SELECT min(zoom_level), max(zoom_level) FROM tiles";
    let (lowest, highest) = connection
        .query_row(zooms, (), |row| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?)))?;
    let zoom = |value: Option<i64>| value.map(|value| value.clamp(0, i64::from(ZOOM_MAX)) as u8);
    let (Some(min_zoom), Some(max_zoom)) = (zoom(lowest), zoom(highest)) else {
        return Ok(Err("it has no tiles".to_owned()));
    };
    Ok(Ok(TileFacts {
        format: format.to_owned(),
        min_zoom,
        max_zoom,
        bounds: said("bounds")?.and_then(|text| numbers(&text)).filter(are_bounds),
        center: said("center")?.and_then(|text| numbers::<3>(&text)).map(|[lon, lat, _]| [lon, lat]),
        attribution: said("attribution")?.filter(|text| !text.is_empty()),
        name: said("name")?.filter(|text| !text.is_empty()),
        version,
    }))
}

/// So many numbers with commas.
fn numbers<const N: usize>(text: &str) -> Option<[f64; N]> {
    let read =
        text.split(',').map(|part| part.trim().parse::<f64>().ok().filter(|number| number.is_finite()));
    read.collect::<Option<Vec<f64>>>()?.try_into().ok()
}

fn are_bounds([west, south, east, north]: &[f64; 4]) -> bool {
    west < east && south < north && *west >= -180.0 && *east <= 180.0 && *south >= -90.0 && *north <= 90.0
}

fn tile(connection: &Connection, (zoom, column, row): (u8, u32, u32)) -> rusqlite::Result<Option<Vec<u8>>> {
    let query = "SELECT tile_data FROM tiles WHERE zoom_level = ?1 AND tile_column = ?2 AND tile_row = ?3 \
        AND length(tile_data) <= ?4";
    let mut select = connection.prepare_cached(query)?;
    select.query_row((zoom, column, row, TILE_OCTETS_MAX), |row| row.get(0)).optional()
}

/// The type of a picture, by its first octets.
fn media_type(octets: &[u8]) -> Option<&'static str> {
    match octets {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1A\nred";

    /// A file with one tile at zoom 1, north and east.
    fn file(folder: &Path, format: &str, tile: &[u8]) -> PathBuf {
        let path = folder.join(format!("{format}.mbtiles"));
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE metadata (name TEXT, value TEXT);
                 CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
                 INSERT INTO metadata VALUES ('bounds', '12.9, 58.8,13.5,59'), ('center', '13.2,58.9,12'),
                     ('attribution', 'Town of Almvik'), ('name', '');",
            )
            .unwrap();
        connection.execute("INSERT INTO metadata VALUES ('format', ?1)", [format]).unwrap();
        connection.execute("INSERT INTO tiles VALUES (1, 1, 1, ?1)", [tile]).unwrap();
        path
    }

    #[tokio::test]
    async fn a_tile_is_found_by_its_place_from_the_north() {
        let folder = tempfile::tempdir().unwrap();
        let tiles = Arc::new(TileFile::open(&file(folder.path(), "png", PNG)).unwrap());
        let facts = tiles.facts();
        assert_eq!((facts.min_zoom, facts.max_zoom, facts.format.as_str()), (1, 1, "png"));
        assert_eq!((facts.bounds, facts.center), (Some([12.9, 58.8, 13.5, 59.0]), Some([13.2, 58.9])));
        assert_eq!((facts.attribution.as_deref(), facts.name.as_deref()), (Some("Town of Almvik"), None));
        let expected = Tile { media_type: "image/png", octets: PNG.to_vec() };
        assert_eq!(tiles.tile(1, 1, 0).await.unwrap(), Some(expected));
        for (zoom, column, row) in
            [(1, 1, 1), (1, 0, 0), (1, 2, 0), (0, 0, 0), (2, 0, 0), (255, 0, 0), (1, u32::MAX, 0)]
        {
            assert_eq!(tiles.tile(zoom, column, row).await.unwrap(), None, "{zoom}/{column}/{row}");
        }
    }

    #[tokio::test]
    async fn what_is_no_picture_or_too_large_is_no_tile() {
        let folder = tempfile::tempdir().unwrap();
        let large = [PNG, &vec![0; TILE_OCTETS_MAX as usize]].concat();
        for (format, octets) in [("png", &b"<svg onload=\"alert(1)\">"[..]), ("jpg", &large)] {
            let tiles = Arc::new(TileFile::open(&file(folder.path(), format, octets)).unwrap());
            assert_eq!(tiles.tile(1, 1, 0).await.unwrap(), None, "{format}");
        }
    }

    #[test]
    fn a_file_without_pictures_is_refused_with_what_is_needed() {
        let folder = tempfile::tempdir().unwrap();
        let vector = file(folder.path(), "pbf", b"x");
        let text = folder.path().join("text");
        std::fs::write(&text, "no tiles").unwrap();
        for (path, word) in
            [(vector, "png, jpg or webp"), (text, "MBTiles"), (folder.path().join("none"), "cannot be read")]
        {
            let error = TileFile::open(&path).err().unwrap();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn the_file_is_never_written() {
        let folder = tempfile::tempdir().unwrap();
        let connection = connect(&file(folder.path(), "png", PNG)).unwrap();
        assert!(connection.execute("DELETE FROM tiles", ()).is_err());
    }
}

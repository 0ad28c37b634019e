//! Export into files that are rotated: each has a bounded number of records and is named by the first
//! position in it, and gets its name when it is whole. An export goes on where the last one ended, and after
//! a crash it writes the same file again.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::text::{COLUMNS, RecordRow};
use super::{BEGIN, Blocks, Names, Record, Search, ber, page};

/// The form of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Csv,
    /// One object a line.
    Json,
    /// Chunks of records in one element.
    Xml,
    /// TS 32.298; only records of messages.
    Ber,
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Json => "jsonl",
            Format::Xml => "xml",
            Format::Ber => "ber",
        }
    }
}

/// An export of one shard's records.
pub struct Export<'a> {
    pub log: &'a Blocks,
    pub shard: usize,
    /// Where the files go.
    pub into: &'a Path,
    pub format: Format,
    /// A file is closed after so many records.
    pub records_max: usize,
    /// What `sMSNodeAddress` says in BER: the digits of this node.
    pub node: &'a str,
    pub names: &'a dyn Names,
}

/// What an export wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub files: Vec<PathBuf>,
    pub records: u64,
    /// What was removed from the log before it was exported, if anything was.
    pub gone: Option<Gone>,
}

/// A part of the log that was removed as old (`keep_records`) and that no export had reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// Octets of the log.
    pub octets: u64,
    /// All of it was from before this time, in microseconds of UTC.
    pub before_us: u64,
}

impl Export<'_> {
    /// Writes what came since the last export in this form. With `close` also a last file that is not full.
    ///
    /// # Errors
    ///
    /// The log cannot be read, or the files cannot be written.
    pub fn run(&self, close: bool) -> io::Result<Summary> {
        fs::create_dir_all(self.into)?;
        let mut from = self.cursor()?;
        let mut summary = Summary { gone: self.gone(from)?, ..Summary::default() };
        loop {
            let search = Search { only_charges: true, ..Search::default() };
            let page = page(self.log, self.shard, &search, from, self.records_max, self.names)?;
            let Some(last) = page.records.last().filter(|_| close || page.next.is_some()) else {
                return Ok(summary);
            };
            let next = page.next.unwrap_or(last.position + 1);
            summary.files.push(self.write(&page.records)?);
            summary.records += page.records.len() as u64;
            self.set_cursor(next)?;
            from = next;
        }
    }

    /// What is missing between the end of the last export and the beginning of the log.
    fn gone(&self, from: u64) -> io::Result<Option<Gone>> {
        let begin = self.log.begin()?;
        Ok(begin.and_then(|(base, before_us)| {
            let octets = base.checked_sub(from.max(BEGIN)).filter(|octets| *octets > 0)?;
            Some(Gone { octets, before_us })
        }))
    }

    fn cursor_path(&self) -> PathBuf {
        self.into.join(format!("shard-{:03}.{}.next", self.shard, self.format.extension()))
    }

    fn cursor(&self) -> io::Result<u64> {
        match fs::read_to_string(self.cursor_path()) {
            Ok(text) => text.trim().parse().map_err(|_| {
                let why = format!(
                    "{}: not a position; remove it to export from the beginning",
                    self.cursor_path().display()
                );
                io::Error::new(io::ErrorKind::InvalidData, why)
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }

    fn set_cursor(&self, position: u64) -> io::Result<()> {
        let new = self.cursor_path().with_extension("new");
        fs::write(&new, position.to_string())?;
        fs::rename(new, self.cursor_path())
    }

    fn write(&self, records: &[Record]) -> io::Result<PathBuf> {
        let position = records.first().map_or(0, |record| record.position);
        let name = format!("charging-{:03}-{position:016x}.{}", self.shard, self.format.extension());
        let (part, path) = (self.into.join(format!("{name}.part")), self.into.join(name));
        let mut to = BufWriter::new(File::create(&part)?);
        self.encode(records, &mut to)?;
        to.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(part, &path)?;
        Ok(path)
    }

    fn encode(&self, records: &[Record], to: &mut dyn Write) -> io::Result<()> {
        match self.format {
            Format::Csv => {
                write!(to, "{}\r\n", COLUMNS.join(","))?;
                records.iter().try_for_each(|record| RecordRow::of(record).csv(to))
            }
            Format::Json => records.iter().try_for_each(|record| RecordRow::of(record).json(to)),
            Format::Xml => {
                let shard = self.shard;
                writeln!(
                    to,
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<chunk shard=\"{shard}\" records=\"{}\">",
                    records.len()
                )?;
                records.iter().try_for_each(|record| RecordRow::of(record).xml(to))?;
                writeln!(to, "</chunk>")
            }
            Format::Ber => {
                let mut octets = Vec::new();
                for record in records.iter().filter(|record| ber::is_message(record)) {
                    octets.clear();
                    ber::encode(record, self.node, &mut octets);
                    to.write_all(&octets)?;
                }
                Ok(())
            }
        }
    }
}

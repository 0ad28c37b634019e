//! Columns of a CSV file and their meaning.

use super::check::normalise_from;
use super::csv::CsvRow;
use super::headings;
use super::profile::preference;
use super::{ColumnMapping, FieldError};
use crate::spreadsheet::unguarded;
use channels::{Defaults, legible};
use records::{ChannelNumber, Device, Position, Recipient};

/// Columns of a file.
const COLUMNS_MAX: usize = 128;

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Column {
    Id,
    Name,
    Language,
    TimeZone,
    Groups,
    Channel(ChannelNumber),
    Lat,
    Lon,
    OptedOut,
    Prefers,
    Attribute(String),
    /// Its mapping says that nothing is taken of it.
    LeftOut,
    /// It has no heading: nothing may be in it.
    Nameless,
}

impl Column {
    pub(super) fn name(&self) -> &str {
        match self {
            Column::Id => "id",
            Column::Name => "name",
            Column::Language => "language",
            Column::TimeZone => "time_zone",
            Column::Groups => "groups",
            Column::Channel(channel) => channels::name(*channel),
            Column::Lat => "lat",
            Column::Lon => "lon",
            Column::OptedOut => "opted_out",
            Column::Prefers => "prefers",
            Column::Attribute(name) => name,
            Column::LeftOut | Column::Nameless => "",
        }
    }
}

/// A file's columns, each with its heading.
pub(super) type Columns = Vec<(Column, String)>;

/// Octets of a cell that a problem shows.
const SHOWN_OCTETS_MAX: usize = 200;

/// Reads the header row.
pub(super) fn columns(row: &CsvRow, mapping: &ColumnMapping) -> Result<Columns, FieldError> {
    let mut columns: Columns = Vec::with_capacity(row.fields().len().min(COLUMNS_MAX));
    for (place, field) in (1..).zip(row.fields()) {
        let name = std::str::from_utf8(field).map_err(|_| not_utf8(&format!("column {place}")))?;
        let name = cell(name);
        if !legible::has_visible(name) {
            columns.push((Column::Nameless, String::new()));
            continue;
        }
        if name.contains(';') || name.contains('\t') {
            return Err(FieldError::new(
                "",
                format!(
                    "the header has the column {name:?}: write one separator between all columns, best a comma"
                ),
            ));
        }
        let column = match mapping.of(name) {
            Some("") => Column::LeftOut,
            Some(field) => headings::named(field).map_err(|why| FieldError::new(name, why))?,
            None => headings::named(name).map_err(|why| FieldError::new(name, why))?,
        };
        if column != Column::LeftOut && columns.iter().any(|(other, _)| *other == column) {
            return Err(FieldError::new(name, "is named by two columns"));
        }
        columns.push((column, name.to_owned()));
    }
    let headings = || columns.iter().map(|(_, heading)| heading.as_str());
    if let Some(absent) = mapping.headings().find(|mapped| !headings().any(|heading| heading == *mapped)) {
        return Err(FieldError::new(
            "",
            format!("the mapping names the column {absent:?}, which is not there"),
        ));
    }
    while columns.last().is_some_and(|(column, _)| *column == Column::Nameless) {
        columns.pop();
    }
    if columns.len() > COLUMNS_MAX {
        return Err(FieldError::new("", format!("the header names more than {COLUMNS_MAX} columns")));
    }
    if !columns.iter().any(|(column, _)| *column == Column::Id) {
        return Err(FieldError::new("id", "no column is called id: the first row names the columns"));
    }
    headings::resolve(&mut columns, mapping);
    Ok(columns)
}

/// What is to be told of the columns, and those that became attributes.
pub(super) fn notes(columns: &Columns) -> (Vec<FieldError>, Vec<String>) {
    let (mut notes, mut attributes) = (Vec::new(), Vec::new());
    for (column, heading) in columns {
        match column {
            Column::Attribute(name) => {
                attributes.push(name.clone());
                if let Some(channel) = channels::meant(name) {
                    let reason = format!(
                        "is an attribute, by which nobody is reached: the file has another column of {} addresses",
                        channel.name()
                    );
                    notes.push(FieldError::new(name, reason));
                }
            }
            Column::LeftOut | Column::Nameless => {}
            column if column.name().eq_ignore_ascii_case(heading) => {}
            column => {
                let what = match column {
                    Column::Channel(channel) => {
                        format!("is taken for {} addresses", channels::name(*channel))
                    }
                    other => format!("is taken for {}", other.name()),
                };
                let reason = format!("{what}: call the column {} to be sure", column.name());
                notes.push(FieldError::new(heading, reason));
            }
        }
    }
    (notes, attributes)
}

/// The content of a cell, without what a spreadsheet put around it.
fn cell(text: &str) -> &str {
    let text = unguarded(legible::trimmed(text));
    // ="0701234567": a text, written so that no program takes it for a number.
    let quoted = text.strip_prefix("=\"").and_then(|rest| rest.strip_suffix('"'));
    quoted.filter(|inside| !inside.contains('"')).map_or(text, legible::trimmed)
}

/// The cell that a problem of a row is about, as far as it is worth showing.
pub(super) fn shown_cell(columns: &Columns, row: &CsvRow, field: &str) -> String {
    let is_it = |(column, heading): &(Column, String)| heading == field || column.name() == field;
    let place = columns.iter().position(is_it).filter(|_| !field.is_empty());
    let cell = place.and_then(|place| row.fields().nth(place));
    let text = cell.map(String::from_utf8_lossy).unwrap_or_default();
    text[..text.floor_char_boundary(SHOWN_OCTETS_MAX)].to_owned()
}

/// The fields of a row, one for each column. A row may be longer if nothing is in what is over, and shorter:
/// spreadsheets leave out the empty cells at its end. But a file that ends within a row was cut.
fn check_fields(columns: &Columns, row: &CsvRow) -> Result<(), FieldError> {
    let (has, wanted) = (row.fields().len(), columns.len());
    let is_blank = |field: &[u8]| std::str::from_utf8(field).is_ok_and(|text| !legible::has_visible(text));
    if row.fields().skip(wanted).all(is_blank) && (has >= wanted || !row.is_cut) {
        return Ok(());
    }
    let reason = match has < wanted {
        true => format!("has {has} fields, the header names {wanted}, and the file ends here: was it cut?"),
        false => format!("has {has} fields, the header names {wanted}"),
    };
    Err(FieldError::new("", reason))
}

pub(super) fn person(
    columns: &Columns,
    row: &CsvRow,
    defaults: &Defaults,
) -> Result<Recipient, Vec<FieldError>> {
    check_fields(columns, row).map_err(|fault| vec![fault])?;
    let mut read = Cells::default();
    for (place, ((column, heading), field)) in (1..).zip(columns.iter().zip(row.fields())) {
        match std::str::from_utf8(field) {
            Ok(text) if *column == Column::Nameless => read.nameless(place, cell(text)),
            Ok(text) => read.cell(column, heading, cell(text)),
            Err(_) => read.faults.push(not_utf8(heading)),
        }
    }
    match (read.lat, read.lon) {
        (Some(lat), Some(lon)) => read.person.position = Some(Position { lat, lon }),
        (Some(_), None) if read.faults.is_empty() => {
            read.faults.push(FieldError::new("lon", "is empty, and lat is there"))
        }
        (None, Some(_)) if read.faults.is_empty() => {
            read.faults.push(FieldError::new("lat", "is empty, and lon is there"))
        }
        _ => {}
    }
    let headings = read.device_headings;
    let of_device = |place: usize| headings[place].clone();
    let opted_out = std::mem::take(&mut read.opted_out);
    match normalise_from(read.person, defaults, &of_device) {
        Ok(mut person) if read.faults.is_empty() => match mark_stops(&mut person, &opted_out, defaults) {
            Ok(()) => Ok(person),
            Err(fault) => Err(vec![fault]),
        },
        Ok(_) => Err(read.faults),
        Err(more) => {
            read.faults.extend(more);
            Err(read.faults)
        }
    }
}

/// What a row's cells say so far.
#[derive(Default)]
struct Cells {
    person: Recipient,
    lat: Option<f64>,
    lon: Option<f64>,
    /// Where each device stood.
    device_headings: Vec<String>,
    opted_out: Vec<String>,
    faults: Vec<FieldError>,
}

/// Marks the devices that a cell of stops names, as `CHANNEL:ADDRESS` or by the address alone, or all of the
/// row's by a yes.
fn mark_stops(person: &mut Recipient, cell: &[String], defaults: &Defaults) -> Result<(), FieldError> {
    for entry in cell {
        let yes = ["yes", "true", "1", "x", "y"].iter().any(|yes| entry.eq_ignore_ascii_case(yes));
        let no = ["no", "false", "0", "n"].iter().any(|no| entry.eq_ignore_ascii_case(no));
        let mut is_found = yes || no;
        for device in person.devices.iter_mut().filter(|_| !no) {
            let address =
                entry.strip_prefix(channels::name(device.channel)).and_then(|rest| rest.strip_prefix(':'));
            let address = channels::canonical(device.channel, address.unwrap_or(entry), defaults);
            if yes || address == channels::canonical(device.channel, &device.address, defaults) {
                device.opted_out = true;
                is_found = true;
            }
        }
        if !is_found {
            let reason = format!(
                "{entry:?} is no address of this row; write yes, no, or the addresses that are opted out"
            );
            return Err(FieldError::new("opted_out", reason));
        }
    }
    Ok(())
}

impl Cells {
    /// What stands under no heading would be lost.
    fn nameless(&mut self, place: usize, text: &str) {
        if legible::has_visible(text) {
            self.faults
                .push(FieldError::new("", format!("has {text:?} in column {place}, which has no heading")));
        }
    }

    fn cell(&mut self, column: &Column, heading: &str, text: &str) {
        if !legible::has_visible(text) {
            return; // as if the column were not there
        }
        let several = || text.split(';').map(legible::trimmed).filter(|part| !part.is_empty());
        match column {
            Column::Id => self.person.id = text.to_owned(),
            Column::Name => self.person.name = text.to_owned(),
            Column::Language => self.person.language = Some(text.to_owned()),
            Column::TimeZone => self.person.time_zone = Some(text.to_owned()),
            Column::Groups => self.person.groups = several().map(str::to_owned).collect(),
            Column::Channel(channel) => {
                let device = |address: &str| Device::new(*channel, address.to_owned());
                self.person.devices.extend(several().map(device));
                self.device_headings.resize(self.person.devices.len(), heading.to_owned());
            }
            Column::OptedOut => self.opted_out = several().map(str::to_owned).collect(),
            Column::Prefers => match preference(text) {
                Ok(preference) => self.person.prefers = Some(preference),
                Err(why) => self.faults.push(FieldError::new(heading, why)),
            },
            Column::Lat => self.lat = self.degrees(column, text),
            Column::Lon => self.lon = self.degrees(column, text),
            Column::Attribute(name) => {
                self.person.attributes.insert(name.clone(), text.to_owned());
            }
            Column::LeftOut | Column::Nameless => {}
        }
    }

    fn degrees(&mut self, column: &Column, text: &str) -> Option<f64> {
        let degrees = text.parse().ok();
        if degrees.is_none() {
            self.faults
                .push(FieldError::new(column.name(), format!("{text:?} is not a number such as 59.33")));
        }
        degrees
    }
}

fn not_utf8(field: &str) -> FieldError {
    FieldError::new(field, "is not UTF-8: save the file as UTF-8 (in Excel: CSV UTF-8)")
}

//! Columns of a CSV file and their meaning.

use super::FieldError;
use super::check::normalise_from;
use super::csv::CsvRow;
use crate::spreadsheet::unguarded;
use channels::{Defaults, NoChannel};
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
    Attribute(String),
}

impl Column {
    fn name(&self) -> &str {
        match self {
            Column::Id => "id",
            Column::Name => "name",
            Column::Language => "language",
            Column::TimeZone => "time_zone",
            Column::Groups => "groups",
            Column::Channel(channel) => channels::name(*channel),
            Column::Lat => "lat",
            Column::Lon => "lon",
            Column::Attribute(name) => name,
        }
    }
}

/// Reads the header row.
pub(super) fn columns(row: &CsvRow) -> Result<Vec<Column>, FieldError> {
    if row
        .fields()
        .next()
        .is_some_and(|first| first.starts_with(&[0xff, 0xfe]) || first.starts_with(&[0xfe, 0xff]))
    {
        return Err(FieldError::new("", "the file is UTF-16: save it as UTF-8"));
    }
    if row.fields().len() > COLUMNS_MAX {
        return Err(FieldError::new("", format!("the header names more than {COLUMNS_MAX} columns")));
    }
    let mut columns: Vec<Column> = Vec::with_capacity(row.fields().len());
    for (place, field) in (1..).zip(row.fields()) {
        let name = std::str::from_utf8(field).map_err(|_| not_utf8(&format!("column {place}")))?;
        let name = unguarded(name.trim());
        if name.contains(';') || name.contains('\t') {
            return Err(FieldError::new(
                "",
                format!("the header has the column {name:?}: columns are separated by commas"),
            ));
        }
        let column = column(name).map_err(|why| FieldError::new(name, why))?;
        if columns.contains(&column) {
            return Err(FieldError::new(name, "is named by two columns"));
        }
        columns.push(column);
    }
    if !columns.contains(&Column::Id) {
        return Err(FieldError::new("id", "no column is called id: the first row names the columns"));
    }
    Ok(columns)
}

/// Columns that would become attributes though their names say that addresses of a channel are in them, of
/// which the file has no column.
pub(super) fn misnamed(columns: &[Column]) -> Vec<FieldError> {
    let problem = |column: &Column| {
        let Column::Attribute(name) = column else { return None };
        let channel = channels::meant(name)?;
        if columns.contains(&Column::Channel(channel.number())) {
            return None;
        }
        let reason = format!(
            "is an attribute, by which nobody is reached: the column of {} addresses is called {}. Rename it, or \
             import with on_problem=skip if it is meant as an attribute",
            channel.name(),
            channel.name()
        );
        Some(FieldError::new(name, reason))
    };
    columns.iter().filter_map(problem).collect()
}

fn column(name: &str) -> Result<Column, String> {
    let lower = name.to_ascii_lowercase();
    Ok(match lower.as_str() {
        "" => return Err("a column has no name".to_owned()),
        "id" => Column::Id,
        "name" => Column::Name,
        "language" => Column::Language,
        "time_zone" => Column::TimeZone,
        "groups" => Column::Groups,
        "lat" => Column::Lat,
        "lon" => Column::Lon,
        channel => match channels::named(channel) {
            Ok(channel) => Column::Channel(channel.number()),
            Err(NoChannel::Unknown(_)) => Column::Attribute(name.to_owned()),
            Err(why) => return Err(why.to_string()),
        },
    })
}

pub(super) fn person(
    columns: &[Column],
    row: &CsvRow,
    defaults: &Defaults,
) -> Result<Recipient, Vec<FieldError>> {
    if row.fields().len() != columns.len() {
        let (has, wanted) = (row.fields().len(), columns.len());
        return Err(vec![FieldError::new("", format!("has {has} fields, the header names {wanted}"))]);
    }
    let mut read = Cells::default();
    for (column, field) in columns.iter().zip(row.fields()) {
        match std::str::from_utf8(field) {
            Ok(text) => read.cell(column, unguarded(text.trim())),
            Err(_) => read.faults.push(not_utf8(column.name())),
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
    let of: Vec<ChannelNumber> = read.person.devices.iter().map(|device| device.channel).collect();
    let of_device = |place: usize| channels::name(of[place]).to_owned();
    match normalise_from(read.person, defaults, &of_device) {
        Ok(person) if read.faults.is_empty() => Ok(person),
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
    faults: Vec<FieldError>,
}

impl Cells {
    fn cell(&mut self, column: &Column, text: &str) {
        if text.is_empty() {
            return; // as if the column were not there
        }
        let several = || text.split(';').map(str::trim).filter(|part| !part.is_empty());
        match column {
            Column::Id => self.person.id = text.to_owned(),
            Column::Name => self.person.name = text.to_owned(),
            Column::Language => self.person.language = Some(text.to_owned()),
            Column::TimeZone => self.person.time_zone = Some(text.to_owned()),
            Column::Groups => self.person.groups = several().map(str::to_owned).collect(),
            Column::Channel(channel) => self.person.devices.extend(several().map(|address| Device {
                channel: *channel,
                address: address.to_owned(),
                enabled: true,
                verified: false,
                opted_out: false,
            })),
            Column::Lat => self.lat = self.degrees(column, text),
            Column::Lon => self.lon = self.degrees(column, text),
            Column::Attribute(name) => {
                self.person.attributes.insert(name.clone(), text.to_owned());
            }
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
    FieldError::new(field, "is not UTF-8")
}

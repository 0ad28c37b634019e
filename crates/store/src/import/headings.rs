//! Headings by which people call the columns of a file of people: what each of them means.

use super::ColumnMapping;
use super::columns::Column;
use channels::{NoChannel, legible};

/// Other headings of the columns that have a meaning of their own, in small letters without blanks and signs.
/// They count where no column of the file is called by the name itself.
const OTHERS: &[(Column, &[&str])] = &[
    (
        Column::Name,
        &["fullname", "displayname", "namn", "nom", "nombre", "nome", "naam", "navn", "nimi", "nomcomplet"],
    ),
    (
        Column::Language,
        &[
            "lang",
            "languages",
            "locale",
            "preferredlanguage",
            "språk",
            "sprak",
            "sprog",
            "sprache",
            "langue",
            "idioma",
            "lingua",
            "língua",
            "taal",
            "kieli",
            "język",
        ],
    ),
    (
        Column::TimeZone,
        &["timezone", "tz", "tidszon", "tidszone", "zeitzone", "fuseauhoraire", "zonahoraria", "tijdzone"],
    ),
    (
        Column::Groups,
        &[
            "group", "grupp", "grupper", "gruppe", "gruppen", "groupe", "groupes", "grupo", "grupos",
            "gruppo", "gruppi", "groep", "groepen", "ryhmä", "ryhmät", "grupa", "grupy",
        ],
    ),
    (Column::Lat, &["latitude", "latitud", "breitengrad"]),
    (Column::Lon, &["longitude", "longitud", "lng", "long", "längengrad"]),
];

/// The column that a heading names by the contract, or an attribute of this name.
///
/// # Errors
/// It names a channel that is not built yet.
pub(super) fn named(heading: &str) -> Result<Column, String> {
    let lower = heading.to_ascii_lowercase();
    Ok(match lower.as_str() {
        "id" => Column::Id,
        "name" => Column::Name,
        "language" => Column::Language,
        "time_zone" => Column::TimeZone,
        "groups" => Column::Groups,
        "lat" => Column::Lat,
        "lon" => Column::Lon,
        "opted_out" => Column::OptedOut,
        "prefers" => Column::Prefers,
        channel => match channels::named(channel) {
            Ok(channel) => Column::Channel(channel.number()),
            Err(NoChannel::Unknown(_)) => Column::Attribute(legible::name(heading).into_owned()),
            Err(why) => return Err(why.to_string()),
        },
    })
}

/// The column that somebody means who calls it so, beside those of the contract.
fn meant(heading: &str) -> Option<Column> {
    let lower = legible::name(heading).to_lowercase();
    let letters: String = lower.chars().filter(|c| c.is_alphabetic()).collect();
    let other = OTHERS.iter().find(|(_, names)| names.contains(&letters.as_str()));
    let channel = || channels::meant(heading).map(|channel| Column::Channel(channel.number()));
    other.map(|(column, _)| column.clone()).or_else(channel)
}

/// Puts in place of each attribute what its heading means, unless the file has a column that is called so. Of
/// several columns that may be a channel's the sure ones are: `telefon` beside `mobil` stays an attribute.
pub(super) fn resolve(columns: &mut [(Column, String)], mapping: &ColumnMapping) {
    let named: Vec<Column> = columns.iter().map(|(column, _)| column.clone()).collect();
    let meant: Vec<Option<Column>> = columns
        .iter()
        .map(|(column, heading)| match column {
            // What a mapping names an attribute is one.
            Column::Attribute(_) if mapping.of(heading).is_none() => {
                meant(heading).filter(|meant| !named.contains(meant))
            }
            _ => None,
        })
        .collect();
    for place in 0..columns.len() {
        let Some(of) = meant[place].clone() else { continue };
        let others =
            || (0..columns.len()).filter(|other| *other != place && meant[*other].as_ref() == Some(&of));
        let is_first = others().all(|other| other > place);
        let is_taken = match of {
            Column::Channel(_) => {
                let sure = |place: usize| channels::meant_surely(&columns[place].1);
                sure(place) || !others().any(sure)
            }
            _ => is_first,
        };
        if is_taken {
            columns[place].0 = of;
        }
    }
}

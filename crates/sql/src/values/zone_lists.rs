//! Lists of the time zones that a session knows by name: places, and abbreviations.

use super::abbreviations::{FIXED, OF_PLACES};
use super::zones::{PLACES, east_of};
use jiff::Timestamp;

/// A time zone at a moment.
pub(crate) struct ListedZone {
    pub name: String,
    pub abbreviation: String,
    /// Seconds east of UTC.
    pub east: i64,
    pub is_saving: bool,
}

/// The places of the IANA database at a moment, in microseconds since 1970.
pub(crate) fn places_at(moment: i64) -> Vec<ListedZone> {
    let Ok(at) = Timestamp::from_microsecond(moment) else {
        return Vec::new();
    };
    let listed = PLACES.available().filter_map(|name| {
        let zone = PLACES.get(name.as_str()).ok()?;
        let here = zone.to_offset_info(at);
        Some(ListedZone {
            name: name.to_string(),
            abbreviation: here.abbreviation().to_string(),
            east: here.offset().seconds().into(),
            is_saving: here.dst().is_dst(),
        })
    });
    listed.collect()
}

/// The abbreviations at a moment, in microseconds since 1970, by their names.
pub(crate) fn abbreviations_at(moment: i64) -> Vec<ListedZone> {
    let at = Timestamp::from_microsecond(moment).unwrap_or(Timestamp::UNIX_EPOCH);
    let listed = |name: &str, east: i64, is_saving| ListedZone {
        name: name.to_ascii_uppercase(),
        abbreviation: name.to_ascii_uppercase(),
        east,
        is_saving,
    };
    let fixed = FIXED.iter();
    let fixed = fixed.map(|(name, east, is_saving)| listed(name, i64::from(*east), *is_saving));
    let of_places = OF_PLACES.iter().filter_map(|(name, place)| {
        let (east, is_saving) = east_of(name, &PLACES.get(place).ok()?, at)?;
        Some(listed(name, east, is_saving))
    });
    let mut all: Vec<ListedZone> = fixed.chain(of_places).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

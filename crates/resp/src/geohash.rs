//! Places on the earth as numbers whose order keeps near places near: the scores of sorted sets of places.
//!
//! A number has 26 bits of the latitude and 26 of the longitude, which take turns. Places within a distance of one are in at
//! most nine cells around it ([`areas`]), each of which is a range of numbers.
//!
//! Source: Redis 7.0's geohash, to the last bit of its arithmetic; Niemeyer's geohash.

use std::f64::consts::PI;

/// The latitudes and longitudes of places.
pub(crate) const LATITUDES: (f64, f64) = (-85.051_128_78, 85.051_128_78);
pub(crate) const LONGITUDES: (f64, f64) = (-180.0, 180.0);
/// In meters.
const EARTH_RADIUS: f64 = 6_372_797.560_856;
/// Half of the equator of the projection.
const MERCATOR: f64 = 20_037_726.37;
/// The bits of a latitude, or of a longitude.
const STEPS: u32 = 26;
const LATITUDE_BITS: u64 = 0x5555_5555_5555_5555;
const LONGITUDE_BITS: u64 = 0xaaaa_aaaa_aaaa_aaaa;

/// A place, in degrees.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Place {
    pub longitude: f64,
    pub latitude: f64,
}

/// The area of a search around a place, in meters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Shape {
    Circle(f64),
    /// Its width and its height.
    Box(f64, f64),
}

/// A cell of the earth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cell {
    bits: u64,
    steps: u32,
}

/// The borders of a cell, or around a shape.
#[derive(Clone, Copy, Debug)]
struct Borders {
    longitude: (f64, f64),
    latitude: (f64, f64),
}

/// Every second bit of a number.
fn spread(number: u32) -> u64 {
    let mut bits = u64::from(number);
    for (shift, mask) in [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333),
        (1, LATITUDE_BITS),
    ] {
        bits = (bits | bits << shift) & mask;
    }
    bits
}

/// The number of which these are every second bit.
fn gathered(bits: u64) -> u32 {
    let mut bits = bits & LATITUDE_BITS;
    for (shift, mask) in [
        (1, 0x3333_3333_3333_3333),
        (2, 0x0f0f_0f0f_0f0f_0f0f),
        (4, 0x00ff_00ff_00ff_00ff),
        (8, 0x0000_ffff_0000_ffff),
        (16, 0x0000_0000_ffff_ffff),
    ] {
        bits = (bits | bits >> shift) & mask;
    }
    bits as u32
}

fn encoded(place: Place, latitudes: (f64, f64), steps: u32) -> Cell {
    let part = |value: f64, (from, to): (f64, f64)| {
        ((value - from) / (to - from) * (1_u64 << steps) as f64) as u32
    };
    let latitude = part(place.latitude, latitudes);
    let longitude = part(place.longitude, LONGITUDES);
    Cell {
        bits: spread(latitude) | spread(longitude) << 1,
        steps,
    }
}

pub(crate) fn score(place: Place) -> f64 {
    encoded(place, LATITUDES, STEPS).bits as f64
}

/// The place of a number: the middle of its cell.
pub(crate) fn place(score: f64) -> Place {
    let borders = Cell {
        bits: score as u64,
        steps: STEPS,
    }
    .borders();
    let middle =
        |(from, to): (f64, f64), (least, most): (f64, f64)| ((from + to) / 2.0).clamp(least, most);
    Place {
        longitude: middle(borders.longitude, LONGITUDES),
        latitude: middle(borders.latitude, LATITUDES),
    }
}

/// The standard geohash of a number, of eleven letters.
pub(crate) fn letters(score: f64) -> String {
    const LETTERS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
    let bits = encoded(place(score), (-90.0, 90.0), STEPS).bits;
    let letter = |number: u32| match number {
        // There are 52 bits for 55.
        10 => '0',
        number => char::from(LETTERS[(bits >> (52 - (number + 1) * 5) & 31) as usize]),
    };
    (0..11).map(letter).collect()
}

/// The distance of two places, in meters.
pub(crate) fn distance(one: Place, other: Place) -> f64 {
    let (latitude, other_latitude) = (radians(one.latitude), radians(other.latitude));
    let v = ((radians(other.longitude) - radians(one.longitude)) / 2.0).sin();
    if v == 0.0 {
        return EARTH_RADIUS * (other_latitude - latitude).abs();
    }
    let u = ((other_latitude - latitude) / 2.0).sin();
    let a = u * u + latitude.cos() * other_latitude.cos() * v * v;
    2.0 * EARTH_RADIUS * a.sqrt().asin()
}

fn radians(degrees: f64) -> f64 {
    degrees * (PI / 180.0)
}

fn degrees(radians: f64) -> f64 {
    radians / (PI / 180.0)
}

impl Shape {
    /// The distance of a place that is in the shape around another.
    pub fn distance_within(self, middle: Place, other: Place) -> Option<f64> {
        match self {
            Shape::Circle(radius) => Some(distance(middle, other)).filter(|far| *far <= radius),
            Shape::Box(width, height) => {
                let only_latitude = Place {
                    latitude: other.latitude,
                    ..middle
                };
                if distance(only_latitude, middle) > height / 2.0 {
                    return None;
                }
                let same_latitude = Place {
                    longitude: middle.longitude,
                    ..other
                };
                let is_within = distance(same_latitude, other) <= width / 2.0;
                is_within.then(|| distance(middle, other))
            }
        }
    }

    fn radius(self) -> f64 {
        match self {
            Shape::Circle(radius) => radius,
            Shape::Box(width, height) => {
                ((width / 2.0) * (width / 2.0) + (height / 2.0) * (height / 2.0)).sqrt()
            }
        }
    }

    fn borders(self, middle: Place) -> Borders {
        let (width, height) = match self {
            Shape::Circle(radius) => (radius, radius),
            Shape::Box(width, height) => (width / 2.0, height / 2.0),
        };
        let up = degrees(height / EARTH_RADIUS);
        let aside = |latitude: f64| degrees(width / EARTH_RADIUS / radians(latitude).cos());
        let Place {
            longitude,
            latitude,
        } = middle;
        let aside = match latitude < 0.0 {
            true => aside(latitude - up),
            false => aside(latitude + up),
        };
        Borders {
            longitude: (longitude - aside, longitude + aside),
            latitude: (latitude - up, latitude + up),
        }
    }
}

impl Cell {
    fn borders(self) -> Borders {
        let part = |number: u32, (from, to): (f64, f64)| {
            let at = |number: f64| from + (number / (1_u64 << self.steps) as f64) * (to - from);
            (at(f64::from(number)), at(f64::from(number) + 1.0))
        };
        Borders {
            longitude: part(gathered(self.bits >> 1), LONGITUDES),
            latitude: part(gathered(self.bits), LATITUDES),
        }
    }

    /// The cell that is so many to the east and to the north, around the earth.
    fn moved(self, east: i8, north: i8) -> Cell {
        let unused = 64 - self.steps * 2;
        let step = |bits: u64, own: u64, others: u64, by: i8| {
            let others = others >> unused;
            let moved = match by {
                0 => bits,
                1.. => bits.wrapping_add(others + 1),
                _ => (bits | others).wrapping_sub(others + 1),
            };
            moved & own >> unused
        };
        let longitude = step(
            self.bits & LONGITUDE_BITS,
            LONGITUDE_BITS,
            LATITUDE_BITS,
            east,
        );
        let latitude = step(
            self.bits & LATITUDE_BITS,
            LATITUDE_BITS,
            LONGITUDE_BITS,
            north,
        );
        Cell {
            bits: longitude | latitude,
            steps: self.steps,
        }
    }

    /// The numbers of its places.
    fn range(self) -> (f64, f64) {
        let shift = 52 - self.steps * 2;
        (
            (self.bits << shift) as f64,
            ((self.bits + 1) << shift) as f64,
        )
    }
}

/// By how many bits cells are as large as a radius.
fn steps_for(radius: f64, latitude: f64) -> u32 {
    if radius == 0.0 {
        return STEPS;
    }
    let (mut steps, mut radius) = (1, radius);
    while radius < MERCATOR {
        radius *= 2.0;
        steps += 1;
    }
    // Cells are narrower near the poles.
    let narrower = match latitude.abs() {
        ..=66.0 => 0,
        ..=80.0 => 1,
        _ => 2,
    };
    (steps - 2 - narrower).clamp(1, STEPS as i32) as u32
}

/// The ranges of numbers in which the places of a shape around one are, each from its first to behind its last.
pub(crate) fn areas(middle: Place, shape: Shape) -> Vec<(f64, f64)> {
    let wanted = shape.borders(middle);
    let mut cell = encoded(
        middle,
        LATITUDES,
        steps_for(shape.radius(), middle.latitude),
    );
    // If the cells around it do not reach as far, larger ones do.
    let is_short = cell.moved(0, 1).borders().latitude.1 < wanted.latitude.1
        || cell.moved(0, -1).borders().latitude.0 > wanted.latitude.0
        || cell.moved(1, 0).borders().longitude.1 < wanted.longitude.1
        || cell.moved(-1, 0).borders().longitude.0 > wanted.longitude.0;
    if is_short && cell.steps > 1 {
        cell = encoded(middle, LATITUDES, cell.steps - 1);
    }
    let own = cell.borders();
    let needs = |east: i8, north: i8| {
        cell.steps < 2
            || !(north < 0 && own.latitude.0 < wanted.latitude.0
                || north > 0 && own.latitude.1 > wanted.latitude.1
                || east < 0 && own.longitude.0 < wanted.longitude.0
                || east > 0 && own.longitude.1 > wanted.longitude.1)
    };
    let around = [
        (0, 0),
        (0, 1),
        (0, -1),
        (1, 0),
        (-1, 0),
        (1, 1),
        (-1, 1),
        (1, -1),
        (-1, -1),
    ];
    let mut ranges = Vec::with_capacity(around.len());
    for (east, north) in around
        .into_iter()
        .filter(|(east, north)| needs(*east, *north))
    {
        let range = cell.moved(east, north).range();
        // Around the earth a large cell meets itself.
        if !ranges.contains(&range) {
            ranges.push(range);
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_base::random::Random;

    #[test]
    fn places_of_a_shape_are_in_its_areas() {
        let mut random = Random::new(1);
        let mut part = |(from, to): (f64, f64)| {
            from + (to - from) * (random.next() >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut found = 0;
        for _ in 0..20_000 {
            let middle = Place {
                longitude: part((-170.0, 170.0)),
                latitude: part((-70.0, 70.0)),
            };
            let far = part((0.0, 8.0));
            let other = Place {
                longitude: middle.longitude + part((-far, far)),
                latitude: middle.latitude + part((-far, far)),
            };
            for shape in [
                Shape::Circle(far * 90_000.0),
                Shape::Box(far * 50_000.0, far * 90_000.0),
            ] {
                let score = score(other);
                if shape.distance_within(middle, place(score)).is_some() {
                    found += 1;
                    let areas = areas(middle, shape);
                    let is_in = areas.iter().any(|(from, to)| (*from..*to).contains(&score));
                    assert!(is_in, "{middle:?} {other:?} {shape:?} {areas:?}");
                }
            }
        }
        assert!(found > 5000, "{found}");
    }

    #[test]
    fn a_number_is_its_place() {
        let palermo = Place {
            longitude: 13.361389,
            latitude: 38.115556,
        };
        assert_eq!(score(palermo), 3_479_099_956_230_698.0);
        assert_eq!(letters(score(palermo)), "sqc8b49rny0");
        assert_eq!(score(place(score(palermo))), score(palermo));
    }
}

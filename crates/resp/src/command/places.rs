//! Places: sorted sets whose scores are [places on the earth](crate::geohash).

use super::line::Line;
use super::range::Scored;
use super::sorted_sets::zadd;
use super::sorted_stores::store_members;
use super::words::{Words, is};
use super::{Command, MORE, ONE_KEY, TWO_KEYS, WRITE, on_data, reads};
use crate::data::{Data, Kind, Live, State, check_key};
use crate::failure::Failure;
use crate::geohash::{LATITUDES, LONGITUDES, Place, Shape, areas, distance, letters, place, score};
use crate::number::{float, float_text};
use crate::reply::Reply;
use sardonyx::schema::ValueRef;
use std::ops::Bound;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "geoadd",
        -5,
        WRITE | MORE,
        ONE_KEY,
        geoadd,
        "Adds places to a sorted set",
    ),
    reads!("geopos", -2, 0, ONE_KEY, geopos, "Returns where places are"),
    reads!(
        "geodist",
        -4,
        0,
        ONE_KEY,
        geodist,
        "Returns the distance of two places"
    ),
    reads!(
        "geohash",
        -2,
        0,
        ONE_KEY,
        geohash,
        "Returns the geohashes of places"
    ),
    reads!(
        "geosearch",
        -7,
        0,
        ONE_KEY,
        geosearch,
        "Returns the places in a circle or a box"
    ),
    on_data(
        "geosearchstore",
        -8,
        WRITE | MORE,
        TWO_KEYS,
        geosearchstore,
        "Stores the places in a circle or a box",
    ),
    on_data(
        "georadius",
        -6,
        WRITE | MORE,
        ONE_KEY,
        georadius,
        "Returns, or stores, the places around a point",
    ),
    reads!(
        "georadius_ro",
        -6,
        0,
        ONE_KEY,
        georadius_ro,
        "Returns the places around a point"
    ),
    on_data(
        "georadiusbymember",
        -5,
        WRITE | MORE,
        ONE_KEY,
        georadiusbymember,
        "Returns, or stores, the places around another",
    ),
    reads!(
        "georadiusbymember_ro",
        -5,
        0,
        ONE_KEY,
        georadiusbymember_ro,
        "Returns the places around another"
    ),
];

/// The meters of a unit.
fn unit(word: &[u8]) -> Result<f64, Failure> {
    match word {
        word if is(word, "m") => Ok(1.0),
        word if is(word, "km") => Ok(1000.0),
        word if is(word, "ft") => Ok(0.3048),
        word if is(word, "mi") => Ok(1609.34),
        _ => Err(Failure::Told(
            "ERR unsupported unit provided. please use M, KM, FT, MI",
        )),
    }
}

fn place_of(longitude: &[u8], latitude: &[u8]) -> Result<Place, Failure> {
    let (longitude, latitude) = (float(longitude)?, float(latitude)?);
    let is_within = |value: f64, (from, to): (f64, f64)| (from..=to).contains(&value);
    match is_within(longitude, LONGITUDES) && is_within(latitude, LATITUDES) {
        true => Ok(Place {
            longitude,
            latitude,
        }),
        false => Err(Failure::Said(format!(
            "ERR invalid longitude,latitude pair {longitude:.6},{latitude:.6}"
        ))),
    }
}

fn geoadd(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let mut words = Words::from(line, 2);
    let (mut only_new, mut only_there) = (false, false);
    loop {
        match () {
            () if words.take("nx") => only_new = true,
            () if words.take("xx") => only_there = true,
            () if words.take("ch") => {}
            () => break,
        }
    }
    if !words.left().is_multiple_of(3) || only_new && only_there {
        return Err(Failure::Syntax);
    }
    let places = words.place();
    let mut scores = Vec::with_capacity(words.left() / 3);
    for at in (places..line.len()).step_by(3) {
        let place = place_of(line.part(at), line.part(at + 1))?;
        scores.push(float_text(score(place)));
    }
    let mut parts: Vec<&[u8]> = vec![b"zadd"];
    parts.extend(line.parts(1).take(places - 1));
    for (number, score) in scores.iter().enumerate() {
        parts.extend([&score[..], line.part(places + 3 * number + 2)]);
    }
    zadd(data, &Line::of(&parts))
}

/// The positions of members of a key.
fn places_of<'l, S: State>(
    data: &mut Data<'_, S>,
    key: &[u8],
    members: impl Iterator<Item = &'l [u8]>,
) -> Result<Vec<Option<f64>>, Failure> {
    let entry = data.entry_of(key, Kind::SortedSet)?;
    let score = |member: &[u8]| match &entry {
        Some(entry) => data.score(entry.id, member),
        None => Ok(None),
    };
    members.map(score).collect()
}

/// A number with as many decimals as it has, up to 17.
fn decimal(number: f64) -> Reply {
    let text = format!("{number:.17}");
    Reply::Decimal(text.trim_end_matches('0').trim_end_matches('.').into())
}

fn coordinates(place: Place) -> Reply {
    Reply::Array(vec![decimal(place.longitude), decimal(place.latitude)])
}

fn distance_text(meters: f64, unit: f64) -> Reply {
    Reply::Bulk(format!("{:.4}", meters / unit).into())
}

fn geopos<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let found = places_of(data, line.part(1), line.parts(2))?.into_iter();
    let found =
        found.map(|score| score.map_or(Reply::NullArray, |score| coordinates(place(score))));
    Ok(Reply::Array(found.collect()))
}

fn geohash<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let found = places_of(data, line.part(1), line.parts(2))?.into_iter();
    let found = found.map(|score| Reply::optional(score.map(|score| letters(score).into())));
    Ok(Reply::Array(found.collect()))
}

fn geodist<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let unit = match line.len() {
        4 => 1.0,
        5 => unit(line.part(4))?,
        _ => return Err(Failure::Syntax),
    };
    let found = places_of(data, line.part(1), line.parts(2).take(2))?;
    match found[..] {
        [Some(one), Some(other)] => Ok(distance_text(distance(place(one), place(other)), unit)),
        _ => Ok(Reply::Null),
    }
}

/// Which form of a search a command is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `GEOSEARCH`.
    Words,
    /// The same, with the key where it stores before.
    Stores,
    /// Around a point, or a member, which are said before the words.
    Around { member: bool, may_store: bool },
}

/// The parameters of a search.
struct Search<'l> {
    middle: Option<Place>,
    shape: Shape,
    unit: f64,
    with_distance: bool,
    with_score: bool,
    with_place: bool,
    count: usize,
    is_any: bool,
    /// True if the nearest come first; `None` if the order does not matter.
    ascends: Option<bool>,
    to: Option<&'l [u8]>,
    stores_distances: bool,
}

/// A number is said in so many bytes, about.
const DECIMAL_BYTES: usize = 24;

/// A place that was found.
struct Found {
    member: Vec<u8>,
    score: f64,
    /// In meters.
    distance: f64,
}

fn size(word: &[u8], what: &'static str) -> Result<f64, Failure> {
    float(word).map_err(|_| Failure::Said(format!("ERR need numeric {what}")))
}

impl<'l> Search<'l> {
    /// Reads a command. Without a middle there is no such key.
    fn of<S: State>(data: &mut Data<'_, S>, line: &'l Line, form: Form) -> Result<Self, Failure> {
        let source = if form == Form::Stores { 2 } else { 1 };
        let key = line.part(source);
        let is_there = data.entry_of(key, Kind::SortedSet)?.is_some();
        let mut search = Search {
            middle: None,
            shape: Shape::Circle(0.0),
            unit: 1.0,
            with_distance: false,
            with_score: false,
            with_place: false,
            count: 0,
            is_any: false,
            ascends: None,
            to: (form == Form::Stores).then(|| line.part(1)),
            stores_distances: false,
        };
        let (mut has_middle, mut has_shape) = (false, false);
        let mut words = Words::from(line, source + 1);
        if let Form::Around { member, .. } = form {
            match member {
                false => search.middle = Some(place_of(words.wanted()?, words.wanted()?)?),
                true => search.around(data, key, words.wanted()?, is_there)?,
            }
            search.circle(words.wanted()?, words.wanted()?)?;
            (has_middle, has_shape) = (true, true);
        }
        let is_free = matches!(form, Form::Words | Form::Stores);
        while let Some(word) = words.next() {
            let left = words.left();
            match word {
                word if is(word, "withdist") => search.with_distance = true,
                word if is(word, "withhash") => search.with_score = true,
                word if is(word, "withcoord") => search.with_place = true,
                word if is(word, "any") => search.is_any = true,
                word if is(word, "asc") => search.ascends = Some(true),
                word if is(word, "desc") => search.ascends = Some(false),
                word if is(word, "count") && left > 0 => {
                    let count = usize::try_from(words.integer()?).ok();
                    let count = count.filter(|count| *count > 0);
                    search.count = count.ok_or(Failure::Told("ERR COUNT must be > 0"))?;
                }
                word if is(word, "storedist") && form == Form::Stores => {
                    search.stores_distances = true;
                }
                word if matches!(
                    form,
                    Form::Around {
                        may_store: true,
                        ..
                    }
                ) && left > 0
                    && (is(word, "store") || is(word, "storedist")) =>
                {
                    search.to = words.next();
                    search.stores_distances = is(word, "storedist");
                }
                word if is_free && is(word, "frommember") && left > 0 && !has_middle => {
                    has_middle = true;
                    search.around(data, key, words.wanted()?, is_there)?;
                }
                word if is_free && is(word, "fromlonlat") && left > 1 && !has_middle => {
                    has_middle = true;
                    search.middle = Some(place_of(words.wanted()?, words.wanted()?)?);
                }
                word if is_free && is(word, "byradius") && left > 1 && !has_shape => {
                    has_shape = true;
                    search.circle(words.wanted()?, words.wanted()?)?;
                }
                word if is_free && is(word, "bybox") && left > 2 && !has_shape => {
                    has_shape = true;
                    let width = size(words.wanted()?, "width")?;
                    let height = size(words.wanted()?, "height")?;
                    if width < 0.0 || height < 0.0 {
                        return Err(Failure::Told("ERR height or width cannot be negative"));
                    }
                    search.unit = unit(words.wanted()?)?;
                    search.shape = Shape::Box(width * search.unit, height * search.unit);
                }
                _ => return Err(Failure::Syntax),
            }
        }
        search.check(line, form, has_middle, has_shape)?;
        if !is_there {
            search.middle = None;
        }
        Ok(search)
    }

    fn check(
        &mut self,
        line: &Line,
        form: Form,
        has_middle: bool,
        has_shape: bool,
    ) -> Result<(), Failure> {
        let name = String::from_utf8_lossy(line.part(0)).to_ascii_lowercase();
        if self.to.is_some() && (self.with_distance || self.with_score || self.with_place) {
            let what = match form {
                Form::Stores => "GEOSEARCHSTORE",
                _ => "STORE option in GEORADIUS",
            };
            return Err(Failure::Said(format!(
                "ERR {what} is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
            )));
        }
        if !has_middle {
            return Err(Failure::Said(format!(
                "ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for {name}"
            )));
        }
        if !has_shape {
            return Err(Failure::Said(format!(
                "ERR exactly one of BYRADIUS and BYBOX can be specified for {name}"
            )));
        }
        if self.is_any && self.count == 0 {
            return Err(Failure::Told(
                "ERR the ANY argument requires COUNT argument",
            ));
        }
        if self.count > 0 && !self.is_any {
            self.ascends.get_or_insert(true);
        }
        Ok(())
    }

    fn around<S: State>(
        &mut self,
        data: &mut Data<'_, S>,
        key: &[u8],
        member: &[u8],
        is_there: bool,
    ) -> Result<(), Failure> {
        let found = places_of(data, key, std::iter::once(member))?;
        match found[..] {
            [Some(score)] => self.middle = Some(place(score)),
            _ if is_there => {
                return Err(Failure::Told("ERR could not decode requested zset member"));
            }
            _ => {}
        }
        Ok(())
    }

    fn circle(&mut self, radius: &[u8], of_unit: &[u8]) -> Result<(), Failure> {
        let radius = size(radius, "radius")?;
        if radius < 0.0 {
            return Err(Failure::Told("ERR radius cannot be negative"));
        }
        self.unit = unit(of_unit)?;
        self.shape = Shape::Circle(radius * self.unit);
        Ok(())
    }

    /// The places, in their order.
    fn run<S: State>(&self, data: &mut Data<'_, S>, key: &[u8]) -> Result<Vec<Found>, Failure> {
        let mut found = Vec::new();
        let (Some(middle), Some(entry)) = (self.middle, data.entry_of(key, Kind::SortedSet)?)
        else {
            return Ok(found);
        };
        let most = if self.is_any { self.count } else { usize::MAX };
        let (room, each) = (data.room, self.said_bytes());
        for (from, to) in areas(middle, self.shape) {
            let bounds = (
                Bound::Included(vec![ValueRef::Float(from)]),
                Bound::Excluded(vec![ValueRef::Float(to)]),
            );
            data.walk_scores(entry.id, bounds, false, &mut |member, score| {
                let Some(distance) = self.shape.distance_within(middle, place(score)) else {
                    return true;
                };
                found.push(Found {
                    member: member.to_vec(),
                    score,
                    distance,
                });
                room.take(member.len() + each) && found.len() < most
            })?;
            room.check()?;
            if found.len() >= most {
                break;
            }
        }
        match self.ascends {
            Some(true) => found.sort_by(|a, b| a.distance.total_cmp(&b.distance)),
            Some(false) => found.sort_by(|a, b| b.distance.total_cmp(&a.distance)),
            None => {}
        }
        if self.count > 0 {
            found.truncate(self.count);
        }
        Ok(found)
    }

    /// About the bytes of the reply's data on a place, besides its member.
    fn said_bytes(&self) -> usize {
        let number = size_of::<Reply>() + DECIMAL_BYTES;
        let numbers = [
            (self.with_distance, number),
            (self.with_score, number),
            (self.with_place, size_of::<Reply>() + 2 * number),
        ];
        let said = numbers.iter().filter(|(is_said, _)| *is_said);
        size_of::<Found>() + said.map(|(_, bytes)| bytes).sum::<usize>()
    }

    fn said(&self, found: Found) -> Reply {
        let mut parts = vec![Reply::Bulk(found.member)];
        if self.with_distance {
            parts.push(distance_text(found.distance, self.unit));
        }
        if self.with_score {
            parts.push(Reply::Int(found.score as i64));
        }
        if self.with_place {
            parts.push(coordinates(place(found.score)));
        }
        match parts.len() {
            1 => parts.remove(0),
            _ => Reply::Array(parts),
        }
    }
}

fn show<S: State>(data: &mut Data<'_, S>, line: &Line, form: Form) -> Result<Reply, Failure> {
    let search = Search::of(data, line, form)?;
    let found = search.run(data, line.part(1))?.into_iter();
    Ok(Reply::Array(
        found.map(|found| search.said(found)).collect(),
    ))
}

fn show_or_store(
    data: &mut Live<'_, '_>,
    line: &Line,
    form: Form,
    event: &'static str,
) -> Result<Reply, Failure> {
    let search = Search::of(data, line, form)?;
    let source = if form == Form::Stores { 2 } else { 1 };
    if let Some(to) = search.to {
        check_key(to)?;
    }
    let found = search.run(data, line.part(source))?.into_iter();
    let Some(to) = search.to else {
        return Ok(Reply::Array(
            found.map(|found| search.said(found)).collect(),
        ));
    };
    let scored = found.map(|found| match search.stores_distances {
        true => (found.member, found.distance / search.unit),
        false => (found.member, found.score),
    });
    let scored: Vec<Scored> = scored.collect();
    store_members(data, to, event, &scored)
}

fn geosearch<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    show(data, line, Form::Words)
}

fn geosearchstore(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    show_or_store(data, line, Form::Stores, "geosearchstore")
}

const fn around(member: bool, may_store: bool) -> Form {
    Form::Around { member, may_store }
}

fn georadius(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    show_or_store(data, line, around(false, true), "georadiusstore")
}

fn georadius_ro<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    show(data, line, around(false, false))
}

fn georadiusbymember(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    show_or_store(data, line, around(true, true), "georadiusstore")
}

fn georadiusbymember_ro<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    show(data, line, around(true, false))
}

//! The words of `XREAD` and `XREADGROUP`, as a line has them.

use crate::command::line::Line;
use crate::command::words::Words;
use crate::failure::Failure;
use crate::number::integer;

/// The most entries of a stream that a client gets that waited, if it does not say how many.
const WAITED_COUNT: u64 = 1000;

/// The parsed words of a reading command.
#[derive(Debug)]
pub(super) struct Reading<'l> {
    pub line: &'l Line,
    /// The most entries of each stream; 0 for all.
    pub count: u64,
    /// For how many milliseconds the client waits; 0 for ever.
    pub block: Option<i64>,
    /// The group and the consumer to which entries are delivered.
    pub group: Option<(&'l [u8], &'l [u8])>,
    /// Delivered entries do not become pending.
    pub no_ack: bool,
    /// The number of the part that is the first key, and how many there are.
    pub first: usize,
    pub keys: usize,
}

impl<'l> Reading<'l> {
    pub fn of(line: &'l Line) -> Result<Self, Failure> {
        let of_group = line.part(0).eq_ignore_ascii_case(b"xreadgroup");
        let mut reading = Reading {
            line,
            count: 0,
            block: None,
            group: None,
            no_ack: false,
            first: 0,
            keys: 0,
        };
        let mut words = Words::from(line, 1);
        while reading.first == 0 {
            let left = words.left();
            if left > 1 && words.take("block") {
                let no_time = Failure::Told("ERR timeout is not an integer or out of range");
                let millis = integer(words.wanted()?).map_err(|_| no_time)?;
                if millis < 0 {
                    return Err(Failure::Told("ERR timeout is negative"));
                }
                reading.block = Some(millis);
            } else if left > 1 && words.take("count") {
                reading.count = words.integer()?.max(0) as u64;
            } else if left > 1 && words.take("streams") {
                if words.left() % 2 == 1 {
                    return Err(Failure::Told(
                        "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.",
                    ));
                }
                reading.first = words.place();
                reading.keys = words.left() / 2;
            } else if left > 2 && words.take("group") {
                reading.group = Some((words.wanted()?, words.wanted()?));
                if !of_group {
                    return Err(Failure::Told(
                        "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.",
                    ));
                }
            } else if words.take("noack") {
                reading.no_ack = true;
                if !of_group {
                    return Err(Failure::Told(
                        "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.",
                    ));
                }
            } else {
                return Err(Failure::Syntax);
            }
        }
        if of_group && reading.group.is_none() {
            return Err(Failure::Told("ERR Missing GROUP option for XREADGROUP"));
        }
        Ok(reading)
    }

    /// The keys, each with the word that is its id.
    pub fn each(&self) -> impl Iterator<Item = (&'l [u8], &'l [u8])> {
        (0..self.keys).map(|number| self.at(number))
    }

    pub fn at(&self, number: usize) -> (&'l [u8], &'l [u8]) {
        let at = self.first + number;
        (self.line.part(at), self.line.part(at + self.keys))
    }

    /// The same command for these keys and ids, and so many entries of each.
    fn line_with(&self, count: u64, keys: &[&[u8]], ids: &[&[u8]]) -> Line {
        let count = count.to_string();
        let mut parts = vec![self.line.part(0)];
        if let Some((group, consumer)) = self.group {
            parts.extend([b"group", group, consumer]);
        }
        if self.no_ack {
            parts.push(b"noack");
        }
        parts.extend([b"block", &b"0"[..], b"count", count.as_bytes(), b"streams"]);
        parts.extend_from_slice(keys);
        parts.extend_from_slice(ids);
        Line::of(&parts)
    }

    /// The same command as it waits.
    pub fn waiting(&self, ids: &[Vec<u8>]) -> Line {
        let keys: Vec<&[u8]> = self.each().map(|(key, _)| key).collect();
        let ids: Vec<&[u8]> = ids.iter().map(Vec::as_slice).collect();
        let count = match self.count {
            0 => WAITED_COUNT,
            count => count,
        };
        self.line_with(count, &keys, &ids)
    }
}

/// True if the client waits when there are no entries.
pub(crate) fn waits(line: &Line) -> bool {
    Reading::of(line).is_ok_and(|reading| reading.block.is_some())
}

/// For how many milliseconds; `None` for ever.
pub(crate) fn time_limit(line: &Line) -> Result<Option<u64>, Failure> {
    let block = Reading::of(line)?.block.unwrap_or(0);
    Ok(u64::try_from(block).ok().filter(|block| *block > 0))
}

/// The keys of a command; `None` if it is none.
pub(crate) fn keys(line: &Line) -> Option<Vec<Vec<u8>>> {
    let reading = Reading::of(line).ok()?;
    Some(reading.each().map(|(key, _)| key.to_vec()).collect())
}

/// The numbers of the parts of a command that are keys; `None` if it is none.
pub(crate) fn key_places(line: &Line) -> Option<std::ops::Range<usize>> {
    let reading = Reading::of(line).ok()?;
    Some(reading.first..reading.first + reading.keys)
}

/// A command that waits, for its key of this number alone.
pub(crate) fn line_for(line: &Line, number: usize) -> Line {
    match Reading::of(line) {
        Ok(reading) if number < reading.keys => {
            let (key, id) = reading.at(number);
            reading.line_with(reading.count, &[key], &[id])
        }
        _ => line.clone(),
    }
}

/// The group that a command reads of.
pub(crate) fn group_of(line: &Line) -> Option<&[u8]> {
    Reading::of(line).ok()?.group.map(|(group, _)| group)
}

//! HyperLogLogs: strings that say about how many different elements there were.

use super::line::Line;
use super::{ALL_KEYS, Command, FAST, MORE, ONE_KEY, WRITE, on_data, reads};
use crate::data::{Data, Entry, Expiry, Kind, Live, State};
use crate::event_classes::STRING;
use crate::failure::Failure;
use crate::hyperloglog::{HyperLogLog, READ_BYTES_MAX, Wrong};
use crate::reply::Reply;
use crate::settings::Number;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "pfadd",
        -2,
        WRITE | MORE | FAST,
        ONE_KEY,
        pfadd,
        "Adds elements to a HyperLogLog",
    ),
    reads!(
        "pfcount",
        -2,
        0,
        ALL_KEYS,
        pfcount,
        "Returns about how many elements HyperLogLogs have"
    ),
    on_data(
        "pfmerge",
        -2,
        WRITE | MORE,
        ALL_KEYS,
        pfmerge,
        "Merges HyperLogLogs into one",
    ),
];

/// Each merged value counts for so many bytes of room, which bounds the number of values.
const MERGED_BYTES: usize = 12 << 10;

fn read<S: State>(data: &mut Data<'_, S>, key: &[u8]) -> Result<Option<HyperLogLog>, Failure> {
    data.with_text(key, |_, text| {
        HyperLogLog::read(&text.start(READ_BYTES_MAX)?).map_err(refused)
    })
}

fn refused(wrong: Wrong) -> Failure {
    Failure::Told(match wrong {
        Wrong::Kind => "WRONGTYPE Key is not a valid HyperLogLog string value.",
        Wrong::Content => "INVALIDOBJ Corrupted HLL object detected",
    })
}

/// Adds those of keys.
fn merge<'l, S: State>(
    data: &mut Data<'_, S>,
    all: &mut HyperLogLog,
    keys: impl Iterator<Item = &'l [u8]>,
) -> Result<(), Failure> {
    let room = data.room;
    for key in keys {
        data.with_text(key, |_, text| match room.take(MERGED_BYTES) {
            true => all.merge(&text.start(READ_BYTES_MAX)?).map_err(refused),
            false => Ok(()),
        })?;
        room.check()?;
    }
    Ok(())
}

fn open(
    data: &mut Live<'_, '_>,
    key: &[u8],
) -> Result<(Option<Entry>, Option<HyperLogLog>), Failure> {
    let before = data.entry_to_change_of(key, Kind::String)?;
    Ok((before, read(data, key)?))
}

fn store(
    data: &mut Live<'_, '_>,
    key: &[u8],
    before: Option<Entry>,
    value: &HyperLogLog,
) -> Result<(), Failure> {
    let most = data.shared.settings.number(Number::SparseBytes);
    let text = value.text(usize::try_from(most).unwrap_or(usize::MAX));
    data.set_string(key, before, &text, Expiry::Keep)?;
    data.event(STRING, "pfadd", key)
}

fn pfadd(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let (before, there) = open(data, line.part(1))?;
    let mut is_changed = there.is_none();
    let mut value = there.unwrap_or_else(HyperLogLog::new);
    for element in line.parts(2) {
        is_changed |= value.add(element);
    }
    if is_changed {
        store(data, line.part(1), before, &value)?;
    }
    Ok(Reply::flag(is_changed))
}

fn pfcount<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let mut all = HyperLogLog::new();
    merge(data, &mut all, line.parts(1))?;
    Ok(Reply::count(all.count()))
}

fn pfmerge(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let (before, there) = open(data, line.part(1))?;
    let mut all = there.unwrap_or_else(HyperLogLog::new);
    merge(data, &mut all, line.parts(2))?;
    store(data, line.part(1), before, &all)?;
    Ok(Reply::Ok)
}

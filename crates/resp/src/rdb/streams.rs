//! Streams as Redis serialises them: entries in listpacks under the id of the first, then the stream's counters, and
//! its groups.
//!
//! An entry of a listpack says its id less that of the listpack, and whether it has the fields of the listpack's head. A
//! group has all its pending entries once, and each consumer names its own of them.

use super::input::Input;
use super::lengths::Lengths;
use super::output::{Listpack, Output};
use super::packed::{Element, listpack_element, listpack_head};
use super::{GroupValue, Id, PendingValue, RdbError, StreamValue, are_once, kind};
use std::collections::BTreeMap;

/// An entry is deleted.
const DELETED: i64 = 1;
/// It has the fields of the head.
const SAME_FIELDS: i64 = 2;
/// A listpack that is written has about so many entries and bytes at most, as those of Redis.
const ENTRIES_MAX: usize = 100;
const BYTES_MAX: usize = 4096;

/// Reads a stream with its entries, groups and consumers.
pub(super) fn read(input: &mut Input<'_>, form: u8) -> Result<StreamValue, RdbError> {
    let mut stream = StreamValue::default();
    for _ in 0..input.length()? {
        let first = input.text()?;
        let first = id_of(&first).ok_or_else(|| input.wrong("a listpack under no id"))?;
        let at = input.at();
        let text = input.text()?;
        let mut inner = input.within(&text, at);
        entries(&mut inner, first, &mut stream.entries)?;
        input.return_from(&inner);
    }
    let length = input.length()?;
    stream.last = (input.length()?, input.length()?);
    stream.added = length;
    if form != kind::STREAM {
        let _first: Id = (input.length()?, input.length()?);
        stream.deleted = (input.length()?, input.length()?);
        stream.added = input.length()?;
    }
    let ascend = |pair: &[(Id, Vec<Vec<u8>>)]| matches!(pair, [a, b] if a.0 < b.0);
    let is_right = stream.entries.len() as u64 == length
        && stream.entries.windows(2).all(ascend)
        && stream.entries.first().is_none_or(|entry| entry.0 > (0, 0))
        && stream
            .entries
            .last()
            .is_none_or(|entry| entry.0 <= stream.last);
    if !is_right {
        return Err(input.wrong("a stream whose entries are not those that it says"));
    }
    for _ in 0..input.length()? {
        stream.groups.push(group(input, form)?);
    }
    match are_once(stream.groups.iter().map(|group| &group.name)) {
        true => Ok(stream),
        false => Err(input.wrong("a group that is there twice")),
    }
}

/// The id that 16 bytes say.
fn id_of(bytes: &[u8]) -> Option<Id> {
    let (ms, seq) = bytes.split_first_chunk::<8>()?;
    Some((
        u64::from_be_bytes(*ms),
        u64::from_be_bytes(seq.try_into().ok()?),
    ))
}

fn id(input: &mut Input<'_>) -> Result<Id, RdbError> {
    let ms = u64::from_be_bytes(input.array()?);
    Ok((ms, u64::from_be_bytes(input.array()?)))
}

/// The entries of a listpack.
fn entries(
    input: &mut Input<'_>,
    first: Id,
    entries: &mut Vec<(Id, Vec<Vec<u8>>)>,
) -> Result<(), RdbError> {
    listpack_head(input)?;
    let (count, deleted) = (number(input)?, number(input)?);
    let mut names = Vec::new();
    for _ in 0..number(input)? {
        names.push(text(input)?);
    }
    number(input)?;
    let (mut there, mut gone) = (0_i64, 0_i64);
    while let Some(flags) = listpack_element(input)? {
        let flags = integer(input, flags)?;
        let mut id = (0, 0);
        for (part, base) in [(&mut id.0, first.0), (&mut id.1, first.1)] {
            let more = number(input)?;
            // The difference of two numbers without a sign is said with one.
            *part = base.wrapping_add_signed(more);
        }
        let mut fields = Vec::new();
        if flags & SAME_FIELDS != 0 {
            for name in &names {
                input.keep(name.len())?;
                fields.push(name.clone());
                fields.push(text(input)?);
            }
        } else {
            for _ in 0..number(input)?.saturating_mul(2) {
                fields.push(text(input)?);
            }
        }
        // The number of elements of the entry.
        number(input)?;
        input.count()?;
        match flags & DELETED {
            0 => {
                there += 1;
                entries.push((id, fields));
            }
            _ => gone += 1,
        }
    }
    match input.is_empty() && (there, gone) == (count, deleted) {
        true => Ok(()),
        false => Err(input.wrong("another number of entries than their listpack says")),
    }
}

/// An element of a listpack that is to be a number, which may be written as a text.
fn number(input: &mut Input<'_>) -> Result<i64, RdbError> {
    let element = listpack_element(input)?;
    let element = element.ok_or_else(|| input.wrong("a listpack that ends within an entry"))?;
    integer(input, element)
}

fn integer(input: &Input<'_>, element: Element<'_>) -> Result<i64, RdbError> {
    let number = match element {
        Element::Number(number) => Some(number),
        Element::Text(text) => crate::number::parse_integer(text),
    };
    number.ok_or_else(|| input.wrong("a text where a number should be"))
}

fn text(input: &mut Input<'_>) -> Result<Vec<u8>, RdbError> {
    let element = listpack_element(input)?;
    let text = match element {
        Some(Element::Text(text)) => text.to_vec(),
        Some(Element::Number(number)) => number.to_string().into_bytes(),
        None => return Err(input.wrong("a listpack that ends within an entry")),
    };
    input.count()?;
    input.keep(text.len())?;
    Ok(text)
}

fn group(input: &mut Input<'_>, form: u8) -> Result<GroupValue, RdbError> {
    let mut group = GroupValue {
        name: input.element()?,
        last: (input.length()?, input.length()?),
        ..GroupValue::default()
    };
    if form != kind::STREAM {
        // An unknown number is written as -1.
        group.read = Some(input.length()? as i64).filter(|read| *read >= 0);
    }
    let mut pending = BTreeMap::new();
    for _ in 0..input.length()? {
        input.count()?;
        let id = id(input)?;
        let delivered = i64::from_le_bytes(input.array()?);
        let deliveries = input.length()?;
        if pending.insert(id, (delivered, deliveries, None)).is_some() {
            return Err(input.wrong("a pending entry that is there twice"));
        }
    }
    for consumer in 0..input.length()? {
        let name = input.element()?;
        let seen = i64::from_le_bytes(input.array()?);
        if form == kind::STREAM_3 {
            let _active: [u8; 8] = input.array()?;
        }
        group.consumers.push((name, seen));
        for _ in 0..input.length()? {
            let id = id(input)?;
            match pending.get_mut(&id) {
                Some((_, _, owner @ None)) => *owner = Some(consumer as usize),
                _ => return Err(input.wrong("a consumer's entry that is not pending")),
            }
        }
    }
    if !are_once(group.consumers.iter().map(|(name, _)| name)) {
        return Err(input.wrong("a consumer that is there twice"));
    }
    for (id, (delivered, deliveries, consumer)) in pending {
        let wrong = || input.wrong("a pending entry of no consumer");
        group.pending.push(PendingValue {
            id,
            consumer: consumer.ok_or_else(wrong)?,
            delivered,
            deliveries,
        });
    }
    Ok(group)
}

/// Writes a stream, in the form of Redis 7.0.
pub(super) fn write(output: &mut Output, stream: &StreamValue) {
    let mut packs: Vec<(Id, Vec<u8>)> = Vec::new();
    let mut rest = &stream.entries[..];
    while let Some((first, _)) = rest.first() {
        let (pack, count) = pack(rest);
        packs.push((*first, pack));
        rest = rest.get(count..).unwrap_or_default();
    }
    output.length(packs.len() as u64);
    for (first, pack) in packs {
        output.length(16);
        write_id(output, first);
        output.text(&pack);
    }
    output.length(stream.entries.len() as u64);
    let first = stream.entries.first().map_or((0, 0), |entry| entry.0);
    for id in [stream.last, first, stream.deleted] {
        output.length(id.0);
        output.length(id.1);
    }
    output.length(stream.added);
    output.length(stream.groups.len() as u64);
    for group in &stream.groups {
        output.text(&group.name);
        output.length(group.last.0);
        output.length(group.last.1);
        output.length(group.read.unwrap_or(-1) as u64);
        output.length(group.pending.len() as u64);
        for pending in &group.pending {
            write_id(output, pending.id);
            output.bytes(&pending.delivered.to_le_bytes());
            output.length(pending.deliveries);
        }
        output.length(group.consumers.len() as u64);
        let mut owned = vec![Vec::new(); group.consumers.len()];
        for pending in &group.pending {
            if let Some(owned) = owned.get_mut(pending.consumer) {
                owned.push(pending.id);
            }
        }
        for ((name, seen), owned) in group.consumers.iter().zip(owned) {
            output.text(name);
            output.bytes(&seen.to_le_bytes());
            output.length(owned.len() as u64);
            owned.into_iter().for_each(|id| write_id(output, id));
        }
    }
}

fn write_id(output: &mut Output, (ms, seq): Id) {
    output.bytes(&ms.to_be_bytes());
    output.bytes(&seq.to_be_bytes());
}

/// The entries of a listpack: how many from the front fit, and their bytes.
fn pack(entries: &[(Id, Vec<Vec<u8>>)]) -> (Vec<u8>, usize) {
    let Some((base, fields)) = entries.first() else {
        return (Vec::new(), 0);
    };
    let names: Vec<&Vec<u8>> = fields.iter().step_by(2).collect();
    // Differences of ids are written as numbers with a sign.
    let is_near = |id: Id| {
        id.0.checked_sub(base.0)
            .is_some_and(|ms| i64::try_from(ms).is_ok())
            && i64::try_from(i128::from(id.1) - i128::from(base.1)).is_ok()
    };
    let (mut count, mut bytes) = (0, 0);
    for (id, fields) in entries.iter().take(ENTRIES_MAX) {
        bytes += fields.iter().map(Vec::len).sum::<usize>();
        if count > 0 && (bytes > BYTES_MAX || !is_near(*id)) {
            break;
        }
        count += 1;
    }
    let mut pack = Listpack::new();
    pack.number(count as i64);
    pack.number(0);
    pack.number(names.len() as i64);
    names.iter().for_each(|name| pack.text(name));
    pack.number(0);
    for (id, fields) in entries.iter().take(count) {
        let is_same = names.iter().copied().eq(fields.iter().step_by(2));
        pack.number(if is_same { SAME_FIELDS } else { 0 });
        pack.number(id.0.wrapping_sub(base.0) as i64);
        pack.number(id.1.wrapping_sub(base.1) as i64);
        let elements = match is_same {
            true => {
                let values = fields.iter().skip(1).step_by(2);
                values.for_each(|value| pack.text(value));
                fields.len() / 2 + 3
            }
            false => {
                pack.number((fields.len() / 2) as i64);
                fields.iter().for_each(|part| pack.text(part));
                fields.len() + 4
            }
        };
        pack.number(elements as i64);
    }
    (pack.finish(), count)
}

//! Elements that Redis keeps packed in one text: ziplists, listpacks, zipmaps, and sets of integers.
//!
//! Each reader takes the whole text, checks the lengths that its head says, and gives the elements in their order.

use super::RdbError;
use super::input::Input;
use super::lengths::Lengths;

type Elements = Result<Vec<Vec<u8>>, RdbError>;

/// The last byte of a ziplist, a listpack or a zipmap.
const END: u8 = 0xff;

/// Takes room for an element and keeps it.
fn keep(input: &mut Input<'_>, elements: &mut Vec<Vec<u8>>, text: &[u8]) -> Result<(), RdbError> {
    input.count()?;
    input.keep(text.len())?;
    elements.push(text.to_vec());
    Ok(())
}

fn keep_number(
    input: &mut Input<'_>,
    elements: &mut Vec<Vec<u8>>,
    number: i64,
) -> Result<(), RdbError> {
    keep(input, elements, number.to_string().as_bytes())
}

/// Checks that the elements end here, and are as many as the head says.
fn ended(input: &Input<'_>, elements: &[Vec<u8>], count: u16) -> Result<(), RdbError> {
    if !input.is_empty() {
        return Err(input.wrong("bytes behind packed elements"));
    }
    // The head does not count more than it has bits for.
    match count != u16::MAX && usize::from(count) != elements.len() {
        true => Err(input.wrong("another number of packed elements than their head says")),
        false => Ok(()),
    }
}

/// An integer of three bytes.
fn int24([a, b, c]: [u8; 3]) -> i64 {
    i64::from(i32::from_le_bytes([0, a, b, c]) >> 8)
}

/// The elements of a listpack.
pub(super) fn listpack(input: &mut Input<'_>) -> Elements {
    let count = listpack_head(input)?;
    let mut elements = Vec::new();
    while let Some(element) = listpack_element(input)? {
        match element {
            Element::Text(text) => keep(input, &mut elements, text)?,
            Element::Number(number) => keep_number(input, &mut elements, number)?,
        }
    }
    ended(input, &elements, count)?;
    Ok(elements)
}

/// An element of a listpack.
pub(super) enum Element<'b> {
    Text(&'b [u8]),
    Number(i64),
}

/// The head of a listpack. Returns how many elements it says; its length is that of the text.
pub(super) fn listpack_head(input: &mut Input<'_>) -> Result<u16, RdbError> {
    let _length: [u8; 4] = input.array()?;
    Ok(u16::from_le_bytes(input.array()?))
}

/// The next element of a listpack; `None` at its end.
pub(super) fn listpack_element<'b>(input: &mut Input<'b>) -> Result<Option<Element<'b>>, RdbError> {
    let from = input.at();
    let first = input.byte()?;
    let element = match first {
        END => return Ok(None),
        0x00..=0x7f => Element::Number(first.into()),
        0x80..=0xbf => Element::Text(input.take(usize::from(first & 0x3f))?),
        0xc0..=0xdf => {
            let wide = i16::from(first & 0x1f) << 8 | i16::from(input.byte()?);
            // 13 bits, the highest of which is the sign.
            Element::Number((wide << 3 >> 3).into())
        }
        0xe0..=0xef => {
            let length = usize::from(first & 0x0f) << 8 | usize::from(input.byte()?);
            Element::Text(input.take(length)?)
        }
        0xf0 => {
            let length = u32::from_le_bytes(input.array()?);
            Element::Text(input.take(length as usize)?)
        }
        0xf1 => Element::Number(i16::from_le_bytes(input.array()?).into()),
        0xf2 => Element::Number(int24(input.array()?)),
        0xf3 => Element::Number(i32::from_le_bytes(input.array()?).into()),
        0xf4 => Element::Number(i64::from_le_bytes(input.array()?)),
        _ => return Err(input.wrong("an element of a listpack in no form")),
    };
    input.take(back_bytes(input.at() - from))?;
    Ok(Some(element))
}

/// The number of bytes of the length behind an element of `length` bytes.
pub(super) fn back_bytes(length: usize) -> usize {
    match length {
        0..=127 => 1,
        128..=16_382 => 2,
        16_383..=2_097_150 => 3,
        2_097_151..=268_435_454 => 4,
        _ => 5,
    }
}

/// The elements of a ziplist.
pub(super) fn ziplist(input: &mut Input<'_>) -> Elements {
    let (_bytes, _tail): ([u8; 4], [u8; 4]) = (input.array()?, input.array()?);
    let count = u16::from_le_bytes(input.array()?);
    let mut elements = Vec::new();
    loop {
        // The length of the element before.
        match input.byte()? {
            END => break,
            0xfe => drop(input.take(4)?),
            _ => {}
        }
        let first = input.byte()?;
        let length = match first >> 6 {
            0 => usize::from(first & 0x3f),
            1 => usize::from(first & 0x3f) << 8 | usize::from(input.byte()?),
            2 => u32::from_be_bytes(input.array()?) as usize,
            _ => {
                let number = match first {
                    0xc0 => i16::from_le_bytes(input.array()?).into(),
                    0xd0 => i32::from_le_bytes(input.array()?).into(),
                    0xe0 => i64::from_le_bytes(input.array()?),
                    0xf0 => int24(input.array()?),
                    0xfe => i8::from_le_bytes(input.array()?).into(),
                    0xf1..=0xfd => i64::from(first & 0x0f) - 1,
                    _ => return Err(input.wrong("an element of a ziplist in no form")),
                };
                keep_number(input, &mut elements, number)?;
                continue;
            }
        };
        let text = input.take(length)?;
        keep(input, &mut elements, text)?;
    }
    ended(input, &elements, count)?;
    Ok(elements)
}

/// The members of a set of integers.
pub(super) fn intset(input: &mut Input<'_>) -> Elements {
    let width = u32::from_le_bytes(input.array()?);
    let count = u32::from_le_bytes(input.array()?);
    let mut elements = Vec::new();
    for _ in 0..count {
        let number = match width {
            2 => i16::from_le_bytes(input.array()?).into(),
            4 => i32::from_le_bytes(input.array()?).into(),
            8 => i64::from_le_bytes(input.array()?),
            _ => return Err(input.wrong("a set of integers of no width")),
        };
        keep_number(input, &mut elements, number)?;
    }
    ended(input, &elements, u16::MAX)?;
    Ok(elements)
}

/// The fields and values of a zipmap, which Redis before 2.6 had.
pub(super) fn zipmap(input: &mut Input<'_>) -> Elements {
    input.byte()?;
    let mut elements = Vec::new();
    while let Some(length) = zipmap_length(input)? {
        let field = input.take(length)?;
        keep(input, &mut elements, field)?;
        let length = zipmap_length(input)?;
        let length = length.ok_or_else(|| input.wrong("a field without a value"))?;
        // Bytes that are free behind the value.
        let free = input.byte()?;
        let value = input.take(length)?;
        keep(input, &mut elements, value)?;
        input.take(free.into())?;
    }
    ended(input, &elements, u16::MAX)?;
    Ok(elements)
}

fn zipmap_length(input: &mut Input<'_>) -> Result<Option<usize>, RdbError> {
    Ok(match input.byte()? {
        END => None,
        254 => Some(u32::from_le_bytes(input.array()?) as usize),
        length => Some(length.into()),
    })
}

//! Text and bytes in keys: a zero byte as `00 FF`, and `00 00` at the end, so that no value is the beginning of another.

use super::KeyBytes;
use crate::error::TableError;
use crate::values::{Reference, borrow_value, read_value};
use sardonyx_storage::store::PageRead;

/// Appends text or bytes, and their end.
#[inline]
pub(super) fn push_escaped(value: &[u8], key: &mut KeyBytes) {
    push_beginning(value, key);
    key.extend(&[0, 0]);
}

/// True if one of the bytes is zero. Looks at all of them, a word of them at a time: values are short, and those with a
/// zero are few, so that to stop early would cost more.
#[inline]
pub(super) fn has_zero(value: &[u8]) -> bool {
    const ONES: u64 = u64::MAX / 0xff;
    // The high bit of each byte that is zero, and of none below the first such byte.
    let zeroes = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    let (words, rest) = value.as_chunks();
    let found = words
        .iter()
        .fold(0, |found, word| found | zeroes(u64::from_le_bytes(*word)));
    found != 0 || rest.contains(&0)
}

/// Appends the beginning of text or bytes.
#[inline]
fn push_beginning(value: &[u8], key: &mut KeyBytes) {
    if !has_zero(value) {
        return key.extend(value);
    }
    for part in value.split_inclusive(|&byte| byte == 0) {
        key.extend(part);
        if part.ends_with(&[0]) {
            key.push(0xff);
        }
    }
}

/// Appends a text or bytes of a row.
pub(super) fn push_variable<P: PageRead + ?Sized>(
    pages: &P,
    reference: &Reference,
    key: &mut KeyBytes,
) -> Result<(), TableError>
where
    TableError: From<P::Error>,
{
    if reference.cell().is_none() {
        push_escaped(reference.start(), key);
        return Ok(());
    }
    if let Some(value) = borrow_value(pages, reference, "")? {
        push_escaped(value, key);
        return Ok(());
    }
    let mut value = Vec::new();
    read_value(pages, reference, "", &mut value)?;
    push_escaped(&value, key);
    Ok(())
}

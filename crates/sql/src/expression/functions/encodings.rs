//! Functions that write bytes as texts and read them, texts as SQL, and hashes of bytes.

use super::definition::*;
use super::texts::check_length;
use crate::error::{SqlError, code, invalid};
use crate::text::{decode_bytes, decode_hexadecimal};
use crate::types::SqlType;
use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use md5::Md5;
use sardonyx::schema::{Value, ValueRef};
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use std::collections::HashMap;
use std::fmt::Write;

pub(super) static TABLE: &[Definition] = functions! {
    bit_length(BYTEA) -> INT4, |a, _| bits(a), "number of bits";
    bit_length(TEXT) -> INT4, |a, _| bits(a), "number of bits";
    decode(TEXT, TEXT) -> BYTEA, |a, _| decode(a.text(0), a.text(1)), "bytes that are written as base64, escape or hex";
    digest(BYTEA, TEXT) -> BYTEA, |a, _| digest(bytes(a), a.text(1)), "hash of the bytes: md5, sha1, sha224, sha256, sha384 or sha512";
    digest(TEXT, TEXT) -> BYTEA, |a, _| digest(bytes(a), a.text(1)), "hash of the text: md5, sha1, sha224, sha256, sha384 or sha512";
    encode(BYTEA, TEXT) -> TEXT, |a, _| encode(bytes(a), a.text(1)), "bytes written as base64, escape or hex";
    md5(BYTEA) -> TEXT, |a, _| text(hexadecimal(&Md5::digest(bytes(a)))), "MD5 of the bytes, in hexadecimal digits";
    md5(TEXT) -> TEXT, |a, _| text(hexadecimal(&Md5::digest(bytes(a)))), "MD5 of the text, in hexadecimal digits";
    overlay(BYTEA, BYTEA, INT4) -> BYTEA, |a, _| overlay_bytes(a, None), "with the second bytes in the place of as many, from a place on";
    overlay(BYTEA, BYTEA, INT4, INT4) -> BYTEA, |a, _| overlay_bytes(a, Some(a.int(3))), "with the second bytes in the place of so many";
    overlay(TEXT, TEXT, INT4) -> TEXT, |a, _| overlay(a, None), "with the second text in the place of as many characters, from a place on: `OVERLAY(text PLACING text FROM place)`";
    overlay(TEXT, TEXT, INT4, INT4) -> TEXT, |a, _| overlay(a, Some(a.int(3))), "with the second text in the place of so many characters: `OVERLAY(text PLACING text FROM place FOR count)`";
    quote_literal(TEXT) -> TEXT, |a, _| text(quoted(a.text(0))), "as a literal of SQL";
    quote_nullable(TEXT) -> TEXT, |a, _| text(a.given_text(0).map_or("NULL".into(), quoted)), "as a literal of SQL, or NULL", on_null;
    sha224(BYTEA) -> BYTEA, |a, _| hash::<Sha224>(a), "SHA-224 of the bytes";
    sha256(BYTEA) -> BYTEA, |a, _| hash::<Sha256>(a), "SHA-256 of the bytes";
    sha384(BYTEA) -> BYTEA, |a, _| hash::<Sha384>(a), "SHA-384 of the bytes";
    sha512(BYTEA) -> BYTEA, |a, _| hash::<Sha512>(a), "SHA-512 of the bytes";
    to_hex(INT4) -> TEXT, |a, _| text(format!("{:x}", a.int(0) as i32)), "hexadecimal digits";
    to_hex(INT8) -> TEXT, |a, _| text(format!("{:x}", a.int(0))), "hexadecimal digits";
    translate(TEXT, TEXT, TEXT) -> TEXT, |a, _| text(translated(a)), "with each character of the second text replaced by the one at its place in the third, or left out";
};

/// Characters of a line of base64, as PostgreSQL breaks them (RFC 2045).
const LINE: usize = 76;

fn bytes<'v>(a: Arguments<'v>) -> &'v [u8] {
    match a.value(0) {
        ValueRef::Bytes(bytes) => bytes,
        _ => a.text(0).as_bytes(),
    }
}

fn bits(a: Arguments<'_>) -> Answer {
    int(bytes(a).len() * 8)
}

fn unknown(encoding: &str) -> SqlError {
    let message = format!("unrecognized encoding: \"{encoding}\"");
    SqlError::new(code::INVALID_PARAMETER_VALUE, message)
}

fn encode(bytes: &[u8], encoding: &str) -> Answer {
    let name = encoding.to_ascii_lowercase();
    // The characters of a byte; base64 has fewer.
    let characters = if name == "escape" { 4 } else { 2 };
    check_length(bytes.len().saturating_mul(characters))?;
    match name.as_str() {
        "hex" => text(hexadecimal(bytes)),
        "escape" => text(escaped(bytes)),
        "base64" => {
            let whole = STANDARD.encode(bytes);
            let lines = whole.as_bytes().chunks(LINE);
            let lines: Vec<_> = lines.map(String::from_utf8_lossy).collect();
            text(lines.join("\n"))
        }
        _ => Err(unknown(encoding)),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(digits, "{byte:02x}").expect("a text takes it");
    }
    digits
}

/// The function of PostgreSQL's extension `pgcrypto`.
fn digest(bytes: &[u8], name: &str) -> Answer {
    let hash: fn(&[u8]) -> Vec<u8> = match name.to_ascii_lowercase().as_str() {
        "md5" => |bytes| Md5::digest(bytes).to_vec(),
        "sha1" => |bytes| Sha1::digest(bytes).to_vec(),
        "sha224" => |bytes| Sha224::digest(bytes).to_vec(),
        "sha256" => |bytes| Sha256::digest(bytes).to_vec(),
        "sha384" => |bytes| Sha384::digest(bytes).to_vec(),
        "sha512" => |bytes| Sha512::digest(bytes).to_vec(),
        _ => {
            let message = format!("Cannot use \"{name}\": No such hash algorithm");
            return Err(SqlError::new(code::INVALID_PARAMETER_VALUE, message));
        }
    };
    Ok(Value::Bytes(hash(bytes)))
}

fn hash<H: Digest>(a: Arguments<'_>) -> Answer {
    Ok(Value::Bytes(H::digest(bytes(a)).to_vec()))
}

/// Bytes that are no characters of ASCII as three octal digits, a backslash as two.
fn escaped(bytes: &[u8]) -> String {
    let mut written = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'\\' => written.push_str("\\\\"),
            1..=0x7f => written.push(byte.into()),
            _ => write!(written, "\\{byte:03o}").expect("a text takes it"),
        }
    }
    written
}

fn decode(of: &str, encoding: &str) -> Answer {
    let bytes = match encoding.to_ascii_lowercase().as_str() {
        "hex" => decode_hexadecimal(of)?,
        "escape" => decode_bytes(of).ok_or_else(|| invalid(SqlType::Bytea, of))?,
        "base64" => decode_base64(of)?,
        _ => return Err(unknown(encoding)),
    };
    Ok(Value::Bytes(bytes))
}

fn decode_base64(of: &str) -> Result<Vec<u8>, SqlError> {
    let invalid = |message: String| SqlError::new(code::INVALID_PARAMETER_VALUE, message);
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let symbols: Vec<u8> = of.bytes().filter(|byte| !is_blank(byte)).collect();
    let config = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical);
    let engine = GeneralPurpose::new(&base64::alphabet::STANDARD, config);
    engine.decode(&symbols).map_err(|error| match error {
        base64::DecodeError::InvalidByte(at, byte) if byte != b'=' => {
            let symbol = match byte.is_ascii() {
                true => char::from(byte).to_string(),
                false => String::from_utf8_lossy(&symbols[at..])
                    .chars()
                    .take(1)
                    .collect(),
            };
            invalid(format!(
                "invalid symbol \"{symbol}\" found while decoding base64 sequence"
            ))
        }
        base64::DecodeError::InvalidByte(..) => {
            invalid("unexpected \"=\" while decoding base64 sequence".into())
        }
        _ => invalid("invalid base64 end sequence".into()),
    })
}

/// A literal: with quotes and, if it has a backslash, as an escape string.
fn quoted(of: &str) -> String {
    let doubled = of.replace('\'', "''");
    match of.contains('\\') {
        true => format!("E'{}'", doubled.replace('\\', "\\\\")),
        false => format!("'{doubled}'"),
    }
}

fn translated(a: Arguments<'_>) -> String {
    let mut to = a.text(2).chars();
    let mut instead = HashMap::new();
    // The first place of a character in the list counts.
    for from in a.text(1).chars() {
        let to = to.next();
        instead.entry(from).or_insert(to);
    }
    let one = |character| instead.get(&character).map_or(Some(character), |to| *to);
    a.text(0).chars().filter_map(one).collect()
}

fn overlay_bytes(a: Arguments<'_>, count: Option<i64>) -> Answer {
    let bytes = |at| match a.value(at) {
        ValueRef::Bytes(bytes) => bytes,
        _ => &[][..],
    };
    let (of, by, from) = (bytes(0), bytes(1), a.int(2));
    if from <= 0 {
        return Err(SqlError::new(
            "22011",
            "negative substring length not allowed",
        ));
    }
    let end = end(from, count.unwrap_or(by.len() as i64))?;
    let before = of.get(..place(from)).unwrap_or(of);
    let behind = of.get(place(end)..).unwrap_or_default();
    check_length(
        before
            .len()
            .saturating_add(by.len())
            .saturating_add(behind.len()),
    )?;
    Ok(Value::Bytes([before, by, behind].concat()))
}

fn overlay(a: Arguments<'_>, count: Option<i64>) -> Answer {
    let (of, by, from) = (a.text(0), a.text(1), a.int(2));
    if from <= 0 {
        return Err(SqlError::new(
            "22011",
            "negative substring length not allowed",
        ));
    }
    let count = count.unwrap_or(by.chars().count() as i64);
    let end = end(from, count)?;
    let before: String = of.chars().take(place(from)).collect();
    let behind: String = of.chars().skip(place(end)).collect();
    let bytes = before
        .len()
        .saturating_add(by.len())
        .saturating_add(behind.len());
    check_length(bytes)?;
    text(before + by + &behind)
}

/// The place behind a part.
fn end(from: i64, count: i64) -> Result<i64, SqlError> {
    let end = i32::try_from(from.saturating_add(count)).map(i64::from);
    end.map_err(|_| SqlError::new(code::OUT_OF_RANGE, "integer out of range"))
}

/// The number of characters before a place, which is counted from 1.
fn place(at: i64) -> usize {
    usize::try_from(at.saturating_sub(1)).unwrap_or(0)
}

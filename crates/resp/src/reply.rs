//! Answers, and their encoding in either version of the protocol.
//!
//! A command's answer is one value. Whether a map is written as a map or as a list of pairs is decided when it is
//! written: the client may have changed versions in between.
//!
//! Source: the Redis serialization protocol specification, RESP2 and RESP3.

use crate::number::push_float;
use bytes::{BufMut, Bytes, BytesMut};

/// The version of the protocol that a client asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Version {
    /// The one with which each connection begins.
    #[default]
    Resp2,
    /// With maps, sets, floats and one null: after `HELLO 3`.
    Resp3,
}

/// A command's answer. Two are equal if clients receive the same, by whichever variant of bytes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Reply {
    /// `OK`.
    Ok,
    /// A short text without line ends.
    Simple(&'static str),
    /// The same, of a text that is made.
    Status(String),
    /// An error: a code, a space, a sentence.
    Error(String),
    /// An integer.
    Int(i64),
    /// Bytes.
    Bulk(Vec<u8>),
    /// Few bytes; programs use [`Reply::Bulk`].
    #[doc(hidden)]
    Short(Short),
    /// Bytes that are shared.
    Shared(Bytes),
    /// Bytes of the program's.
    Text(&'static str),
    /// The digits of an integer of any length; bytes in RESP2.
    Large(String),
    /// A float; bytes in RESP2.
    Double(f64),
    /// The digits of a number; bytes in RESP2.
    Decimal(String),
    /// A truth value; an integer in RESP2.
    Bool(bool),
    /// Nothing.
    Null,
    /// Nothing where there might be a list; in RESP2 another nothing than [`Reply::Null`].
    NullArray,
    /// A list.
    Array(Vec<Reply>),
    /// Pairs; a list twice as long in RESP2.
    Map(Vec<(Reply, Reply)>),
    /// Pairs; a list of pairs in RESP3, a list twice as long in RESP2.
    Pairs(Vec<(Reply, Reply)>),
    /// Pairs; a map in RESP3, a list of pairs in RESP2.
    Named(Vec<(Reply, Reply)>),
    /// Members without an order; a list in RESP2.
    Set(Vec<Reply>),
    /// A text for people.
    Verbatim(String),
    /// A list that is no answer to a command, or not only: a message.
    Push(Vec<Reply>),
    /// Answers one behind the other, of a command that has several.
    Several(Vec<Reply>),
}

/// The most bytes of [`Short`].
const SHORT_BYTES_MAX: usize = 31;

/// Few bytes, which take no memory of their own.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Short {
    length: u8,
    bytes: [u8; SHORT_BYTES_MAX],
}

impl Short {
    /// `None` if they are more than few.
    #[inline]
    pub fn new(bytes: &[u8]) -> Option<Short> {
        let mut short = Short {
            length: bytes.len() as u8,
            bytes: [0; SHORT_BYTES_MAX],
        };
        short.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(short)
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl PartialEq for Reply {
    fn eq(&self, other: &Reply) -> bool {
        if let (Some(one), Some(other)) = (self.as_bytes(), other.as_bytes()) {
            return one == other;
        }
        match (self, other) {
            (Reply::Ok, Reply::Ok)
            | (Reply::Null, Reply::Null)
            | (Reply::NullArray, Reply::NullArray) => true,
            (Reply::Simple(one), Reply::Simple(other)) => one == other,
            (Reply::Int(one), Reply::Int(other)) => one == other,
            (Reply::Double(one), Reply::Double(other)) => one == other,
            (Reply::Bool(one), Reply::Bool(other)) => one == other,
            (Reply::Status(one), Reply::Status(other))
            | (Reply::Error(one), Reply::Error(other))
            | (Reply::Large(one), Reply::Large(other))
            | (Reply::Decimal(one), Reply::Decimal(other))
            | (Reply::Verbatim(one), Reply::Verbatim(other)) => one == other,
            (Reply::Array(one), Reply::Array(other))
            | (Reply::Set(one), Reply::Set(other))
            | (Reply::Push(one), Reply::Push(other))
            | (Reply::Several(one), Reply::Several(other)) => one == other,
            (Reply::Map(one), Reply::Map(other))
            | (Reply::Pairs(one), Reply::Pairs(other))
            | (Reply::Named(one), Reply::Named(other)) => one == other,
            _ => false,
        }
    }
}

impl Reply {
    /// The bytes of an answer of bytes.
    fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Reply::Bulk(bytes) => Some(bytes),
            Reply::Short(short) => Some(short.bytes()),
            Reply::Shared(bytes) => Some(bytes),
            Reply::Text(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    /// Bytes, without memory of their own if they are few.
    #[inline]
    pub(crate) fn of_bytes(bytes: &[u8]) -> Reply {
        match Short::new(bytes) {
            Some(short) => Reply::Short(short),
            None => Reply::Bulk(bytes.to_vec()),
        }
    }

    /// About the bytes that it takes in memory.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Reply::Ok | Reply::Int(_) | Reply::Short(_) | Reply::Null => size_of::<Reply>(),
            _ => self.bytes_of_any(),
        }
    }

    fn bytes_of_any(&self) -> usize {
        let inner = match self {
            Reply::Error(text)
            | Reply::Verbatim(text)
            | Reply::Status(text)
            | Reply::Large(text)
            | Reply::Decimal(text) => text.len(),
            Reply::Bulk(bytes) => bytes.len(),
            Reply::Shared(bytes) => bytes.len(),
            Reply::Array(items)
            | Reply::Set(items)
            | Reply::Push(items)
            | Reply::Several(items) => items.iter().map(Reply::bytes).sum(),
            Reply::Map(pairs) | Reply::Pairs(pairs) | Reply::Named(pairs) => {
                let pairs = pairs.iter();
                pairs.map(|(one, other)| one.bytes() + other.bytes()).sum()
            }
            _ => 0,
        };
        inner + size_of::<Reply>()
    }

    /// A list of bytes.
    pub fn bulks(items: impl IntoIterator<Item = Vec<u8>>) -> Reply {
        Reply::Array(items.into_iter().map(Reply::Bulk).collect())
    }

    /// Bytes, or nothing.
    pub fn optional(bytes: Option<Vec<u8>>) -> Reply {
        bytes.map_or(Reply::Null, Reply::Bulk)
    }

    /// 1 or 0.
    pub fn flag(flag: bool) -> Reply {
        Reply::Int(i64::from(flag))
    }

    /// A count as an integer; the largest integer if it does not fit.
    pub fn count(count: impl TryInto<i64>) -> Reply {
        Reply::Int(count.try_into().unwrap_or(i64::MAX))
    }

    /// True if it is an error.
    pub fn is_error(&self) -> bool {
        matches!(self, Reply::Error(_))
    }

    /// True if it is sent also to clients that want no answers.
    pub(crate) fn is_push(&self) -> bool {
        match self {
            Reply::Push(_) => true,
            Reply::Several(items) => items.iter().all(Reply::is_push),
            _ => false,
        }
    }

    /// Appends it as it is sent.
    pub fn write(&self, version: Version, output: &mut BytesMut) {
        let new = version == Version::Resp3;
        match self {
            Reply::Ok => output.put_slice(b"+OK\r\n"),
            Reply::Simple("PONG") => output.put_slice(b"+PONG\r\n"),
            Reply::Simple(text) => {
                output.put_u8(b'+');
                output.put_slice(text.as_bytes());
                output.put_slice(b"\r\n");
            }
            Reply::Status(text) => line(output, b'+', text),
            Reply::Error(text) => line(output, b'-', text),
            Reply::Decimal(digits) if new => line(output, b',', digits),
            Reply::Decimal(digits) => bulk(output, digits.as_bytes()),
            Reply::Large(digits) if new => line(output, b'(', digits),
            Reply::Large(digits) => bulk(output, digits.as_bytes()),
            Reply::Int(number) => head(output, b':', *number),
            Reply::Bulk(bytes) => bulk(output, bytes),
            Reply::Short(short) => bulk(output, short.bytes()),
            Reply::Shared(bytes) => bulk(output, bytes),
            Reply::Text(text) => bulk(output, text.as_bytes()),
            Reply::Double(number) => {
                let mut text = Vec::new();
                push_float(&mut text, *number);
                match new {
                    true => {
                        output.put_u8(b',');
                        output.put_slice(&text);
                        output.put_slice(b"\r\n");
                    }
                    false => bulk(output, &text),
                }
            }
            Reply::Bool(value) => match new {
                true => output.put_slice(if *value { b"#t\r\n" } else { b"#f\r\n" }),
                false => head(output, b':', i64::from(*value)),
            },
            Reply::Null => output.put_slice(if new { b"_\r\n" } else { b"$-1\r\n" }),
            Reply::NullArray => output.put_slice(if new { b"_\r\n" } else { b"*-1\r\n" }),
            Reply::Array(items) => list(output, b'*', items, version),
            Reply::Set(items) => list(output, if new { b'~' } else { b'*' }, items, version),
            Reply::Push(items) => list(output, if new { b'>' } else { b'*' }, items, version),
            Reply::Several(items) => items.iter().for_each(|item| item.write(version, output)),
            Reply::Map(pairs) => {
                match new {
                    true => head(output, b'%', pairs.len() as i64),
                    false => head(output, b'*', 2 * pairs.len() as i64),
                }
                for (key, value) in pairs {
                    key.write(version, output);
                    value.write(version, output);
                }
            }
            Reply::Pairs(pairs) => {
                let each = if new { 1 } else { 2 };
                head(output, b'*', each * pairs.len() as i64);
                for (key, value) in pairs {
                    if new {
                        output.put_slice(b"*2\r\n");
                    }
                    key.write(version, output);
                    value.write(version, output);
                }
            }
            Reply::Named(pairs) => {
                head(output, if new { b'%' } else { b'*' }, pairs.len() as i64);
                for (key, value) in pairs {
                    if !new {
                        output.put_slice(b"*2\r\n");
                    }
                    key.write(version, output);
                    value.write(version, output);
                }
            }
            Reply::Verbatim(text) => match new {
                true => {
                    head(output, b'=', text.len() as i64 + 4);
                    output.put_slice(b"txt:");
                    output.put_slice(text.as_bytes());
                    output.put_slice(b"\r\n");
                }
                false => bulk(output, text.as_bytes()),
            },
        }
    }
}

/// A line, in which other ends of lines are spaces.
fn line(output: &mut BytesMut, kind: u8, text: &str) {
    output.put_u8(kind);
    let plain = |byte: u8| {
        if matches!(byte, b'\r' | b'\n') {
            b' '
        } else {
            byte
        }
    };
    output.extend(text.bytes().map(plain));
    output.put_slice(b"\r\n");
}

fn list(output: &mut BytesMut, kind: u8, items: &[Reply], version: Version) {
    head(output, kind, items.len() as i64);
    items.iter().for_each(|item| item.write(version, output));
}

/// Bytes up to so many are put together with their line before they are appended: each time costs as much as a few of them.
const TOGETHER_MAX: usize = 40;

#[inline]
fn bulk(output: &mut BytesMut, bytes: &[u8]) {
    if bytes.len() <= TOGETHER_MAX {
        let mut whole = [0; TOGETHER_MAX + 7];
        let (ten, one) = ((bytes.len() / 10) as u8, (bytes.len() % 10) as u8);
        let start = match ten {
            0 => {
                whole[..4].copy_from_slice(&[b'$', b'0' + one, b'\r', b'\n']);
                4
            }
            _ => {
                whole[..5].copy_from_slice(&[b'$', b'0' + ten, b'0' + one, b'\r', b'\n']);
                5
            }
        };
        let end = start + bytes.len();
        whole[start..end].copy_from_slice(bytes);
        whole[end..end + 2].copy_from_slice(b"\r\n");
        return output.extend_from_slice(&whole[..end + 2]);
    }
    head(output, b'$', bytes.len() as i64);
    output.put_slice(bytes);
    output.put_slice(b"\r\n");
}

#[inline]
fn head(output: &mut BytesMut, kind: u8, number: i64) {
    let mut line = [0; crate::number::INTEGER_BYTES_MAX + 3];
    output.extend_from_slice(crate::number::integer_line(kind, number, &mut line));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_its_own_spelling() {
        let pair = || vec![(Reply::Text("a"), Reply::Double(1.5))];
        let cases: [(Reply, &str, &str); 15] = [
            (Reply::Ok, "+OK\r\n", "+OK\r\n"),
            (
                Reply::Int(i64::MIN),
                ":-9223372036854775808\r\n",
                ":-9223372036854775808\r\n",
            ),
            (Reply::Null, "$-1\r\n", "_\r\n"),
            (Reply::NullArray, "*-1\r\n", "_\r\n"),
            (Reply::Bool(true), ":1\r\n", "#t\r\n"),
            (
                Reply::Map(pair()),
                "*2\r\n$1\r\na\r\n$3\r\n1.5\r\n",
                "%1\r\n$1\r\na\r\n,1.5\r\n",
            ),
            (
                Reply::Pairs(pair()),
                "*2\r\n$1\r\na\r\n$3\r\n1.5\r\n",
                "*1\r\n*2\r\n$1\r\na\r\n,1.5\r\n",
            ),
            (
                Reply::Named(pair()),
                "*1\r\n*2\r\n$1\r\na\r\n$3\r\n1.5\r\n",
                "%1\r\n$1\r\na\r\n,1.5\r\n",
            ),
            (
                Reply::Set(vec![Reply::Int(0)]),
                "*1\r\n:0\r\n",
                "~1\r\n:0\r\n",
            ),
            (Reply::Status("a\nb".into()), "+a b\r\n", "+a b\r\n"),
            (Reply::Large("12".into()), "$2\r\n12\r\n", "(12\r\n"),
            (
                Reply::Push(vec![Reply::Int(0)]),
                "*1\r\n:0\r\n",
                ">1\r\n:0\r\n",
            ),
            (
                Reply::Several(vec![Reply::Int(0), Reply::Null]),
                ":0\r\n$-1\r\n",
                ":0\r\n_\r\n",
            ),
            (
                Reply::Verbatim("x".into()),
                "$1\r\nx\r\n",
                "=5\r\ntxt:x\r\n",
            ),
            (
                Reply::Error("ERR a\r\nb".into()),
                "-ERR a  b\r\n",
                "-ERR a  b\r\n",
            ),
        ];
        for (reply, old, new) in cases {
            for (version, expected) in [(Version::Resp2, old), (Version::Resp3, new)] {
                let mut output = BytesMut::new();
                reply.write(version, &mut output);
                assert_eq!(String::from_utf8_lossy(&output), expected, "{reply:?}");
            }
        }
    }
}

//! `COPY` in PostgreSQL's binary format: a header, a tuple for each row, a trailer. A tuple is the number of its
//! fields, and the fields with their lengths; -1 is the length of a null.
//!
//! [`Tuples`] decodes untrusted bytes in pieces of any size: it takes whole tuples from the front, and returns errors
//! for invalid bytes.
//!
//! Source: PostgreSQL's documentation, `COPY`, "Binary Format".

use crate::error::{SqlError, code};

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// The header's size: the signature, the flags, and the length of an extension.
const HEADER_BYTES: usize = SIGNATURE.len() + 8;
/// The lower flags do not matter for reading.
const CRITICAL_FLAGS: u32 = 0xffff_0000;
/// Each row would begin with its object identifier in PostgreSQL.
const WITH_OIDS: u32 = 1 << 16;
const TRAILER: i16 = -1;

/// The fields of a tuple; `None` for a null.
pub type Tuple<'b> = Vec<Option<&'b [u8]>>;

/// The position of a decoder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    Header,
    /// In the header's extension, with the number of its remaining bytes.
    Extension(usize),
    Tuples,
    /// After the trailer.
    End,
}

/// A decoder of tuples with a fixed number of fields.
#[derive(Clone, Debug)]
pub struct Tuples {
    width: usize,
    at: At,
}

impl Tuples {
    /// A decoder at the beginning of the header.
    pub fn new(width: usize) -> Self {
        Tuples {
            width,
            at: At::Header,
        }
    }

    /// Takes the next tuple from the front of the received bytes; `None` if it is incomplete, or after the trailer.
    ///
    /// # Errors
    /// `22P04` for invalid bytes.
    pub fn next<'b>(&mut self, received: &mut &'b [u8]) -> Result<Option<Tuple<'b>>, SqlError> {
        loop {
            match self.at {
                At::Header => {
                    let Some(extension) = header(received)? else {
                        return Ok(None);
                    };
                    *received = received.get(HEADER_BYTES..).unwrap_or_default();
                    self.at = At::Extension(extension);
                }
                At::Extension(left) => {
                    let (taken, rest) = received.split_at(left.min(received.len()));
                    *received = rest;
                    if taken.len() < left {
                        self.at = At::Extension(left - taken.len());
                        return Ok(None);
                    }
                    self.at = At::Tuples;
                }
                At::Tuples => {
                    let mut rest = *received;
                    let count = match take(&mut rest) {
                        Some(count) => i16::from_be_bytes(count),
                        None => return Ok(None),
                    };
                    if count == TRAILER {
                        *received = rest;
                        self.at = At::End;
                        continue;
                    }
                    let Some(tuple) = self.fields(count, &mut rest)? else {
                        return Ok(None);
                    };
                    *received = rest;
                    return Ok(Some(tuple));
                }
                At::End if received.is_empty() => return Ok(None),
                At::End => return Err(bad("received copy data after EOF marker")),
            }
        }
    }

    /// The fields of a tuple; `None` if it is incomplete.
    fn fields<'b>(&self, count: i16, rest: &mut &'b [u8]) -> Result<Option<Tuple<'b>>, SqlError> {
        if usize::try_from(count) != Ok(self.width) {
            let text = format!("row field count is {count}, expected {}", self.width);
            return Err(bad(&text));
        }
        let mut tuple = Vec::with_capacity(self.width);
        for _ in 0..self.width {
            let Some(length) = take(rest) else {
                return Ok(None);
            };
            tuple.push(match i32::from_be_bytes(length) {
                -1 => None,
                length => {
                    let length = usize::try_from(length).map_err(|_| bad("invalid field size"))?;
                    let Some((field, behind)) = rest.split_at_checked(length) else {
                        return Ok(None);
                    };
                    *rest = behind;
                    Some(field)
                }
            });
        }
        Ok(Some(tuple))
    }

    /// Ends the decoding, with the remaining bytes. The trailer may be missing.
    ///
    /// # Errors
    /// `22P04` if a tuple or the header is cut off.
    pub fn finish(&self, left: &[u8]) -> Result<(), SqlError> {
        match self.at {
            At::Header => Err(bad("COPY file signature not recognized")),
            At::Extension(left) if left > 0 => Err(bad("invalid COPY file header (wrong length)")),
            _ if !left.is_empty() => Err(bad("unexpected EOF in COPY data")),
            _ => Ok(()),
        }
    }
}

/// The length of the header's extension; `None` if the header is incomplete.
fn header(received: &[u8]) -> Result<Option<usize>, SqlError> {
    let start = received.len().min(SIGNATURE.len());
    if received.get(..start) != SIGNATURE.get(..start) {
        return Err(bad("COPY file signature not recognized"));
    }
    let mut rest = received.get(start..).unwrap_or_default();
    let (Some(flags), Some(extension)) = (take(&mut rest), take(&mut rest)) else {
        return Ok(None);
    };
    match u32::from_be_bytes(flags) {
        flags if flags & WITH_OIDS != 0 => Err(bad("invalid COPY file header (WITH OIDS)")),
        flags if flags & CRITICAL_FLAGS != 0 => {
            Err(bad("unrecognized critical flags in COPY file header"))
        }
        _ => match usize::try_from(i32::from_be_bytes(extension)) {
            Ok(extension) => Ok(Some(extension)),
            Err(_) => Err(bad("invalid COPY file header (missing length)")),
        },
    }
}

/// Takes bytes from the front of the rest.
fn take<const BYTES: usize>(rest: &mut &[u8]) -> Option<[u8; BYTES]> {
    let (taken, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*taken)
}

fn bad(message: &str) -> SqlError {
    SqlError::new(code::BAD_COPY, message)
}

/// Appends a header without an extension.
pub fn write_header(out: &mut Vec<u8>) {
    out.extend(SIGNATURE);
    out.extend([0; 8]);
}

/// Appends the number of a tuple's fields.
pub fn begin_tuple(width: usize, out: &mut Vec<u8>) {
    out.extend((width as i16).to_be_bytes());
}

/// Appends the trailer.
pub fn write_trailer(out: &mut Vec<u8>) {
    out.extend(TRAILER.to_be_bytes());
}

/// Divides a copy that was written here into one piece for each row and one for the trailer; the first contains the
/// header. Clients expect these as separate messages.
pub fn pieces(data: &[u8], width: usize) -> Vec<&[u8]> {
    let mut tuples = Tuples::new(width);
    let (mut pieces, mut start, mut rest) = (Vec::new(), data, data);
    // Data written here is valid.
    while let Ok(Some(_)) = tuples.next(&mut rest) {
        let (piece, behind) = start.split_at(start.len() - rest.len());
        pieces.push(piece);
        start = behind;
    }
    pieces.push(start);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::encode_field;
    use crate::types::SqlType;
    use proptest::prelude::*;
    use sardonyx::schema::ValueRef;

    /// Two tuples of two fields.
    fn sample() -> Vec<u8> {
        let mut out = Vec::new();
        write_header(&mut out);
        for values in [
            [ValueRef::Int(7), ValueRef::Text("ä")],
            [ValueRef::Int(8), ValueRef::Null],
        ] {
            begin_tuple(2, &mut out);
            for (kind, value) in [SqlType::Int4, SqlType::Text].into_iter().zip(values) {
                encode_field(kind, &value, &mut String::new(), &mut out).expect("it has a form");
            }
        }
        write_trailer(&mut out);
        out
    }

    /// All tuples of bytes that arrive in pieces.
    fn decoded(pieces: &[&[u8]], width: usize) -> Result<Vec<Vec<Option<Vec<u8>>>>, SqlError> {
        let (mut tuples, mut buffer, mut found) = (Tuples::new(width), Vec::new(), Vec::new());
        for piece in pieces {
            buffer.extend_from_slice(piece);
            let mut rest = &buffer[..];
            while let Some(tuple) = tuples.next(&mut rest)? {
                found.push(
                    tuple
                        .into_iter()
                        .map(|field| field.map(<[u8]>::to_vec))
                        .collect(),
                );
            }
            buffer = rest.to_vec();
        }
        tuples.finish(&buffer)?;
        Ok(found)
    }

    #[test]
    fn tuples_are_read_as_they_were_written() {
        let bytes = sample();
        let four = |number: u32| Some(number.to_be_bytes().to_vec());
        let expected = [vec![four(7), Some("ä".into())], vec![four(8), None]];
        assert_eq!(decoded(&[&bytes], 2).expect("they are some"), expected);
        // Without the trailer, and with an extension, which is skipped.
        let end = bytes.len() - 2;
        assert_eq!(
            decoded(&[&bytes[..end]], 2).expect("they are some"),
            expected
        );
        let mut extended = bytes.clone();
        extended[HEADER_BYTES - 1] = 3;
        extended.splice(HEADER_BYTES..HEADER_BYTES, *b"abc");
        assert_eq!(decoded(&[&extended], 2).expect("they are some"), expected);
        let cut = pieces(&bytes, 2);
        assert_eq!(cut.concat(), bytes);
        assert_eq!(cut.len(), 3);
        assert!(cut[0].starts_with(SIGNATURE));
        assert_eq!(cut[2], TRAILER.to_be_bytes());
    }

    #[test]
    fn other_bytes_are_refused_by_what_is_wrong() {
        let with = |at: usize, to: u8| {
            let mut bytes = sample();
            bytes[at] = to;
            bytes
        };
        let mut behind = sample();
        behind.push(0);
        let cut = |end: usize| sample()[..end].to_vec();
        for (bytes, message) in [
            (Vec::new(), "COPY file signature not recognized"),
            (with(0, b'Q'), "COPY file signature not recognized"),
            (cut(7), "COPY file signature not recognized"),
            (
                with(11, 1),
                "unrecognized critical flags in COPY file header",
            ),
            (with(12, 1), "invalid COPY file header (WITH OIDS)"),
            (with(15, 0x80), "invalid COPY file header (missing length)"),
            (with(17, 1), "invalid COPY file header (wrong length)"),
            (with(20, 3), "row field count is 3, expected 2"),
            (with(19, 0x80), "row field count is -32766, expected 2"),
            (with(21, 0x80), "invalid field size"),
            (cut(26), "unexpected EOF in COPY data"),
            (cut(20), "unexpected EOF in COPY data"),
            (behind, "received copy data after EOF marker"),
        ] {
            let error = decoded(&[&bytes], 2).expect_err(message);
            assert_eq!((error.code, &*error.message), (code::BAD_COPY, message));
        }
    }

    proptest! {
        #[test]
        fn bytes_cut_anywhere_are_the_same_tuples(cuts in proptest::collection::vec(0usize..60, 0..6)) {
            let bytes = sample();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let (mut pieces, mut start) = (Vec::new(), 0);
            for cut in cuts.into_iter().chain([bytes.len()]) {
                pieces.push(&bytes[start..cut]);
                start = cut;
            }
            prop_assert_eq!(decoded(&pieces, 2).ok(), decoded(&[&bytes], 2).ok());
        }

        #[test]
        fn any_bytes_are_read_or_refused_however_they_are_cut(
            changes in proptest::collection::vec((0usize..60, any::<u8>()), 0..4),
            length in 0usize..60,
            cut in 0usize..60,
        ) {
            let mut bytes = sample();
            for (at, to) in changes {
                let at = at % bytes.len();
                bytes[at] = to;
            }
            bytes.truncate(length);
            let whole = decoded(&[&bytes], 2).map_err(|error| error.message.clone());
            let (front, back) = bytes.split_at(cut.min(bytes.len()));
            let split = decoded(&[front, back], 2).map_err(|error| error.message.clone());
            prop_assert_eq!(split, whole);
        }
    }
}

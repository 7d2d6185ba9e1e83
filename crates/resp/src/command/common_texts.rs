//! `LCS`: the longest text that two strings have in common, not necessarily in one piece.

use super::line::{Line, PART_BYTES_MAX};
use super::words::{Words, is};
use super::{Command, TWO_KEYS, reads};
use crate::data::{Data, State};
use crate::failure::Failure;
use crate::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[reads!(
    "lcs",
    -3,
    0,
    TWO_KEYS,
    lcs,
    "Returns the longest text that two strings have in common"
)];

/// The lengths of the longest common texts of all beginnings of two strings.
struct Lengths {
    cells: Vec<u32>,
    width: usize,
}

impl Lengths {
    fn of(one: &[u8], other: &[u8]) -> Lengths {
        let width = other.len() + 1;
        let mut cells = vec![0; (one.len() + 1) * width];
        for (row, a) in one.iter().enumerate() {
            for (column, b) in other.iter().enumerate() {
                let at = (row + 1) * width + column + 1;
                cells[at] = match a == b {
                    true => cells[at - width - 1] + 1,
                    false => cells[at - width].max(cells[at - 1]),
                };
            }
        }
        Lengths { cells, width }
    }

    fn at(&self, row: usize, column: usize) -> u32 {
        self.cells[row * self.width + column]
    }
}

/// A piece that both have: where it begins and ends in each.
#[derive(Clone, Copy)]
struct Piece {
    one: (usize, usize),
    other: (usize, usize),
}

/// The common text, and its pieces, the last first.
fn common(one: &[u8], other: &[u8], lengths: &Lengths) -> (Vec<u8>, Vec<Piece>) {
    let (mut text, mut pieces) = (Vec::new(), Vec::new());
    let (mut row, mut column) = (one.len(), other.len());
    let mut piece: Option<Piece> = None;
    while row > 0 && column > 0 {
        if one[row - 1] != other[column - 1] {
            pieces.extend(piece.take());
            match lengths.at(row - 1, column) > lengths.at(row, column - 1) {
                true => row -= 1,
                false => column -= 1,
            }
            continue;
        }
        (row, column) = (row - 1, column - 1);
        text.push(one[row]);
        let piece = piece.get_or_insert(Piece {
            one: (row, row),
            other: (column, column),
        });
        (piece.one.0, piece.other.0) = (row, column);
    }
    pieces.extend(piece);
    text.reverse();
    (text, pieces)
}

fn lcs<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let mut texts = [Vec::new(), Vec::new()];
    for (text, key) in texts.iter_mut().zip(line.parts(1)) {
        *text = match data.string(key) {
            Err(Failure::WrongType) => Err(Failure::Told(
                "ERR The specified keys must contain string values",
            )),
            found => found.map(Option::unwrap_or_default),
        }?;
    }
    let (mut only_length, mut wants_pieces, mut with_lengths, mut least) = (false, false, false, 0);
    let mut words = Words::from(line, 3);
    while let Some(word) = words.next() {
        match word {
            word if is(word, "idx") => wants_pieces = true,
            word if is(word, "len") => only_length = true,
            word if is(word, "withmatchlen") => with_lengths = true,
            word if is(word, "minmatchlen") && words.left() > 0 => least = words.integer()?.max(0),
            _ => return Err(Failure::Syntax),
        }
    }
    if wants_pieces && only_length {
        return Err(Failure::Told(
            "ERR If you want both the length and indexes, please just use IDX.",
        ));
    }
    let [one, other] = texts;
    let bytes = (one.len() + 1).saturating_mul(other.len() + 1);
    if bytes.saturating_mul(size_of::<u32>()) > PART_BYTES_MAX {
        return Err(Failure::Told(
            "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
        ));
    }
    let lengths = Lengths::of(&one, &other);
    let length = Reply::Int(lengths.at(one.len(), other.len()).into());
    if only_length {
        return Ok(length);
    }
    let (text, pieces) = common(&one, &other, &lengths);
    if !wants_pieces {
        return Ok(Reply::Bulk(text));
    }
    let said = |piece: &Piece| {
        let place =
            |(from, to): (usize, usize)| Reply::Array(vec![Reply::count(from), Reply::count(to)]);
        let mut parts = vec![place(piece.one), place(piece.other)];
        if with_lengths {
            parts.push(Reply::count(piece.length()));
        }
        Reply::Array(parts)
    };
    let pieces = pieces.iter().filter(|piece| piece.length() as i64 >= least);
    Ok(Reply::Map(vec![
        (
            Reply::Text("matches"),
            Reply::Array(pieces.map(said).collect()),
        ),
        (Reply::Text("len"), length),
    ]))
}

impl Piece {
    fn length(&self) -> usize {
        self.one.1 - self.one.0 + 1
    }
}

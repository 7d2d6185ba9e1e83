//! Databases that earlier versions made, kept as files of few KB.
//!
//! Of each file of a database: the length of its name (2 bytes) and the name, its length (8), the number of its runs of
//! bytes that are not zeroes (4); of each run its place (8), its length (4), and itself.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Files that opening makes again.
const MADE_AGAIN: [&str; 3] = ["LOCK", "RESERVE", "DURABLE"];
/// Zeroes that cost less than the head of another run.
const ZEROES_IN_A_RUN: usize = 12;

/// Unpacks a database into a directory that it makes.
pub fn unpack(packed: &[u8], to: &Path) {
    let mut rest = packed;
    while !rest.is_empty() {
        let length = number(&mut rest, 2);
        let name = std::str::from_utf8(take(&mut rest, length)).unwrap();
        let path = to.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = fs::File::create(path).unwrap();
        file.set_len(number(&mut rest, 8) as u64).unwrap();
        for _ in 0..number(&mut rest, 4) {
            let (at, length) = (number(&mut rest, 8), number(&mut rest, 4));
            file.write_all_at(take(&mut rest, length), at as u64)
                .unwrap();
        }
    }
}

fn take<'a>(from: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = from.split_at(length);
    *from = rest;
    taken
}

fn number(from: &mut &[u8], length: usize) -> usize {
    let bytes = take(from, length).iter().rev();
    bytes.fold(0, |number, &byte| number << 8 | usize::from(byte))
}

/// Packs a closed database, to be kept.
#[allow(dead_code, reason = "the tests of the command only unpack")]
pub fn pack(from: &Path) -> Vec<u8> {
    let mut packed = Vec::new();
    pack_files(from, "", &mut packed);
    packed
}

fn pack_files(from: &Path, before: &str, packed: &mut Vec<u8>) {
    let entries = fs::read_dir(from).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    for name in names {
        let (path, shown) = (from.join(&name), format!("{before}{name}"));
        if path.is_dir() {
            pack_files(&path, &format!("{shown}/"), packed);
        } else if !MADE_AGAIN.contains(&name.as_str()) {
            let bytes = fs::read(path).unwrap();
            let runs = runs(&bytes);
            packed.extend((shown.len() as u16).to_le_bytes());
            packed.extend(shown.as_bytes());
            packed.extend((bytes.len() as u64).to_le_bytes());
            packed.extend((runs.len() as u32).to_le_bytes());
            for (at, length) in runs {
                packed.extend((at as u64).to_le_bytes());
                packed.extend((length as u32).to_le_bytes());
                packed.extend(&bytes[at..at + length]);
            }
        }
    }
}

/// The places and lengths of runs that are not zeroes.
fn runs(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in (0..bytes.len()).filter(|at| bytes[*at] != 0) {
        match runs.last_mut() {
            Some((start, length)) if at - (*start + *length) <= ZEROES_IN_A_RUN => {
                *length = at + 1 - *start;
            }
            _ => runs.push((at, 1)),
        }
    }
    runs
}

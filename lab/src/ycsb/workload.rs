//! The workloads: mixes of operations, and the distributions of their rows.
//!
//! Source: YCSB's core workloads A to F; scans have 1 to 100 rows, all numbers equally likely.

use super::operations::{Change, FIELD_BYTES, Operation, key_of};
use sardonyx_workload::popularity::Popularity;
use sardonyx_workload::random::Random;
use serde::Serialize;

/// The most rows of a scan in workload E.
const SCAN_ROWS_MAX: u64 = 100;

/// A workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Workload {
    /// Half reads, half updates; popular rows anywhere
    A,
    /// 95 % reads, 5 % updates
    B,
    /// Reads only
    C,
    /// 95 % reads, of the newest rows most; 5 % inserts
    D,
    /// 95 % short scans, 5 % inserts
    E,
    /// Half reads, half reads with an update after
    F,
    /// Reads of all rows alike
    Reads,
    /// Scans of a hundred rows from any row on
    Scans,
}

impl Workload {
    /// YCSB's, in the order that it recommends: what inserts comes last.
    pub const YCSB: [Workload; 6] = [
        Workload::A,
        Workload::B,
        Workload::C,
        Workload::F,
        Workload::D,
        Workload::E,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Workload::A => "A",
            Workload::B => "B",
            Workload::C => "C",
            Workload::D => "D",
            Workload::E => "E",
            Workload::F => "F",
            Workload::Reads => "reads",
            Workload::Scans => "scans",
        }
    }

    /// Its operations, in words.
    pub fn mix(self) -> &'static str {
        match self {
            Workload::A => "50 % read, 50 % update",
            Workload::B => "95 % read, 5 % update",
            Workload::C => "read",
            Workload::D => "95 % read newest, 5 % insert",
            Workload::E => "95 % scan, 5 % insert",
            Workload::F => "50 % read, 50 % read and update",
            Workload::Reads => "read, uniform",
            Workload::Scans => "scan 100 rows, uniform",
        }
    }

    /// The number of reads in a hundred operations.
    fn reads(self) -> u32 {
        match self {
            Workload::A | Workload::F => 50,
            Workload::B | Workload::D | Workload::E => 95,
            Workload::C | Workload::Reads | Workload::Scans => 100,
        }
    }

    fn popularity(self, rows: u64) -> Popularity {
        match self {
            Workload::Reads | Workload::Scans => Popularity::Uniform,
            Workload::D => Popularity::latest(rows),
            _ => Popularity::scattered(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Operations {
    workload: Workload,
    popularity: Popularity,
    random: Random,
    rows: u64,
    fields: u8,
}

impl Operations {
    /// Operations on a store of `rows` rows, the first ones, of `fields` fields.
    pub fn new(workload: Workload, rows: u64, fields: u8, seed: u64) -> Self {
        Operations {
            workload,
            popularity: workload.popularity(rows),
            random: Random::new(seed),
            rows,
            fields,
        }
    }

    /// The number of rows when all operations so far were done.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The next operation.
    pub fn operation(&mut self) -> Operation {
        let is_read = self.random.chance(self.workload.reads());
        if !is_read && matches!(self.workload, Workload::D | Workload::E) {
            self.rows += 1;
            return Operation::Insert(key_of(self.rows - 1));
        }
        let key = key_of(self.popularity.item(self.rows, &mut self.random));
        match (self.workload, is_read) {
            (Workload::E, _) => Operation::Scan(key, 1 + self.random.below(SCAN_ROWS_MAX) as u32),
            (Workload::Scans, _) => Operation::Scan(key, SCAN_ROWS_MAX as u32),
            (_, true) => Operation::Read(key),
            (Workload::F, false) => Operation::ReadModifyWrite(key, self.change()),
            (_, false) => Operation::Update(key, self.change()),
        }
    }

    fn change(&mut self) -> Change {
        let mut value = [0; FIELD_BYTES];
        for word in value.chunks_mut(8) {
            word.copy_from_slice(&self.random.next_u64().to_le_bytes()[..word.len()]);
        }
        Change {
            field: self.random.below(self.fields.into()) as u8,
            value,
        }
    }
}

//! The simulated store: created entries stay, lists may be old; and the knowledge of a witness outside of it.

use crate::remote_log::exchange::{Answer, Request};
use crate::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, StoredRegister, Swapped,
};
use sardonyx_base::crc32c;
use sardonyx_base::random::Random;
use std::collections::{BTreeMap, HashMap};

/// A request on its way: with its bytes, since its sender may be dead when it arrives.
#[derive(Clone, Debug)]
pub(super) enum Sent {
    Read(u64),
    List(u64),
    Append(u64, Vec<u8>),
    Remove(Vec<u64>),
    ReadRegister(Register),
    SwapRegister(Register, Option<RegisterVersion>, Vec<u8>),
}

impl From<Request<'_>> for Sent {
    fn from(request: Request<'_>) -> Self {
        match request {
            Request::Read(number) => Sent::Read(number),
            Request::List { from } => Sent::List(from),
            Request::Append(entry) => Sent::Append(entry.head().number, entry.bytes().into_owned()),
            Request::Remove(numbers) => Sent::Remove(numbers.to_vec()),
            Request::ReadRegister(register) => Sent::ReadRegister(register),
            Request::SwapRegister {
                register,
                expected,
                bytes,
            } => Sent::SwapRegister(register, expected.cloned(), bytes.to_vec()),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Store {
    entries: BTreeMap<u64, Vec<u8>>,
    registers: HashMap<Register, Vec<u8>>,
    /// The content first created under each number: the log, as no process in it can see it.
    pub truth: BTreeMap<u64, Vec<u8>>,
    /// Earlier lists.
    lists: Vec<Vec<Listed>>,
    /// Creates over an existing entry: no store for a log.
    pub overwrites: bool,
    /// Entries created where one was deleted.
    pub created_again: u64,
    /// Lists that were old.
    pub old_lists: u64,
}

impl Store {
    pub fn answer(&mut self, sent: &Sent, random: &mut Random) -> Answer {
        match sent {
            Sent::Read(number) => Answer::Read(self.entries.get(number).cloned()),
            Sent::List(from) => Answer::Listed(self.list(*from, random)),
            Sent::Append(number, bytes) => Answer::Appended(self.append(*number, bytes)),
            Sent::Remove(numbers) => {
                self.remember_list();
                numbers.iter().for_each(|number| {
                    self.entries.remove(number);
                });
                Answer::Removed
            }
            Sent::ReadRegister(register) => {
                Answer::Register(self.registers.get(register).map(|bytes| {
                    let (bytes, version) = (bytes.clone(), version(bytes));
                    StoredRegister { bytes, version }
                }))
            }
            Sent::SwapRegister(register, expected, bytes) => {
                let found = self.registers.get(register).map(|bytes| version(bytes));
                Answer::Swapped(match found == *expected {
                    true => {
                        self.registers.insert(*register, bytes.clone());
                        Swapped::Ok
                    }
                    false => Swapped::Conflict,
                })
            }
        }
    }

    fn append(&mut self, number: u64, bytes: &[u8]) -> Appended {
        if self.entries.contains_key(&number) && !self.overwrites {
            return Appended::Conflict;
        }
        self.remember_list();
        let first = !self.truth.contains_key(&number);
        self.created_again += u64::from(!first);
        self.truth.entry(number).or_insert_with(|| bytes.to_vec());
        self.entries.insert(number, bytes.to_vec());
        Appended::Ok
    }

    fn present(&self) -> Vec<Listed> {
        let listed = self.entries.iter().map(|(number, bytes)| Listed {
            number: *number,
            bytes: bytes.len() as u64,
        });
        listed.collect()
    }

    fn remember_list(&mut self) {
        let list = self.present();
        self.lists.push(list);
    }

    /// The list now, or as it was before any of the last changes.
    fn list(&mut self, from: u64, random: &mut Random) -> Vec<Listed> {
        let mut list = self.present();
        if random.chance(1, 3) && !self.lists.is_empty() {
            let back = random.below(self.lists.len().min(30) as u64) as usize;
            let old = &self.lists[self.lists.len() - 1 - back];
            self.old_lists += u64::from(*old != list);
            list = old.clone();
        }
        list.retain(|listed| listed.number >= from);
        list.truncate(7);
        list
    }

    /// The number of the last entry of the log.
    pub fn last(&self) -> u64 {
        self.truth.keys().next_back().copied().unwrap_or(0)
    }
}

/// By the content, as some stores do.
fn version(bytes: &[u8]) -> RegisterVersion {
    RegisterVersion(format!("{:08x}", crc32c::crc32c(bytes)))
}

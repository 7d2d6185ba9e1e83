//! The interface of an engine that takes part.

use super::rows::{Account, Customer};
use sardonyx_lab::Failure;
use sardonyx_lab::product::{self, Product};
use sardonyx_lab::ycsb::Seen;
use std::path::Path;

/// Reads in one state of the database.
pub type Reading<'a> = dyn FnMut(&mut dyn Reader) -> Result<(), Failure> + 'a;

/// Takes accounts, one after the other.
pub type OnAccount<'a> = dyn FnMut(&Account) -> Result<(), Failure> + 'a;

/// Takes customers, one after the other.
pub type OnCustomer<'a> = dyn FnMut(&Customer) -> Result<(), Failure> + 'a;

/// The order in which accounts are walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccountOrder {
    /// That of the primary key.
    Id,
    /// That of the secondary index.
    Balance,
}

/// The order in which customers are walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CustomerOrder {
    /// That of the primary key.
    Id,
    /// That of an index of numbers.
    Balance,
    /// That of an index of texts.
    Name,
}

/// A database with two tables: accounts, with an ordered primary key and one secondary index, and customers, with
/// an ordered primary key and two.
pub trait Database: Product {
    /// Opens the database in `directory`, an existing directory of its own; makes an empty one if there is none.
    ///
    /// # Errors
    /// The engine's error.
    fn open(directory: &Path) -> Result<Self, Failure>
    where
        Self: Sized;

    /// Inserts the accounts `0..accounts` into an empty table, durable when this returns, and brings them into the
    /// state that reads need. The engine chooses their number in a transaction.
    ///
    /// # Errors
    /// The engine's error.
    fn load(&mut self, accounts: u64) -> Result<(), Failure>;

    /// Calls `reading` with accounts in the present state.
    ///
    /// # Errors
    /// An error of the engine or of `reading`.
    fn read(&mut self, reading: &mut Reading<'_>) -> Result<(), Failure>;

    /// All accounts, each found by the index's entry.
    ///
    /// # Errors
    /// An error of the engine or of `each`.
    fn accounts(&mut self, order: AccountOrder, each: &mut OnAccount<'_>) -> Result<(), Failure>;

    /// The most batches of [`Database::insert`] in flight.
    fn on_their_way_max(&self) -> usize {
        1
    }

    /// Inserts customers in one transaction; refuses existing ids. Returns when all but the newest `on_their_way - 1`
    /// batches are on stable storage.
    ///
    /// # Errors
    /// The engine's error; then the database must not be used any more.
    fn insert(&mut self, customers: Vec<Customer>, on_their_way: usize) -> Result<(), Failure>;

    /// Returns when all inserted customers are on stable storage.
    ///
    /// # Errors
    /// As [`Database::insert`].
    fn finish(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// All customers, each found by the index's entry.
    ///
    /// # Errors
    /// An error of the engine or of `each`.
    fn customers(&mut self, order: CustomerOrder, each: &mut OnCustomer<'_>)
    -> Result<(), Failure>;

    /// Closes it so that it opens fast.
    ///
    /// # Errors
    /// The engine's error.
    fn close(self: Box<Self>) -> Result<(), Failure>;
}

/// Accounts in one state.
pub trait Reader {
    /// Reads these accounts, one after the other, by their primary key.
    ///
    /// # Errors
    /// The engine's error; that an account does not exist.
    fn get(&mut self, ids: &[u64]) -> Result<Seen, Failure>;

    /// Reads these accounts by their primary key with the engine's call for many keys at once, if it has one.
    ///
    /// # Errors
    /// As [`Reader::get`].
    fn get_many(&mut self, _ids: &[u64]) -> Option<Result<Seen, Failure>> {
        None
    }

    /// From each of these ids on, reads `length` accounts in the order of the primary key; fewer at the end.
    ///
    /// # Errors
    /// The engine's error.
    fn scan(&mut self, from: &[u64], length: usize) -> Result<Seen, Failure>;
}

/// Opens a database: see [`Database::open`].
pub type OpenDatabase = fn(&Path) -> Result<Box<dyn Database>, Failure>;

/// An engine that can be opened.
pub type Engine = product::Engine<OpenDatabase>;

/// The engine of this type.
pub fn engine<D: Database + 'static>() -> Engine {
    Engine::opened_by::<D>(|directory| Ok(Box::new(D::open(directory)?)))
}

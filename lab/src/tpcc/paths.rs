//! The ordered accesses of TPC-C: customers by last name, a customer's newest order, a district's oldest
//! new order.
//!
//! These are kept beside the tables for the time being, in memory of the procedure, and made again from
//! the tables at each opening. A transaction tells what it did when nothing in it can fail any more.

use super::records::Schema;
use super::scale;
use sardonyx::{Error, Tables};
use std::collections::{BTreeSet, HashMap};

/// What is ordered.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// By district, last name, first name and key.
    names: BTreeSet<(u64, [u8; 16], [u8; 16], u64)>,
    newest: HashMap<u64, u64>,
    new_orders: BTreeSet<u64>,
}

impl Paths {
    /// Of the tables as they stand.
    ///
    /// # Errors
    /// What the database says.
    pub fn of(database: &Tables, schema: &Schema) -> Result<Self, Error> {
        database.read(|view| {
            let mut paths = Paths::default();
            for customer in view.scan(schema.customers) {
                let key = (
                    customer.district,
                    customer.last,
                    customer.first,
                    customer.id,
                );
                paths.names.insert(key);
            }
            for order in view.scan(schema.orders) {
                let newest = paths.newest.entry(order.customer).or_insert(order.id);
                *newest = order.id.max(*newest);
            }
            paths.new_orders = view.scan(schema.new_orders).map(|order| order.id).collect();
            paths
        })
    }

    /// The customer in the middle of those of a district with this last name, by first name: of `n`
    /// that at `n / 2`, rounded up (clause 2.5.2.2).
    pub fn named(&self, district: u64, last: [u8; 16]) -> Option<u64> {
        let of_name = || {
            let least = (district, last, [0; 16], 0);
            let most = (district, last, [u8::MAX; 16], u64::MAX);
            self.names.range(least..=most)
        };
        let middle = of_name().count().div_ceil(2);
        let customer = of_name().nth(middle.checked_sub(1)?);
        customer.map(|(_, _, _, key)| *key)
    }

    /// The newest order of a customer.
    pub fn newest_order(&self, customer: u64) -> Option<u64> {
        self.newest.get(&customer).copied()
    }

    /// The oldest new order of a district.
    pub fn oldest_new_order(&self, district: u64) -> Option<u64> {
        let all = scale::order(district, 0)..scale::order(district + 1, 0);
        self.new_orders.range(all).next().copied()
    }

    /// An order was entered.
    pub fn ordered(&mut self, customer: u64, order: u64) {
        self.newest.insert(customer, order);
        self.new_orders.insert(order);
    }

    /// An order was delivered.
    pub fn delivered(&mut self, order: u64) {
        self.new_orders.remove(&order);
    }
}

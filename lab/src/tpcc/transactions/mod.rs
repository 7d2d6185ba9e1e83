//! The five transactions as one procedure, so that a batch has them in the mix's order.

mod delivery;
mod new_order;
mod order_status;
mod payment;
mod stock_level;

pub use new_order::{Sold, SoldLine};
pub use order_status::{Status, StatusLine};
pub use payment::Paid;

use super::paths;
use super::records::{Customer, Item, Schema, Stock};
use super::requests::{Request, Who};
use super::scale;
use sardonyx::procedures::{Prefetch, Procedure, TableSpace};
use sardonyx::rows::Row;
use sardonyx::{Error, Transaction};
use std::iter::once;
use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;

/// The result for a terminal.
#[derive(Clone, Debug)]
pub enum Answer {
    NewOrder(Sold),
    Payment(Paid),
    OrderStatus(Box<Status>),
    /// Of a delivery: the number of districts that had an order to deliver.
    Delivery(u32),
    /// Of a stock level: the number of items with a low stock.
    StockLevel(u32),
}

/// The reason why a transaction was undone.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// One of a hundred new orders has an item that does not exist, as the standard demands.
    #[error("there is no item {item}")]
    UnusedItem { item: u32 },
    /// A row is missing.
    #[error("{table} has no row with key {key}")]
    Missing { table: &'static str, key: u64 },
    /// No customer of a district has this last name.
    #[error("no customer of district {district} is called {last}")]
    Nobody {
        /// The district's key.
        district: u64,
        /// The name.
        last: String,
    },
    /// The database refused. Behind a pointer: almost all outcomes are successes.
    #[error("{0}")]
    Database(Arc<Error>),
}

impl From<Error> for Refusal {
    #[cold]
    fn from(error: Error) -> Self {
        Refusal::Database(Arc::new(error))
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Error::other(refusal)
    }
}

/// The five transactions.
#[derive(Clone, Copy, Debug)]
pub struct Tpcc {
    schema: Schema,
}

impl Tpcc {
    /// The procedure for these tables, which have the indexes of [`paths`].
    pub fn new(schema: Schema) -> Self {
        Tpcc { schema }
    }

    /// Prefetches a customer, up to the names.
    #[inline]
    fn prefetch_customer(&self, what: Prefetch, customer: &u64, space: &TableSpace) {
        match what {
            Prefetch::Index => space.prefetch(what, self.schema.customers, *customer),
            Prefetch::Record => {
                let names = 0..offset_of!(Customer, address);
                space.prefetch_bytes(self.schema.customers, *customer, once(names));
            }
        }
    }

    /// The customer of a request.
    fn customer(&self, who: &Who, transaction: &Transaction<'_>) -> Result<Row<Customer>, Refusal> {
        let customers = self.schema.customers;
        match *who {
            Who::Key(key) => {
                let found = transaction.find(customers, key);
                found.ok_or_else(|| missing("customers", key))
            }
            Who::Named { district, last } => {
                let nobody = || Refusal::Nobody {
                    district,
                    last: String::from_utf8_lossy(&last).trim_end().into(),
                };
                paths::named(transaction, customers, (district, &last))?.ok_or_else(nobody)
            }
        }
    }
}

impl Procedure for Tpcc {
    type Arguments = Request;
    type Output = Answer;
    type Error = Refusal;
    type Located = ();

    fn name(&self) -> &str {
        "tpcc"
    }

    #[inline]
    fn prefetch(&self, what: Prefetch, request: &Request, space: &TableSpace) {
        let schema = &self.schema;
        match request {
            Request::NewOrder {
                customer,
                lines,
                count,
                ..
            } => {
                self.prefetch_customer(what, customer, space);
                let text = district_text(scale::district_of_customer(*customer));
                for line in &lines[..usize::from(*count)] {
                    let item = line.item.into();
                    let stock = scale::stock(line.supplier, line.item);
                    if what == Prefetch::Index {
                        space.prefetch(what, schema.items, item);
                        space.prefetch(what, schema.stock, stock);
                    } else {
                        space.prefetch_bytes(schema.items, item, once(0..size_of::<Item>()));
                        let level = 0..offset_of!(Stock, data);
                        space.prefetch_bytes(schema.stock, stock, [level, text.clone()]);
                    }
                }
            }
            Request::Payment {
                who: Who::Key(customer),
                ..
            } => self.prefetch_customer(what, customer, space),
            // The rows of these are located on the way.
            _ => {}
        }
    }

    /// Nothing is kept: deliveries delete, which makes tokens of rows stale.
    #[inline]
    fn locate(&self, _request: &Request, _space: &TableSpace) {}

    #[inline]
    fn execute(
        &self,
        request: &Request,
        (): (),
        transaction: &mut Transaction<'_>,
    ) -> Result<Answer, Refusal> {
        match request {
            Request::NewOrder {
                customer,
                lines,
                count,
                now,
            } => {
                let lines = &lines[..usize::from(*count)];
                let sold = self.new_order(*customer, lines, *now, transaction)?;
                Ok(Answer::NewOrder(sold))
            }
            Request::Payment {
                who,
                district,
                amount,
                now,
            } => {
                let paid = self.payment(who, *district, *amount, *now, transaction)?;
                Ok(Answer::Payment(paid))
            }
            Request::OrderStatus { who } => {
                self.order_status(who, transaction).map(Answer::OrderStatus)
            }
            Request::Delivery {
                warehouse,
                carrier,
                now,
            } => self
                .delivery(*warehouse, *carrier, *now, transaction)
                .map(Answer::Delivery),
            Request::StockLevel {
                district,
                threshold,
            } => self
                .stock_level(*district, *threshold, transaction)
                .map(Answer::StockLevel),
        }
    }
}

/// The place of the text for a district in a stock.
#[inline]
fn district_text(district: u64) -> Range<usize> {
    const BYTES: usize = size_of::<[u8; 24]>();
    let number = (district & 15) as usize;
    let start = offset_of!(Stock, district_texts) + number.saturating_sub(1) * BYTES;
    start..start + BYTES
}

#[cold]
fn missing(table: &'static str, key: u64) -> Refusal {
    Refusal::Missing { table, key }
}

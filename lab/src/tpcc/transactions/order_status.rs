//! Order status: a customer's newest order and its lines.
//!
//! Source: TPC-C, clause 2.6.2.

use super::super::paths;
use super::super::records::Order;
use super::super::requests::Who;
use super::super::scale::{self, LINES_MAX};
use super::{Refusal, Tpcc, missing};
use sardonyx::Transaction;

/// A customer and the newest order.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// The customer's key.
    pub customer: u64,
    /// The customer's names: first, middle, last.
    pub name: ([u8; 16], [u8; 2], [u8; 16]),
    /// The customer's balance.
    pub balance: i64,
    pub order: Order,
    /// Its lines, as many as the order has.
    pub lines: [StatusLine; LINES_MAX],
}

#[derive(Clone, Copy, Default, Debug)]
pub struct StatusLine {
    pub item: u32,
    /// The warehouse that it came from.
    pub supplier: u32,
    pub quantity: u8,
    /// The price of all.
    pub amount: i32,
    /// When they were delivered; 0: not yet.
    pub delivered: i64,
}

impl Tpcc {
    pub(super) fn order_status(
        &self,
        who: &Who,
        transaction: &Transaction<'_>,
    ) -> Result<Box<Status>, Refusal> {
        let schema = &self.schema;
        let row = self.customer(who, transaction)?;
        let customer = transaction.record(row)?;
        let newest = paths::newest_order(transaction, schema.orders, customer.id)?;
        let order = *newest.ok_or_else(|| missing("orders", customer.id))?;
        let mut status = Box::new(Status {
            customer: customer.id,
            name: (customer.first, customer.middle, customer.last),
            balance: customer.account.balance,
            order,
            lines: [StatusLine::default(); LINES_MAX],
        });
        let keys = (1..=order.lines.into()).map(|number| scale::line(order.id, number));
        let mut shown = status.lines.iter_mut();
        transaction.get_each(schema.order_lines, keys, |key, line| {
            let line = line.ok_or_else(|| missing("order_lines", key))?;
            if let Some(shown) = shown.next() {
                *shown = StatusLine {
                    item: line.item,
                    supplier: line.supplier,
                    quantity: line.quantity,
                    amount: line.amount,
                    delivered: line.delivered,
                };
            }
            Ok::<_, Refusal>(())
        })?;
        Ok(status)
    }
}

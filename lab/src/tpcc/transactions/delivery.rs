//! Delivery: the oldest new order of each district of a warehouse, in one transaction.
//!
//! Rows of all districts (the orders, then their lines and customers) are prefetched together, so that the cache misses
//! of a hundred rows overlap.
//!
//! Source: TPC-C, clause 2.7.4.

use super::super::paths;
use super::super::records::{Account, Customer, Order, OrderLine};
use super::super::scale::{self, DISTRICTS, LINES_MAX};
use super::{Refusal, Tpcc, missing};
use sardonyx::rows::Row;
use sardonyx::{Field, Transaction, field};

const CARRIER: Field<Order, u8> = field!(Order.carrier: u8);
const DELIVERED: Field<OrderLine, i64> = field!(OrderLine.delivered: i64);
const ACCOUNT: Field<Customer, Account> = field!(Customer.account: Account);

/// An order that is to be delivered.
#[derive(Clone, Copy, Debug)]
struct Oldest {
    row: Row<Order>,
    id: u64,
    customer: u64,
    lines: u32,
}

impl Oldest {
    fn keys_of_lines(&self) -> impl Iterator<Item = u64> + use<> {
        let id = self.id;
        (1..=self.lines).map(move |number| scale::line(id, number))
    }
}

impl Tpcc {
    /// Returns the number of districts that had an order to deliver.
    pub(super) fn delivery(
        &self,
        warehouse: u32,
        carrier: u8,
        now: i64,
        transaction: &mut Transaction<'_>,
    ) -> Result<u32, Refusal> {
        let schema = &self.schema;
        let mut ids = [0; DISTRICTS as usize];
        let mut count = 0;
        for number in 1..=DISTRICTS {
            let district = scale::district(warehouse, number);
            let oldest = paths::oldest_new_order(transaction, schema.new_orders, district)?;
            if let Some(order) = oldest {
                ids[count] = order;
                count += 1;
            }
        }
        let ids = &ids[..count];
        let mut orders = Vec::with_capacity(count);
        transaction.find_each(schema.orders, ids.iter().copied(), |id, row| {
            let row = row.ok_or_else(|| missing("orders", id))?;
            let &Order {
                customer, lines, ..
            } = transaction.record(row)?;
            let lines = lines.into();
            orders.push(Oldest {
                row,
                id,
                customer,
                lines,
            });
            Ok::<_, Refusal>(())
        })?;
        let mut lines = Vec::with_capacity(count * LINES_MAX);
        let keys = orders.iter().flat_map(Oldest::keys_of_lines);
        transaction.find_each(schema.order_lines, keys, |key, line| {
            lines.push(line.ok_or_else(|| missing("order_lines", key))?);
            Ok::<_, Refusal>(())
        })?;
        let mut customers = Vec::with_capacity(count);
        let keys = orders.iter().map(|order| order.customer);
        transaction.find_each(schema.customers, keys, |key, row| {
            customers.push(row.ok_or_else(|| missing("customers", key))?);
            Ok::<_, Refusal>(())
        })?;
        let mut lines = &lines[..];
        for (order, customer) in orders.iter().zip(customers) {
            let of_order = lines.split_off(..order.lines as usize).unwrap_or_default();
            transaction.set(order.row, CARRIER, carrier)?;
            let mut sum = 0;
            for &line in of_order {
                sum += i64::from(transaction.record(line)?.amount);
                transaction.set(line, DELIVERED, now)?;
            }
            let mut account = transaction.record(customer)?.account;
            account.balance += sum;
            account.deliveries += 1;
            transaction.set(customer, ACCOUNT, account)?;
        }
        // At the end, since a deletion makes tokens of rows stale.
        for id in ids {
            if !transaction.delete(schema.new_orders, *id)? {
                return Err(missing("new_orders", *id));
            }
        }
        Ok(count as u32)
    }
}

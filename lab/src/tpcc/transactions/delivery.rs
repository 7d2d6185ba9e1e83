//! Delivery: the oldest new order of each district of a warehouse, in one transaction.
//!
//! What is found out of all districts together (the orders, then their lines and customers) is asked for
//! together, so that the cache misses of a hundred rows overlap.
//!
//! Source: TPC-C, clause 2.7.4.

use super::super::paths;
use super::super::records::{Customer, Order, OrderLine};
use super::super::scale::{self, DISTRICTS};
use super::{Refusal, Tpcc, missing};
use sardonyx::{Field, Prefetch, Row, Transaction, field};

const CARRIER: Field<Order, u8> = field!(Order.carrier: u8);
const DELIVERED: Field<OrderLine, i64> = field!(OrderLine.delivered: i64);
const BALANCE: Field<Customer, i64> = field!(Customer.balance: i64);
const DELIVERIES: Field<Customer, u32> = field!(Customer.deliveries: u32);

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
    /// Returns how many districts had an order to deliver.
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
        for what in [Prefetch::Index, Prefetch::Record] {
            for id in ids {
                transaction.prefetch(what, schema.orders, id);
                transaction.prefetch(what, schema.new_orders, id);
            }
        }
        let mut orders = [None; DISTRICTS as usize];
        for (order, &id) in orders.iter_mut().zip(ids) {
            let row = transaction.find(schema.orders, &id);
            let row = row.ok_or_else(|| missing("orders", id))?;
            let found = transaction.record(row)?;
            *order = Some(Oldest {
                row,
                id,
                customer: found.customer,
                lines: found.lines.into(),
            });
        }
        for what in [Prefetch::Index, Prefetch::Record] {
            for order in orders.iter().flatten() {
                transaction.prefetch(what, schema.customers, &order.customer);
                let lines = order.keys_of_lines();
                lines.for_each(|key| transaction.prefetch(what, schema.order_lines, &key));
            }
        }
        for order in orders.iter().flatten() {
            self.deliver(order, carrier, now, transaction)?;
        }
        // After all: what is deleted makes tokens of rows be looked for again.
        for id in ids {
            if !transaction.delete(schema.new_orders, id)? {
                return Err(missing("new_orders", *id));
            }
        }
        Ok(count as u32)
    }

    fn deliver(
        &self,
        order: &Oldest,
        carrier: u8,
        now: i64,
        transaction: &mut Transaction<'_>,
    ) -> Result<(), Refusal> {
        let schema = &self.schema;
        transaction.set(order.row, CARRIER, carrier)?;
        let mut sum = 0;
        for key in order.keys_of_lines() {
            let line = transaction.find(schema.order_lines, &key);
            let line = line.ok_or_else(|| missing("order_lines", key))?;
            sum += i64::from(transaction.record(line)?.amount);
            transaction.set(line, DELIVERED, now)?;
        }
        let row = transaction.find(schema.customers, &order.customer);
        let row = row.ok_or_else(|| missing("customers", order.customer))?;
        let &Customer {
            balance,
            deliveries,
            ..
        } = transaction.record(row)?;
        transaction.set(row, BALANCE, balance + sum)?;
        transaction.set(row, DELIVERIES, deliveries + 1)?;
        Ok(())
    }
}

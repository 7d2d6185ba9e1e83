//! Delivery: the oldest new order of each district of a warehouse, in one transaction.
//!
//! Source: TPC-C, clause 2.7.4.

use super::super::records::{Customer, Order, OrderLine};
use super::super::scale::{self, DISTRICTS};
use super::{Refusal, Tpcc, missing};
use sardonyx::{Field, Transaction, field};

const CARRIER: Field<Order, u8> = field!(Order.carrier: u8);
const DELIVERED: Field<OrderLine, i64> = field!(OrderLine.delivered: i64);
const BALANCE: Field<Customer, i64> = field!(Customer.balance: i64);
const DELIVERIES: Field<Customer, u32> = field!(Customer.deliveries: u32);

impl Tpcc {
    /// Returns how many districts had an order to deliver.
    pub(super) fn delivery(
        &self,
        warehouse: u32,
        carrier: u8,
        now: i64,
        transaction: &mut Transaction<'_>,
    ) -> Result<u32, Refusal> {
        let mut delivered = [0; DISTRICTS as usize];
        let mut count = 0;
        for number in 1..=DISTRICTS {
            let district = scale::district(warehouse, number);
            let oldest = self.paths().oldest_new_order(district);
            if let Some(order) = oldest {
                self.deliver(order, carrier, now, transaction)?;
                delivered[count] = order;
                count += 1;
            }
        }
        let mut paths = self.paths();
        (delivered[..count].iter()).for_each(|&order| paths.delivered(order));
        Ok(count as u32)
    }

    fn deliver(
        &self,
        id: u64,
        carrier: u8,
        now: i64,
        transaction: &mut Transaction<'_>,
    ) -> Result<(), Refusal> {
        let schema = &self.schema;
        if !transaction.delete(schema.new_orders, &id)? {
            return Err(missing("new_orders", id));
        }
        let row = transaction.find(schema.orders, &id);
        let row = row.ok_or_else(|| missing("orders", id))?;
        let &Order {
            customer, lines, ..
        } = transaction.record(row)?;
        transaction.set(row, CARRIER, carrier)?;
        let mut sum = 0;
        for number in 1..=lines.into() {
            let key = scale::line(id, number);
            let line = transaction.find(schema.order_lines, &key);
            let line = line.ok_or_else(|| missing("order_lines", key))?;
            sum += i64::from(transaction.record(line)?.amount);
            transaction.set(line, DELIVERED, now)?;
        }
        let row = transaction.find(schema.customers, &customer);
        let row = row.ok_or_else(|| missing("customers", customer))?;
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

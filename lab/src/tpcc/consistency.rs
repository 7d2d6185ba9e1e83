//! The twelve conditions of consistency, checked on all rows, and the comparison with the acknowledged transactions.
//!
//! The eleventh is that of the initial population, adjusted by deliveries: each district has 70 percent of its initial
//! orders, and those that its customers were delivered, more orders than new orders.
//!
//! Source: TPC-C, clause 3.3.2.

use super::records::{History, Schema};
use super::scale::{self, DISTRICTS, Scale};
use sardonyx::{Error, Tables, View};
use serde::Serialize;
use std::collections::HashMap;

/// Conditions of the standard.
pub const CONDITIONS: usize = 12;

/// The findings.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Consistency {
    /// For each condition, the number of warehouses, districts, customers, orders or lines that violate it.
    pub violations: [u64; CONDITIONS],
    /// The first violation, in words.
    pub first: Option<String>,
    /// Orders, without the initial ones.
    pub orders: u64,
    /// Payments, without the initial ones.
    pub payments: u64,
    /// Delivered orders, without the initial ones.
    pub deliveries: u64,
}

impl Consistency {
    /// Returns true if all conditions hold.
    pub fn holds(&self) -> bool {
        self.violations == [0; CONDITIONS]
    }

    fn check(&mut self, condition: usize, holds: bool, what: impl FnOnce() -> String) {
        if holds {
            return;
        }
        self.violations[condition - 1] += 1;
        let first = || format!("condition {condition}: {}", what());
        self.first.get_or_insert_with(first);
    }
}

/// Sums over the rows of others, by key.
#[derive(Default)]
struct Sums {
    /// Of a warehouse's and a district's payments.
    paid_at: HashMap<u64, i64>,
    /// Of a customer's.
    paid_by: HashMap<u64, i64>,
    /// Of delivered lines.
    delivered_to: HashMap<u64, i64>,
}

/// Checks an open database.
///
/// # Errors
/// The database's error.
pub fn check(database: &Tables, schema: &Schema, scale: &Scale) -> Result<Consistency, Error> {
    let mut found = Consistency::default();
    let mut sums = Sums::default();
    database.journal_rows(schema.history, |payment: History| {
        found.payments += 1;
        *sums.paid_at.entry(payment.district).or_default() += payment.amount;
        *sums.paid_by.entry(payment.customer).or_default() += payment.amount;
        true
    })?;
    database.read(|view| {
        orders(view, schema, scale, &mut sums, &mut found)?;
        customers(view, schema, &sums, &mut found)?;
        warehouses(view, schema, scale, &sums, &mut found)
    })?;
    let districts = u64::from(scale.warehouses * DISTRICTS);
    let initial = districts * u64::from(scale.customers);
    found.orders = found.orders.saturating_sub(initial);
    found.payments = found.payments.saturating_sub(initial);
    Ok(found)
}

/// The counts of a district.
#[derive(Clone, Copy, Default)]
struct District {
    orders: u64,
    newest: u32,
    lines: u64,
    lines_said: u64,
    new_orders: u64,
    oldest_new: Option<u32>,
    newest_new: Option<u32>,
    deliveries: u64,
}

/// Conditions 2 to 7 and 11; sums the deliveries.
fn orders(
    view: &View<'_>,
    schema: &Schema,
    scale: &Scale,
    sums: &mut Sums,
    found: &mut Consistency,
) -> Result<(), Error> {
    let mut districts: HashMap<u64, District> = HashMap::new();
    for line in view.scan(schema.order_lines)? {
        let line = line?;
        let of = districts.entry(scale::district_of_order(line.id >> 4));
        of.or_default().lines += 1;
    }
    for new in view.scan(schema.new_orders)? {
        let new = new?;
        let of = districts
            .entry(scale::district_of_order(new.id))
            .or_default();
        let number = scale::number_of_order(new.id);
        of.new_orders += 1;
        of.oldest_new = Some(of.oldest_new.map_or(number, |old| old.min(number)));
        of.newest_new = Some(of.newest_new.map_or(number, |old| old.max(number)));
    }
    for customer in view.scan(schema.customers)? {
        let customer = customer?;
        let of = districts.entry(customer.district).or_default();
        of.deliveries += u64::from(customer.account.deliveries);
    }
    for order in view.scan(schema.orders)? {
        let order = order?;
        found.orders += 1;
        let of = districts
            .entry(scale::district_of_order(order.id))
            .or_default();
        of.orders += 1;
        of.newest = of.newest.max(scale::number_of_order(order.id));
        of.lines_said += u64::from(order.lines);
        let name = || format!("order {:#x}", order.id);
        let is_new = view.get(schema.new_orders, order.id)?.is_some();
        found.check(5, is_new == (order.carrier == 0), name);
        // Its lines have the numbers from 1 on; a district's count shows that there are no others.
        let mut there = 0;
        for number in 1..=order.lines.into() {
            let Some(line) = view.get(schema.order_lines, scale::line(order.id, number))? else {
                continue;
            };
            there += 1;
            found.check(7, (line.delivered == 0) == (order.carrier == 0), name);
            if line.delivered != 0 {
                *sums.delivered_to.entry(order.customer).or_default() += i64::from(line.amount);
            }
        }
        found.check(6, there == order.lines, name);
    }
    for key in scale.all_districts() {
        let of = districts.get(&key).copied().unwrap_or_default();
        let name = || format!("district {key:#x}");
        found.deliveries += of.deliveries;
        let row = view.get(schema.districts, key)?;
        let next = row.map_or(0, |district| district.next_order);
        let newest_new = of.newest_new.unwrap_or(of.newest);
        found.check(2, next == of.newest + 1 && newest_new == of.newest, name);
        let span = (of.oldest_new.zip(of.newest_new))
            .map_or(0, |(oldest, newest)| u64::from(newest - oldest) + 1);
        found.check(3, span == of.new_orders, name);
        found.check(4, of.lines == of.lines_said, name);
        let delivered = u64::from(scale.delivered()) + of.deliveries;
        found.check(11, of.orders == of.new_orders + delivered, name);
    }
    Ok(())
}

/// Conditions 10 and 12.
fn customers(
    view: &View<'_>,
    schema: &Schema,
    sums: &Sums,
    found: &mut Consistency,
) -> Result<(), Error> {
    let of = |sums: &HashMap<u64, i64>, key| sums.get(&key).copied().unwrap_or(0);
    for customer in view.scan(schema.customers)? {
        let customer = customer?;
        let delivered = of(&sums.delivered_to, customer.id);
        let paid = of(&sums.paid_by, customer.id);
        let name = || format!("customer {:#x}", customer.id);
        found.check(10, customer.account.balance == delivered - paid, name);
        let owed = customer.account.balance + customer.account.year_to_date;
        found.check(12, owed == delivered, name);
    }
    Ok(())
}

/// Conditions 1, 8 and 9.
fn warehouses(
    view: &View<'_>,
    schema: &Schema,
    scale: &Scale,
    sums: &Sums,
    found: &mut Consistency,
) -> Result<(), Error> {
    for warehouse in scale.all_warehouses() {
        let (mut of_districts, mut paid) = (0, 0);
        for number in 1..=DISTRICTS {
            let key = scale::district(warehouse, number);
            let sum = view
                .get(schema.districts, key)?
                .map_or(0, |district| district.year_to_date);
            let paid_here = sums.paid_at.get(&key).copied().unwrap_or(0);
            found.check(9, sum == paid_here, || format!("district {key:#x}"));
            of_districts += sum;
            paid += paid_here;
        }
        let row = view.get(schema.warehouses, warehouse.into())?;
        let sum = row.map_or(0, |warehouse| warehouse.year_to_date);
        let name = || format!("warehouse {warehouse}");
        found.check(1, sum == of_districts, name);
        found.check(8, sum == paid, name);
    }
    Ok(())
}

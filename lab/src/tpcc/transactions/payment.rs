//! Payment: a customer pays, at any district; the sums of its warehouse and district grow.
//!
//! Source: TPC-C, clause 2.5.2.

use super::super::records::{Account, Customer, District, History, Warehouse};
use super::super::requests::Who;
use super::super::scale;
use super::{Refusal, Tpcc, missing};
use sardonyx::{Field, Transaction, field};
use std::io::Write;

const WAREHOUSE_SUM: Field<Warehouse, i64> = field!(Warehouse.year_to_date: i64);
const ACCOUNT: Field<Customer, Account> = field!(Customer.account: Account);
const DATA: Field<Customer, [u8; 500]> = field!(Customer.data: [u8; 500]);
const DISTRICT_SUM: Field<District, i64> = field!(District.year_to_date: i64);

/// A completed payment.
#[derive(Clone, Debug)]
pub struct Paid {
    /// The customer's key.
    pub customer: u64,
    /// The customer's names: first, middle, last.
    pub name: ([u8; 16], [u8; 2], [u8; 16]),
    /// The customer's credit.
    pub credit: [u8; 2],
    /// The most that the customer may owe.
    pub credit_limit: i64,
    /// The customer's discount.
    pub discount: i32,
    /// The customer's balance now.
    pub balance: i64,
    /// The first 200 bytes of the customer's data with bad credit, otherwise `None`.
    pub data: Option<Box<[u8]>>,
}

impl Tpcc {
    pub(super) fn payment(
        &self,
        who: &Who,
        district: u64,
        amount: i64,
        now: i64,
        transaction: &mut Transaction<'_>,
    ) -> Result<Paid, Refusal> {
        let schema = &self.schema;
        let warehouse = scale::warehouse_of(district);
        let row = transaction.find(schema.warehouses, warehouse);
        let row = row.ok_or_else(|| missing("warehouses", warehouse))?;
        let &Warehouse {
            year_to_date,
            name: warehouse_name,
            ..
        } = transaction.record(row)?;
        transaction.set(row, WAREHOUSE_SUM, year_to_date + amount)?;
        let row = transaction.find(schema.districts, district);
        let row = row.ok_or_else(|| missing("districts", district))?;
        let &District {
            year_to_date,
            name: district_name,
            ..
        } = transaction.record(row)?;
        transaction.set(row, DISTRICT_SUM, year_to_date + amount)?;

        let row = self.customer(who, transaction)?;
        // Field by field: most of a customer's twelve cache lines are not touched.
        let customer = transaction.record(row)?;
        let mut account = customer.account;
        account.balance -= amount;
        account.year_to_date += amount;
        account.payments += 1;
        let mut paid = paid(customer, account.balance);
        let noted = (customer.credit == *b"BC").then(|| noted(customer, district, amount));
        transaction.set(row, ACCOUNT, account)?;
        if let Some(data) = noted {
            paid.data = Some(Box::from(&data[..200]));
            transaction.set(row, DATA, data)?;
        }

        let mut data = [b' '; 24];
        data[..10].copy_from_slice(&warehouse_name);
        data[14..].copy_from_slice(&district_name);
        let history = History {
            customer: paid.customer,
            district,
            amount,
            date: now,
            data,
        };
        transaction.append(schema.history, &history)?;
        Ok(paid)
    }
}

fn paid(customer: &Customer, balance: i64) -> Paid {
    Paid {
        customer: customer.id,
        name: (customer.first, customer.middle, customer.last),
        credit: customer.credit,
        credit_limit: customer.credit_limit,
        discount: customer.discount,
        balance,
        data: None,
    }
}

/// A customer's data, with this payment before it; the end is cut.
fn noted(customer: &Customer, district: u64, amount: i64) -> [u8; 500] {
    let mut data = [0; 500];
    let all = data.len();
    let mut rest = &mut data[..];
    let of = scale::district_of_customer(customer.id);
    // There is room: six numbers of at most 20 digits.
    let _ = write!(
        rest,
        "{} {} {} {} {} {}.{:02}|",
        customer.id & 0xfff,
        of & 15,
        scale::warehouse_of(of),
        district & 15,
        scale::warehouse_of(district),
        amount / 100,
        amount % 100
    );
    let noted = all - rest.len();
    data[noted..].copy_from_slice(&customer.data[..all - noted]);
    data
}

//! The numbers of rows of TPC-C's tables, and their keys.
//!
//! A key is one number, made of the standard's numbers from the most significant on. So the order of keys is the order
//! of the standard's compound keys:
//!
//! | table | key |
//! | --- | --- |
//! | district | warehouse, district (4 bits) |
//! | customer | district's key, customer (12 bits) |
//! | order, new order | district's key, order (28 bits) |
//! | order line | order's key, line (4 bits) |
//! | stock | warehouse, item (17 bits) |
//!
//! Source: TPC-C, clauses 1.2 and 4.2.

use crate::ExperimentError;
use serde::Serialize;

/// Districts of a warehouse, and terminals.
pub const DISTRICTS: u32 = 10;
/// The most lines of an order.
pub const LINES_MAX: usize = 15;
/// The most warehouses: the keys of order lines then have 52 bits.
pub const WAREHOUSES_MAX: u32 = 1 << 16;

/// The items of the standard.
const ITEMS: u32 = 100_000;
/// The customers of a district.
const CUSTOMERS: u32 = 3_000;

/// The size of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Scale {
    /// Warehouses, numbered from 1.
    pub warehouses: u32,
    /// Items, numbered from 1.
    pub items: u32,
    /// Customers of a district, and its initial orders, each numbered from 1.
    pub customers: u32,
}

impl Scale {
    /// The standard's scale of so many warehouses.
    ///
    /// # Errors
    /// The number is 0, or more than 65,536.
    pub fn standard(warehouses: u32) -> Result<Self, ExperimentError> {
        if !(1..=WAREHOUSES_MAX).contains(&warehouses) {
            return Err(ExperimentError::Argument {
                what: "warehouses",
                given: warehouses.into(),
                limits: format!("choose 1 to {WAREHOUSES_MAX}"),
            });
        }
        Ok(Scale {
            warehouses,
            items: ITEMS,
            customers: CUSTOMERS,
        })
    }

    /// A scale of the same proportions that is loaded quickly, for tests: 200 items, 30 customers.
    pub fn small(warehouses: u32) -> Self {
        Scale {
            warehouses,
            items: 200,
            customers: 30,
        }
    }

    /// The last order that is delivered from the beginning: 70 percent are.
    pub fn delivered(&self) -> u32 {
        self.customers * 7 / 10
    }

    /// The approximate number of loaded rows: an order has ten lines on average.
    pub fn rows(&self) -> u64 {
        let district = u64::from(self.customers) * (2 + 10) + 1;
        let warehouse = u64::from(DISTRICTS) * district + u64::from(self.items) + 1;
        u64::from(self.warehouses) * warehouse + u64::from(self.items)
    }

    pub fn all_warehouses(&self) -> impl Iterator<Item = u32> + use<> {
        1..=self.warehouses
    }

    /// The keys of all districts.
    pub fn all_districts(&self) -> impl Iterator<Item = u64> + use<> {
        self.all_warehouses()
            .flat_map(|warehouse| (1..=DISTRICTS).map(move |number| district(warehouse, number)))
    }
}

/// The key of a district.
#[inline]
pub fn district(warehouse: u32, number: u32) -> u64 {
    u64::from(warehouse) << 4 | u64::from(number)
}

#[inline]
pub fn warehouse_of(district: u64) -> u64 {
    district >> 4
}

/// The key of a customer.
#[inline]
pub fn customer(district: u64, number: u32) -> u64 {
    district << 12 | u64::from(number)
}

#[inline]
pub fn district_of_customer(customer: u64) -> u64 {
    customer >> 12
}

/// The key of an order, and of a new order.
#[inline]
pub fn order(district: u64, number: u32) -> u64 {
    district << 28 | u64::from(number)
}

/// The number of an order in its district.
#[inline]
pub fn number_of_order(order: u64) -> u32 {
    (order & ((1 << 28) - 1)) as u32
}

#[inline]
pub fn district_of_order(order: u64) -> u64 {
    order >> 28
}

/// The key of an order's line, numbered from 1.
#[inline]
pub fn line(order: u64, number: u32) -> u64 {
    order << 4 | u64::from(number)
}

/// The key of a stock.
#[inline]
pub fn stock(warehouse: u32, item: u32) -> u64 {
    u64::from(warehouse) << 17 | u64::from(item)
}

const _: () = assert!(ITEMS < 1 << 17 && CUSTOMERS < 1 << 12 && LINES_MAX < 1 << 4);

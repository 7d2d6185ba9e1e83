//! The tables of TPC-C: fixed records, money in cents, rates in ten-thousandths, times in microseconds
//! since 1970.
//!
//! A carrier or a delivery time of 0 is the standard's null. Texts are filled with spaces.
//!
//! Source: TPC-C, clause 1.3.1.

use sardonyx::{Error, Journal, Table, Tables, plain, record};

plain! {
    #[derive(Debug, PartialEq, Eq)]
    pub struct Address {
        /// The first line.
        pub street_1: [u8; 20],
        /// The second line.
        pub street_2: [u8; 20],
        pub city: [u8; 20],
        pub state: [u8; 2],
        /// The postal code.
        pub zip: [u8; 9],
    }
}

record! {
    #[table("warehouses", key = id)]
    #[derive(Debug, PartialEq, Eq)]
    pub struct Warehouse {
        pub id: u64,
        /// The payments of this year.
        pub year_to_date: i64,
        /// The sales tax.
        pub tax: i32,
        pub name: [u8; 10],
        pub address: Address,
        /// Zeroes.
        pub reserved: [u8; 3],
    }
}

record! {
    #[table("districts", key = id)]
    #[derive(Debug, PartialEq, Eq)]
    pub struct District {
        /// Its key.
        pub id: u64,
        /// The payments of this year.
        pub year_to_date: i64,
        pub next_order: u32,
        /// The sales tax.
        pub tax: i32,
        pub name: [u8; 10],
        pub address: Address,
        /// Zeroes.
        pub reserved: [u8; 7],
    }
}

plain! {
    /// The part of a customer that transactions change.
    #[derive(Debug, PartialEq, Eq)]
    pub struct Account {
        pub balance: i64,
        /// The payments of this year.
        pub year_to_date: i64,
        pub payments: u32,
        pub deliveries: u32,
    }
}

record! {
    /// A customer of a district. The first cache line distinguishes customers, the second has the part that
    /// transactions change.
    #[table("customers", key = id)]
    #[derive(Debug, PartialEq, Eq)]
    pub struct Customer {
        /// The key.
        pub id: u64,
        /// The key of the district.
        pub district: u64,
        /// The last name.
        pub last: [u8; 16],
        /// The first name.
        pub first: [u8; 16],
        /// The date of the first contact.
        pub since: i64,
        /// The most that may be owed.
        pub credit_limit: i64,
        /// The balance, the payments and the deliveries.
        pub account: Account,
        pub discount: i32,
        /// `GC` or `BC`: good or bad.
        pub credit: [u8; 2],
        /// The initial, `OE`.
        pub middle: [u8; 2],
        /// The customer's address.
        pub address: Address,
        /// The telephone number.
        pub phone: [u8; 16],
        /// The data on a customer with bad credit.
        pub data: [u8; 500],
        /// Zeroes, up to whole cache lines.
        pub reserved: [u8; 21],
    }
}

record! {
    /// A payment; never changed.
    #[journal("history")]
    #[derive(Debug, PartialEq, Eq)]
    pub struct History {
        /// The customer's key.
        pub customer: u64,
        /// The key of the district where it was paid.
        pub district: u64,
        pub amount: i64,
        /// The time.
        pub date: i64,
        /// The warehouse's and the district's names.
        pub data: [u8; 24],
    }
}

record! {
    /// An order that was not delivered yet.
    #[table("new_orders", key = id)]
    #[derive(Debug, PartialEq, Eq)]
    pub struct NewOrder {
        /// The order's key.
        pub id: u64,
    }
}

record! {
    #[table("orders", key = id)]
    #[derive(Debug, PartialEq, Eq)]
    pub struct Order {
        /// The key.
        pub id: u64,
        /// The customer's key.
        pub customer: u64,
        /// The time of entry.
        pub entered: i64,
        /// The carrier; 0: not delivered.
        pub carrier: u8,
        pub lines: u8,
        /// 1 if all of it is of the customer's warehouse.
        pub all_local: u8,
        /// Zeroes.
        pub reserved: [u8; 5],
    }
}

record! {
    #[table("order_lines", key = id)]
    #[derive(Debug, PartialEq, Eq)]
    pub struct OrderLine {
        /// The key.
        pub id: u64,
        /// The time of delivery; 0: not delivered.
        pub delivered: i64,
        /// The price of all.
        pub amount: i32,
        pub item: u32,
        /// The warehouse that it came from.
        pub supplier: u32,
        pub quantity: u8,
        /// The stock's text for the district.
        pub district_text: [u8; 24],
        /// Zeroes.
        pub reserved: [u8; 3],
    }
}

record! {
    /// An item that is sold.
    #[table("items", key = id)]
    #[derive(Debug, PartialEq, Eq)]
    pub struct Item {
        pub id: u64,
        pub price: i32,
        /// Its picture.
        pub image: u32,
        pub name: [u8; 24],
        pub data: [u8; 50],
        /// Zeroes.
        pub reserved: [u8; 6],
    }
}

plain! {
    /// The part of a stock that transactions change.
    #[derive(Debug, PartialEq, Eq)]
    pub struct Level {
        /// Sold this year.
        pub year_to_date: u32,
        /// The quantity in stock.
        pub quantity: i16,
        /// Zeroes.
        pub reserved: u16,
        pub orders: u32,
        /// Orders of other warehouses.
        pub remote_orders: u32,
    }
}

record! {
    /// The stock of a warehouse of an item.
    #[table("stock", key = id)]
    #[derive(Debug, PartialEq, Eq)]
    pub struct Stock {
        /// The key.
        pub id: u64,
        /// The quantity, and the sales.
        pub level: Level,
        pub data: [u8; 50],
        pub district_texts: [[u8; 24]; 10],
        /// Zeroes.
        pub reserved: [u8; 6],
    }
}

/// The handles of all tables.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    pub warehouses: Table<Warehouse>,
    pub districts: Table<District>,
    pub customers: Table<Customer>,
    /// The payments.
    pub history: Journal<History>,
    /// The orders that were not delivered yet.
    pub new_orders: Table<NewOrder>,
    pub orders: Table<Order>,
    pub order_lines: Table<OrderLine>,
    pub items: Table<Item>,
    pub stock: Table<Stock>,
}

impl Schema {
    /// Declares the tables that are absent.
    ///
    /// # Errors
    /// The database's error.
    pub fn of(database: &Tables) -> Result<Schema, Error> {
        Ok(Schema {
            warehouses: database.table()?,
            districts: database.table()?,
            customers: database.table()?,
            history: database.journal()?,
            new_orders: database.table()?,
            orders: database.table()?,
            order_lines: database.table()?,
            items: database.table()?,
            stock: database.table()?,
        })
    }
}

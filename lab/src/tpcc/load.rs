//! The initial population, in transactions of a bounded size.
//!
//! Source: TPC-C, clause 4.3.3.1.

use super::draw::{Constants, Draw};
use super::records::{
    Account, Customer, District, History, Item, Level, NewOrder, Order, OrderLine, Schema, Stock,
    Warehouse,
};
use super::scale::{self, DISTRICTS, Scale};
use sardonyx::{Durability, Error, Tables, Transaction};
use sardonyx_workload::random::Random;

/// Rows inserted by one transaction, at most: the largest, a customer, then has 7 MiB of redo.
const ROWS_MAX: u32 = 10_000;

/// The time of the loading: a constant, so that a seed gives the same bytes on every day.
const LOADED: i64 = 1_700_000_000_000_000;

/// The amount of an initial payment, and of the payments in each loading transaction.
const PAID: i64 = 1_000;

/// The constants that were used for loading with this seed.
pub fn constants(seed: u64) -> Constants {
    Constants::of_loading(&mut Random::new(seed))
}

/// Fills all tables, and waits until that is durable. `progress` is called with the number of rows so
/// far.
///
/// # Errors
/// The database's error.
pub fn load(
    database: &Tables,
    schema: &Schema,
    scale: &Scale,
    seed: u64,
    progress: impl FnMut(u64),
) -> Result<(), Error> {
    let mut loading = Loading {
        database,
        schema,
        scale: *scale,
        draw: Draw::new(seed, constants(seed)),
        rows: 0,
        progress,
    };
    loading.items()?;
    scale
        .all_warehouses()
        .try_for_each(|warehouse| loading.warehouse(warehouse))?;
    database.flush()
}

struct Loading<'a, P> {
    database: &'a Tables,
    schema: &'a Schema,
    scale: Scale,
    draw: Draw,
    rows: u64,
    progress: P,
}

impl<P: FnMut(u64)> Loading<'_, P> {
    /// Runs `one` for the numbers 1 to `count`, so many in a transaction that it has at most [`ROWS_MAX`] rows.
    fn each(
        &mut self,
        count: u32,
        rows_of_one: u32,
        mut one: impl FnMut(u32, &mut Draw, &mut Transaction<'_>) -> Result<u64, Error>,
    ) -> Result<(), Error> {
        let mut next = 1;
        while next <= count {
            let end = (next + ROWS_MAX / rows_of_one).min(count + 1);
            let draw = &mut self.draw;
            let rows = self
                .database
                .transaction()
                .durability(Durability::Deferred)
                .run(|transaction| {
                    (next..end).try_fold(0, |rows, number| {
                        Ok::<_, Error>(rows + one(number, draw, transaction)?)
                    })
                })?;
            self.rows += rows;
            (self.progress)(self.rows);
            next = end;
        }
        Ok(())
    }

    fn items(&mut self) -> Result<(), Error> {
        let items = self.schema.items;
        self.each(self.scale.items, 1, |number, draw, transaction| {
            let item = Item {
                id: number.into(),
                price: draw.within(100, 10_000) as i32,
                image: draw.within(1, 10_000),
                name: draw.text(14),
                data: draw.data(),
                reserved: [0; 6],
            };
            transaction.insert(items, &item).map(|_| 1)
        })
    }

    fn warehouse(&mut self, warehouse: u32) -> Result<(), Error> {
        let schema = *self.schema;
        let customers = self.scale.customers;
        self.each(1, 1, |_, draw, transaction| {
            let row = Warehouse {
                id: warehouse.into(),
                year_to_date: PAID * i64::from(customers * DISTRICTS),
                tax: draw.within(0, 2_000) as i32,
                name: draw.text(6),
                address: draw.address(),
                reserved: [0; 3],
            };
            transaction.insert(schema.warehouses, &row).map(|_| 1)
        })?;
        self.each(self.scale.items, 1, |item, draw, transaction| {
            let row = Stock {
                id: scale::stock(warehouse, item),
                level: Level {
                    year_to_date: 0,
                    quantity: draw.within(10, 100) as i16,
                    reserved: 0,
                    orders: 0,
                    remote_orders: 0,
                },
                data: draw.data(),
                district_texts: [(); 10].map(|()| draw.text(24)),
                reserved: [0; 6],
            };
            transaction.insert(schema.stock, &row).map(|_| 1)
        })?;
        (1..=DISTRICTS).try_for_each(|number| self.district(scale::district(warehouse, number)))
    }

    fn district(&mut self, district: u64) -> Result<(), Error> {
        let schema = *self.schema;
        let customers = self.scale.customers;
        self.each(1, 1, |_, draw, transaction| {
            let row = District {
                id: district,
                year_to_date: PAID * i64::from(customers),
                next_order: customers + 1,
                tax: draw.within(0, 2_000) as i32,
                name: draw.text(6),
                address: draw.address(),
                reserved: [0; 7],
            };
            transaction.insert(schema.districts, &row).map(|_| 1)
        })?;
        self.each(customers, 1, |number, draw, transaction| {
            let customer = customer(draw, district, number, customers);
            transaction.insert(schema.customers, &customer)?;
            let payment = History {
                customer: customer.id,
                district,
                amount: PAID,
                date: LOADED,
                data: draw.text(12),
            };
            transaction.append(schema.history, &payment)?;
            Ok(1)
        })?;
        let buyers = self.draw.permutation(customers);
        let delivered = self.scale.delivered();
        let (items, warehouse) = (self.scale.items, scale::warehouse_of(district) as u32);
        self.each(customers, 16, |number, draw, transaction| {
            let id = scale::order(district, number);
            let is_delivered = number <= delivered;
            let lines = draw.within(5, 15);
            let order = Order {
                id,
                customer: scale::customer(district, buyers[number as usize - 1]),
                entered: LOADED,
                carrier: match is_delivered {
                    true => draw.within(1, 10) as u8,
                    false => 0,
                },
                lines: lines as u8,
                all_local: 1,
                reserved: [0; 5],
            };
            transaction.insert(schema.orders, &order)?;
            for number in 1..=lines {
                let (delivered, amount) = match is_delivered {
                    true => (LOADED, 0),
                    false => (0, draw.within(1, 999_999) as i32),
                };
                let line = OrderLine {
                    id: scale::line(id, number),
                    delivered,
                    amount,
                    item: draw.within(1, items),
                    supplier: warehouse,
                    quantity: 5,
                    district_text: draw.text(24),
                    reserved: [0; 3],
                };
                transaction.insert(schema.order_lines, &line)?;
            }
            if !is_delivered {
                transaction.insert(schema.new_orders, &NewOrder { id })?;
            }
            Ok(u64::from(1 + lines))
        })
    }
}

fn customer(draw: &mut Draw, district: u64, number: u32, customers: u32) -> Customer {
    Customer {
        id: scale::customer(district, number),
        district,
        account: Account {
            balance: -PAID,
            year_to_date: PAID,
            payments: 1,
            deliveries: 0,
        },
        since: LOADED,
        credit_limit: 5_000_000,
        discount: draw.within(0, 5_000) as i32,
        credit: match draw.random.chance(10) {
            true => *b"BC",
            false => *b"GC",
        },
        middle: *b"OE",
        last: draw.loaded_last_name(number, customers),
        first: draw.text(8),
        address: draw.address(),
        phone: draw.digits(),
        data: draw.text(300),
        reserved: [0; 21],
    }
}

//! A shop: customers in a table and stock in counters, in one transaction. Many clerks sell the same
//! article at once, and none of them waits for another's customer to make up his mind.
//!
//! ```text
//! cargo run -p sardonyx --example shop
//! ```

use sardonyx::operations::Stop;
use sardonyx::operations::counter::{Add, Counter, Get, Set};
use sardonyx::operations::records::TableOperations;
use sardonyx::{Error, Operations, Table, Tables, record};

record! {
    /// A customer, and how many articles he has bought.
    #[table("customers", key = number)]
    struct Customer {
        number: u64,
        bought: i64,
    }
}

const CLERKS: u64 = 4;
const SALES: i64 = 300;
const IN_STOCK: i64 = 1_000;

fn main() -> Result<(), Error> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("shop.sdx");
    let shop = Operations::open(&path)?;
    let customers = shop.table::<Customer>()?;
    let stock = Counter::new(shop.area("stock", 1)?, 0);
    shop.run(|tx| tx.call(&Set::within(stock, IN_STOCK, 0, i64::MAX)))?;
    for number in 0..CLERKS {
        let customer = Customer { number, bought: 0 };
        shop.run(|tx| tx.call(&customers.insert(&customer)))?;
    }

    let sold_out = std::thread::scope(|scope| {
        let clerk = |customer| {
            let shop = &shop;
            move || sell(shop, customers, stock, customer)
        };
        let clerks: Vec<_> = (0..CLERKS).map(|c| scope.spawn(clerk(c))).collect();
        let refused = clerks
            .into_iter()
            .map(|clerk| clerk.join().expect("a clerk"));
        refused.sum::<Result<i64, Error>>()
    })?;
    println!("{sold_out} customers were told that there is nothing left");

    // Changing one's mind: the sale is undone by its inverses, after any changes of others meanwhile.
    let sale = shop.begin();
    sale.call(&customers.update(0, |customer| customer.bought += 1))?;
    sale.call(&Add::to(stock, 1))?;
    sale.abort()?;

    let left = shop.run(|tx| tx.call(&Get(stock)))?;
    shop.close()?;

    // The same tables, as the serial way has them.
    let office = Tables::open(&path)?;
    let customers = office.table::<Customer>()?;
    let bought: i64 = office.read(|view| {
        let customers = view.scan(customers)?;
        customers.map(|customer| Ok(customer?.bought)).sum()
    })?;
    println!("{bought} sold, {left} left");
    assert_eq!(bought + left, IN_STOCK);
    office.close()?;
    Ok(())
}

/// Sells article by article. Returns how often there was none.
fn sell(
    shop: &Operations,
    customers: Table<Customer>,
    stock: Counter,
    customer: u64,
) -> Result<i64, Error> {
    let mut refused = 0;
    for _ in 0..SALES {
        // Both or neither.
        let sold = shop.run(|tx| {
            tx.call(&customers.update(customer, |customer| customer.bought += 1))?;
            tx.call(&Add::to(stock, -1))
        });
        match sold {
            // The stock is used up, in every outcome of the unfinished sales.
            Err(error) if matches!(error.downcast_ref(), Some(Stop::Bounds { .. })) => refused += 1,
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    Ok(refused)
}

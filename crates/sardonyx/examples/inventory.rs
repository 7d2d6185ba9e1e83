//! A warehouse: many threads reserve stock at once, some with weaker durability, tasks await their tickets, and the
//! changes of a panicking transaction are undone.
//!
//! ```text
//! cargo run -p sardonyx --example inventory
//! ```

use sardonyx::{Durability, Error, Field, Table, Tables, Ticket, field, record};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

record! {
    /// An article. A key may be any plain bytes; here a code of eight letters.
    #[table("articles", key = code)]
    struct Article {
        code: [u8; 8],
        in_stock: u32,
        reserved: u32,
    }
}

const IN_STOCK: Field<Article, u32> = field!(Article.in_stock: u32);
const RESERVED: Field<Article, u32> = field!(Article.reserved: u32);

const BOLTS: [u8; 8] = *b"BOLT-M06";
const NUTS: [u8; 8] = *b"NUT--M06";
const SCRAP: [u8; 8] = *b"SCRAP---";

fn main() -> Result<(), Error> {
    let directory = tempfile::tempdir()?;
    let warehouse = Tables::open(directory.path().join("warehouse.sdx"))?;
    let articles = warehouse.table::<Article>()?;
    warehouse.run(|transaction| {
        for code in [BOLTS, NUTS, SCRAP] {
            let article = Article {
                code,
                in_stock: 10_000,
                reserved: 0,
            };
            transaction.insert(articles, &article)?;
        }
        Ok(())
    })?;

    reserve_from_many_threads(&warehouse, articles)?;

    // A weaker promise for data that can be counted again: returns when it has run. It becomes durable soon after, in
    // order; `flush` waits for that.
    warehouse
        .transaction()
        .durability(Durability::Deferred)
        .run(|transaction| {
            transaction.update(articles, SCRAP, |article| article.in_stock -= 1)?;
            Ok(())
        })?;
    warehouse.flush()?;

    // A ticket is a future: await it in any runtime.
    let ticket = warehouse.submit(move |transaction| transaction.delete(articles, SCRAP));
    let deleted = block_on(ticket)?;
    println!("scrap was there and is deleted: {deleted}");

    // A panic undoes the transaction, reaches the waiting caller, and stops no other thread.
    std::panic::set_hook(Box::new(|_| {}));
    let ticket: Ticket<()> = warehouse.submit(move |transaction| {
        transaction.update(articles, NUTS, |article| article.in_stock = 0)?;
        panic!("someone dropped the box");
    });
    match ticket.wait() {
        Err(error) => println!("{error}"),
        Ok(_) => unreachable!("it panicked"),
    }

    warehouse.read(|view| {
        for article in view.scan(articles)? {
            let article = article?;
            let code = String::from_utf8_lossy(&article.code);
            let Article {
                in_stock, reserved, ..
            } = article;
            println!("{code}: {in_stock} in stock, {reserved} reserved");
        }
        Ok(())
    })?;
    warehouse.close()?;
    Ok(())
}

/// Four threads reserve a bolt with a nut, 500 times each; threads that wait for the disk at the same time share one
/// sync.
fn reserve_from_many_threads(warehouse: &Tables, articles: Table<Article>) -> Result<(), Error> {
    std::thread::scope(|scope| {
        let clerk = || -> Result<(), Error> {
            for _ in 0..500 {
                warehouse.run(|transaction| {
                    for code in [BOLTS, NUTS] {
                        let row = transaction
                            .find(articles, code)
                            .ok_or_else(|| Error::other("an article is missing"))?;
                        let Article {
                            in_stock, reserved, ..
                        } = *transaction.record(row)?;
                        let left = in_stock
                            .checked_sub(1)
                            .ok_or_else(|| Error::other("out of stock"))?;
                        // Setting a field logs that field alone.
                        transaction.set(row, IN_STOCK, left)?;
                        transaction.set(row, RESERVED, reserved + 1)?;
                    }
                    Ok(())
                })?;
            }
            Ok(())
        };
        let clerks: Vec<_> = (0..4).map(|_| scope.spawn(clerk)).collect();
        clerks
            .into_iter()
            .try_for_each(|clerk| clerk.join().expect("a clerk does not panic"))
    })?;
    let log = warehouse.statistics().log;
    println!("{} transactions in {} groups", log.transactions, log.groups);
    Ok(())
}

/// The smallest executor: polls one future and parks meanwhile.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

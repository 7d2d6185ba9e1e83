//! A warehouse: many threads reserve stock at once, some with weaker durability, tasks await their
//! tickets, and what a panicking transaction did is undone.
//!
//! ```text
//! cargo run --example inventory
//! ```

use sardonyx::{Database, Durability, Error, Field, Table, field, record};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// An article. A key may be any plain bytes; here a code of eight letters.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Article {
    code: [u8; 8],
    in_stock: u32,
    reserved: u32,
}
record!(Article { table: "articles", key: code: [u8; 8] });

const IN_STOCK: Field<Article, u32> = field!(Article.in_stock: u32);
const RESERVED: Field<Article, u32> = field!(Article.reserved: u32);

const BOLTS: [u8; 8] = *b"BOLT-M06";
const NUTS: [u8; 8] = *b"NUT--M06";
const SCRAP: [u8; 8] = *b"SCRAP---";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let warehouse = Database::open(directory.path().join("warehouse.sdx"))?;
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
        Ok::<_, Error>(())
    })?;

    reserve_from_many_threads(&warehouse, articles)?;

    // A weaker promise for what can be counted again: returns when it has run. It becomes durable
    // soon after, in order; `flush` waits for that.
    warehouse.run_with(Durability::Deferred, |transaction| {
        transaction.update(articles, &SCRAP, |article| article.in_stock -= 1)?;
        Ok::<_, Error>(())
    })?;
    warehouse.flush()?;

    // A ticket is a future: await it in any runtime.
    let ticket = warehouse.submit(move |transaction| transaction.delete(articles, &SCRAP));
    let deleted = block_on(ticket)??;
    println!("scrap was there and is deleted: {deleted}");

    // A panic undoes the transaction, reaches whoever waits, and stops nobody else.
    std::panic::set_hook(Box::new(|_| {}));
    let ticket = warehouse.submit(move |transaction| {
        transaction.update(articles, &NUTS, |article| article.in_stock = 0)?;
        panic!("someone dropped the box");
        #[allow(unreachable_code, reason = "gives the closure its type")]
        Ok::<_, Error>(())
    });
    match ticket.wait() {
        Err(error) => println!("{error}"),
        Ok(_) => unreachable!("it panicked"),
    }

    warehouse.read(|view| {
        for article in view.scan(articles) {
            let code = String::from_utf8_lossy(&article.code);
            let Article {
                in_stock, reserved, ..
            } = article;
            println!("{code}: {in_stock} in stock, {reserved} reserved");
        }
    });
    warehouse.close()?;
    Ok(())
}

/// Four threads reserve a bolt with a nut, 500 times each; whoever waits for the disk at the same
/// time shares one sync.
fn reserve_from_many_threads(warehouse: &Database, articles: Table<Article>) -> Result<(), Error> {
    std::thread::scope(|scope| {
        let clerk = || {
            for _ in 0..500 {
                warehouse.run(|transaction| {
                    for code in [BOLTS, NUTS] {
                        let row = transaction
                            .find(articles, &code)
                            .ok_or_else(|| Error::Aborted("an article is missing".into()))?;
                        let Article {
                            in_stock, reserved, ..
                        } = *transaction.record(row)?;
                        let left = in_stock
                            .checked_sub(1)
                            .ok_or_else(|| Error::Aborted("out of stock".into()))?;
                        // Setting a field logs that field alone.
                        transaction.set(row, IN_STOCK, left)?;
                        transaction.set(row, RESERVED, reserved + 1)?;
                    }
                    Ok::<_, Error>(())
                })?;
            }
            Ok::<(), Error>(())
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

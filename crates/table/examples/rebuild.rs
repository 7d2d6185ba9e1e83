//! The time to rebuild the index and the free list of a table from its pages: prints the best of five times.
//! Arguments: records (default 1,000,000) and threads (default 2).
//!
//! Run it with `cargo run --release -p sardonyx-table --example rebuild`.

use sardonyx_base::resident::Resident;
use sardonyx_rows::record;
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_storage::store::PageStore;
use sardonyx_table::TableSpace;

#[derive(Clone, Copy, Resident)]
#[repr(C)]
struct Account {
    id: u64,
    balance: i64,
    filler: [u64; 14],
}
record!(Account { table: "accounts", key: id: u64 });

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let records: u64 = arguments
        .next()
        .map_or(Ok(1_000_000), |text| text.parse())?;
    let workers: usize = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let bytes = (records * 512).next_multiple_of(1 << 30);
    let (mut space, _) = TableSpace::open(PageStore::reserve(bytes)?, workers)?;
    let mut id = 0;
    while id < records {
        let mut log = GroupBuilder::with_capacity(1 << 20);
        let mut transaction = space.begin(&mut log);
        let accounts = transaction.declare_table::<Account>()?;
        for _ in 0..1000.min(records - id) {
            let (balance, filler) = (0, [id; 14]);
            let account = Account {
                id,
                balance,
                filler,
            };
            transaction.insert(accounts, &account)?;
            id += 1;
        }
        transaction.commit();
    }
    let mut best = std::time::Duration::MAX;
    for _ in 0..5 {
        let (again, report) = TableSpace::open(space.into_store(), workers)?;
        assert_eq!(report.records, records);
        best = best.min(report.time);
        space = again;
    }
    println!(
        "{records} records of {} bytes, {workers} threads: {:.1} ms, index {:.1} MB",
        size_of::<Account>(),
        best.as_secs_f64() * 1e3,
        space.index_bytes() as f64 / 1e6,
    );
    Ok(())
}

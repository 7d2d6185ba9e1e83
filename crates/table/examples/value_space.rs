//! The live share of a table's pages while texts of many lengths are inserted, changed and deleted. It measures the
//! bounds in `docs/format.md`.
//!
//! `cargo run --release -p sardonyx-table --example value_space`

use sardonyx_base::error::Error;
use sardonyx_rows::schema::{Schema, Type, Value, ValueRef};
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_storage::store::PageStore;
use sardonyx_table::TableSpace;
use std::time::Instant;

const ROWS: u64 = 20_000;
const UPDATES: u64 = 200_000;

/// xorshift64*: the same run every time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) * end) >> 32
    }
}

fn live_bytes(space: &TableSpace) -> Result<u64, Error> {
    let rows = space.view().rows("texts")?;
    let mut bytes = 0;
    for row in rows.scan() {
        if let ValueRef::Text(text) = row?.get("text")? {
            bytes += text.len() as u64;
        }
    }
    Ok(bytes + rows.count()? * rows.schema().row_bytes as u64)
}

fn report(what: &str, space: &TableSpace) -> Result<(), Error> {
    let (live, used) = (
        live_bytes(space)?,
        space.view().bytes_of(space.view().rows("texts")?.number()),
    );
    let percent = 100.0 * live as f64 / used as f64;
    println!("{what:<44} {live:>12} of {used:>12} bytes live: {percent:.1}%");
    Ok(())
}

fn fill(name: &str, lengths: impl Fn(&mut Random) -> u64) -> Result<(), Error> {
    let store = PageStore::reserve(8 << 30).map_err(Error::other)?;
    let mut space = TableSpace::open(store, 1)?.0;
    let mut log = GroupBuilder::with_capacity(1 << 16);
    let mut random = Random(7);
    let text = "x".repeat(20_000);
    let mut tx = space.begin(&mut log);
    let schema = Schema::new()
        .column("id", Type::U64)
        .column("text", Type::Text)
        .primary_key(["id"]);
    tx.create_table("texts", schema)?;
    tx.commit();
    let put = |space: &mut TableSpace, random: &mut Random, id: u64| {
        let length = lengths(random) as usize;
        let text = text.get(..length).unwrap_or_default();
        let mut log = GroupBuilder::with_capacity(1 << 16);
        let mut tx = space.begin(&mut log);
        tx.rows("texts")?
            .put(&[("id", id.into()), ("text", Value::from(text))])?;
        tx.commit();
        Ok::<_, Error>(())
    };
    let started = Instant::now();
    for id in 0..ROWS {
        put(&mut space, &mut random, id)?;
    }
    report(&format!("{name}: filled"), &space)?;
    for _ in 0..UPDATES {
        let id = random.below(ROWS);
        put(&mut space, &mut random, id)?;
    }
    report(&format!("{name}: after {UPDATES} updates"), &space)?;
    println!("{:>44} {:.1} s", "", started.elapsed().as_secs_f64());
    Ok(())
}

fn main() -> Result<(), Error> {
    fill("lengths 0..20,000", |random| random.below(20_001))?;
    fill("lengths 0..200", |random| random.below(201))?;
    fill("lengths 0..2,000, short ones more often", |random| {
        let longest = random.below(2001);
        random.below(longest + 1)
    })?;
    fill("always 1,361, the worst", |_| 1361)
}

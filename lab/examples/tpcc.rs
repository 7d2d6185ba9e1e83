//! TPC-C without its checks, for profiling.
//! `cargo run --release -p sardonyx-lab --example tpcc -- DIRECTORY WAREHOUSES SECONDS|TRANSACTIONSx [SHAPE]`

use sardonyx::{Options, Shape};
use sardonyx_benchmark::debit_credit::run::{Progress, Until};
use sardonyx_lab::tpcc::load::{constants, load};
use sardonyx_lab::tpcc::records::Schema;
use sardonyx_lab::tpcc::requests::{Generator, Kind};
use sardonyx_lab::tpcc::run::{Load, run};
use sardonyx_lab::tpcc::scale::Scale;
use sardonyx_lab::tpcc::{paths, transactions::Tpcc};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let directory = arguments.get(1).map_or("tpcc.sdx", String::as_str);
    let warehouses = arguments.get(2).map_or(Ok(1), |text| text.parse())?;
    let until = arguments.get(3).map_or("5", String::as_str);
    let until = match until.strip_suffix('x') {
        Some(transactions) => Until::Transactions(transactions.parse()?),
        None => Until::Time(Duration::from_secs_f64(until.parse()?)),
    };
    let shape = match arguments.get(4).map(String::as_str) {
        Some("pipelined") => Shape::Pipelined {
            input_threads: 1,
            output_threads: 1,
        },
        Some("threadless") => Shape::Threadless,
        _ => Shape::Coalesced,
    };
    std::fs::remove_dir_all(directory).ok();
    let options = Options::new().shape(shape).log_bytes_prepared(2 << 30);
    let database = options.open_tables(directory)?;
    let schema = Schema::of(&database)?;
    paths::create(&database, &schema)?;
    let scale = Scale::standard(warehouses)?;
    load(&database, &schema, &scale, 1, |_| {})?;
    database.checkpoint()?;
    let work = Load {
        scale,
        constants: constants(1),
        clients: 1,
        batch: 1024,
        in_flight: 8,
        until,
        seed: 1,
    };
    let procedure = database.register(Tpcc::new(schema))?;
    if let Until::Transactions(transactions) = until {
        // Batch by batch, on this thread: the same work each time, to count instructions.
        let mut generator = Generator::new(scale, &work.constants, work.seed, (0, 1));
        for _ in 0..transactions.div_ceil(1024) {
            let batch = (0..1024).map(|_| generator.request(1)).collect();
            database.submit_batch(&procedure, batch, 0).wait()?;
        }
        return Ok(());
    }
    let before = database.statistics();
    let outcome = run(&database, &procedure, &work, &Progress::default())?;
    let after = database.statistics();
    let seconds = outcome.elapsed.as_secs_f64();
    let execution = after.stages.execution - before.stages.execution;
    println!(
        "{:.0} new orders/s, {:.0} transactions/s; execution {:.2} of {seconds:.2} s, {:.2} us each; client's processor \
         {:.2} us each",
        outcome.committed[Kind::NewOrder as usize] as f64 / seconds,
        outcome.all() as f64 / seconds,
        execution.as_secs_f64(),
        execution.as_secs_f64() * 1e6 / outcome.all() as f64,
        outcome.processor.as_secs_f64() * 1e6 / outcome.all() as f64,
    );
    database.close()?;
    std::fs::remove_dir_all(directory).ok();
    Ok(())
}

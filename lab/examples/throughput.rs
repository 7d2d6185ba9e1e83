//! The shortest way to a number: debit-credit with the defaults, for profiling.
//! `cargo run --release -p sardonyx-lab --example throughput -- DIRECTORY SECONDS [SHAPE]`

use sardonyx::{Durability, Options, Shape};
use sardonyx_benchmark::debit_credit::requests::Scale;
use sardonyx_benchmark::debit_credit::run::{Load, Mode, Progress, Until, run};
use sardonyx_benchmark::debit_credit::schema::Schema;
use sardonyx_benchmark::debit_credit::transaction::DebitCredit;
use sardonyx_benchmark::debit_credit::{load::load, proof::prove};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let directory = arguments.get(1).map_or("throughput.sdx", String::as_str);
    let seconds: f64 = arguments.get(2).map_or(Ok(5.0), |text| text.parse())?;
    let shape = match arguments.get(3).map(String::as_str) {
        Some("pipelined") => Shape::Pipelined {
            input_threads: 1,
            output_threads: 1,
        },
        Some("threadless") => Shape::Threadless,
        _ => Shape::Coalesced,
    };
    let number = |at: usize, default: usize| {
        arguments
            .get(at)
            .map_or(Ok(default), |text| text.parse::<usize>())
    };
    let (requests, in_flight, clients) = (number(4, 4096)?, number(5, 8)?, number(6, 1)?);
    std::fs::remove_dir_all(directory).ok();
    let options = || Options::new().shape(shape).log_bytes_prepared(2 << 30);
    let database = options().open_tables(directory)?;
    let schema = Schema::of(&database)?;
    let scale = Scale::new(1_000_000, 1000, 100)?;
    load(&database, &schema, &scale, |_| {})?;
    let procedure = database.register(DebitCredit::new(schema))?;
    let mode = if requests == 0 {
        Mode::OneAtATime
    } else {
        Mode::Batches {
            requests,
            in_flight,
        }
    };
    let load = Load {
        wrong_code_percent: 0,
        scale,
        clients,
        mode,
        until: Until::Time(Duration::from_secs_f64(seconds)),
        durability: Durability::Durable,
        other_branch_percent: 15,
        seed: 1,
    };
    let before = database.statistics();
    let outcome = run(&database, schema, &procedure, &load, &Progress::default())?;
    let statistics = database.statistics();
    println!(
        "{:.3} million transactions/s; p50 {:?} p95 {:?} p99 {:?} max {:?}",
        outcome.committed as f64 / outcome.elapsed.as_secs_f64() / 1e6,
        outcome.responses.p50(),
        outcome.responses.p95(),
        outcome.responses.p99(),
        outcome.responses.max(),
    );
    println!("before {before:#?}\nafter {statistics:#?}");
    let (mut with, mut without) = ((0, 0.0), (0, 0.0));
    for slice in &outcome.slices {
        let side = match slice.checkpointing {
            (true, true) => &mut with,
            (false, false) => &mut without,
            _ => continue,
        };
        side.0 += slice.committed;
        side.1 += slice.time.as_secs_f64();
    }
    println!(
        "checkpointing: {:.3} M/s over {:.2} s; else {:.3} M/s over {:.2} s",
        with.0 as f64 / with.1 / 1e6,
        with.1,
        without.0 as f64 / without.1 / 1e6,
        without.1
    );
    database.close()?;
    let database = options().open_tables(directory)?;
    println!("{:#?} {:#?}", database.recovery(), database.rebuild());
    let proof = prove(&database, &schema, &outcome.acknowledged, outcome.refused)?;
    println!("{proof:?} holds: {}", proof.holds());
    database.close()?;
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

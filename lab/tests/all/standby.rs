//! The debit-credit benchmark in configuration C, on real files: the sums hold, and every
//! acknowledged transaction is there once, at the primary and, after failing over, at the standby.

use sardonyx::disk::GroupLimits;
use sardonyx::{Durability, Options, Shape, Tables};
use sardonyx_benchmark::debit_credit::load::load;
use sardonyx_benchmark::debit_credit::proof::prove;
use sardonyx_benchmark::debit_credit::requests::Scale;
use sardonyx_benchmark::debit_credit::run::{Load, Mode, Outcome, Progress, Until, run};
use sardonyx_benchmark::debit_credit::schema::Schema;
use sardonyx_benchmark::debit_credit::transaction::DebitCredit;
use sardonyx_standby::{Standby, StandbyOptions, StandbyServer};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(120);

fn options() -> Options {
    let limits = GroupLimits {
        group_bytes: 256 << 10,
        transaction_bytes: 3 << 20,
        ..GroupLimits::default()
    };
    Options::new()
        .shape(Shape::Coalesced)
        .segment_bytes(4 << 20)
        .log_bytes_max(16 << 20)
        .log_bytes_prepared(0)
        .memory_bytes_max(256 << 20)
        .group_limits(limits)
}

fn run_clients(database: &Tables, schema: Schema, scale: Scale) -> Outcome {
    let procedure = database.register(DebitCredit::new(schema)).unwrap();
    let load = Load {
        wrong_code_percent: 0,
        scale,
        clients: 2,
        mode: Mode::Batches {
            requests: 100,
            in_flight: 4,
        },
        until: Until::Transactions(60_000),
        durability: Durability::Durable,
        other_branch_percent: 15,
        seed: 42,
    };
    run(database, schema, &procedure, &load, &Progress::default()).unwrap()
}

#[test]
fn the_sums_hold_at_the_standby() {
    let directory = tempfile::tempdir().unwrap();
    let (here, there) = (
        directory.path().join("primary"),
        directory.path().join("standby"),
    );
    let open = || StandbyServer::open(&there, StandbyOptions::new().log_bytes_max(32 << 20));
    let server = open().unwrap().listen("127.0.0.1:0").unwrap();
    let standby = Standby::at(server.address().to_string());
    let database = options()
        .checkpoint_at(standby.clone())
        .open_tables(&here)
        .unwrap();
    assert!(standby.wait_for(|status| status.connected, LONG));
    let scale = Scale::of_accounts(5_000).unwrap();
    let schema = Schema::of(&database).unwrap();
    load(&database, &schema, &scale, |_| {}).unwrap();
    let outcome = run_clients(&database, schema, scale);
    assert!(outcome.committed > 50_000, "{outcome:?}");
    assert!(standby.wait_until_caught_up(LONG), "{:?}", standby.status());
    database.close().unwrap();

    // The primary comes back; what its log lacks is in the image.
    let standby = Standby::at(server.address().to_string());
    let database = options()
        .checkpoint_at(standby.clone())
        .open_tables(&here)
        .unwrap();
    let schema = Schema::of(&database).unwrap();
    let records = database
        .read(|view| {
            let balances = view.scan(schema.accounts)?;
            let branches = view.scan(schema.branches)?;
            Ok((
                balances
                    .map(|account| Ok(account?.balance))
                    .sum::<Result<i64, sardonyx::Error>>()?,
                branches
                    .map(|branch| Ok(branch?.balance))
                    .sum::<Result<i64, sardonyx::Error>>()?,
            ))
        })
        .expect("open");
    assert_eq!(records.0, records.1);
    drop(database);
    server.stop();

    let database = options().open_tables(&there).unwrap();
    let schema = Schema::of(&database).unwrap();
    let proof = prove(&database, &schema, &outcome.acknowledged, outcome.refused).unwrap();
    assert!(proof.holds() && proof.unacknowledged == 0, "{proof:?}");
    assert_eq!(proof.rows, outcome.committed);
    assert_eq!(proof.sums.accounts, records.0);
}

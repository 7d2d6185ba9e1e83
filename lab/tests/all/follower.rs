//! The debit-credit benchmark in configuration C, on real files. The sums hold, and every acknowledged transaction is
//! found once: in its own database and, after failing over, in the copy that followed the log in a store over TCP.

use sardonyx::disk::GroupLimits;
use sardonyx::hosts::{DurableAt, RemoteLog};
use sardonyx::{Durability, Options, Shape, Tables};
use sardonyx_base::greeting::Trust;
use sardonyx_base::transport::Plain;
use sardonyx_benchmark::debit_credit::load::load;
use sardonyx_benchmark::debit_credit::proof::prove;
use sardonyx_benchmark::debit_credit::requests::Scale;
use sardonyx_benchmark::debit_credit::run::{Load, Mode, Outcome, Progress, Until, run};
use sardonyx_benchmark::debit_credit::schema::Schema;
use sardonyx_benchmark::debit_credit::transaction::DebitCredit;
use sardonyx_remote::{RemoteOptions, StoreServer, open};
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::{StorageOptions, follow_store, take_lock};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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

/// A copy of the log in a store, until that is to end and the copy is complete. Returns its checkpoints.
fn follow(directory: &Path, remote: &RemoteLog, ending: &AtomicBool) -> u64 {
    std::fs::create_dir_all(directory).unwrap();
    let home: Arc<dyn Disk> = Arc::new(RealDisk::open(directory).unwrap());
    let options = StorageOptions {
        limits: GroupLimits::for_segments(4 << 20),
        log_bytes_max: 32 << 20,
        // Many in this run, so that the first ones complete in it.
        checkpoint_interval_transactions: Some(3_000),
        remote: Some(remote.clone()),
        ..StorageOptions::default()
    };
    let lock = take_lock(&home, Duration::ZERO).unwrap();
    let (mut replica, mut log) = follow_store(&home, &options, lock).unwrap();
    loop {
        let is_ending = ending.load(Ordering::SeqCst);
        while let Some(entry) = log.look().unwrap() {
            replica.apply(&entry).unwrap();
        }
        if is_ending {
            let checkpoints = replica.checkpoints().checkpoints;
            replica.close();
            return checkpoints;
        }
        std::thread::yield_now();
    }
}

#[test]
fn the_sums_hold_in_the_copy_that_follows() {
    let directory = tempfile::tempdir().unwrap();
    let (here, there) = (
        directory.path().join("here"),
        directory.path().join("there"),
    );
    let place = format!("file:{}", directory.path().join("log").display());
    let trust = Trust {
        transport: Arc::new(Plain),
        token: None,
    };
    let store = open(&place, &RemoteOptions::default()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = StoreServer::start(store, listener, trust).unwrap();
    let place = format!("tcp://{}", server.address());
    let remote = RemoteLog {
        durable_at: DurableAt::Local,
        ..RemoteLog::new(open(&place, &RemoteOptions::default()).unwrap())
    };
    let hosts_options = || options().store(remote.clone());
    let database = hosts_options()
        .checkpoints_at_followers()
        .open_tables(&here)
        .unwrap();
    let scale = Scale::of_accounts(5_000).unwrap();
    let ending = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        let following = scope.spawn(|| follow(&there, &remote, &ending));
        let schema = Schema::of(&database).unwrap();
        load(&database, &schema, &scale, |_| {}).unwrap();
        let outcome = run_clients(&database, schema, scale);
        database.close().unwrap();
        ending.store(true, Ordering::SeqCst);
        assert!(following.join().unwrap() > 0, "it takes the checkpoints");
        outcome
    });
    assert!(outcome.committed > 50_000, "{outcome:?}");

    // It is opened again; the store has the log that it lacks.
    let database = hosts_options()
        .checkpoints_at_followers()
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

    let database = hosts_options().open_tables(&there).unwrap();
    let schema = Schema::of(&database).unwrap();
    let proof = prove(&database, &schema, &outcome.acknowledged, outcome.refused).unwrap();
    assert!(proof.holds() && proof.unacknowledged == 0, "{proof:?}");
    assert_eq!(proof.rows, outcome.committed);
    assert_eq!(proof.sums.accounts, records.0);
}

//! Readers in other processes beside a writer: debit-credit by several threads of this process, in turns. They run
//! alone, with followers that are open and not read, and with followers that are read every millisecond.
//!
//! Each transaction writes the moment at which it began into its branch. A follower that finds a new moment there
//! notes its age. That is the time from the beginning of a transaction to the first look of another process that shows
//! it. So the writer's own commit is in it. A look every millisecond adds up to one. In each snapshot that is read to
//! its end the sums of accounts, tellers and branches are compared.
//!
//! `cargo run --release -p sardonyx --example followers [seconds] [rounds] [followers] [threads] [--json]`

use sardonyx::{Error, Follower, Snapshot, Table, Tables, record};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

record! {
    #[table("accounts", key = id)]
    struct Account { id: u64, balance: i64, filler: [u8; 112] }
}
record! {
    #[table("tellers", key = id)]
    struct Teller { id: u64, balance: i64, filler: [u8; 112] }
}
record! {
    /// `began`: of the newest transaction.
    #[table("branches", key = id)]
    struct Branch { id: u64, balance: i64, began: u64, filler: [u8; 104] }
}

const ACCOUNTS: u64 = 100_000;
const TELLERS: u64 = 100;
const BRANCHES: u64 = 10;

/// Between two looks of a follower.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The clock that all processes of the machine share, in nanoseconds.
fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a place for the time, which the call fills in.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[derive(Clone, Copy)]
struct Bank {
    accounts: Table<Account>,
    tellers: Table<Teller>,
    branches: Table<Branch>,
}

fn fill(db: &Tables) -> Result<Bank, Error> {
    let bank = Bank {
        accounts: db.table()?,
        tellers: db.table()?,
        branches: db.table()?,
    };
    let (balance, began, filler) = (0, 0, [0; 112]);
    for first in (0..ACCOUNTS).step_by(10_000) {
        db.run(|tx| {
            let ids = first..first + 10_000;
            ids.into_iter().try_for_each(|id| {
                tx.insert(
                    bank.accounts,
                    &Account {
                        id,
                        balance,
                        filler,
                    },
                )
            })
        })?;
    }
    db.run(|tx| {
        (0..TELLERS).try_for_each(|id| {
            tx.insert(
                bank.tellers,
                &Teller {
                    id,
                    balance,
                    filler,
                },
            )
        })?;
        let branch = |id| Branch {
            id,
            balance,
            began,
            filler: [0; 104],
        };
        (0..BRANCHES).try_for_each(|id| tx.insert(bank.branches, &branch(id)))
    })?;
    Ok(bank)
}

/// Runs transactions on some threads; how many a second.
fn write(db: &Tables, bank: Bank, threads: u64, time: Duration) -> Result<f64, Error> {
    let (ended, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let started = Instant::now();
    std::thread::scope(|scope| {
        let work = |seed: u64| {
            let mut random = seed;
            while !ended.load(Ordering::Relaxed) {
                random = random
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                let of = |count: u64, shift: u32| (random >> shift) % count;
                let (account, teller) = (of(ACCOUNTS, 20), of(TELLERS, 33));
                let (branch, amount) = (of(BRANCHES, 41), (random >> 50) as i64 - 8000);
                let began = now();
                db.run(|tx| {
                    tx.update(bank.accounts, account, |row| row.balance += amount)?;
                    tx.update(bank.tellers, teller, |row| row.balance += amount)?;
                    tx.update(bank.branches, branch, |row| {
                        row.balance += amount;
                        row.began = row.began.max(began);
                    })
                })?;
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<_, Error>(())
        };
        let threads: Vec<_> = (1..=threads)
            .map(|seed| scope.spawn(move || work(seed)))
            .collect();
        std::thread::sleep(time);
        ended.store(true, Ordering::Relaxed);
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    Ok(done.into_inner() as f64 / started.elapsed().as_secs_f64())
}

/// A process that follows, and prints its observations at its end.
struct Reader {
    child: Child,
    stdin: ChildStdin,
}

impl Reader {
    fn start(path: &Path, is_read: bool) -> Result<Reader, Error> {
        let program = std::env::current_exe()?;
        let mut child = Command::new(program)
            .args(["follow", if is_read { "read" } else { "idle" }])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().expect("piped");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line)?;
        assert_eq!(line.trim(), "ready");
        Ok(Reader { child, stdin })
    }

    /// The delays that it found, in nanoseconds.
    fn end(self) -> Result<Vec<u64>, Error> {
        drop(self.stdin);
        let output = self.child.wait_with_output()?;
        assert!(output.status.success(), "a follower failed");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    }
}

fn sums(snapshot: &Snapshot) -> Result<[i64; 3], Error> {
    let found = |what: &str| Error::other(format!("no table of {what}"));
    let accounts = snapshot
        .table::<Account>()?
        .ok_or_else(|| found("accounts"))?;
    let tellers = snapshot
        .table::<Teller>()?
        .ok_or_else(|| found("tellers"))?;
    let branches = snapshot
        .table::<Branch>()?
        .ok_or_else(|| found("branches"))?;
    let mut sums = [0; 3];
    for row in snapshot.scan(accounts)? {
        sums[0] += row?.balance;
    }
    for row in snapshot.scan(tellers)? {
        sums[1] += row?.balance;
    }
    for row in snapshot.scan(branches)? {
        sums[2] += row?.balance;
    }
    Ok(sums)
}

/// The work of a follower's process.
fn follow(path: &str, is_read: bool) -> Result<(), Error> {
    let follower: Follower = Tables::follow(path)?;
    println!("ready");
    std::io::stdout().flush()?;
    let ended = AtomicBool::new(false);
    let delays = std::thread::scope(|scope| {
        // Until the writer closes it.
        let until_closed = || {
            let _ = std::io::stdin().read_line(&mut String::new());
            ended.store(true, Ordering::Relaxed);
        };
        match is_read {
            true => drop(scope.spawn(until_closed)),
            false => until_closed(),
        }
        let (mut delays, mut newest, mut looks) = (Vec::new(), 0, 0u64);
        while is_read && !ended.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_EVERY);
            let snapshot = follower.snapshot()?;
            let Some(branches) = snapshot.table::<Branch>()? else {
                continue;
            };
            let mut began = 0;
            for branch in snapshot.scan(branches)? {
                began = began.max(branch?.began);
            }
            if began > newest {
                // A moment from before the first look is no delay of it.
                if newest > 0 {
                    delays.push(now() - began);
                }
                newest = began;
            }
            looks += 1;
            if looks.is_multiple_of(500) {
                let [accounts, tellers, branches] = sums(&snapshot)?;
                assert!(
                    accounts == tellers && tellers == branches,
                    "no state at a commit"
                );
            }
        }
        let [accounts, tellers, branches] = sums(&follower.snapshot()?)?;
        assert!(
            accounts == tellers && tellers == branches,
            "no state at a commit"
        );
        Ok::<_, Error>(delays)
    })?;
    delays.iter().for_each(|delay| println!("{delay}"));
    Ok(())
}

fn percentile(sorted: &[u64], share: f64) -> f64 {
    let at = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted
        .get(at)
        .map_or(f64::NAN, |nanoseconds| *nanoseconds as f64 / 1e6)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, how, path] = &arguments[..]
        && verb == "follow"
    {
        return follow(path, how == "read");
    }
    let is_json = arguments.iter().any(|argument| argument == "--json");
    let numbers = arguments.iter().filter(|argument| *argument != "--json");
    let mut numbers = numbers.map(|argument| argument.parse().unwrap_or(0));
    let time = Duration::from_secs(numbers.next().unwrap_or(5).max(1));
    let rounds = numbers.next().unwrap_or(3).max(1);
    let followers = numbers.next().unwrap_or(4);
    let threads = numbers.next().unwrap_or(8).max(1);
    // In the working directory, since the system's for temporary files may be in memory.
    let directory = tempfile::tempdir_in(".").map_err(Error::other)?;
    let path = directory.path().join("bank.sdx");
    let db = Tables::open(&path)?;
    let bank = fill(&db)?;
    write(&db, bank, threads, time / 2)?;
    if !is_json {
        println!("{threads} threads, {followers} followers, turns of {time:?}");
    }
    let names = ["alone", "idle", "read"];
    let mut rates: [Vec<f64>; 3] = Default::default();
    let mut delays = Vec::new();
    for round in 0..rounds as usize {
        for n in 0..names.len() {
            let nth = (n + round) % names.len();
            let count = if nth == 0 { 0 } else { followers };
            let readers = (0..count).map(|_| Reader::start(&path, nth == 2));
            let readers = readers.collect::<Result<Vec<_>, _>>()?;
            let rate = write(&db, bank, threads, time)?;
            let mut found = Vec::new();
            for reader in readers {
                found.extend(reader.end()?);
            }
            found.sort_unstable();
            if !is_json {
                print!("{:6} {rate:>9.0} transactions/s", names[nth]);
            }
            if nth == 2 && !is_json {
                let of = |share| percentile(&found, share);
                print!(
                    ", seen after p50 {:.2}, p99 {:.2}, p99.9 {:.2}, longest {:.2} ms ({} times)",
                    of(0.5),
                    of(0.99),
                    of(0.999),
                    of(1.0),
                    found.len()
                );
            }
            if !is_json {
                println!();
            }
            rates[nth].push(rate);
            delays.extend(found);
        }
    }
    delays.sort_unstable();
    let ratio = |of: &[f64]| {
        let pairs = of.iter().zip(&rates[0]);
        median(&mut pairs.map(|(rate, alone)| rate / alone).collect::<Vec<_>>())
    };
    if is_json {
        let of = |share| percentile(&delays, share);
        println!(
            "{}",
            serde_json::json!({
                "seconds": time.as_secs(), "rounds": rounds, "followers": followers, "threads": threads,
                "transactions_per_second": {"alone": rates[0], "idle": rates[1], "read": rates[2]},
                "idle_to_alone": ratio(&rates[1]), "read_to_alone": ratio(&rates[2]),
                "seen_after_milliseconds": {"p50": of(0.5), "p99": of(0.99), "p999": of(0.999), "longest": of(1.0)},
                "seen": delays.len(),
            })
        );
        return db.close();
    }
    println!(
        "medians: idle {:.3} and read {:.3} of the rate alone; seen after p50 {:.2}, p99 {:.2} ms",
        ratio(&rates[1]),
        ratio(&rates[2]),
        percentile(&delays, 0.5),
        percentile(&delays, 0.99),
    );
    db.close()
}

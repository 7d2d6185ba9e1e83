//! A listener around sessions: `cargo run --release -p sardonyx-resp --example serve -- DIR [ADDRESS]`.
//!
//! One thread has all connections, and runs what each has sent; the engine's own threads write the log. It has one
//! function, `debit_credit`, on tables of its own:
//!
//! ```text
//! $ redis-cli -p 6380 fcall debit_credit 0 1 2 3 -100
//! (integer) -100
//! ```

use bytes::BytesMut;
use sardonyx::{Error, Journal, Table, Tables, Transaction, field, record};
use sardonyx_resp::{Continue, Failure, Keyspace, Reply, Session, SessionOptions};
use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

record! {
    #[table("accounts", key = number)]
    struct Account {
        number: u64,
        balance: i64,
        filler: [u8; 112],
    }
}

record! {
    #[table("tellers", key = number)]
    struct Teller {
        number: u64,
        balance: i64,
    }
}

record! {
    #[table("branches", key = number)]
    struct Branch {
        number: u64,
        balance: i64,
    }
}

record! {
    /// A line of the history, kept on disk.
    #[journal("history")]
    struct Line {
        account: u64,
        teller: u64,
        branch: u64,
        delta: i64,
    }
}

const ACCOUNTS: u64 = 100_000;
const TELLERS: u64 = 100;
const BRANCHES: u64 = 10;

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// The tables of the bank.
#[derive(Clone, Copy)]
struct Bank {
    accounts: Table<Account>,
    tellers: Table<Teller>,
    branches: Table<Branch>,
    history: Journal<Line>,
}

impl Bank {
    fn open(tables: &Tables) -> Result<Bank, Error> {
        let bank = Bank {
            accounts: tables.table()?,
            tellers: tables.table()?,
            branches: tables.table()?,
            history: tables.journal()?,
        };
        tables.run(|tx| {
            if tx.count(bank.branches)? > 0 {
                return Ok(());
            }
            for number in 0..ACCOUNTS {
                tx.insert(
                    bank.accounts,
                    &Account {
                        number,
                        balance: 0,
                        filler: [0; 112],
                    },
                )?;
            }
            for number in 0..TELLERS {
                tx.insert(bank.tellers, &Teller { number, balance: 0 })?;
            }
            for number in 0..BRANCHES {
                tx.insert(bank.branches, &Branch { number, balance: 0 })?;
            }
            Ok(())
        })?;
        Ok(bank)
    }

    /// Adds an amount to an account, its teller and its branch; returns the account's balance.
    fn debit_credit(
        &self,
        tx: &mut Transaction<'_>,
        arguments: &[&[u8]],
    ) -> Result<Reply, Failure> {
        let (numbers, delta) = match arguments {
            [account, teller, branch] => ([account, teller, branch], 1),
            [account, teller, branch, delta] => ([account, teller, branch], number(delta)?),
            _ => {
                return Err(Failure::Function(
                    "debit_credit has 3 or 4 arguments".into(),
                ));
            }
        };
        let [account, teller, branch] = numbers.map(|text| number(text).map(|n| n as u64));
        let (account, teller, branch) = (account?, teller?, branch?);
        let unknown = || Failure::Function("no such account, teller or branch".into());
        let row = tx.find(self.accounts, account).ok_or_else(unknown)?;
        let balance = tx.record(row)?.balance + delta;
        tx.set(row, field!(Account.balance: i64), balance)?;
        let row = tx.find(self.tellers, teller).ok_or_else(unknown)?;
        let sum = tx.record(row)?.balance + delta;
        tx.set(row, field!(Teller.balance: i64), sum)?;
        let row = tx.find(self.branches, branch).ok_or_else(unknown)?;
        let sum = tx.record(row)?.balance + delta;
        tx.set(row, field!(Branch.balance: i64), sum)?;
        tx.append(
            self.history,
            &Line {
                account,
                teller,
                branch,
                delta,
            },
        )?;
        Ok(Reply::Int(balance))
    }
}

fn number(text: &[u8]) -> Result<i64, Failure> {
    let text = std::str::from_utf8(text).ok();
    text.and_then(|text| text.parse().ok())
        .ok_or(Failure::NotInteger)
}

/// One connection, until it ends.
async fn serve(mut stream: TcpStream, keyspace: Arc<Keyspace>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut session = Session::new(keyspace, SessionOptions::default());
    let (mut input, mut output) = (BytesMut::new(), BytesMut::new());
    loop {
        match session.take(&mut input) {
            Ok(flight) if flight.is_empty() => {
                input.reserve(READ_BYTES);
                let read = tokio::select! {
                    read = stream.read_buf(&mut input) => Some(read?),
                    _ = poll_fn(|context| session.poll_messages(context)) => None,
                    () = tokio::time::sleep(session.wait_limit().unwrap_or(Duration::MAX)) => None,
                };
                if read == Some(0) {
                    return Ok(());
                }
                session.tell(&mut output);
                session.time_out(&mut output);
                let is_over = session.refuse_over(&mut output);
                stream.write_all(&output).await?;
                output.clear();
                if is_over {
                    return Ok(());
                }
            }
            Ok(flight) => {
                let next = session.run(flight, &mut output).await;
                stream.write_all(&output).await?;
                output.clear();
                if next == Continue::Close {
                    return Ok(());
                }
            }
            Err(error) => {
                session.refuse(&error, &mut output);
                return stream.write_all(&output).await;
            }
        }
    }
}

/// Deletes what has expired, now and then.
async fn sweep(keyspace: Arc<Keyspace>) {
    loop {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_millis() as i64);
        match keyspace.sweep(now, 1000) {
            Ok(1000) => tokio::task::yield_now().await,
            Ok(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            Err(error) => return eprintln!("expired keys are not deleted any more: {error}"),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("usage: serve DIR [ADDRESS]")?;
    let address = arguments
        .next()
        .unwrap_or_else(|| "127.0.0.1:6380".to_string());
    let tables = Arc::new(Tables::open(directory)?);
    let bank = Bank::open(&tables)?;
    let keyspace = Keyspace::open(tables)?;
    keyspace.register_function("debit_credit", move |tx, _, arguments| {
        bank.debit_credit(tx, arguments)
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(&address).await?;
        println!("listening at {}", listener.local_addr()?);
        tokio::spawn(sweep(Arc::clone(&keyspace)));
        loop {
            let (stream, _) = listener.accept().await?;
            let keyspace = Arc::clone(&keyspace);
            tokio::spawn(async move {
                // A client that goes away ends its connection, nothing else.
                let _ = serve(stream, keyspace).await;
            });
        }
    })
}

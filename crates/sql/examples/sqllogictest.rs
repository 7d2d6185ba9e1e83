//! Runs files of SQLite's sqllogictest on a fresh database each, and says what share of their queries gives what is
//! expected.
//!
//! ```text
//! cargo run --release -p sardonyx-sql --example sqllogictest -- FILE…
//! ```
//!
//! Statements whose file says that PostgreSQL skips them are skipped. A line is printed for each file, one for each kind
//! of error, and the first failures of each file with `VERBOSE=1`.
//!
//! Source: https://www.sqlite.org/sqllogictest/doc/trunk/about.wiki

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::panic)]

use sardonyx::Tables;
use sardonyx_sql::{
    Access, Complete, Database, Outcome, Session, SessionOptions, SqlError, Step, Value,
    encode_text,
};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Instant;

struct Unparked(Thread);

impl Wake for Unparked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unparked(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn run(session: &mut Session, text: &str) -> Result<Option<Complete>, SqlError> {
    let steps = session.prepare(text, &[])?.into_iter();
    let steps = steps.map(|statement| Step::Execute {
        statement,
        parameters: Vec::new(),
        rows_max: 0,
    });
    let steps: Vec<Step> = steps.chain([Step::Sync]).collect();
    let mut last = None;
    for outcome in wait(session.run(steps)) {
        match outcome {
            Outcome::Done(complete) => last = Some(complete),
            Outcome::Failed(error) => return Err(error),
            Outcome::Skipped | Outcome::Synced(_) => {}
        }
    }
    Ok(last)
}

/// The values of a result, as the files have them, by the letters of their types.
fn shown(complete: Complete, letters: &[u8]) -> Vec<Vec<String>> {
    let Some(mut rows) = complete.rows else {
        return Vec::new();
    };
    while let Some(stream) = &mut rows.more {
        let (_, goes_on) = stream.next(0, &mut rows.values).unwrap();
        if !goes_on {
            rows.more = None;
        }
    }
    let kinds: Vec<_> = rows.columns.iter().map(|column| column.spec.kind).collect();
    let value = |(at, value): (usize, &Value)| {
        if *value == Value::Null {
            return "NULL".to_string();
        }
        let mut text = String::new();
        encode_text(kinds[at], &value.as_ref(), &mut text);
        match letters.get(at) {
            Some(b'R') => text
                .parse::<f64>()
                .map_or(text, |number| format!("{number:.3}")),
            Some(b'I') => text
                .parse::<f64>()
                .map_or(text.clone(), |number| match value {
                    Value::Int(_) => text,
                    _ => format!("{}", number.trunc() as i64),
                }),
            _ if text.is_empty() => "(empty)".to_string(),
            _ => text,
        }
    };
    let row = |row: &[Value]| row.iter().enumerate().map(value).collect();
    rows.values.chunks(rows.width.max(1)).map(row).collect()
}

#[derive(Default)]
struct Count {
    passed: usize,
    different: usize,
    failed: usize,
    skipped: usize,
    errors: BTreeMap<String, usize>,
}

fn main() {
    let mut all = Count::default();
    for path in std::env::args().skip(1) {
        let started = Instant::now();
        let count = file(&path);
        println!(
            "{path}: {} passed, {} different, {} failed, {} skipped, {:.1} s",
            count.passed,
            count.different,
            count.failed,
            count.skipped,
            started.elapsed().as_secs_f64()
        );
        all.passed += count.passed;
        all.different += count.different;
        all.failed += count.failed;
        all.skipped += count.skipped;
        for (error, times) in count.errors {
            *all.errors.entry(error).or_default() += times;
        }
    }
    let asked = all.passed + all.different + all.failed;
    for (error, times) in &all.errors {
        println!("{times:>7} {error}");
    }
    println!(
        "{} of {asked} passed ({:.3} %), {} gave something else, {} failed, {} skipped",
        all.passed,
        100.0 * all.passed as f64 / asked.max(1) as f64,
        all.different,
        all.failed,
        all.skipped
    );
}

fn file(path: &str) -> Count {
    let text = std::fs::read_to_string(path).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let tables = Tables::open(directory.path().join("test.sdx")).unwrap();
    let database = Database::new(Arc::new(tables)).unwrap();
    let options = SessionOptions {
        rights: Access::Define.into(),
        user: "tester".into(),
        parameters: Vec::new(),
    };
    let mut session = Session::new(database, options);
    let mut count = Count::default();
    let is_verbose = std::env::var_os("VERBOSE").is_some();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    for block in lines.split(|line| line.trim().is_empty()) {
        let mut block = block.iter().copied().peekable();
        let mut is_skipped = false;
        while let Some(line) = block.peek() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[0] {
                "onlyif" => is_skipped |= words[1] != "postgresql",
                "skipif" => is_skipped |= words[1] == "postgresql",
                "hash-threshold" => {}
                _ => break,
            }
            block.next();
        }
        let Some(head) = block.next() else { continue };
        let head: Vec<&str> = head.split_whitespace().collect();
        if head[0] == "halt" && !is_skipped {
            break;
        }
        if is_skipped {
            count.skipped += 1;
            continue;
        }
        let body: Vec<&str> = block.collect();
        let cut = body.iter().position(|line| *line == "----");
        let sql = body[..cut.unwrap_or(body.len())].join("\n");
        let result = run(&mut session, &sql);
        let mut fail = |error: &SqlError| {
            count.failed += 1;
            let message: String = error.message.chars().take(90).collect();
            if is_verbose {
                println!("{} {message}\n    {sql}", error.code);
            }
            *count
                .errors
                .entry(format!("{} {message}", error.code))
                .or_default() += 1;
        };
        match (head[0], result) {
            ("statement", Ok(_)) if head[1] == "ok" => count.passed += 1,
            ("statement", Err(_)) if head[1] != "ok" => count.passed += 1,
            ("statement", Ok(_)) => {
                count.different += 1;
                println!("    an error is expected: {sql}");
            }
            (_, Err(error)) => fail(&error),
            (_, Ok(complete)) => {
                let letters = head.get(1).copied().unwrap_or_default().as_bytes();
                let rows = complete.map_or_else(Vec::new, |complete| shown(complete, letters));
                let found = sorted(rows, head.get(2).copied().unwrap_or("nosort"));
                let expected = cut.map_or(&[][..], |cut| &body[cut + 1..]);
                if is_expected(&found, expected) {
                    count.passed += 1;
                } else {
                    count.different += 1;
                    if is_verbose {
                        println!("    different: {sql}\n{found:?}\n{expected:?}");
                    }
                }
            }
        }
    }
    count
}

fn sorted(mut rows: Vec<Vec<String>>, mode: &str) -> Vec<String> {
    if mode == "rowsort" {
        rows.sort();
    }
    let mut values: Vec<String> = rows.into_iter().flatten().collect();
    if mode == "valuesort" {
        values.sort();
    }
    values
}

fn is_expected(found: &[String], expected: &[&str]) -> bool {
    if let [line] = expected
        && let Some((number, hash)) = line.split_once(" values hashing to ")
    {
        let text: String = found.iter().map(|value| format!("{value}\n")).collect();
        return number.parse() == Ok(found.len()) && digest(text.as_bytes()) == hash.trim();
    }
    found
        .iter()
        .map(String::as_str)
        .eq(expected.iter().copied())
}

/// MD5, by which the files have long results. Source: RFC 1321.
fn digest(bytes: &[u8]) -> String {
    const TURNS: [[u32; 4]; 4] = [
        [7, 12, 17, 22],
        [5, 9, 14, 20],
        [4, 11, 16, 23],
        [6, 10, 15, 21],
    ];
    let mut state: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((bytes.len() as u64 * 8).to_le_bytes());
    for chunk in padded.chunks(64) {
        let words: Vec<u32> = chunk
            .chunks(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        let [mut a, mut b, mut c, mut d] = state;
        for step in 0..64 {
            let (mixed, word) = match step / 16 {
                0 => ((b & c) | (!b & d), step),
                1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
                2 => (b ^ c ^ d, (3 * step + 5) % 16),
                _ => (c ^ (b | !d), (7 * step) % 16),
            };
            let constant = (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
            let sum = a
                .wrapping_add(mixed)
                .wrapping_add(constant)
                .wrapping_add(words[word]);
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(TURNS[step / 16][step % 4]));
        }
        for (state, more) in state.iter_mut().zip([a, b, c, d]) {
            *state = state.wrapping_add(more);
        }
    }
    let bytes = state.iter().flat_map(|word| word.to_le_bytes());
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

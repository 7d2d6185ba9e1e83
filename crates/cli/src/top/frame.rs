//! The frame of `top`: a text of so many lines and columns, from two states and their difference.
//!
//! Names of tables and texts of statements come from clients. A terminal obeys control characters, so none is printed.

use sardonyx_results::table::Table;
use sardonyx_results::units;
use sardonyx_server::state::{ClientRates, Rates, State, Table as TableState};
use std::collections::HashMap;
use std::fmt::Write;

const BAR_CELLS: usize = 20;
/// Tables and statements that are shown.
const LISTED: usize = 8;

/// All lines, without regard to the terminal's size.
pub fn draw(state: &State, rates: &Rates) -> String {
    let mut text = String::new();
    // Writing to a text does not fail.
    let _ = head(state, rates, &mut text);
    let _ = pipeline(state, rates, &mut text);
    let _ = checkpoint(state, &mut text);
    let _ = write!(text, "\n{}", clients(state, rates));
    if !state.tables.is_empty() {
        let _ = write!(text, "\n{}", tables(state, rates));
    }
    let slow = state.slow_statements.as_deref().unwrap_or_default();
    if !slow.is_empty() {
        let mut table = Table::new(["#slowest", "#times", "#last", "user", "statement"]);
        for one in slow.iter().take(LISTED) {
            let ago = (state.unix_seconds - one.last_unix_seconds).max(0.0);
            table.row([
                units::time(one.slowest_seconds),
                units::count(one.times),
                format!("{ago:.0} s ago"),
                plain(&one.user),
                plain(&one.text),
            ]);
        }
        let _ = write!(text, "\n{table}");
    }
    text
}

/// The part of a text that a terminal of this size shows, without a line break at the end.
pub fn fit(text: &str, columns: usize, lines: usize) -> String {
    let cut = |line: &str| line.chars().take(columns).collect::<String>();
    let lines: Vec<String> = text.lines().take(lines).map(cut).collect();
    lines.join("\n")
}

/// Escapes characters that a terminal would obey; the text is one line.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        let visible = |character: char| {
            if character.is_control() {
                '?'
            } else {
                character
            }
        };
        plain.extend(word.chars().map(visible));
    }
    plain
}

fn head(state: &State, rates: &Rates, text: &mut String) -> std::fmt::Result {
    let ready = if state.readiness.ready {
        "ready"
    } else {
        "NOT READY"
    };
    let up = state.uptime_seconds as u64;
    let (hours, minutes, seconds) = (up / 3600, up / 60 % 60, up % 60);
    writeln!(
        text,
        "Sardonyx {}  {ready}  up {hours}:{minutes:02}:{seconds:02}  {}  {} errors",
        plain(&state.version),
        units::rate(rates.transactions),
        units::rate(rates.errors),
    )?;
    for obstacle in &state.readiness.obstacles {
        writeln!(text, "! {}", plain(obstacle))?;
    }
    writeln!(text)
}

fn pipeline(state: &State, rates: &Rates, text: &mut String) -> std::fmt::Result {
    let transactions = format!("{} transactions", units::rate(rates.transactions));
    let groups = match rates.transactions_per_group {
        Some(each) => format!(
            "{} groups of {each:.1}, the largest of {}; {} to the log",
            units::rate(rates.groups),
            units::count(state.log.largest_group),
            shown_bytes(rates.log_bytes),
        ),
        None => "no groups".into(),
    };
    let written = format!("{} to the backup", shown_bytes(rates.backup_bytes));
    for (stage, load) in rates.loads.named() {
        let remark = match stage {
            "execution" => transactions.as_str(),
            "logging" => groups.as_str(),
            "checkpoint" => written.as_str(),
            _ => "",
        };
        let line = format!("{stage:<11}{} {:>4.0}%  {remark}", bar(load), load * 100.0);
        writeln!(text, "{}", line.trim_end())?;
    }
    if let Some([half, most, nearly_all]) = rates.write_seconds.map(|times| times.map(units::time))
    {
        writeln!(
            text,
            "a group is written within {half} (half), {most} (95%), {nearly_all} (99%); {} not durable yet",
            state.log.outstanding_groups
        )?;
    }
    Ok(())
}

fn bar(share: f64) -> String {
    let full = (share.clamp(0.0, 1.0) * BAR_CELLS as f64).round() as usize;
    format!("[{}{}]", "#".repeat(full), ".".repeat(BAR_CELLS - full))
}

fn shown_bytes(per_second: f64) -> String {
    format!("{}/s", units::bytes(per_second.round() as u64))
}

fn checkpoint(state: &State, text: &mut String) -> std::fmt::Result {
    let checkpoint = &state.checkpoint;
    let what = match (
        checkpoint.stopped,
        checkpoint.waiting_seconds,
        checkpoint.running,
    ) {
        (true, _, _) => "stopped".to_string(),
        (_, Some(waited), _) => format!("waits for room on the disk, for {}", units::time(waited)),
        (_, _, true) => "being written".into(),
        _ => "idle".into(),
    };
    writeln!(
        text,
        "checkpoint {what}; {} completed; log to redo {} ({} transactions)",
        units::count(checkpoint.completed),
        units::bytes(checkpoint.lag_bytes),
        units::count(checkpoint.lag_transactions),
    )?;
    if let Some(store) = &state.store {
        let answers = if store.answers {
            "answers"
        } else {
            "GIVES NO ANSWER"
        };
        let lag = units::bytes(store.lag_bytes);
        writeln!(text, "store {answers}, {lag} behind")?;
    }
    writeln!(
        text,
        "memory {} of pages, {} of indexes",
        units::bytes(state.memory.pages),
        units::bytes(state.memory.indexes),
    )
}

fn clients(state: &State, rates: &Rates) -> Table {
    let columns = [
        "clients",
        "#open",
        "#statements/s",
        "#flights/s",
        "#half within",
        "#95%",
        "#99%",
    ];
    let mut table = Table::new(columns);
    for clients in &state.clients {
        let same = |one: &&ClientRates| one.protocol == clients.protocol;
        let rates = rates.clients.iter().find(same).cloned().unwrap_or_default();
        let times = rates.seconds.map(|times| times.map(units::time));
        let [half, most, nearly_all] = times.unwrap_or_default();
        table.row([
            plain(&clients.protocol),
            units::count(clients.open),
            format!("{:.0}", rates.statements),
            format!("{:.0}", rates.flights),
            half,
            most,
            nearly_all,
        ]);
    }
    table
}

/// The tables with the most changes, then the largest ones.
fn tables(state: &State, rates: &Rates) -> Table {
    let mut table = Table::new(["table", "#changes/s", "#rows", "#size"]);
    let changed = rates.table_changes.iter();
    let changes: HashMap<&str, f64> = changed.map(|(name, rate)| (name.as_str(), *rate)).collect();
    let rate = |one: &TableState| changes.get(one.name.as_str()).copied().unwrap_or_default();
    let mut hottest: Vec<&TableState> = state.tables.iter().collect();
    hottest.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    for one in hottest.iter().take(LISTED) {
        let changes = match rate(one) {
            0.0 => String::new(),
            rate => units::count(rate.round() as u64),
        };
        let (rows, bytes) = (units::count(one.rows), units::bytes(one.bytes));
        table.row([plain(&one.name), changes, rows, bytes]);
    }
    let left = state.tables_total.saturating_sub(LISTED as u64);
    if left > 0 {
        table.row([
            format!("and {left} others"),
            String::new(),
            String::new(),
            String::new(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_server::state::Statement;

    fn states() -> (State, Rates) {
        let mut after = State {
            version: "1.0".into(),
            uptime_seconds: 3725.0,
            transactions: 7_450_000,
            ..State::default()
        };
        after.log.groups = 74_500;
        after.stages.execution = 3725.0 / 2.0;
        after.tables.push(TableState {
            name: "a\u{1b}[2Jb\nc".into(),
            rows: 1234,
            bytes: 1 << 20,
            changes: 40_000,
        });
        // A smaller one with changes: the other had as many changes before.
        let unchanged = after.tables.first().cloned();
        after.tables.push(TableState {
            name: "hot".into(),
            rows: 7,
            bytes: 1 << 14,
            changes: 3725 * 2,
        });
        let before = State {
            tables: unchanged
                .into_iter()
                .chain([TableState {
                    name: "hot".into(),
                    ..TableState::default()
                }])
                .collect(),
            ..State::default()
        };
        after.tables_total = 10;
        after.slow_statements = Some(vec![Statement {
            text: "select\n\t1 \u{7}".into(),
            slowest_seconds: 1.5,
            times: 3,
            ..Statement::default()
        }]);
        let rates = Rates::between(&before, &after).unwrap();
        (after, rates)
    }

    #[test]
    fn all_is_shown_and_nothing_that_a_terminal_would_obey() {
        let (state, rates) = states();
        let text = draw(&state, &rates);
        for wanted in [
            "Sardonyx 1.0  NOT READY  up 1:02:05  2,000/s",
            "execution  [##########..........]   50%  2,000/s transactions",
            "groups of 100.0",
            "a?[2Jb c",
            "hot                   2      7  16.0 KiB",
            "1,234   1.0 MiB",
            "and 2 others",
            "select 1 ?",
        ] {
            assert!(text.contains(wanted), "{wanted}:\n{text}");
        }
        let obeyed = |character: char| character.is_control() && character != '\n';
        assert!(!text.contains(obeyed), "{text:?}");
    }

    #[test]
    fn what_is_shown_fits() {
        assert_eq!(fit("abcd\nef\ngh\n", 3, 2), "abc\nef");
        let (state, rates) = states();
        let fitted = fit(&draw(&state, &rates), 40, 10);
        // The last lines may be empty.
        assert_eq!(fitted.split('\n').count(), 10);
        assert!(fitted.lines().all(|line| line.chars().count() <= 40));
    }
}

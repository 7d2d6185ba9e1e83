//! Table 1 of the TPK paper, and a run's figures in its form.
//!
//! Source: TPK paper (Li & Naughton), section 4, Table 1 and the break-down of configuration C's time.

use super::figures::Run;
use sardonyx_results::table::Table;
use sardonyx_results::units;

/// A column of Table 1.
struct Column {
    name: &'static str,
    transactions_per_second: f64,
    average_milliseconds: f64,
    max_milliseconds: f64,
    within_1_s_percent: f64,
    group_size: f64,
}

const TABLE_1: [Column; 3] = [
    Column {
        name: "A",
        transactions_per_second: 77.0,
        average_milliseconds: 480.0,
        max_milliseconds: 3792.0,
        within_1_s_percent: 96.0,
        group_size: 50.0,
    },
    Column {
        name: "B",
        transactions_per_second: 449.0,
        average_milliseconds: 505.0,
        max_milliseconds: 1622.0,
        within_1_s_percent: 97.0,
        group_size: 200.0,
    },
    Column {
        name: "C",
        transactions_per_second: 1282.0,
        average_milliseconds: 509.0,
        max_milliseconds: 1228.0,
        within_1_s_percent: 96.0,
        group_size: 400.0,
    },
];

/// The break-down of configuration C's time for 50,000 transactions, in seconds.
const STAGES_OF_C: [(&str, f64); 6] = [
    ("Total", 39.0),
    ("Input", 38.5),
    ("Execute", 38.5),
    ("Log", 28.7),
    ("Output", 12.2),
    ("Checkpoint", 20.9),
];

/// Table 1 with the runs beside it.
pub fn table_1(runs: &[Run]) -> Table {
    let names = TABLE_1
        .iter()
        .map(|column| format!("#1988 {}", column.name));
    let ours = runs
        .iter()
        .map(|run| format!("#here {:?}", run.configuration));
    let names: Vec<String> = [String::new()]
        .into_iter()
        .chain(names)
        .chain(ours)
        .collect();
    let mut table = Table::new(names.iter().map(String::as_str));
    let mut row = |name: &str, theirs: fn(&Column) -> String, here: fn(&Run) -> String| {
        let cells = TABLE_1.iter().map(theirs).chain(runs.iter().map(here));
        table.row([name.to_string()].into_iter().chain(cells));
    };
    row(
        "Throughput (TPS)",
        |column| units::count(column.transactions_per_second as u64),
        |run| units::count(run.transactions_per_second as u64),
    );
    row(
        "Avg. response time (msec)",
        |column| format!("{:.0}", column.average_milliseconds),
        |run| milliseconds(run, |responses| responses.summary.average_microseconds),
    );
    row(
        "Max response time (msec)",
        |column| format!("{:.0}", column.max_milliseconds),
        |run| milliseconds(run, |responses| responses.summary.max_microseconds),
    );
    row(
        "Percent response < 1 sec",
        |column| format!("{:.0}", column.within_1_s_percent),
        |run| match run.responses {
            Some(responses) => format!("{:.2}", responses.share_within_1_s * 100.0),
            None => "-".into(),
        },
    );
    row(
        "Group size (transactions)",
        |column| format!("{:.0}", column.group_size),
        |run| format!("{:.0}", run.groups.mean),
    );
    table
}

fn milliseconds(run: &Run, of: fn(&super::figures::Responses) -> f64) -> String {
    run.responses
        .as_ref()
        .map_or_else(|| "-".into(), |r| format!("{:.2}", of(r) / 1e3))
}

/// The break-down of the time with the runs beside it.
pub fn stage_times(runs: &[Run]) -> Table {
    let ours = runs
        .iter()
        .map(|run| format!("#here {:?} (s)", run.configuration));
    let names: Vec<String> = ["".into(), "#1988 C (s)".to_string()]
        .into_iter()
        .chain(ours)
        .collect();
    let mut table = Table::new(names.iter().map(String::as_str));
    for (number, (name, seconds)) in STAGES_OF_C.into_iter().enumerate() {
        let here = runs.iter().map(|run| {
            let stages = &run.stages;
            let figures = [
                stages.total,
                stages.input,
                stages.execute,
                stages.log,
                stages.output,
                stages.checkpoint,
            ];
            format!("{:.4}", figures[number])
        });
        let cells = [name.to_string(), format!("{seconds:.1}")];
        table.row(cells.into_iter().chain(here));
    }
    table
}

//! Prints what was measured.

use crate::output::Output;
use crate::output::table::{Sheet, Table};
use crate::output::units::{bytes, count, nanoseconds, time};
use sardonyx_lab::floor::libxac::Access;
use sardonyx_lab::floor::{Distribution, Face, SyncLatency};
use sardonyx_lab::page_touch::{Advice, Cell, Report, SnapshotOpening, Subject};
use std::io::Write;
use std::path::PathBuf;

/// Prints a report for people.
pub fn print(report: &Report, output: &mut Output) -> anyhow::Result<()> {
    let durable = if report.durable {
        "durable"
    } else {
        "nothing durable"
    };
    let repetitions = report
        .cells
        .first()
        .map_or(0, |cell| cell.repetitions as u64);
    writeln!(
        output,
        "Page-touch, {durable}, {}: medians of {} transactions",
        report.face,
        count(repetitions)
    )?;
    if let Some(latency) = &report.sync_latency {
        writeln!(output, "{}", sync(latency, report.face))?;
    }
    for (access, advice) in transactions(report) {
        writeln!(output, "\n{}", by_size(report, access, advice))?;
    }
    writeln!(output, "With most pages, ns a page\n{}", largest(report))?;
    writeln!(
        output,
        "Pages read in the last transaction and now again, ns a page"
    )?;
    writeln!(output, "{}", revisits(report))?;
    writeln!(
        output,
        "A transaction that reads R pages and writes W, fitted to medians"
    )?;
    writeln!(output, "{}", models(report))?;
    writeln!(
        output,
        "What the steps cost (Tables 4.3 to 4.5)\n{}",
        steps(report)
    )?;
    writeln!(
        output,
        "The steps added up (Table 4.6), ns a page\n{}",
        estimates(report)
    )?;
    if let Some(snapshot) = &report.snapshot {
        write!(output, "{}", opening(snapshot))?;
    }
    Ok(())
}

/// Says which files there are now. Programs know, and get nothing else in their JSON.
pub fn written(files: &[PathBuf], output: &mut Output) -> anyhow::Result<()> {
    if !output.is_json() {
        for file in files {
            writeln!(output, "written: {}", file.display())?;
        }
    }
    Ok(())
}

/// The bare durable write of the same run.
pub fn sync(latency: &SyncLatency, face: Face) -> String {
    let median = |latency: sardonyx_lab::floor::Latency| time(latency.median_microseconds / 1e6);
    format!(
        "bare durable write of 4 KiB: median {} with the cores as they are, {} with a core kept \
         busy; this run: {face}",
        median(latency.idle),
        median(latency.busy),
    )
}

/// The kinds of transactions that were run, in order.
pub fn transactions(report: &Report) -> Vec<(Access, Advice)> {
    let mut kinds = Vec::new();
    for cell in &report.cells {
        if !kinds.contains(&(cell.access, cell.advice)) {
            kinds.push((cell.access, cell.advice));
        }
    }
    kinds
}

/// The subjects that ran such a transaction, in order.
pub fn subjects(report: &Report, access: Access, advice: Advice) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for cell in of_kind(report, access, advice) {
        if !subjects.contains(&cell.subject) {
            subjects.push(cell.subject);
        }
    }
    subjects
}

/// The cells of such a transaction.
pub fn of_kind(
    report: &Report,
    access: Access,
    advice: Advice,
) -> impl Iterator<Item = &Cell> + Clone {
    let cells = report.cells.iter();
    cells.filter(move |cell| cell.access == access && cell.advice == advice)
}

/// What a transaction does, in words.
pub fn title(access: Access, advice: Advice) -> String {
    let verb = access_name(access);
    match advice {
        Advice::None => format!("{verb} n pages"),
        Advice::Page => format!("{verb} n pages, each announced"),
        Advice::Range => format!("{verb} n pages, all announced at once"),
    }
}

/// The name of an access, for people and files.
pub fn access_name(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
    }
}

fn by_size(report: &Report, access: Access, advice: Advice) -> Table {
    let subjects = subjects(report, access, advice);
    let first = format!("#{}, ns a page", title(access, advice));
    let names = subjects
        .iter()
        .map(|subject| format!("#{}", subject.name()));
    let names: Vec<String> = [first].into_iter().chain(names).collect();
    let mut table = Table::new(names.iter().map(String::as_str));
    let cells = of_kind(report, access, advice);
    let mut sizes: Vec<usize> = cells.clone().map(|cell| cell.pages).collect();
    sizes.dedup();
    for pages in sizes {
        let time = |subject: &Subject| {
            let mut of = cells.clone();
            let cell = of.find(|cell| cell.pages == pages && cell.subject == *subject);
            cell.map_or("-".into(), |cell| {
                nanoseconds(cell.per_page.median_nanoseconds)
            })
        };
        let times = subjects.iter().map(time);
        table.row([count(pages as u64)].into_iter().chain(times));
    }
    table
}

fn largest(report: &Report) -> Table {
    let mut table = Table::new([
        "mechanism",
        "access",
        "advice",
        "#median",
        "#mean",
        "#p99",
        "#max",
        "#of it copying back",
    ]);
    let most = report.cells.iter().map(|cell| cell.pages).max();
    for cell in report.cells.iter().filter(|cell| Some(cell.pages) == most) {
        let names = [
            cell.subject.name(),
            access_name(cell.access),
            cell.advice.name(),
        ];
        let copy_back = match cell.copy_back_nanoseconds {
            0.0 => "-".into(),
            copying => nanoseconds(copying),
        };
        let cells = names
            .map(String::from)
            .into_iter()
            .chain(times(&cell.per_page));
        table.row(cells.chain([copy_back]));
    }
    table
}

fn times(times: &Distribution) -> [String; 4] {
    [
        times.median_nanoseconds,
        times.mean_nanoseconds,
        times.p99_nanoseconds,
        times.max_nanoseconds,
    ]
    .map(nanoseconds)
}

fn revisits(report: &Report) -> Table {
    let names = [
        "mechanism",
        "in between",
        "#pages",
        "#median",
        "#mean",
        "#p99",
        "#max",
    ];
    let mut table = Table::new(names);
    for revisit in &report.revisits {
        let between = match revisit.changed {
            true => "another changed them",
            false => "nothing changed",
        };
        let names = [revisit.subject.name(), between].map(String::from);
        let pages = [count(revisit.pages as u64)];
        table.row(
            names
                .into_iter()
                .chain(pages)
                .chain(times(&revisit.per_page)),
        );
    }
    table
}

fn models(report: &Report) -> Table {
    let names = [
        "mechanism",
        "model",
        "#a, ns",
        "#b, ns",
        "#c, ns",
        "#residual rms, ns",
        "#max, ns",
        "#R2",
    ];
    let mut table = Table::new(names);
    for model in &report.models {
        table.row([
            model.subject.name().into(),
            model.form.into(),
            nanoseconds(model.a_nanoseconds),
            nanoseconds(model.b_nanoseconds),
            model.c_nanoseconds.map_or("-".into(), nanoseconds),
            nanoseconds(model.residual_rms_nanoseconds),
            nanoseconds(model.residual_max_nanoseconds),
            model
                .r_squared
                .map_or("-".into(), |share| format!("{share:.5}")),
        ]);
    }
    table
}

fn steps(report: &Report) -> Table {
    let mut table = Table::new(["table", "step", "#ns", "each"]);
    for row in report.decomposition.rows() {
        let cost = row
            .nanoseconds
            .map_or("not in this kernel".into(), nanoseconds);
        table.row([row.source.into(), row.step.into(), cost, row.per.into()]);
    }
    table
}

fn estimates(report: &Report) -> Table {
    let names = [
        "mechanism",
        "access",
        "advice",
        "steps",
        "#estimated",
        "#actual",
        "#lacking",
        "#%",
    ];
    let mut table = Table::new(names);
    for estimate in &report.estimates {
        let (estimated, actual) = (estimate.estimated_nanoseconds, estimate.actual_nanoseconds);
        table.row([
            estimate.subject.name().into(),
            access_name(estimate.access).into(),
            estimate.advice.name().into(),
            estimate.steps.into(),
            nanoseconds(estimated),
            nanoseconds(actual),
            nanoseconds(actual - estimated),
            format!("{:.1}", estimate.difference_percent),
        ]);
    }
    table
}

fn opening(snapshot: &SnapshotOpening) -> Sheet {
    let mut sheet = Sheet::default();
    let size = bytes(snapshot.bytes);
    sheet.heading(format!("A read-only snapshot of {size}, nothing changed"));
    let shown = |times: &Distribution| {
        let remark = format!(
            "mean {}, p99 {}, max {}",
            time(times.mean_nanoseconds / 1e9),
            time(times.p99_nanoseconds / 1e9),
            time(times.max_nanoseconds / 1e9)
        );
        (time(times.median_nanoseconds / 1e9), remark)
    };
    let (figure, remark) = shown(&snapshot.opening);
    sheet.remarked("opens in", figure, remark);
    let (figure, remark) = shown(&snapshot.closing);
    sheet.remarked("closes in", figure, remark);
    let first = format!("{} ns", nanoseconds(snapshot.first_read_nanoseconds));
    sheet.remarked("a page read first", first, "once for each view");
    sheet
}

//! The measurements, for people, as CSV, and as the pictures of Figures 4-2 and 4-4.

use super::{Advice, Cell, Estimate, Figures, Model, Point, Revisit, SnapshotOpening, Subject};
use crate::experiment::Report;
use crate::floor::Distribution;
use crate::floor::libxac::Access;
use sardonyx_results::chart::{Axis, Chart, Mark, Panel, Series};
use sardonyx_results::grid::{Grid, Unit};
use sardonyx_results::table::{Sheet, Table};
use sardonyx_results::units::{bytes, count, nanoseconds, time};
use sardonyx_results::{Estimate as Height, Findings};

/// The findings.
///
/// # Errors
/// The figures cannot be written as JSON.
pub fn findings(report: &Report<Figures>) -> serde_json::Result<Findings> {
    let figures = &report.figures;
    let durable = match figures.durable {
        true => "durable",
        false => "nothing durable",
    };
    let first = figures.cells.first();
    let repetitions = first.map_or(0, |cell| cell.repetitions as u64);
    let mut findings = Findings::of(report)?
        .note(format_args!(
            "Page-touch, {durable}, {}: medians of {} transactions",
            report.face,
            count(repetitions)
        ))
        .note(report.sync_line());
    for (access, advice) in kinds(figures) {
        findings = findings.gap().note(by_size(figures, access, advice));
    }
    let most = figures.cells.iter().map(|cell| cell.pages).max();
    let largest = figures.cells.iter().filter(|cell| Some(cell.pages) == most);
    findings = findings
        .gap()
        .note("With most pages, ns a page")
        .note(cells(largest).table())
        .data("page-touch", &cells(&figures.cells))
        .gap()
        .note("Pages read in the last transaction and now again, ns a page")
        .grid("revisits", &revisits(&figures.revisits))
        .gap()
        .note("A transaction that reads R pages and writes W, fitted to medians")
        .note(models(&figures.models).table())
        .data("model", &points(&figures.models))
        .gap()
        .note("What the steps cost (Tables 4.3 to 4.5)")
        .grid("steps", &steps(figures))
        .gap()
        .note("The steps added up (Table 4.6), ns a page")
        .grid("estimates", &estimates(&figures.estimates))
        .chart("page-touch", &chart(figures));
    if let Some(snapshot) = &figures.snapshot {
        findings = findings
            .gap()
            .note(opening(snapshot))
            .data("snapshot", &snapshots(snapshot));
    }
    Ok(findings)
}

/// The kinds of transactions that were run, in order.
fn kinds(figures: &Figures) -> Vec<(Access, Advice)> {
    let mut kinds = Vec::new();
    for cell in &figures.cells {
        if !kinds.contains(&(cell.access, cell.advice)) {
            kinds.push((cell.access, cell.advice));
        }
    }
    kinds
}

/// The subjects that ran such a transaction, in order.
fn subjects(figures: &Figures, access: Access, advice: Advice) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for cell in of_kind(figures, access, advice) {
        if !subjects.contains(&cell.subject) {
            subjects.push(cell.subject);
        }
    }
    subjects
}

/// The cells of such a transaction.
fn of_kind(
    figures: &Figures,
    access: Access,
    advice: Advice,
) -> impl Iterator<Item = &Cell> + Clone {
    let cells = figures.cells.iter();
    cells.filter(move |cell| cell.access == access && cell.advice == advice)
}

/// The accesses of a transaction, in words.
fn title(access: Access, advice: Advice) -> String {
    let verb = access_name(access);
    match advice {
        Advice::None => format!("{verb} n pages"),
        Advice::Page => format!("{verb} n pages, each announced"),
        Advice::Range => format!("{verb} n pages, all announced at once"),
    }
}

fn access_name(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
    }
}

/// The medians: a row for each number of pages, a column for each subject.
fn by_size(figures: &Figures, access: Access, advice: Advice) -> Table {
    let subjects = subjects(figures, access, advice);
    let first = format!("#{}, ns a page", title(access, advice));
    let names = subjects
        .iter()
        .map(|subject| format!("#{}", subject.name()));
    let names: Vec<String> = [first].into_iter().chain(names).collect();
    let mut table = Table::new(names.iter().map(String::as_str));
    let cells = of_kind(figures, access, advice);
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

/// Adds the columns of a distribution of times.
fn times<R>(grid: Grid<R>, of: impl Fn(&R) -> &Distribution) -> Grid<R> {
    let ns = Unit::Nanoseconds;
    grid.number("median", "median_ns", ns, |row| of(row).median_nanoseconds)
        .number("mean", "mean_ns", ns, |row| of(row).mean_nanoseconds)
        .number("p99", "p99_ns", ns, |row| of(row).p99_nanoseconds)
        .number("max", "max_ns", ns, |row| of(row).max_nanoseconds)
}

fn cells<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Grid<&'a Cell> {
    let grid = Grid::of(cells)
        .text("mechanism", "mechanism", |cell| cell.subject.name())
        .text("access", "access", |cell| access_name(cell.access))
        .text("advice", "advice", |cell| cell.advice.name())
        .count("", "pages", |cell| cell.pages as u64)
        .count("", "repetitions", |cell| cell.repetitions as u64);
    let copy_back = |cell: &&Cell| cell.copy_back_nanoseconds;
    times(grid, |cell| &cell.per_page)
        .maybe("of it copying back", "", Unit::Nanoseconds, |cell| {
            Some(copy_back(cell)).filter(|time| *time != 0.0)
        })
        .number("", "copy_back_ns", Unit::Nanoseconds, copy_back)
}

fn revisits(revisits: &[Revisit]) -> Grid<&Revisit> {
    let grid = Grid::of(revisits)
        .text("mechanism", "mechanism", |revisit| revisit.subject.name())
        .text("in between", "", |revisit| match revisit.changed {
            true => "another changed them",
            false => "nothing changed",
        })
        .text("", "changed", |revisit| revisit.changed)
        .count("pages", "pages", |revisit| revisit.pages as u64)
        .count("", "repetitions", |revisit| revisit.repetitions as u64);
    times(grid, |revisit| &revisit.per_page)
}

fn models(models: &[Model]) -> Grid<&Model> {
    let ns = Unit::Nanoseconds;
    Grid::of(models)
        .text("mechanism", "", |model| model.subject.name())
        .text("model", "", |model| model.form)
        .number("a, ns", "", ns, |model| model.a_nanoseconds)
        .number("b, ns", "", ns, |model| model.b_nanoseconds)
        .maybe("c, ns", "", ns, |model| model.c_nanoseconds)
        .number("residual rms, ns", "", ns, |model| {
            model.residual_rms_nanoseconds
        })
        .number("max, ns", "", ns, |model| model.residual_max_nanoseconds)
        .maybe("R2", "", Unit::Decimals(5), |model| model.r_squared)
}

/// The points of the fits.
fn points(models: &[Model]) -> Grid<(&Model, &Point)> {
    let ns = Unit::Nanoseconds;
    let points = models
        .iter()
        .flat_map(|model| model.points.iter().map(move |point| (model, point)));
    Grid::of(points)
        .text("", "mechanism", |(model, _)| model.subject.name())
        .text("", "model", |(model, _)| model.form)
        .number("", "a_ns", ns, |(model, _)| model.a_nanoseconds)
        .number("", "b_ns", ns, |(model, _)| model.b_nanoseconds)
        .maybe("", "c_ns", ns, |(model, _)| model.c_nanoseconds)
        .count("", "reads", |(_, point)| point.reads as u64)
        .count("", "writes", |(_, point)| point.writes as u64)
        .number("", "measured_ns", ns, |(_, point)| {
            point.measured_nanoseconds
        })
        .number("", "fitted_ns", ns, |(_, point)| point.fitted_nanoseconds)
}

fn steps(figures: &Figures) -> Grid<crate::floor::decomposition::Row> {
    Grid::of(figures.decomposition.rows())
        .text("table", "table", |row| row.source)
        .text("step", "step", |row| row.step)
        .maybe("ns", "ns", Unit::Nanoseconds, |row| row.nanoseconds)
        .text("each", "each", |row| row.per)
}

fn estimates(estimates: &[Estimate]) -> Grid<&Estimate> {
    let ns = Unit::Nanoseconds;
    Grid::of(estimates)
        .text("mechanism", "mechanism", |one| one.subject.name())
        .text("access", "access", |one| access_name(one.access))
        .text("advice", "advice", |one| one.advice.name())
        .text("steps", "steps", |one| one.steps)
        .number("estimated", "estimated_ns", ns, |one| {
            one.estimated_nanoseconds
        })
        .number("actual", "actual_ns", ns, |one| one.actual_nanoseconds)
        .number("lacking", "", ns, |one| {
            one.actual_nanoseconds - one.estimated_nanoseconds
        })
        .number("%", "difference_percent", Unit::Decimals(1), |one| {
            one.difference_percent
        })
}

fn snapshots(snapshot: &SnapshotOpening) -> Grid<(&'static str, &Distribution)> {
    let grid = Grid::of([("open", &snapshot.opening), ("close", &snapshot.closing)])
        .count("", "bytes", |_| snapshot.bytes)
        .text("", "what", |(what, _)| *what);
    times(grid, |(_, times)| times)
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

/// Figures 4-2 and 4-4: time a page over the number of pages.
fn chart(figures: &Figures) -> Chart {
    let of_the_thesis = |(_, advice): &(Access, Advice)| *advice != Advice::Range;
    let panels = kinds(figures).into_iter().filter(of_the_thesis);
    Chart {
        title: "Time a page of a transaction that touches n pages".into(),
        x: Axis::logarithmic("pages"),
        y: Axis::linear("nanoseconds a page, median"),
        panels: panels
            .map(|(access, advice)| panel(figures, access, advice))
            .collect(),
    }
}

fn panel(figures: &Figures, access: Access, advice: Advice) -> Panel {
    let series = |subject: Subject| Series {
        label: subject.name().into(),
        group: Subject::ALL
            .iter()
            .position(|one| *one == subject)
            .unwrap_or(0),
        dashed: subject == Subject::Libxac,
        points: of_kind(figures, access, advice)
            .filter(|cell| cell.subject == subject)
            .map(|cell| Mark {
                x: cell.pages as f64,
                y: Some(Height::exactly(cell.per_page.median_nanoseconds)),
            })
            .collect(),
    };
    Panel {
        title: title(access, advice),
        series: subjects(figures, access, advice)
            .into_iter()
            .map(series)
            .collect(),
    }
}

//! What was measured, as files: CSV for other programs, and the pictures of Figures 4-2 and 4-4.

use super::present::{access_name, of_kind, subjects, title, transactions};
use crate::output::csv::text;
use sardonyx_lab::floor::Distribution;
use sardonyx_lab::floor::libxac::Access;
use sardonyx_lab::page_touch::{Advice, Report, Subject};
use sardonyx_simulation::chart::{Axis, Chart, Mark, Panel, Series};
use sardonyx_simulation::figures::Estimate;

/// All files: names and texts.
pub fn of(report: &Report) -> Vec<(&'static str, String)> {
    let mut files = vec![
        ("page-touch.csv", page_touch(report)),
        ("revisits.csv", revisits(report)),
        ("model.csv", model(report)),
        ("steps.csv", steps(report)),
        ("estimates.csv", estimates(report)),
        ("page-touch.svg", chart(report).svg()),
    ];
    if report.snapshot.is_some() {
        files.push(("snapshot.csv", snapshot(report)));
    }
    files
}

fn figures(times: &Distribution) -> [String; 4] {
    [
        times.median_nanoseconds,
        times.mean_nanoseconds,
        times.p99_nanoseconds,
        times.max_nanoseconds,
    ]
    .map(|figure| figure.to_string())
}

fn page_touch(report: &Report) -> String {
    let rows = report.cells.iter().map(|cell| {
        let [median, mean, p99, max] = figures(&cell.per_page);
        [
            cell.subject.name().into(),
            access_name(cell.access).into(),
            cell.advice.name().into(),
            cell.pages.to_string(),
            cell.repetitions.to_string(),
            median,
            mean,
            p99,
            max,
            cell.copy_back_nanoseconds.to_string(),
        ]
    });
    let names = [
        "mechanism",
        "access",
        "advice",
        "pages",
        "repetitions",
        "median_ns",
        "mean_ns",
        "p99_ns",
        "max_ns",
        "copy_back_ns",
    ];
    text(names, rows)
}

fn revisits(report: &Report) -> String {
    let rows = report.revisits.iter().map(|revisit| {
        let [median, mean, p99, max] = figures(&revisit.per_page);
        [
            revisit.subject.name().into(),
            revisit.changed.to_string(),
            revisit.pages.to_string(),
            revisit.repetitions.to_string(),
            median,
            mean,
            p99,
            max,
        ]
    });
    let names = [
        "mechanism",
        "changed",
        "pages",
        "repetitions",
        "median_ns",
        "mean_ns",
        "p99_ns",
        "max_ns",
    ];
    text(names, rows)
}

fn model(report: &Report) -> String {
    let rows = report.models.iter().flat_map(|model| {
        model.points.iter().map(|point| {
            [
                model.subject.name().into(),
                model.form.into(),
                model.a_nanoseconds.to_string(),
                model.b_nanoseconds.to_string(),
                model.c_nanoseconds.map_or(String::new(), |c| c.to_string()),
                point.reads.to_string(),
                point.writes.to_string(),
                point.measured_nanoseconds.to_string(),
                point.fitted_nanoseconds.to_string(),
            ]
        })
    });
    let names = [
        "mechanism",
        "model",
        "a_ns",
        "b_ns",
        "c_ns",
        "reads",
        "writes",
        "measured_ns",
        "fitted_ns",
    ];
    text(names, rows)
}

fn steps(report: &Report) -> String {
    let rows = report.decomposition.rows().into_iter().map(|row| {
        let cost = row
            .nanoseconds
            .map_or(String::new(), |cost| cost.to_string());
        [row.source.into(), row.step.into(), cost, row.per.into()]
    });
    text(["table", "step", "ns", "each"], rows)
}

fn estimates(report: &Report) -> String {
    let rows = report.estimates.iter().map(|estimate| {
        [
            estimate.subject.name().into(),
            access_name(estimate.access).into(),
            estimate.advice.name().into(),
            estimate.steps.into(),
            estimate.estimated_nanoseconds.to_string(),
            estimate.actual_nanoseconds.to_string(),
            estimate.difference_percent.to_string(),
        ]
    });
    let names = [
        "mechanism",
        "access",
        "advice",
        "steps",
        "estimated_ns",
        "actual_ns",
        "difference_percent",
    ];
    text(names, rows)
}

fn snapshot(report: &Report) -> String {
    let rows = report.snapshot.iter().flat_map(|snapshot| {
        [("open", &snapshot.opening), ("close", &snapshot.closing)].map(|(what, times)| {
            let [median, mean, p99, max] = figures(times);
            [
                snapshot.bytes.to_string(),
                what.into(),
                median,
                mean,
                p99,
                max,
            ]
        })
    });
    text(
        ["bytes", "what", "median_ns", "mean_ns", "p99_ns", "max_ns"],
        rows,
    )
}

/// Figures 4-2 and 4-4: time a page over the number of pages.
fn chart(report: &Report) -> Chart {
    let kinds = transactions(report);
    let of_the_thesis = |(_, advice): &(Access, Advice)| *advice != Advice::Range;
    let panels = kinds.into_iter().filter(of_the_thesis);
    Chart {
        title: "Time a page of a transaction that touches n pages".into(),
        x: Axis::logarithmic("pages"),
        y: Axis::linear("nanoseconds a page, median"),
        panels: panels
            .map(|(access, advice)| panel(report, access, advice))
            .collect(),
    }
}

fn panel(report: &Report, access: Access, advice: Advice) -> Panel {
    let series = |subject: Subject| Series {
        label: subject.name().into(),
        group: Subject::ALL
            .iter()
            .position(|one| *one == subject)
            .unwrap_or(0),
        dashed: subject == Subject::Libxac,
        points: of_kind(report, access, advice)
            .filter(|cell| cell.subject == subject)
            .map(|cell| Mark {
                x: cell.pages as f64,
                y: Some(Estimate::exactly(cell.per_page.median_nanoseconds)),
            })
            .collect(),
    };
    Panel {
        title: title(access, advice),
        series: subjects(report, access, advice)
            .into_iter()
            .map(series)
            .collect(),
    }
}

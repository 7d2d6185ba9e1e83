//! Persistence spheres percolate: with nothing to bound them, they grow together into one.
//!
//! Subtransactions that each modify a few pages at random end one after the other, and no transaction ends. Two that
//! share a page are one sphere from then on. As in any random graph, that changes suddenly. Let there be n pages in
//! all, and k in each subtransaction. Above n / (k (k - 1)) unwritten subtransactions, one sphere takes in a share of
//! everything. The next commit then writes it all. Beside it the same with a bound: a sphere of more pages than that
//! is written at once.
//!
//! ```text
//! cargo run --release -p sardonyx-multilevel --example percolation
//! cargo run --release -p sardonyx-multilevel --example percolation -- \
//!     --pages 10000 --each 3 --bound 64 --seed 1 --csv percolation.csv --svg percolation.svg
//! ```

use sardonyx_multilevel::PageId;
use sardonyx_multilevel::sphere::Spheres;
use sardonyx_workload::random::Random;
use std::error::Error;
use std::fmt::Write;

/// The number of rows of the table.
const ROWS: u64 = 24;

struct Options {
    pages: u64,
    /// Pages that each subtransaction modifies.
    each: u64,
    /// Pages of a sphere beyond which it is written.
    bound: usize,
    seed: u64,
    csv: Option<String>,
    svg: Option<String>,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut options = Options {
            pages: 10_000,
            each: 3,
            bound: 64,
            seed: 1,
            csv: None,
            svg: None,
        };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or(format!("{name} needs a value"))?;
            match name.as_str() {
                "--pages" => options.pages = value.parse()?,
                "--each" => options.each = value.parse()?,
                "--bound" => options.bound = value.parse()?,
                "--seed" => options.seed = value.parse()?,
                "--csv" => options.csv = Some(value),
                "--svg" => options.svg = Some(value),
                _ => return Err(format!("there is no option {name}").into()),
            }
        }
        if options.pages == 0 || options.each < 2 || options.each > options.pages {
            return Err("--each must be at least 2 and at most --pages".into());
        }
        Ok(options)
    }

    /// The number of subtransactions until one sphere has a share of everything.
    fn critical(&self) -> f64 {
        self.pages as f64 / (self.each * (self.each - 1)) as f64
    }
}

/// Spheres, with and without a bound.
struct Run {
    spheres: Spheres<()>,
    bound: Option<usize>,
}

impl Run {
    fn complete(&mut self, pages: &[PageId]) {
        let completed = self.spheres.complete(pages, &[], &[], ());
        if self
            .bound
            .is_some_and(|bound| completed.pages_in_sphere > bound)
        {
            self.spheres.take([completed.number]);
        }
    }

    /// The size of the largest sphere.
    fn largest(&self) -> usize {
        self.spheres.largest().map_or(0, |sphere| sphere.pages)
    }

    /// The number of pages that are written to force a dirty page, on average over the dirty pages.
    fn mean(&self) -> f64 {
        let squares: usize = self
            .spheres
            .spheres()
            .map(|sphere| sphere.pages.pow(2))
            .sum();
        squares as f64 / self.spheres.dirty_pages().max(1) as f64
    }
}

struct Row {
    completed: u64,
    spheres: usize,
    dirty: usize,
    mean: f64,
    largest: usize,
    bounded_unwritten: usize,
    bounded_mean: f64,
    bounded_largest: usize,
    bounded_taken: u64,
    bounded_taken_pages: f64,
}

fn run(options: &Options) -> Vec<Row> {
    let mut random = Random::new(options.seed);
    let mut unbounded = Run {
        spheres: Spheres::new(),
        bound: None,
    };
    let mut bounded = Run {
        spheres: Spheres::new(),
        bound: Some(options.bound),
    };
    let step = ((options.critical() / 8.0).ceil() as u64).max(1);
    let mut rows = Vec::new();
    for completed in 1..=ROWS * step {
        let mut pages = Vec::new();
        while (pages.len() as u64) < options.each {
            let page = PageId(random.below(options.pages));
            if !pages.contains(&page) {
                pages.push(page);
            }
        }
        unbounded.complete(&pages);
        bounded.complete(&pages);
        if completed.is_multiple_of(step) {
            let taken = bounded.spheres.statistics();
            rows.push(Row {
                completed,
                spheres: unbounded.spheres.len(),
                dirty: unbounded.spheres.dirty_pages(),
                mean: unbounded.mean(),
                largest: unbounded.largest(),
                bounded_unwritten: bounded.spheres.unwritten(),
                bounded_mean: bounded.mean(),
                bounded_largest: bounded.largest(),
                bounded_taken: taken.taken,
                bounded_taken_pages: taken.taken_pages as f64 / taken.taken.max(1) as f64,
            });
        }
    }
    rows
}

fn table(options: &Options, rows: &[Row]) -> String {
    let mut text = String::new();
    let Options {
        pages, each, bound, ..
    } = options;
    let critical = options.critical();
    let _ = writeln!(
        text,
        "Subtransactions of {each} of {pages} pages; no transaction ends."
    );
    let _ = writeln!(
        text,
        "Percolation is to be expected at {critical:.0} subtransactions.\n"
    );
    let _ = writeln!(
        text,
        "{:>9} | {:^38} | {:^47}",
        "",
        "no bound",
        format!("written when over {bound} pages")
    );
    let _ = writeln!(
        text,
        "{:>9} | {:>8} {:>8} {:>9} {:>10} | {:>9} {:>8} {:>8} {:>7} {:>11}",
        "completed",
        "spheres",
        "dirty",
        "mean",
        "largest",
        "unwritten",
        "mean",
        "largest",
        "writes",
        "pages/write"
    );
    for row in rows {
        let _ = writeln!(
            text,
            "{:>9} | {:>8} {:>8} {:>9.1} {:>10} | {:>9} {:>8.1} {:>8} {:>7} {:>11.1}",
            row.completed,
            row.spheres,
            row.dirty,
            row.mean,
            row.largest,
            row.bounded_unwritten,
            row.bounded_mean,
            row.bounded_largest,
            row.bounded_taken,
            row.bounded_taken_pages
        );
    }
    text.push_str(
        "\nmean: pages written to force one dirty page, on average over the dirty pages\n",
    );
    text
}

fn csv(rows: &[Row]) -> String {
    let mut text = String::from(
        "completed,spheres,dirty_pages,mean_pages,largest_pages,bounded_unwritten,\
         bounded_mean_pages,bounded_largest_pages,bounded_writes,bounded_pages_per_write\n",
    );
    for row in rows {
        let _ = writeln!(
            text,
            "{},{},{},{:.3},{},{},{:.3},{},{},{:.3}",
            row.completed,
            row.spheres,
            row.dirty,
            row.mean,
            row.largest,
            row.bounded_unwritten,
            row.bounded_mean,
            row.bounded_largest,
            row.bounded_taken,
            row.bounded_taken_pages
        );
    }
    text
}

/// Draws a curve, with its name above its end.
fn curve(text: &mut String, colour: &str, name: &str, points: impl Iterator<Item = (f64, f64)>) {
    let points: Vec<_> = points.collect();
    let (x, y) = points.last().copied().unwrap_or_default();
    let points: Vec<_> = points
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let _ = writeln!(
        text,
        "<polyline points=\"{}\" stroke=\"{colour}\" stroke-width=\"1.8\" fill=\"none\"/>\n\
         <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"{colour}\">{name}</text>",
        points.join(" "),
        y - 8.0
    );
}

/// The largest sphere over the completed subtransactions, with and without a bound.
fn svg(options: &Options, rows: &[Row]) -> String {
    const WIDTH: f64 = 640.0;
    const HEIGHT: f64 = 360.0;
    const LEFT: f64 = 70.0;
    const BOTTOM: f64 = 50.0;
    const TOP: f64 = 40.0;
    let most = rows.iter().map(|row| row.largest).max().unwrap_or(1).max(1) as f64;
    let last = rows.last().map_or(1, |row| row.completed) as f64;
    let across = |completed: f64| LEFT + completed / last * (WIDTH - LEFT - 20.0);
    let up = |pages: f64| HEIGHT - BOTTOM - pages / most * (HEIGHT - BOTTOM - TOP);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\">Pages of the largest persistence sphere \
         ({} of {} pages each)</text>\n",
        options.each, options.pages
    );
    let (floor, right) = (up(0.0), across(last));
    let _ = writeln!(
        text,
        "<path d=\"M{LEFT} {TOP}V{floor:.1}H{right:.1}\" stroke=\"#444\" fill=\"none\"/>"
    );
    for quarter in 0..=4 {
        let (x, y) = (
            last * f64::from(quarter) / 4.0,
            most * f64::from(quarter) / 4.0,
        );
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{x:.0}</text>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{y:.0}</text>",
            across(x),
            floor + 18.0,
            LEFT - 6.0,
            up(y) + 4.0
        );
    }
    let critical = across(options.critical());
    let _ = writeln!(
        text,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">completed subtransactions</text>\n\
         <path d=\"M{critical:.1} {TOP}V{floor:.1}\" stroke=\"#888\" stroke-dasharray=\"4 4\"/>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#555\">n / k(k - 1)</text>",
        (LEFT + right) / 2.0,
        HEIGHT - 10.0,
        critical + 5.0,
        TOP + 12.0
    );
    let name = format!("bound of {} pages", options.bound);
    let point = |completed: u64, pages: usize| (across(completed as f64), up(pages as f64));
    let unbounded = rows.iter().map(|row| point(row.completed, row.largest));
    let bounded = rows
        .iter()
        .map(|row| point(row.completed, row.bounded_largest));
    curve(&mut text, "#0064a8", "no bound", unbounded);
    curve(&mut text, "#cc4a00", &name, bounded);
    text.push_str("</svg>\n");
    text
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse(std::env::args().skip(1))?;
    let rows = run(&options);
    print!("{}", table(&options, &rows));
    if let Some(path) = &options.csv {
        std::fs::write(path, csv(&rows))?;
    }
    if let Some(path) = &options.svg {
        std::fs::write(path, svg(&options, &rows))?;
    }
    Ok(())
}

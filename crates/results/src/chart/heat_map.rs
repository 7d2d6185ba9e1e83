//! A figure over two parameters: one coloured cell for each pair of values.
//!
//! The colours are those of *viridis* (van der Walt and Smith, 2015): equal steps look equal, also
//! in grey and to people who do not see all colours.

use super::axis::{linear_ticks, tick_label};
use super::svg::{Anchor, Svg, TITLE_LINE, middle_within, text_width, title_lines};
use crate::Estimate;

/// A picture of a figure over two parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// Its meaning.
    pub title: String,
    /// The figure, with its unit.
    pub figure: String,
    /// The parameter from left to right.
    pub x: String,
    /// Its values.
    pub columns: Vec<String>,
    /// The parameter from bottom to top.
    pub y: String,
    /// Its values.
    pub rows: Vec<String>,
    /// The figure: for each row, bottom first, one value for each column; nothing is left blank.
    pub values: Vec<Vec<Option<Estimate>>>,
}

/// Viridis at eleven places from 0 to 1.
const VIRIDIS: [(u8, u8, u8); 11] = [
    (68, 1, 84),
    (72, 36, 117),
    (65, 68, 135),
    (53, 95, 141),
    (42, 120, 142),
    (33, 145, 140),
    (34, 168, 132),
    (68, 191, 112),
    (122, 209, 81),
    (189, 223, 38),
    (253, 231, 37),
];

const TOP: f64 = 44.0;
const BOTTOM: f64 = 54.0;
/// Between the cells and the legend, the legend's bar, and its labels.
const LEGEND: (f64, f64, f64) = (28.0, 16.0, 92.0);

/// The colour at `share` of the scale, from 0 to 1, and whether dark text is read better on it.
fn colour(share: f64) -> (String, bool) {
    let place = share.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let at = (place as usize).min(VIRIDIS.len() - 2);
    let between = place - at as f64;
    let (low, high) = (VIRIDIS[at], VIRIDIS[at + 1]);
    let mix = |low: u8, high: u8| {
        let (low, high) = (f64::from(low), f64::from(high));
        (low + between * (high - low)).round() as u8
    };
    let (red, green, blue) = (mix(low.0, high.0), mix(low.1, high.1), mix(low.2, high.2));
    let [r, g, b] = [red, green, blue].map(f64::from);
    let light = 0.299 * r + 0.587 * g + 0.114 * b;
    (format!("#{red:02x}{green:02x}{blue:02x}"), light > 125.0)
}

impl HeatMap {
    /// The picture.
    pub fn svg(&self) -> String {
        let (columns, rows) = (self.columns.len().max(1), self.rows.len().max(1));
        let cell = (
            (560.0 / columns as f64).clamp(8.0, 84.0),
            (360.0 / rows as f64).clamp(8.0, 46.0),
        );
        let labels = self.rows.iter().map(|label| text_width(label));
        let left = 52.0 + labels.fold(0.0, f64::max);
        let plot = (columns as f64 * cell.0, rows as f64 * cell.1);
        let (legend_gap, bar, legend_labels) = LEGEND;
        let width = left + plot.0 + legend_gap + bar + legend_labels;
        let width = width.max(8.0 + text_width(&self.x));
        let title = title_lines(&self.title, width - left - 4.0);
        let top = TOP + (title.len() as f64 - 1.0) * TITLE_LINE;
        let bar_height = plot.1.max(150.0);
        let upright = text_width(&self.figure).max(text_width(&self.y));
        let height = (top + bar_height + BOTTOM).max(8.0 + upright);
        let mut svg = Svg::new(width, height, &self.title);
        svg.title(left, &title);
        let range = self.range();
        let place = Place {
            corner: (left, top),
            cell,
            plot,
            picture: (width, height),
        };
        self.draw_cells(&mut svg, &place, range);
        self.draw_labels(&mut svg, &place);
        let corner = (left + plot.0 + legend_gap, top);
        self.draw_legend(&mut svg, corner, bar_height, height, range);
        svg.finish()
    }

    /// The least and the greatest value.
    fn range(&self) -> Option<(f64, f64)> {
        let values = self.values.iter().flatten().flatten();
        let values = values.map(|value| value.mean);
        let values = values.filter(|value| value.is_finite());
        values.fold(None, |range, value| match range {
            None => Some((value, value)),
            Some((least, most)) => Some((value.min(least), value.max(most))),
        })
    }

    fn draw_cells(&self, svg: &mut Svg, place: &Place, range: Option<(f64, f64)>) {
        let (rows, (left, top), cell) = (self.values.len(), place.corner, place.cell);
        for (row, values) in self.values.iter().enumerate() {
            let top = top + (rows - 1 - row) as f64 * cell.1;
            for (column, value) in values.iter().enumerate() {
                let corner = (left + column as f64 * cell.0, top);
                let (Some(value), Some((least, most))) = (value, range) else {
                    continue;
                };
                if !value.mean.is_finite() {
                    continue;
                }
                let share = if most > least {
                    (value.mean - least) / (most - least)
                } else {
                    0.5
                };
                let (fill, light) = colour(share);
                svg.rectangle(corner, cell, "", Some(&fill));
                let class = if light { "on-light" } else { "on-dark" };
                for (line, text) in lines_of(*value, cell) {
                    let middle = (corner.0 + 0.5 * cell.0, corner.1 + 0.5 * cell.1 + line);
                    svg.text(middle, Anchor::Middle, class, &text);
                }
            }
        }
    }

    fn draw_labels(&self, svg: &mut Svg, place: &Place) {
        let ((left, top), cell, plot) = (place.corner, place.cell, place.plot);
        let picture = place.picture;
        let bottom = top + plot.1;
        let widest = self
            .columns
            .iter()
            .map(|label| text_width(label))
            .fold(0.0, f64::max);
        let every = ((widest + 8.0) / cell.0).ceil().max(1.0) as usize;
        for (at, label) in self.columns.iter().enumerate().step_by(every) {
            let place = (left + (at as f64 + 0.5) * cell.0, bottom + 18.0);
            svg.text(place, Anchor::Middle, "", label);
        }
        let every = (16.0 / cell.1).ceil().max(1.0) as usize;
        for (at, label) in self.rows.iter().enumerate().step_by(every) {
            let place = (left - 8.0, bottom - (at as f64 + 0.5) * cell.1 + 4.5);
            svg.text(place, Anchor::End, "", label);
        }
        let x = middle_within(left + 0.5 * plot.0, &self.x, picture.0);
        let y = middle_within(top + 0.5 * plot.1, &self.y, picture.1);
        svg.text((x, bottom + 40.0), Anchor::Middle, "", &self.x);
        svg.upright((22.0, y), Anchor::Middle, &self.y);
    }

    fn draw_legend(
        &self,
        svg: &mut Svg,
        corner: (f64, f64),
        height: f64,
        picture_height: f64,
        range: Option<(f64, f64)>,
    ) {
        const STEPS: usize = 60;
        let Some((least, most)) = range else {
            return svg.text((corner.0, corner.1 + 14.0), Anchor::Start, "", "no points");
        };
        let step = height / STEPS as f64;
        for at in 0..STEPS {
            let share = (at as f64 + 0.5) / STEPS as f64;
            let top = corner.1 + height - (at as f64 + 1.0) * step;
            // A little more than its height, so that no light comes between the steps.
            let size = (LEGEND.1, step + if at == 0 { 0.0 } else { 0.4 });
            svg.rectangle((corner.0, top), size, "", Some(&colour(share).0));
        }
        let right = corner.0 + LEGEND.1;
        for tick in linear_ticks(least, most, false) {
            let share = if most > least {
                (tick - least) / (most - least)
            } else {
                0.5
            };
            let place = corner.1 + height * (1.0 - share);
            svg.line((right, place), (right + 4.0, place), "axis");
            svg.text(
                (right + 8.0, place + 4.5),
                Anchor::Start,
                "",
                &tick_label(tick),
            );
        }
        let middle = middle_within(corner.1 + 0.5 * height, &self.figure, picture_height);
        svg.upright((right + 74.0, middle), Anchor::Middle, &self.figure);
    }
}

/// The places of the cells.
struct Place {
    /// The upper left one's corner.
    corner: (f64, f64),
    /// The size of one, of all, and of the picture.
    cell: (f64, f64),
    plot: (f64, f64),
    picture: (f64, f64),
}

/// The text in a cell, as far as it has room: the value, and below it half the width of its interval; each with
/// its distance from the middle.
fn lines_of(value: Estimate, cell: (f64, f64)) -> Vec<(f64, String)> {
    let fits = |text: &String| text_width(text) + 4.0 <= cell.0;
    let mean = Some(short(value.mean)).filter(|text| cell.1 >= 17.0 && fits(text));
    let interval = Some(format!("±{}", short(value.half_width)))
        .filter(|text| value.half_width > 0.0 && value.half_width.is_finite() && fits(text));
    match (mean, interval) {
        (Some(mean), Some(interval)) if cell.1 >= 32.0 => vec![(-3.5, mean), (12.5, interval)],
        (Some(mean), _) => vec![(4.5, mean)],
        (None, _) => Vec::new(),
    }
}

/// A value in about three digits.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 0.1 || size == 0.0 => 2,
        _ => return format!("{value:.1e}"),
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> HeatMap {
        HeatMap {
            title: "Response".into(),
            figure: "mean (ms)".into(),
            x: "nodes".into(),
            columns: ["1", "2", "3"].map(String::from).to_vec(),
            y: "node.mips".into(),
            rows: ["10", "20"].map(String::from).to_vec(),
            values: [
                [Some(10.0), Some(20.0), Some(30.0)],
                [Some(5.0), None, Some(15.0)],
            ]
            .map(|row| {
                row.map(|value| value.map(|value| Estimate::new(value, 0.25)))
                    .to_vec()
            })
            .to_vec(),
        }
    }

    #[test]
    fn every_value_has_a_cell_and_what_is_missing_none() {
        let svg = map().svg();
        for text in [
            ">10.0<",
            ">30.0<",
            ">5.00<",
            ">15.0<",
            ">node.mips<",
            ">mean (ms)<",
        ] {
            assert_eq!(svg.matches(text).count(), 1, "{text} in {svg}");
        }
        assert_eq!(svg.matches(">±0.25<").count(), 5, "{svg}");
        let (least, most) = (colour(0.0).0, colour(1.0).0);
        assert_eq!((least.as_str(), most.as_str()), ("#440154", "#fde725"));
        assert!(
            svg.contains(&format!("fill=\"{least}\"")),
            "the least value has its colour"
        );
        assert!(
            svg.contains(&format!("fill=\"{most}\"")),
            "the greatest value has its colour"
        );
        // 5 cells, 60 of the legend, the GEM paper.
        assert_eq!(svg.matches("<rect").count(), 66);
    }

    #[test]
    fn the_first_row_is_at_the_bottom() {
        let svg = map().svg();
        let y_of = |text: &str| {
            let line = svg.lines().find(|line| line.contains(text)).unwrap();
            let after = line.split("y=\"").nth(1).unwrap();
            after.split('"').next().unwrap().parse::<f64>().unwrap()
        };
        assert!(y_of(">10.0<") > y_of(">5.00<"));
    }

    #[test]
    fn equal_values_and_none_make_a_picture_too() {
        let mut same = map();
        same.values
            .iter_mut()
            .flatten()
            .for_each(|value| *value = Some(Estimate::exactly(3.0)));
        assert!(!same.svg().contains("NaN"));
        let mut none = map();
        none.values
            .iter_mut()
            .flatten()
            .for_each(|value| *value = None);
        assert!(none.svg().contains("no points"));
    }
}

//! Curves with intervals, in one panel or several of the same scale.

use super::axis::{Axis, Scale, tick_label};
use super::svg::{Anchor, Svg, TITLE_LINE, middle_within, text_width, title_lines};
use crate::Estimate;

/// A picture of curves.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Its meaning.
    pub title: String,
    /// The axis of the x values.
    pub x: Axis,
    /// The axis of the y values. It begins at 0, unless it is logarithmic and all values are above 0.
    pub y: Axis,
    /// Its parts: they share scales and legend.
    pub panels: Vec<Panel>,
}

/// A part of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Its distinction; may be empty.
    pub title: String,
    /// Its curves.
    pub series: Vec<Series>,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend. Curves of the same name in several panels must look the same.
    pub label: String,
    /// Curves of one group have colour and marker in common.
    pub group: usize,
    /// Dashed, with hollow markers.
    pub dashed: bool,
    /// Its points, from left to right.
    pub points: Vec<Mark>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// The place.
    pub x: f64,
    /// The value, with its interval; nothing leaves a gap.
    pub y: Option<Estimate>,
}

const TITLE: f64 = 34.0;
/// At least; more if there are longer labels.
const LEFT: f64 = 66.0;
const RIGHT: f64 = 18.0;
/// Half of the line at an interval's end: it reaches over any marker, so that a short interval is seen, too.
const INTERVAL_END: f64 = 6.5;
const BOTTOM: f64 = 50.0;
const LEGEND_LINE: f64 = 22.0;
const LEGEND_SAMPLE: f64 = 38.0;

/// The places of the panels.
struct Layout {
    columns: usize,
    title: Vec<String>,
    /// Beside a panel's plot.
    left: f64,
    right: f64,
    /// Of a panel's plot, without its labels.
    plot: (f64, f64),
    top: f64,
    panel_title: f64,
    width: f64,
    legend_columns: usize,
    legend_top: f64,
    height: f64,
}

impl Chart {
    /// The picture.
    ///
    /// ```
    /// use sardonyx_results::chart::{Axis, Chart, Mark, Panel, Series};
    /// use sardonyx_results::Estimate;
    ///
    /// let point = |x: f64| Mark { x, y: Some(Estimate::new(x * x, 1.0)) };
    /// let series = Series {
    ///     label: "squares".into(),
    ///     group: 0,
    ///     dashed: false,
    ///     points: (1..=5).map(f64::from).map(point).collect(),
    /// };
    /// let chart = Chart {
    ///     title: "Squares".into(),
    ///     x: Axis::linear("number"),
    ///     y: Axis::linear("its square"),
    ///     panels: vec![Panel { title: String::new(), series: vec![series] }],
    /// };
    /// assert!(chart.svg().starts_with("<svg"));
    /// ```
    pub fn svg(&self) -> String {
        let (width, height) = self.size();
        let mut svg = Svg::new(width, height, &self.title);
        self.draw(&mut svg);
        svg.finish()
    }

    /// Its width and height in pixels.
    pub(super) fn size(&self) -> (f64, f64) {
        let layout = self.layout();
        (layout.width, layout.height)
    }

    /// Draws it into a picture, from the picture's origin.
    pub(super) fn draw(&self, svg: &mut Svg) {
        let layout = self.layout();
        svg.title(layout.left, &layout.title);
        for (at, panel) in self.panels.iter().enumerate() {
            let (column, row) = (at % layout.columns, at / layout.columns);
            let left = layout.left + column as f64 * (layout.plot.0 + layout.left + layout.right);
            let top = layout.top + layout.panel_title;
            let top = top + row as f64 * (layout.plot.1 + BOTTOM + layout.panel_title);
            self.draw_panel(svg, panel, (left, top), &layout);
        }
        self.draw_legend(svg, &layout);
    }

    fn layout(&self) -> Layout {
        let columns = self.panels.len().clamp(1, 2);
        let plot: (f64, f64) = if columns == 1 {
            (580.0, 330.0)
        } else {
            (350.0, 230.0)
        };
        // The text along a plot fits beside it.
        let parts = self
            .panels
            .iter()
            .map(|panel| 1.1 * text_width(&panel.title));
        let plot = (
            parts.fold(plot.0.max(text_width(&self.x.label)), f64::max),
            plot.1.max(text_width(&self.y.label)),
        );
        let (x, y) = self.scales((0.0, 1.0), (1.0, 0.0));
        let widest = |labels: &mut dyn Iterator<Item = String>| {
            labels.fold(0.0, |most: f64, label| most.max(text_width(&label)))
        };
        let on_y = widest(&mut y.ticks.iter().map(|tick| tick_label(*tick)));
        let on_x = widest(&mut x.ticks.iter().map(|tick| self.x.tick_label(*tick)));
        let left = LEFT.max(36.0 + on_y).max(4.0 + 0.5 * on_x);
        let right = RIGHT.max(4.0 + 0.5 * on_x);
        let titled = self.panels.iter().any(|panel| !panel.title.is_empty());
        let panel_title = if titled { 24.0 } else { 4.0 };
        let rows = self.panels.len().div_ceil(columns) as f64;
        let legend = self.legend();
        let widths = legend.iter().map(|series| text_width(&series.label));
        let entry = LEGEND_SAMPLE + 20.0 + widths.fold(0.0, f64::max);
        let width = (columns as f64 * (plot.0 + left + right)).max(left + entry);
        let title = title_lines(&self.title, width - left - 4.0);
        let top = TITLE + (title.len() as f64 - 1.0) * TITLE_LINE;
        let legend_top = top + rows * (plot.1 + BOTTOM + panel_title);
        let fitting = (((width - left) / entry) as usize).max(1);
        let legend_columns = match fitting.min(legend.len().max(1)) {
            all if all == legend.len() => all,
            // Curves mostly come in pairs: one for each routing.
            some if some > 1 => some - some % 2,
            one => one,
        };
        let legend_lines = legend.len().div_ceil(legend_columns) as f64;
        Layout {
            columns,
            title,
            left,
            right,
            plot,
            top,
            panel_title,
            width,
            legend_columns,
            legend_top,
            height: legend_top + legend_lines * LEGEND_LINE + 10.0,
        }
    }

    /// The curves of all panels, one of each name.
    fn legend(&self) -> Vec<&Series> {
        let mut legend: Vec<&Series> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if !legend.iter().any(|known| known.label == series.label) {
                legend.push(series);
            }
        }
        legend
    }

    fn marks(&self) -> impl Iterator<Item = &Mark> {
        let series = self.panels.iter().flat_map(|panel| &panel.series);
        series.flat_map(|series| &series.points)
    }

    /// The scales of both axes, which have their ends at these places.
    fn scales(&self, across: (f64, f64), upwards: (f64, f64)) -> (Scale, Scale) {
        let xs: Vec<f64> = self.marks().map(|mark| mark.x).collect();
        let tops = self.marks().filter_map(Mark::value).map(highest);
        let highest = tops.fold(0.0, f64::max);
        let x = Scale::around(&xs, self.x.logarithmic, across);
        let values = self.marks().filter_map(Mark::value);
        let mut ys: Vec<f64> = values.map(|value| value.mean).collect();
        let above_zero = !ys.is_empty() && ys.iter().all(|y| *y > 0.0);
        if self.y.logarithmic && above_zero {
            ys.push(highest);
            return (x, Scale::by_factors(&ys, upwards));
        }
        (x, Scale::from_zero(highest, upwards))
    }

    fn draw_panel(&self, svg: &mut Svg, panel: &Panel, corner: (f64, f64), layout: &Layout) {
        let plot = layout.plot;
        let ((left, top), (right, bottom)) = (corner, (corner.0 + plot.0, corner.1 + plot.1));
        let (x, y) = self.scales((left, right), (bottom, top));
        if !panel.title.is_empty() {
            svg.text((left, top - 9.0), Anchor::Start, "part", &panel.title);
        }
        for tick in &y.ticks {
            let place = y.place(*tick);
            svg.line((left, place), (right, place), "grid");
            svg.text(
                (left - 8.0, place + 4.5),
                Anchor::End,
                "",
                &tick_label(*tick),
            );
        }
        for tick in &x.ticks {
            let place = x.place(*tick);
            svg.line((place, bottom), (place, bottom + 5.0), "axis");
            svg.text(
                (place, bottom + 20.0),
                Anchor::Middle,
                "",
                &self.x.tick_label(*tick),
            );
        }
        svg.polyline(&[(left, top), (left, bottom), (right, bottom)], "axis");
        let middle = (0.5 * (left + right), 0.5 * (top + bottom));
        svg.text((middle.0, bottom + 40.0), Anchor::Middle, "", &self.x.label);
        let place = middle_within(middle.1, &self.y.label, layout.height);
        svg.upright(
            (left - layout.left + 16.0, place),
            Anchor::Middle,
            &self.y.label,
        );
        if self.marks().all(|mark| mark.value().is_none()) {
            svg.text(middle, Anchor::Middle, "", "no points");
        }
        // Later marks hide earlier ones. Hollow markers are larger, so that they are seen around others at
        // the same place; and the first curve, sought first, is on top.
        for dashed in [true, false] {
            for series in panel.series.iter().rev().filter(|one| one.dashed == dashed) {
                draw_series(svg, series, &x, &y);
            }
        }
    }

    fn draw_legend(&self, svg: &mut Svg, layout: &Layout) {
        let column = (layout.width - layout.left) / layout.legend_columns as f64;
        for (at, series) in self.legend().into_iter().enumerate() {
            let left = layout.left + (at % layout.legend_columns) as f64 * column;
            let line = (at / layout.legend_columns) as f64;
            let y = layout.legend_top + 8.0 + line * LEGEND_LINE;
            svg.polyline(&[(left, y), (left + LEGEND_SAMPLE, y)], &series.class());
            let middle = (left + 0.5 * LEGEND_SAMPLE, y);
            svg.marker(middle, series.group, series.dashed);
            let place = (left + LEGEND_SAMPLE + 8.0, y + 4.5);
            svg.text(place, Anchor::Start, "", &series.label);
        }
    }
}

/// The upper end of an interval, unless it is unknown.
fn highest(y: Estimate) -> f64 {
    if y.half_width.is_finite() {
        y.high()
    } else {
        y.mean
    }
}

fn draw_series(svg: &mut Svg, series: &Series, x: &Scale, y: &Scale) {
    let known = |mark: &Mark| mark.value().map(|y| (mark.x, y));
    for part in series.points.split(|mark| known(mark).is_none()) {
        let places: Vec<(f64, f64)> = part
            .iter()
            .filter_map(known)
            .map(|(at, value)| (x.place(at), y.place(value.mean)))
            .collect();
        if places.len() > 1 {
            svg.polyline(&places, &series.class());
        }
    }
    for (at, value) in series.points.iter().filter_map(known) {
        let place = (x.place(at), y.place(value.mean));
        if value.half_width.is_finite() && value.half_width > 0.0 {
            let class = format!("bar line-{}", series.group % super::svg::LOOKS);
            let (low, high) = (y.place(value.low().max(y.ticks[0])), y.place(value.high()));
            svg.line((place.0, low), (place.0, high), &class);
            for end in [low, high] {
                let (from, to) = (place.0 - INTERVAL_END, place.0 + INTERVAL_END);
                svg.line((from, end), (to, end), &class);
            }
        }
        svg.marker(place, series.group, series.dashed);
    }
}

impl Mark {
    /// The drawable value.
    fn value(&self) -> Option<Estimate> {
        self.y.filter(|y| y.mean.is_finite())
    }
}

impl Series {
    fn class(&self) -> String {
        let dashed = if self.dashed { " dashed" } else { "" };
        format!("curve line-{}{dashed}", self.group % super::svg::LOOKS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(ys: &[Option<f64>]) -> Chart {
        let points = ys.iter().enumerate().map(|(at, y)| Mark {
            x: at as f64 + 1.0,
            y: y.map(|y| Estimate::new(y, 5.0)),
        });
        let series = Series {
            label: "one & only".into(),
            group: 0,
            dashed: true,
            points: points.collect(),
        };
        Chart {
            title: "Test".into(),
            x: Axis::linear("nodes"),
            y: Axis::linear("ms"),
            panels: vec![Panel {
                title: String::new(),
                series: vec![series],
            }],
        }
    }

    #[test]
    fn every_point_has_a_marker_and_its_interval() {
        let svg = chart(&[Some(10.0), Some(20.0), Some(30.0)]).svg();
        // One more in the legend.
        assert_eq!(svg.matches("<circle").count(), 4);
        assert_eq!(svg.matches("class=\"bar").count(), 9);
        assert_eq!(svg.matches("one &amp; only").count(), 1);
        assert!(
            svg.contains(">0</text>") && svg.contains(">35</text>"),
            "{svg}"
        );
    }

    #[test]
    fn an_interval_that_is_shorter_than_the_marker_is_drawn_too_and_none_of_what_is_exact() {
        let mut sure = chart(&[Some(1000.0)]);
        sure.panels[0].series[0].points[0].y = Some(Estimate::new(1000.0, 1.0));
        assert_eq!(sure.svg().matches("class=\"bar").count(), 3);
        sure.panels[0].series[0].points[0].y = Some(Estimate::exactly(1000.0));
        assert_eq!(sure.svg().matches("class=\"bar").count(), 0);
    }

    /// Every text of a picture lies within it, as far as the widths of letters are known.
    fn assert_nothing_is_cut(svg: &str) {
        let number = |line: &str, name: &str| -> f64 {
            let after = line.split(&format!("{name}=\"")).nth(1).unwrap();
            after.split('"').next().unwrap().parse().unwrap()
        };
        let (width, height) = (number(svg, " width"), number(svg, " height"));
        for line in svg.lines().filter(|line| line.starts_with("<text")) {
            let text = line.split('>').nth(1).unwrap().split('<').next().unwrap();
            let wide = text_width(text)
                * if line.contains("\"title\"") {
                    1.25
                } else {
                    1.0
                };
            let (at, most) = match line.split("translate(").nth(1) {
                Some(place) => {
                    let y = place.split([' ', ')']).nth(1).unwrap();
                    (y.parse().unwrap(), height)
                }
                None => (number(line, " x"), width),
            };
            let (from, to) = match number_of_anchor(line) {
                0 => (at, at + wide),
                1 => (at - 0.5 * wide, at + 0.5 * wide),
                _ => (at - wide, at),
            };
            assert!(
                from >= 0.0 && to <= most,
                "{from} to {to} of {most}: {line}"
            );
        }
    }

    fn number_of_anchor(line: &str) -> usize {
        let anchors = ["\"start\"", "\"middle\"", "\"end\""];
        anchors
            .iter()
            .position(|anchor| line.contains(anchor))
            .unwrap()
    }

    #[test]
    fn long_texts_are_not_cut() {
        let long = "a text that is far longer than anything that would fit into one line of a picture, \
                    whatever the letters, and a little more";
        let mut one = chart(&[Some(1_000_000.0), Some(2.0), Some(9_000_000.0)]);
        one.title = long.into();
        one.x = Axis::linear(long);
        one.y = Axis::linear(long);
        one.panels[0].title = long.into();
        one.panels[0].series[0].label = long.into();
        one.panels[0].series[0].points[2].x = 1e6;
        assert_nothing_is_cut(&one.svg());
        let mut both = one.clone();
        both.panels.push(one.panels[0].clone());
        assert_nothing_is_cut(&both.svg());
        assert_nothing_is_cut(&chart(&[Some(1.0)]).svg());
        let mut named = chart(&[Some(1.0), Some(2.0)]);
        named.x = Axis::named("engine", &[long.to_string(), "other".to_string()]);
        assert_nothing_is_cut(&named.svg());
    }

    #[test]
    fn what_is_missing_leaves_a_gap() {
        let svg = chart(&[Some(1.0), Some(2.0), None, Some(4.0), Some(5.0)]).svg();
        let curves = svg.matches("<polyline").count();
        // Axes, legend, and the curve in two parts.
        assert_eq!(curves, 4);
        assert_eq!(svg.matches("<circle").count(), 5);
    }

    #[test]
    fn nothing_and_infinity_make_a_picture_too() {
        for ys in [
            &[][..],
            &[None],
            &[Some(f64::INFINITY)],
            &[Some(f64::NAN), Some(0.0)],
        ] {
            let svg = chart(ys).svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        assert!(chart(&[]).svg().contains("no points"));
    }

    #[test]
    fn the_same_data_gives_the_same_bytes() {
        let one = chart(&[Some(1.0), Some(2.0)]);
        assert_eq!(one.svg(), one.clone().svg());
    }

    #[test]
    fn panels_have_one_scale_and_one_legend() {
        let mut both = chart(&[Some(10.0)]);
        let mut other = both.panels[0].clone();
        other.series[0].points[0].y = Some(Estimate::new(95.0, 1.0));
        both.panels.push(other);
        let svg = both.svg();
        assert_eq!(svg.matches(">100</text>").count(), 2);
        assert_eq!(svg.matches("one &amp; only").count(), 1);
    }
}

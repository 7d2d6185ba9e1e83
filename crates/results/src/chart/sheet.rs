//! Several charts in one picture: small multiples whose axes differ.

use super::curves::Chart;
use super::svg::Svg;

/// Charts side by side, row after row, each with scales of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Its meaning, for readers that do not see it.
    pub title: String,
    /// The number of charts in a row; at least 1.
    pub columns: usize,
    /// Row by row, from the left.
    pub charts: Vec<Chart>,
}

impl Sheet {
    /// The picture.
    ///
    /// ```
    /// use sardonyx_results::chart::{Axis, Chart, Sheet};
    ///
    /// let chart = |title: &str| Chart {
    ///     title: title.into(),
    ///     x: Axis::linear("x"),
    ///     y: Axis::linear("y"),
    ///     panels: Vec::new(),
    /// };
    /// let charts = vec![chart("one"), chart("other")];
    /// let sheet = Sheet { title: "Both".into(), columns: 2, charts };
    /// assert_eq!(sheet.svg().matches("class=\"title\"").count(), 2);
    /// ```
    pub fn svg(&self) -> String {
        let columns = self.columns.max(1);
        let sizes: Vec<(f64, f64)> = self.charts.iter().map(Chart::size).collect();
        let width = sizes.iter().fold(0.0, |most, size| size.0.max(most));
        let heights: Vec<f64> = sizes
            .chunks(columns)
            .map(|row| row.iter().fold(0.0, |most, size| size.1.max(most)))
            .collect();
        let used = columns.min(self.charts.len()).max(1);
        let all = (width * used as f64, heights.iter().sum());
        let mut svg = Svg::new(all.0, all.1, &self.title);
        let mut top = 0.0;
        for (row, height) in self.charts.chunks(columns).zip(heights) {
            for (column, chart) in row.iter().enumerate() {
                svg.moved((width * column as f64, top), |svg| chart.draw(svg));
            }
            top += height;
        }
        svg.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Axis;

    fn sheet(charts: usize, columns: usize) -> Sheet {
        let chart = |number: usize| Chart {
            title: format!("chart {number}"),
            x: Axis::linear("x"),
            y: Axis::linear("y"),
            panels: Vec::new(),
        };
        Sheet {
            title: "Sheet".into(),
            columns,
            charts: (0..charts).map(chart).collect(),
        }
    }

    #[test]
    fn every_chart_has_a_place_of_its_own() {
        let svg = sheet(5, 2).svg();
        let places: std::collections::HashSet<&str> = svg
            .match_indices("<g transform=")
            .map(|(at, _)| svg[at..].split('>').next().unwrap())
            .collect();
        assert_eq!(places.len(), 5, "{places:?}");
        assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
        assert_eq!(svg.matches("<svg").count(), 1);
    }

    #[test]
    fn nothing_makes_a_picture_too() {
        for (charts, columns) in [(0, 0), (0, 3), (1, 0)] {
            let svg = sheet(charts, columns).svg();
            assert!(svg.starts_with("<svg") && !svg.contains("NaN"), "{svg}");
        }
    }
}

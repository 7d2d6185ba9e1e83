//! Every figure of every point as comma-separated values, for other programs to draw.
//!
//! A line for each figure of each point: the point's own columns (the varied parameters of a sweep), then
//! `replications,section,name,unit,mean,half_width`. Numbers have enough digits to read the same number back.

use sardonyx_results::csv::line;
use sardonyx_simulation::outcome::Outcome;

/// The outcomes of points as CSV; `varied` are the names of the points' own columns.
pub fn text<'a>(
    varied: &[String],
    points: impl IntoIterator<Item = (&'a [String], &'a Outcome)>,
) -> String {
    let mut text = String::new();
    let fixed = [
        "replications",
        "section",
        "name",
        "unit",
        "mean",
        "half_width",
    ];
    line(&mut text, varied.iter().map(String::as_str).chain(fixed));
    for (values, outcome) in points {
        let replications = outcome.replications.len().to_string();
        for figure in &outcome.summary {
            let (mean, half_width) = (figure.mean.to_string(), figure.half_width.to_string());
            let name = figure.name.as_str();
            let own = values.iter().map(String::as_str);
            let rest = [
                &replications,
                figure.section,
                name,
                figure.unit,
                &mean,
                &half_width,
            ];
            line(&mut text, own.chain(rest));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::simulate::remarks::tests::outcome;

    #[test]
    fn a_line_for_each_figure_of_each_point() {
        let outcome = outcome(0.1, |_| {});
        let (one, two) = (["1".to_string()], ["a,\"b\"".to_string()]);
        let csv = text(
            &["node.mips".into()],
            [(&one[..], &outcome), (&two[..], &outcome)],
        );
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 1 + 2 * outcome.summary.len());
        assert_eq!(
            lines[0],
            "node.mips,replications,section,name,unit,mean,half_width"
        );
        assert!(
            lines[1].starts_with("1,2,response time,mean,ms,50,"),
            "{}",
            lines[1]
        );
        assert!(lines[lines.len() - 1].starts_with("\"a,\"\"b\"\"\",2,checks,"));
        let half_width: f64 = lines[1].rsplit_once(',').unwrap().1.parse().unwrap();
        assert_eq!(half_width, outcome.summary[0].half_width);
    }
}

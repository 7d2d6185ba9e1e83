//! Metrics as text: OpenMetrics 1.0 if the client asks for it, otherwise Prometheus' text format 0.0.4.
//!
//! One family after the other, each with its type, unit and help first. A counter's family has no `_total` in
//! OpenMetrics and has it in the older format. An info is a gauge in the older format, which also has neither units nor
//! an end mark. Series have the same names and labels in both, so a change of the format creates no new series.
//!
//! Source: "OpenMetrics, a cloud-native, highly scalable metrics protocol" (1.0.0); "Exposition formats" in Prometheus'
//! documentation.

use crate::state::Histogram;
use std::fmt::Write;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus' text format 0.0.4.
    Text,
}

impl Format {
    /// The format that an Accept header prefers. If both are equal, OpenMetrics if the header names it.
    pub fn of_accept(accept: &str) -> Format {
        let weight = |wanted: &str| {
            let ranges = accept.split(',').filter_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                let is_it = parts
                    .next()
                    .is_some_and(|kind| kind.eq_ignore_ascii_case(wanted));
                let quality = parts.find_map(|part| part.strip_prefix("q="));
                let quality = quality.map_or(Some(1.0), |text| text.parse().ok());
                quality.filter(|_| is_it)
            });
            ranges.fold(0.0_f64, f64::max)
        };
        let open_metrics = weight("application/openmetrics-text");
        match open_metrics > 0.0 && open_metrics >= weight("text/plain") {
            true => Format::OpenMetrics,
            false => Format::Text,
        }
    }

    /// The format's HTTP content type.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// The kind of a family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Goes up and down.
    Gauge,
    /// Goes up only.
    Counter,
    /// Times by classes.
    Histogram,
    /// Describes something by its labels.
    Info,
}

/// A label: name and value.
pub type Label<'a> = (&'static str, &'a str);

/// Metrics that are being written.
#[derive(Debug)]
pub struct Exposition {
    format: Format,
    text: String,
    family: &'static str,
    kind: Kind,
}

impl Exposition {
    /// Starts a text without metrics.
    pub fn new(format: Format) -> Self {
        Exposition {
            format,
            text: String::new(),
            family: "",
            kind: Kind::Gauge,
        }
    }

    /// Begins a family. Its name ends in its unit (`_bytes`, `_seconds`), if it has one; a counter's name has no
    /// `_total`.
    pub fn family(&mut self, kind: Kind, name: &'static str, help: &str) {
        (self.family, self.kind) = (name, kind);
        let (suffix, kind) = match (self.format, kind) {
            (_, Kind::Gauge) => ("", "gauge"),
            (_, Kind::Histogram) => ("", "histogram"),
            (Format::OpenMetrics, Kind::Counter) => ("", "counter"),
            (Format::OpenMetrics, Kind::Info) => ("", "info"),
            (Format::Text, Kind::Counter) => ("_total", "counter"),
            (Format::Text, Kind::Info) => ("_info", "gauge"),
        };
        let text = &mut self.text;
        // Writing to a text does not fail.
        let _ = writeln!(text, "# TYPE {name}{suffix} {kind}");
        let unit = ["bytes", "seconds"].into_iter().find(|unit| {
            let before = name.strip_suffix(unit);
            before.is_some_and(|before| before.ends_with('_'))
        });
        if let (Format::OpenMetrics, Some(unit)) = (self.format, unit) {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name}{suffix} {help}");
    }

    /// Writes a gauge that is one number.
    pub fn gauge(&mut self, name: &'static str, help: &str, value: impl Number) {
        self.family(Kind::Gauge, name, help);
        self.sample(&[], value);
    }

    /// Writes a counter that is one number.
    pub fn counter(&mut self, name: &'static str, help: &str, value: impl Number) {
        self.family(Kind::Counter, name, help);
        self.sample(&[], value);
    }

    /// Writes a number of the family, whole or not.
    pub fn sample(&mut self, labels: &[Label<'_>], value: impl Number) {
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        };
        self.series(suffix, labels, None, value);
    }

    /// Writes the family's histogram for these labels.
    pub fn histogram(&mut self, labels: &[Label<'_>], histogram: &Histogram) {
        let mut count = 0;
        for (class, in_class) in histogram.classes.iter().enumerate() {
            count += in_class;
            let bound = match histogram.bounds.get(class) {
                Some(bound) if bound.fract() == 0.0 => format!("{bound:.1}"),
                Some(bound) => bound.to_string(),
                None => "+Inf".into(),
            };
            self.series("_bucket", labels, Some(&bound), count);
        }
        self.series("_count", labels, None, count);
        self.series("_sum", labels, None, histogram.sum);
    }

    fn series(&mut self, suffix: &str, labels: &[Label<'_>], le: Option<&str>, value: impl Number) {
        self.text.push_str(self.family);
        self.text.push_str(suffix);
        let le = le.map(|bound| ("le", bound));
        let mut before = '{';
        for (name, value) in labels.iter().copied().chain(le) {
            self.text.push(before);
            self.text.push_str(name);
            self.text.push_str("=\"");
            self.escape(value);
            self.text.push('"');
            before = ',';
        }
        if before == ',' {
            self.text.push('}');
        }
        self.text.push(' ');
        value.write(&mut self.text);
        self.text.push('\n');
    }

    fn escape(&mut self, value: &str) {
        for character in value.chars() {
            match character {
                '\\' => self.text.push_str("\\\\"),
                '"' => self.text.push_str("\\\""),
                '\n' => self.text.push_str("\\n"),
                other => self.text.push(other),
            }
        }
    }

    /// Ends the text and returns it.
    pub fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

/// A value of a sample.
pub trait Number {
    /// Writes the value.
    fn write(self, text: &mut String);
}

impl Number for u64 {
    fn write(self, text: &mut String) {
        let _ = write!(text, "{self}");
    }
}

/// Only finite values.
impl Number for f64 {
    fn write(self, text: &mut String) {
        let _ = write!(text, "{self}");
    }
}

/// 1 for true.
impl Number for bool {
    fn write(self, text: &mut String) {
        u64::from(self).write(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: Format) -> String {
        let mut exposition = Exposition::new(format);
        exposition.family(Kind::Counter, "x_read_bytes", "Bytes read.");
        exposition.sample(&[("table", "a\"b\\c\nd")], 7_u64);
        exposition.family(Kind::Info, "x_build", "The program.");
        exposition.sample(&[("version", "1.0")], 1_u64);
        exposition.family(Kind::Histogram, "x_flight_seconds", "Times.");
        let histogram = Histogram {
            bounds: vec![0.00005, 1.0],
            classes: vec![3, 0, 2],
            sum: 4.25,
        };
        exposition.histogram(&[("protocol", "redis")], &histogram);
        exposition.family(Kind::Gauge, "x_ready", "Whether.");
        exposition.sample(&[], true);
        exposition.finish()
    }

    #[test]
    fn open_metrics_by_its_rules() {
        assert_eq!(
            written(Format::OpenMetrics),
            "# TYPE x_read_bytes counter\n# UNIT x_read_bytes bytes\n# HELP x_read_bytes Bytes read.\n\
             x_read_bytes_total{table=\"a\\\"b\\\\c\\nd\"} 7\n\
             # TYPE x_build info\n# HELP x_build The program.\nx_build_info{version=\"1.0\"} 1\n\
             # TYPE x_flight_seconds histogram\n# UNIT x_flight_seconds seconds\n# HELP x_flight_seconds Times.\n\
             x_flight_seconds_bucket{protocol=\"redis\",le=\"0.00005\"} 3\n\
             x_flight_seconds_bucket{protocol=\"redis\",le=\"1.0\"} 3\n\
             x_flight_seconds_bucket{protocol=\"redis\",le=\"+Inf\"} 5\n\
             x_flight_seconds_count{protocol=\"redis\"} 5\nx_flight_seconds_sum{protocol=\"redis\"} 4.25\n\
             # TYPE x_ready gauge\n# HELP x_ready Whether.\nx_ready 1\n# EOF\n"
        );
    }

    #[test]
    fn the_older_format_has_the_same_series() {
        let (newer, older) = (written(Format::OpenMetrics), written(Format::Text));
        let series = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            lines.map(str::to_string).collect::<Vec<_>>()
        };
        assert_eq!(series(&newer), series(&older));
        assert!(
            older.contains("# TYPE x_read_bytes_total counter\n"),
            "{older}"
        );
        assert!(older.contains("# TYPE x_build_info gauge\n"), "{older}");
        assert!(
            !older.contains("# EOF") && !older.contains("# UNIT"),
            "{older}"
        );
    }

    #[test]
    fn the_format_is_what_the_client_prefers() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,\
                          application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        assert_eq!(Format::of_accept(prometheus), Format::OpenMetrics);
        for text in [
            "",
            "*/*",
            "text/html",
            "text/plain;q=0.9,application/openmetrics-text;q=0.5",
        ] {
            assert_eq!(Format::of_accept(text), Format::Text, "{text}");
        }
        let refused = "application/openmetrics-text;q=0";
        assert_eq!(Format::of_accept(refused), Format::Text);
    }
}

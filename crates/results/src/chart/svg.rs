//! The few pieces of SVG that the charts are made of.

use std::fmt::{Display, Write};

/// Curve colours that people with any colour vision tell apart, on white and on black.
const COLOURS: [(&str, &str); 6] = [
    ("#0064a8", "#5ab4f0"),
    ("#cc4a00", "#ff9350"),
    ("#007d5a", "#35c99c"),
    ("#9b2d86", "#e596d2"),
    ("#5c5c5c", "#b5b5b5"),
    ("#8a6a00", "#e0bd3c"),
];

/// The number of groups of curves with a look of their own.
pub(super) const LOOKS: usize = COLOURS.len();

const STYLE: &str = "\
.sardonyx-chart{font-family:Helvetica,Arial,'Liberation Sans',sans-serif;font-size:13px}\
.sardonyx-chart text{fill:#222}\
.sardonyx-chart .title{font-size:15px;font-weight:bold}\
.sardonyx-chart .part{font-weight:bold}\
.sardonyx-chart .paper{fill:#fff}\
.sardonyx-chart .grid{stroke:#dcdcdc;stroke-width:1}\
.sardonyx-chart .axis{stroke:#444;stroke-width:1;fill:none}\
.sardonyx-chart .curve{stroke-width:1.8;fill:none;stroke-linejoin:round}\
.sardonyx-chart .dashed{stroke-dasharray:6 4}\
.sardonyx-chart .bar{stroke-width:1;fill:none}\
.sardonyx-chart .mark{stroke-width:1.6}\
.sardonyx-chart .hollow{fill:#fff}\
.sardonyx-chart .on-light{fill:#111}\
.sardonyx-chart .on-dark{fill:#fff}";

const DARK_STYLE: &str = "\
.sardonyx-chart text{fill:#e2e2e2}\
.sardonyx-chart .paper{fill:#181a1c}\
.sardonyx-chart .grid{stroke:#3a3d40}\
.sardonyx-chart .axis{stroke:#aaa}\
.sardonyx-chart .hollow{fill:#181a1c}\
.sardonyx-chart .on-light{fill:#111}\
.sardonyx-chart .on-dark{fill:#fff}";

/// A picture under construction.
#[derive(Debug)]
pub(super) struct Svg {
    text: String,
}

/// The place of a text relative to its point.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    /// It begins there.
    Start,
    Middle,
    End,
}

impl Svg {
    /// An empty picture of that size in pixels; `title` is for screen readers.
    pub(super) fn new(width: f64, height: f64, title: &str) -> Self {
        let mut style = STYLE.to_string();
        let mut dark = DARK_STYLE.to_string();
        for (group, (on_white, on_black)) in COLOURS.iter().enumerate() {
            for (sheet, colour) in [(&mut style, on_white), (&mut dark, on_black)] {
                let _ = write!(
                    sheet,
                    ".sardonyx-chart .line-{group}{{stroke:{colour}}}\
                     .sardonyx-chart .full-{group}{{fill:{colour}}}"
                );
            }
        }
        let mut svg = Svg {
            text: String::new(),
        };
        let title = escape(title);
        let _ = writeln!(
            svg.text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sardonyx-chart\" role=\"img\" \
             viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
             <title>{title}</title>\n\
             <style>{style}@media (prefers-color-scheme:dark){{{dark}}}</style>"
        );
        svg.rectangle((0.0, 0.0), (width, height), "paper", None);
        svg
    }

    /// The finished picture.
    pub(super) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }

    /// Draws `part` moved by so much.
    pub(super) fn moved(&mut self, (dx, dy): (f64, f64), part: impl FnOnce(&mut Svg)) {
        self.write(format_args!("<g transform=\"translate({dx} {dy})\">"));
        part(self);
        self.write("</g>");
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let ((x1, y1), (x2, y2)) = (rounded(from), rounded(to));
        self.write(format_args!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" class=\"{class}\"/>"
        ));
    }

    pub(super) fn rectangle(
        &mut self,
        corner: (f64, f64),
        size: (f64, f64),
        class: &str,
        colour: Option<&str>,
    ) {
        let ((x, y), (width, height)) = (rounded(corner), rounded(size));
        let fill = colour.map_or(String::new(), |colour| format!(" fill=\"{colour}\""));
        self.write(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
             class=\"{class}\"{fill}/>"
        ));
    }

    /// A line through `points`.
    pub(super) fn polyline(&mut self, points: &[(f64, f64)], class: &str) {
        let places: Vec<String> = points.iter().map(|point| pair(*point)).collect();
        let places = places.join(" ");
        self.write(format_args!(
            "<polyline points=\"{places}\" class=\"{class}\"/>"
        ));
    }

    /// The marker of `group` at `place`; hollow ones are a little larger.
    pub(super) fn marker(&mut self, place: (f64, f64), group: usize, hollow: bool) {
        let group = group % LOOKS;
        let (size, fill) = match hollow {
            true => (1.3, "hollow".to_string()),
            false => (1.0, format!("full-{group}")),
        };
        let class = format!("mark line-{group} {fill}");
        let corners: &[(f64, f64)] = match group {
            0 => return self.circle(place, 3.6 * size, &class),
            1 => &[(-3.4, -3.4), (3.4, -3.4), (3.4, 3.4), (-3.4, 3.4)],
            2 => &[(0.0, -4.8), (4.4, 3.2), (-4.4, 3.2)],
            3 => &[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)],
            4 => &[(0.0, 4.8), (4.4, -3.2), (-4.4, -3.2)],
            _ => &[(-4.8, -2.0), (4.8, -2.0), (4.8, 2.0), (-4.8, 2.0)],
        };
        let corner = |(dx, dy): &(f64, f64)| pair((place.0 + size * dx, place.1 + size * dy));
        let places: Vec<String> = corners.iter().map(corner).collect();
        let places = places.join(" ");
        self.write(format_args!(
            "<polygon points=\"{places}\" class=\"{class}\"/>"
        ));
    }

    fn circle(&mut self, middle: (f64, f64), radius: f64, class: &str) {
        let (x, y) = rounded(middle);
        self.write(format_args!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius:.1}\" class=\"{class}\"/>"
        ));
    }

    pub(super) fn text(&mut self, place: (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let (x, y) = rounded(place);
        let (anchor, text) = (anchor.name(), escape(text));
        self.write(format_args!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" class=\"{class}\">{text}</text>"
        ));
    }

    /// A title in lines, the first at the top.
    pub(super) fn title(&mut self, left: f64, lines: &[String]) {
        for (at, line) in lines.iter().enumerate() {
            let place = (left, 22.0 + at as f64 * TITLE_LINE);
            self.text(place, Anchor::Start, "title", line);
        }
    }

    /// A text that reads upwards.
    pub(super) fn upright(&mut self, place: (f64, f64), anchor: Anchor, text: &str) {
        let (x, y) = rounded(place);
        let (anchor, text) = (anchor.name(), escape(text));
        self.write(format_args!(
            "<text transform=\"translate({x} {y}) rotate(-90)\" \
             text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    fn write(&mut self, element: impl Display) {
        let _ = writeln!(self.text, "{element}");
    }
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// About how wide a text is in pixels: the font of the reader is not known.
pub(super) fn text_width(text: &str) -> f64 {
    7.0 * text.chars().count() as f64
}

/// About how much wider a title is than another text.
const TITLE_WIDTH: f64 = 1.25;

/// The height of a line of a title.
pub(super) const TITLE_LINE: f64 = 20.0;

/// A title in lines that are not wider than `width`.
pub(super) fn title_lines(title: &str, width: f64) -> Vec<String> {
    let fits = |line: &str| TITLE_WIDTH * text_width(line) <= width;
    let mut lines = vec![String::new()];
    let mut put = |word: &str, space: bool| {
        let last = lines.last_mut().expect("there is one");
        let joined = match space && !last.is_empty() {
            true => format!("{last} {word}"),
            false => format!("{last}{word}"),
        };
        match last.is_empty() || fits(&joined) {
            true => *last = joined,
            false => lines.push(word.to_string()),
        }
    };
    for word in title.split_whitespace() {
        match fits(word) {
            true => put(word, true),
            // Wider than a line by itself: it goes on where it must.
            false => word.chars().enumerate().for_each(|(at, letter)| {
                put(letter.encode_utf8(&mut [0; 4]), at == 0);
            }),
        }
    }
    lines
}

/// The middle of a text so that all of it is between 0 and `length`, as near as can be to `wanted`.
pub(super) fn middle_within(wanted: f64, text: &str, length: f64) -> f64 {
    let half = 0.5 * text_width(text) + 4.0;
    wanted.min(length - half).max(half)
}

fn rounded((x, y): (f64, f64)) -> (f64, f64) {
    // Tenths of a pixel; `+ 0.0` makes -0 a plain 0.
    let tenths = |value: f64| (value * 10.0).round() / 10.0 + 0.0;
    (tenths(x), tenths(y))
}

fn pair(place: (f64, f64)) -> String {
    let (x, y) = rounded(place);
    format!("{x},{y}")
}

/// Text in the form of XML.
fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let mut svg = Svg::new(10.0, 10.0, "a<b & \"c\"");
        svg.text((1.0, 2.0), Anchor::End, "", "</svg><script>");
        let text = svg.finish();
        assert!(text.contains("<title>a&lt;b &amp; &quot;c&quot;</title>"));
        assert_eq!(text.matches("</svg>").count(), 1);
        assert!(!text.contains("<script"));
    }

    #[test]
    fn a_title_is_in_lines_that_fit_and_nothing_of_it_is_lost() {
        let title =
            "Response time over node.buffer_pages and a-word-that-is-wider-than-a-line-by-itself é";
        for width in [0.0, 50.0, 200.0, 400.0, 4000.0] {
            let lines = title_lines(title, width);
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(letters(&lines.concat()), letters(title), "{width}");
            let widest = lines.iter().map(|line| TITLE_WIDTH * text_width(line));
            assert!(
                widest.fold(0.0, f64::max) <= width.max(10.0),
                "{width}: {lines:?}"
            );
        }
        assert_eq!(title_lines(title, 4000.0), [title]);
        assert_eq!(title_lines("", 100.0), [""]);
    }

    #[test]
    fn places_are_tenths_of_pixels() {
        assert_eq!(pair((1.0 / 3.0, -0.01)), "0.3,0");
    }
}

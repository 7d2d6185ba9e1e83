//! One page with every figure, every statement and the parameters.

use super::{chart, notes};
use crate::figures::{Figure, Study};
use crate::statements::{Holds, VERDICTS, Verdict, in_words};
use maud::{DOCTYPE, Markup, PreEscaped, html as page};

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.5 Georgia,'Liberation Serif',serif;max-width:1100px;margin:2rem auto;\
padding:0 1rem;background:#fff;color:#222}\
h1,h2,h3,table,summary,nav{font-family:Helvetica,Arial,'Liberation Sans',sans-serif}\
h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.5rem;border-bottom:1px solid #ccc}\
figure{margin:1.5rem 0}figure svg{max-width:100%;height:auto}figcaption{color:#555;max-width:52rem}\
table{border-collapse:collapse;font-size:.85rem;width:100%}\
th,td{border-bottom:1px solid #ddd;padding:.35rem .5rem;text-align:left;vertical-align:top}\
td.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
.small{font-size:.85em;color:#666}\
.holds{color:#00663a}.partly{color:#8a5a00}.not{color:#b00020}.missing{color:#666}\
.verdict{font-weight:bold;white-space:nowrap}\
pre{font-size:.8rem;overflow-x:auto;background:#f5f5f5;padding:.8rem}\
@media (prefers-color-scheme:dark){\
body{background:#181a1c;color:#e2e2e2}h2{border-color:#444}figcaption,.small,.missing{color:#aaa}\
th,td{border-color:#3a3d40}pre{background:#222528}\
.holds{color:#4fd495}.partly{color:#e8b04a}.not{color:#ff7b86}}";

/// One page with `figures`, `verdicts` and the parameters of `study`.
pub fn html(figures: &[Figure], study: &Study, verdicts: &[Verdict]) -> String {
    let parameters = toml::to_string(study.base()).unwrap_or_else(|error| error.to_string());
    let body = page! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Closely and loosely coupled nodes: simulation" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Closely and loosely coupled nodes on one database" }
                p {
                    "The study of Erhard Rahm, "
                    i {
                        "Evaluation of Closely Coupled Systems for High Performance Database \
                         Processing"
                    }
                    " (\"the GEM paper\"), simulated again. Every figure is the mean of independent \
                     replications; bars, and what follows \u{b1}, are the 95% interval of that \
                     mean."
                }
                (summary(verdicts))
                h2 { "Figures" }
                @for figure in figures { (picture(figure, study)) }
                @if !verdicts.is_empty() {
                    h2 { "The GEM paper's statements" }
                    (statements(verdicts))
                }
                h2 { "Parameters" }
                p {
                    "The figures change of these what they name: nodes, coupling, update strategy, \
                     routing, buffer size, where files are, and for Figure 4.7 the workload."
                }
                pre { (parameters) }
            }
        }
    };
    body.into_string()
}

fn class(holds: Holds) -> &'static str {
    match holds {
        Holds::Holds => "holds",
        Holds::Fails => "not",
        Holds::Undecided => "partly",
        Holds::Arithmetic | Holds::NotSimulated => "missing",
    }
}

fn summary(verdicts: &[Verdict]) -> Markup {
    let number = |holds| verdicts.iter().filter(|one| one.holds == holds).count();
    page! {
        @if !verdicts.is_empty() {
            p {
                "Of the GEM paper's " (verdicts.len()) " statements checked: "
                @for (at, holds) in VERDICTS.into_iter().enumerate() {
                    @if at > 0 { ", " }
                    span class=(class(holds)) { (number(holds)) " " (holds.of(number(holds))) }
                }
                "."
            }
        }
    }
}

fn picture(figure: &Figure, study: &Study) -> Markup {
    let notes = notes(figure, study);
    page! {
        figure id={ "figure-" (figure.id) } {
            (PreEscaped(chart(figure, study).svg()))
            figcaption {
                (figure.caption)
                @if !notes.is_empty() {
                    ul { @for note in &notes { li { (note) } } }
                }
            }
            details {
                summary { "The points" }
                (points(figure, study))
            }
        }
    }
}

fn points(figure: &Figure, study: &Study) -> Markup {
    page! {
        table {
            thead { tr { th { "Curve" } th { "Nodes" } th { (figure.reading.label()) } } }
            tbody {
                @for panel in &figure.panels {
                    @for curve in &panel.curves {
                        @for point in &curve.points {
                            tr {
                                td {
                                    @if !panel.title.is_empty() { (panel.title) ": " }
                                    (curve.label)
                                }
                                td class="number" { (point.nodes) }
                                td class="number" {
                                    @match figure.read(study, point) {
                                        Some(value) => (in_words(value, "")),
                                        None => "\u{2013}",
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn statements(verdicts: &[Verdict]) -> Markup {
    page! {
        table {
            thead {
                tr {
                    th { "" }
                    th { "The GEM paper says" }
                    th { "Its figure" }
                    th { "Ours" }
                    th { "Holds?" }
                }
            }
            tbody {
                @for verdict in verdicts {
                    tr id={ "statement-" (verdict.id) } {
                        td { (verdict.id) }
                        td {
                            (verdict.says)
                            details class="small" {
                                summary { "How it is checked" }
                                (verdict.check) ". " (verdict.tolerance)
                            }
                        }
                        td { (verdict.paper) }
                        td { (parts(&verdict.ours)) }
                        td {
                            span class={ "verdict " (class(verdict.holds)) } {
                                (verdict.holds.in_words())
                            }
                            @if !verdict.why.is_empty() {
                                div class="small" { (parts(&verdict.why)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// One line for each part.
fn parts(text: &str) -> Markup {
    page! {
        @for (at, part) in text.split("; ").enumerate() {
            @if at > 0 { br; }
            (part)
        }
    }
}

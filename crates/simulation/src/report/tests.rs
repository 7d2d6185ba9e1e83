//! The contents that the files must have.

use super::*;
use crate::figures::{self, Needs};
use crate::parameters::Parameters;
use crate::statements::{self, Holds, paper_world};

fn whole_study() -> (Vec<Figure>, Study, Vec<statements::Verdict>) {
    let (figures, statements) = (figures::all(), statements::all());
    let mut needs = Needs::default();
    figures.iter().for_each(|figure| figure.needs(&mut needs));
    statements
        .iter()
        .for_each(|statement| statement.needs(&mut needs));
    let study = paper_world::study(&needs);
    let verdicts = statements
        .iter()
        .map(|statement| statement.judge(&study))
        .collect();
    (figures, study, verdicts)
}

#[test]
fn the_page_has_every_figure_every_statement_and_the_parameters() {
    let (figures, study, verdicts) = whole_study();
    let page = html(&figures, &study, &verdicts);
    for figure in &figures {
        assert!(
            page.contains(&format!("id=\"figure-{}\"", figure.id)),
            "{}",
            figure.id
        );
    }
    for verdict in &verdicts {
        assert_eq!(
            page.matches(&format!("id=\"statement-{}\"", verdict.id))
                .count(),
            1
        );
    }
    assert!(page.contains("buffer_pages = 200"));
    assert_eq!(page.matches("<svg").count(), figures.len());
    let number = |holds| verdicts.iter().filter(|one| one.holds == holds).count();
    let (hold, arithmetic) = (number(Holds::Holds), number(Holds::Arithmetic));
    assert_eq!(hold + arithmetic, verdicts.len());
    assert!(page.contains(&format!("{hold} hold<")));
    assert!(page.contains(&format!("{arithmetic} are arithmetic")));
    assert!(!page.contains("<script") && !page.contains("href=\"http"));
    assert_eq!(page, html(&figures, &study, &verdicts));
}

#[test]
fn csv_has_a_line_for_each_point_and_as_many_fields_in_each() {
    let (figures, study, _) = whole_study();
    for figure in &figures {
        let text = csv(figure, &study);
        let points: usize = figure.curves().map(|curve| curve.points.len()).sum();
        assert_eq!(text.lines().count(), points + 1, "{}", figure.id);
        let fields = |line: &str| {
            // Commas outside quotes: every second piece between quotes is inside.
            let outside = line.split('"').step_by(2);
            outside
                .map(|piece| piece.matches(',').count())
                .sum::<usize>()
        };
        let header = fields(text.lines().next().unwrap());
        assert!(text.lines().all(|line| fields(line) == header), "{text}");
    }
    let text = csv(&figures[0], &study);
    let second = text.lines().nth(1).unwrap();
    assert!(
        second.starts_with("4.1,,\"NOFORCE, affinity\",1,"),
        "{second}"
    );
    assert!(
        !second.ends_with(','),
        "the made-up outcomes have all columns: {second}"
    );
}

#[test]
fn points_without_a_value_are_noted() {
    let figure = figures::find("4.6").unwrap();
    let mut needs = Needs::default();
    figure.needs(&mut needs);
    let study = paper_world::study_where(&needs, &|at: &Parameters, one| {
        if at.nodes == 10 {
            one.saturated = true;
            one.servers[0].utilisation = 0.6;
        }
    });
    let notes = notes(&figure, &study);
    assert_eq!(notes.len(), figure.curves().count());
    assert!(
        notes[0].contains("10 nodes: a CPU utilisation of 80 % cannot be reached"),
        "{notes:?}"
    );
    let page = html(std::slice::from_ref(&figure), &study, &[]);
    assert!(page.contains("cannot be reached"));
    let rows = csv(&figure, &study).lines().count();
    assert_eq!(
        rows,
        1 + figure
            .curves()
            .map(|curve| curve.points.len() - 1)
            .sum::<usize>()
    );
}

#[test]
fn saturated_points_are_noted() {
    let figure = figures::find("4.1").unwrap();
    let mut needs = Needs::default();
    figure.needs(&mut needs);
    let study = paper_world::study_where(&needs, &|at, one| one.saturated = at.nodes == 9);
    assert_eq!(notes(&figure, &study).len(), 4);
    assert!(notes(&figure, &study)[0].contains("9 nodes: saturated"));
}

#[test]
fn fields_with_commas_and_quotes_are_quoted() {
    let fields = ["plain", "a,b", "say \"a\""].map(field);
    assert_eq!(fields, ["plain", "\"a,b\"", "\"say \"\"a\"\"\""]);
}

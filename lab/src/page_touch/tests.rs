use super::*;

fn quick() -> Options {
    crate::experiment::options("--pages 16 --repetitions 5 --snapshot-bytes 1MiB")
}

#[test]
fn every_subject_has_a_time_for_every_transaction_that_it_takes() {
    let mut steps = Vec::new();
    let report = run(&quick(), |progress| steps.push(progress))
        .unwrap()
        .figures;
    // Five sizes, two accesses; advice by page for all but the explicit, by range not for libxac.
    assert_eq!(report.cells.len(), 5 * 2 * (5 + 4 + 3));
    for cell in &report.cells {
        let times = cell.per_page;
        assert!(times.median_nanoseconds > 0.0, "{cell:?}");
        assert!(
            times.median_nanoseconds <= times.p99_nanoseconds,
            "{cell:?}"
        );
        assert!(times.p99_nanoseconds <= times.max_nanoseconds, "{cell:?}");
        let copies = cell.subject == Subject::Libxac && cell.access == Access::Write;
        assert_eq!(cell.copy_back_nanoseconds > 0.0, copies, "{cell:?}");
    }
    assert_eq!(report.revisits.len(), 4 * 2);
    assert_eq!(report.models.len(), 5 * 2);
    assert!(report.models.iter().all(|model| model.points.len() == 10));
    // Libxac has four, the two asynchronous ones have three plain ones, signals two.
    assert_eq!(report.estimates.len(), 4 + 3 + 2);
    assert_eq!(report.snapshot.unwrap().bytes, 1 << 20);
    let last = steps.last().unwrap();
    assert_eq!((last.done, steps.len() as u64), (last.all, last.all));
}

#[test]
fn what_was_not_committed_has_no_figure() {
    for subject in [
        Subject::AsynchronousExact,
        Subject::Signal,
        Subject::Explicit,
    ] {
        let mut runner = Runner::new(subject, 4, None).unwrap();
        let touch = |reads, writes| Touch {
            reads,
            writes,
            advice: Advice::None,
        };
        runner.run(touch(1, 3)).unwrap();
        runner.check().unwrap();
        let Runner::Segment(inner) = &mut runner else {
            panic!("{subject:?} is a segment");
        };
        inner.forget_a_commit();
        let read = runner.run(touch(4, 0));
        assert!(
            matches!(read, Err(ExperimentError::Wrong { .. })),
            "{subject:?}"
        );
        assert!(
            matches!(runner.check(), Err(ExperimentError::Wrong { .. })),
            "{subject:?}"
        );
    }
}

#[test]
fn numbers_that_cannot_work_are_refused() {
    for options in [
        Options {
            pages: 0,
            ..quick()
        },
        Options {
            pages: PAGES_LIMIT + 1,
            ..quick()
        },
        Options {
            repetitions: 0,
            ..quick()
        },
    ] {
        let refused = run(&options, |_| ());
        assert!(
            matches!(refused, Err(ExperimentError::Argument { .. })),
            "{options:?}"
        );
    }
}

#[test]
fn sizes_are_powers_of_two() {
    assert_eq!(sizes(1).collect::<Vec<_>>(), [1]);
    assert_eq!(sizes(20).collect::<Vec<_>>(), [1, 2, 4, 8, 16]);
}

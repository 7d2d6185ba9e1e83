//! The benchmark's figures for people, and its runs as CSV.

use super::curve;
use super::figures::{DeviceWrites, Figures, Run, Settings};
use super::options::{Configuration, LocatingStage};
use super::paper;
use crate::floor::Latency;
use crate::written::CountedBy;
use sardonyx_results::Findings;
use sardonyx_results::grid::{Grid, Unit};
use sardonyx_results::table::Sheet;
use sardonyx_results::units::{bytes, count, percent, rate, time};

/// The findings; `beside_paper`: with Table 1 of the TPK paper.
///
/// # Errors
/// The figures cannot be written as JSON.
pub fn findings(figures: &Figures, beside_paper: bool) -> serde_json::Result<Findings> {
    let mut findings = Findings::of(figures)?.holds_if(figures.holds());
    for run in &figures.runs {
        let mut sheet = Sheet::default();
        sheet.heading(title(&figures.settings, run));
        print_throughput(figures, run, &mut sheet);
        print_stages(&figures.settings, run, &mut sheet);
        print_storage(run, &mut sheet);
        print_recovery(run, &mut sheet);
        findings = findings.note(sheet).gap();
        if let Some(open_loop) = &run.open_loop {
            let name = match figures.runs.len() {
                1 => "open-loop".to_string(),
                _ => format!("open-loop-{:?}", run.configuration).to_lowercase(),
            };
            findings = curve::show(findings, &name, open_loop, &curve_title(figures, run));
        }
    }
    if beside_paper {
        findings = findings
            .note("Table 1 of the TPK paper beside these runs")
            .gap()
            .note(paper::table_1(&figures.runs))
            .gap()
            .note("Time in each stage")
            .gap()
            .note(paper::stage_times(&figures.runs))
            .gap();
    }
    for run in &figures.runs {
        if let Some(path) = &run.kept_in {
            findings = findings.note(format_args!("The database is kept in {path}."));
        }
    }
    Ok(findings
        .note(verdict(figures))
        .data("debit-credit", &runs(&figures.runs)))
}

/// The title of a curve's picture.
fn curve_title(figures: &Figures, run: &Run) -> String {
    let how = figures.settings.durability;
    let threads = match run.stage_threads {
        None => "coalesced".to_string(),
        Some((input, output)) => format!("{input} input and {output} output threads"),
    };
    format!("Response time over offered load: {how} debit-credit, {threads}")
}

fn runs(runs: &[Run]) -> Grid<&Run> {
    let us = Unit::Microseconds;
    let response = |run: &Run| run.responses.map(|responses| responses.summary);
    Grid::of(runs)
        .text("", "configuration", |run| {
            format!("{:?}", run.configuration)
        })
        .count("", "committed", |run| run.committed)
        .count("", "refused", |run| run.refused)
        .number("", "seconds", Unit::Decimals(2), |run| run.seconds)
        .number("", "transactions_per_second", Unit::PerSecond, |run| {
            run.transactions_per_second
        })
        .maybe("", "mean_us", us, |run| {
            Some(response(run)?.average_microseconds)
        })
        .maybe("", "p50_us", us, |run| {
            Some(response(run)?.p50_microseconds)
        })
        .maybe("", "p95_us", us, |run| {
            Some(response(run)?.p95_microseconds)
        })
        .maybe("", "p99_us", us, |run| {
            Some(response(run)?.p99_microseconds)
        })
        .maybe("", "max_us", us, |run| {
            Some(response(run)?.max_microseconds)
        })
        .number("", "log_bytes_per_transaction", Unit::Bytes, |run| {
            run.log.disk_bytes_per_transaction
        })
        .maybe("", "device_bytes_per_transaction", Unit::Bytes, |run| {
            Some(run.device?.bytes_per_transaction)
        })
        .number("", "open_seconds", Unit::Decimals(2), |run| {
            run.open_seconds
        })
        .text("", "proof_holds", |run| run.proof.holds)
}

fn verdict(figures: &Figures) -> String {
    let committed = figures.runs.iter().map(|run| run.committed).sum();
    if figures.holds() {
        return format!(
            "Proved after recovery: the four sums are equal, and each of {} acknowledged \
             transactions is there once.",
            count(committed)
        );
    }
    let mut text = String::from("THE PROOF DOES NOT HOLD:");
    for proof in figures
        .runs
        .iter()
        .map(|run| &run.proof)
        .filter(|proof| !proof.holds)
    {
        text += &format!(
            " {} acknowledged transactions are missing, {} are there twice, {} that were refused are there; sums: {}.",
            count(proof.missing),
            count(proof.twice),
            count(proof.refused_but_there),
            proof.sums
        );
    }
    text
}

fn title(settings: &Settings, run: &Run) -> String {
    let stages = match run.stage_threads {
        None => "coalesced".to_string(),
        Some((input, output)) => {
            format!("pipelined, {input} input and {output} output threads")
        }
    };
    let checkpoints = match run.configuration {
        Configuration::C => "; checkpoints at another host",
        _ => "",
    };
    let engine = format!(
        "configuration {:?} ({stages}{checkpoints})",
        run.configuration
    );
    let clients = match (settings.clients, &settings.listen) {
        (_, Some(address)) => format!("clients at {address}"),
        (1, None) => "1 client".to_string(),
        (clients, None) => format!("{clients} clients"),
    };
    let work = match (settings.batch, settings.batches_in_flight) {
        (Some(batch), Some(in_flight)) => {
            format!("batches of {}, {in_flight} in flight", count(batch as u64))
        }
        _ if settings.listen.is_some() => match settings.located_by {
            Some(LocatingStage::Input) => "over sockets, located by the input stage".to_string(),
            _ => "over sockets".to_string(),
        },
        _ => format!("one closure at a time, {}", settings.durability),
    };
    let work = match (&run.open_loop, settings.batch) {
        (None, _) => work,
        (Some(_), Some(batch)) => format!(
            "an open loop, what is due in batches of at most {}",
            count(batch as u64)
        ),
        (Some(_), None) => format!("an open loop, {work}"),
    };
    let store = match (&settings.store, settings.durable_at) {
        (Some(store), Some(durable_at)) => {
            let put = settings.put_seconds.map_or_else(String::new, |seconds| {
                format!(", puts of at least {}", time(seconds))
            });
            format!("\nlog in {store}, durable {durable_at}{put}")
        }
        _ => String::new(),
    };
    let scale = &settings.scale;
    format!(
        "Debit-credit: {} accounts, {} tellers, {} branches, {}% at other branches\n\
         {engine}, {} processors{}; {clients}, {work}{store}",
        count(scale.accounts()),
        count(scale.tellers()),
        count(scale.branches()),
        settings.other_branch_percent,
        settings.processors,
        if settings.spinner {
            " (one kept awake)"
        } else {
            ""
        },
    )
}

fn print_throughput(figures: &Figures, run: &Run, sheet: &mut Sheet) {
    sheet.heading("Throughput");
    sheet.remarked(
        "durable transactions",
        rate(run.transactions_per_second),
        format!("{} in {}", count(run.committed), time(run.seconds)),
    );
    if run.refused > 0 {
        sheet.figure("refused and undone", count(run.refused));
    }
    if let Some(floor) = &figures.bare_pipeline {
        let share = run.transactions_per_second / floor.transactions_per_second;
        let remark = format!("this run reached {} of it", percent(share));
        sheet.remarked(
            "bare durable pipeline",
            rate(floor.transactions_per_second),
            remark,
        );
    }
    let latency = &figures.sync_latency;
    let shown = |latency: &Latency| {
        let p90 = format!("p90 {}", time(latency.p90_microseconds / 1e6));
        (time(latency.median_microseconds / 1e6), p90)
    };
    let (figure, remark) = shown(&latency.idle);
    sheet.remarked("bare sync, cores as they are", figure, remark);
    let (figure, remark) = shown(&latency.busy);
    sheet.remarked("bare sync, a core kept awake", figure, remark);

    let Some(responses) = &run.responses else {
        return;
    };
    let summary = &responses.summary;
    sheet.heading("Response time");
    let alone = figures.settings.is_of_closures() && figures.settings.clients == 1;
    // A median is compared with the median of the same state of the disk.
    let face = match figures.settings.spinner {
        true => &latency.busy,
        false => &latency.idle,
    };
    let ratio = summary.p50_microseconds / face.median_microseconds;
    let times = match alone {
        true => format!("{ratio:.2} times a bare sync"),
        false => String::new(),
    };
    for (name, microseconds, remark) in [
        ("average", summary.average_microseconds, ""),
        ("p50", summary.p50_microseconds, times.as_str()),
        ("p95", summary.p95_microseconds, ""),
        ("p99", summary.p99_microseconds, ""),
        ("max", summary.max_microseconds, ""),
    ] {
        sheet.remarked(name, time(microseconds / 1e6), remark);
    }
    sheet.figure("within 1 s", percent(responses.share_within_1_s));
    sheet.figure("within 10 ms", percent(responses.share_within_10_ms));
}

fn print_stages(settings: &Settings, run: &Run, sheet: &mut Sheet) {
    sheet.heading("Time in each stage");
    let stages = &run.stages;
    for (name, seconds) in [
        ("Total", stages.total),
        ("Input", stages.input),
        ("Execute", stages.execute),
        ("Log", stages.log),
        ("Output", stages.output),
        ("Checkpoint", stages.checkpoint),
    ] {
        if settings.is_of_closures() && matches!(name, "Input" | "Execute") {
            sheet.remarked(
                name,
                "-",
                "not measured: two readings of the clock would be a good part of it",
            );
            continue;
        }
        if name == "Output" && run.stage_threads.is_none() && settings.listen.is_none() {
            sheet.remarked(name, "none", "each client takes its results itself");
            continue;
        }
        if name == "Checkpoint" && run.configuration == Configuration::C {
            sheet.remarked(name, "none", "at the other host");
            continue;
        }
        let share = if stages.total > 0.0 {
            seconds / stages.total * 100.0
        } else {
            0.0
        };
        sheet.remarked(name, time(seconds), format!("{share:.0}%"));
    }
}

fn print_storage(run: &Run, sheet: &mut Sheet) {
    sheet.heading("Log");
    let remark = format!("on average; the largest {}", count(run.groups.largest));
    sheet.remarked(
        "transactions in a group",
        format!("{:.1}", run.groups.mean),
        remark,
    );
    sheet.figure("groups", count(run.groups.count));
    let log = &run.log;
    sheet.remarked(
        "bytes a transaction",
        format!("{:.1}", log.record_bytes_per_transaction),
        format!("{:.1} on disk", log.disk_bytes_per_transaction),
    );
    let log_rate = log.disk_bytes as f64 / run.seconds / 1e9;
    sheet.remarked(
        "log written",
        bytes(log.disk_bytes),
        format!("{log_rate:.2} GB/s"),
    );

    sheet.heading("Checkpoints");
    let checkpoints = &run.checkpoints;
    let (completed, written) = match &run.other_host {
        Some(host) => (
            host.checkpoints,
            format!(
                "{} at the other host, loading included",
                bytes(host.checkpoint_bytes)
            ),
        ),
        None => (
            checkpoints.completed,
            format!(
                "{} in {} of writing",
                bytes(checkpoints.bytes),
                time(checkpoints.writeout_seconds)
            ),
        ),
    };
    sheet.remarked("completed", count(completed), written);
    if let Some(between) = checkpoints.transactions_per_second_between {
        sheet.figure("throughput between them", rate(between));
    }
    if let Some(during) = checkpoints.transactions_per_second_during {
        let change = checkpoints
            .drop()
            .map(|drop| format!("{:+.1}%", -drop * 100.0));
        sheet.remarked(
            "throughput during them",
            rate(during),
            change.unwrap_or_default(),
        );
    }

    if let Some(device) = &run.device {
        print_device(device, sheet);
    }

    if let Some(host) = &run.other_host {
        sheet.remarked(
            "store behind at the end",
            count(host.lag_transactions),
            format!(
                "transactions, {} of log: caught up with afterwards",
                bytes(host.lag_bytes)
            ),
        );
        sheet.remarked(
            "groups sent to it",
            count(host.sent_groups),
            format!(
                "{} read back from disk; the store took {}",
                count(host.read_back_groups),
                time(host.sending_seconds)
            ),
        );
    }

    sheet.heading("Memory");
    let memory = &run.memory;
    sheet.figure("records", bytes(memory.record_bytes));
    sheet.figure("pages", bytes(memory.page_bytes));
    sheet.remarked(
        "the checkpointer's copy",
        bytes(memory.copy_bytes),
        match run.configuration {
            Configuration::C => "it is at the other host",
            _ => "",
        },
    );
    sheet.figure("indexes", bytes(memory.index_bytes));
    let data_bytes = memory.page_bytes + memory.copy_bytes + memory.index_bytes;
    let times = data_bytes as f64 / memory.page_bytes as f64;
    let remark = format!("{times:.2} times the pages; the rest is bounded buffers");
    sheet.remarked("all three", bytes(data_bytes), remark);
    if let (Some(peak), Some(ratio)) = (memory.peak_resident_bytes, memory.ratio()) {
        let remark = format!("{ratio:.2} times the pages; clients and measuring included");
        sheet.remarked("peak of the process", bytes(peak), remark);
    }
}

fn print_device(device: &DeviceWrites, sheet: &mut Sheet) {
    let counted = match device.counted_by {
        CountedBy::Device => "by all programs, to the device",
        CountedBy::Process => "by this process, to any device",
    };
    sheet.heading("Written to the device");
    sheet.remarked(
        "bytes a transaction",
        format!("{:.1}", device.bytes_per_transaction),
        counted,
    );
    for (name, written) in [
        ("for each byte of log", &device.run),
        ("since the creation", &device.since_creation),
    ] {
        let remark = format!(
            "{:.2} for the log alone: {} in all, {} log, {} checkpoints, {} archive",
            written.of_log_per_log_byte,
            bytes(written.bytes),
            bytes(written.log_bytes),
            bytes(written.checkpoint_bytes),
            bytes(written.archive_bytes)
        );
        sheet.remarked(name, format!("{:.2}", written.per_log_byte), remark);
    }
}

fn print_recovery(run: &Run, sheet: &mut Sheet) {
    sheet.heading("Recovery");
    run.recovery.print(sheet);
    let remark = "recovery, indexes rebuilt, threads started";
    sheet.remarked("opened again in", time(run.open_seconds), remark);
    sheet.heading("Proof");
    let sums = &run.proof.sums;
    for (name, sum) in [
        ("sum of accounts", sums.accounts),
        ("sum of tellers", sums.tellers),
        ("sum of branches", sums.branches),
        ("sum of the history", sums.history),
    ] {
        sheet.figure(name, sum.to_string());
    }
    let remark = format!("read and checked in {}", time(run.proof.seconds));
    sheet.remarked("rows in the history", count(run.proof.rows), remark);
}

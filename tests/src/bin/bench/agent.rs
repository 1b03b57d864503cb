//! What is printed of the agent.

use std::time::Duration;

use anyhow::Result;
use dra_guest_tests::bench::{AgentFigures, GuestFigures, ManyNicsFigures};
use dra_guest_tests::programs::static_program;
use dra_guest_tests::table::{Table, milliseconds, ratio};

pub(crate) fn agent_table(figures: &AgentFigures) -> Table {
    let mut table = Table::new(["program", "time", "to the script"]);
    for (name, time) in [
        ("a script of jq and ip", figures.script),
        ("dra-guest-agent apply", figures.apply),
        ("dra-guest-agent apply, again", figures.second_apply),
    ] {
        table.row([
            name.to_owned(),
            milliseconds(time),
            ratio(time, figures.script),
        ]);
    }
    table
}

pub(crate) fn call_table(figures: &AgentFigures, few: &ManyNicsFigures) -> Table {
    let mut table = Table::new(["", "all", "link changes sent", "most frequent"]);
    for (name, calls) in [
        ("apply of one NIC", &figures.calls),
        ("again", &figures.second_calls),
        ("apply of eight, again", &few.second_calls),
    ] {
        let mut frequent: Vec<_> = calls.by_name.iter().collect();
        frequent.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let frequent: Vec<String> = frequent
            .iter()
            .take(6)
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        table.row([
            name.to_owned(),
            calls.total.to_string(),
            calls.link_changes.to_string(),
            frequent.join(", "),
        ]);
    }
    table
}

type Time = fn(&ManyNicsFigures) -> Duration;

pub(crate) fn many_table(few: &ManyNicsFigures, many: &ManyNicsFigures) -> Table {
    let mut table = Table::new([
        "",
        "8 NICs",
        "to the floor",
        "256 NICs",
        "to the floor",
        "a NIC, to one of 8",
    ]);
    let rows: [(&str, Time); 8] = [
        ("the same changes, nothing else", |figures| figures.floor),
        ("the same messages, looks too", |figures| {
            figures.floor_with_looks
        }),
        ("the same files as well", |figures| figures.floor_with_files),
        ("dra-guest-agent apply", |figures| figures.apply),
        ("of it beyond the floor", |figures| {
            figures.apply.saturating_sub(figures.floor)
        }),
        ("dra-guest-agent apply, again", |figures| {
            figures.second_apply
        }),
        ("dra-guest-agent plan", |figures| figures.plan),
        ("nmstatectl apply --kernel, no names, no MTU", |figures| {
            figures.nmstate
        }),
    ];
    for (name, time) in rows {
        let [of_few, of_many] = [few, many].map(time);
        let scale = u32::try_from(many.count / few.count).unwrap_or(u32::MAX);
        table.row([
            name.to_owned(),
            milliseconds(of_few),
            ratio(of_few, few.floor),
            milliseconds(of_many),
            ratio(of_many, many.floor),
            ratio(of_many, of_few * scale),
        ]);
    }
    table
}

pub(crate) fn memory_table(
    few: &ManyNicsFigures,
    many: &ManyNicsFigures,
    guest: &GuestFigures,
) -> Result<Table> {
    let program = std::fs::metadata(static_program("dra-guest-agent")?)?.len() / 1024;
    let mut table = Table::new(["", "peak", "of it its own", "the program"]);
    for (name, memory) in [
        ("8 NICs", few.memory),
        ("256 NICs", many.memory),
        ("1 NIC, in the guest", guest.memory),
    ] {
        table.row([
            name.to_owned(),
            format!("{} KiB", memory.peak),
            format!("{} KiB", memory.own),
            format!("{program} KiB"),
        ]);
    }
    Ok(table)
}

pub(crate) fn guest_table(figures: &GuestFigures) -> Table {
    let mut table = Table::new(["", "dra-guest-agent", "systemd-networkd", "ratio"]);
    for (name, agent, networkd) in [
        (
            "8 NICs: MTU, up, an address (the agent: names too)",
            figures.apply,
            figures.networkd,
        ),
        (
            "a NIC is plugged in, until it has its address",
            figures.hot_plug,
            figures.networkd_hot_plug,
        ),
    ] {
        table.row([
            name.to_owned(),
            milliseconds(agent),
            milliseconds(networkd),
            ratio(agent, networkd),
        ]);
    }
    table
}

//! What is printed of the hook.

use dra_guest_tests::bench::HookFigures;
use dra_guest_tests::table::{Table, milliseconds, ratio};

pub(crate) fn table(figures: &HookFigures) -> Table {
    let mut table = Table::new([
        "program",
        "time",
        "to static true (glibc)",
        "(musl)",
        "to nvidia-cdi-hook",
    ]);
    for (name, time) in [
        ("static true (C, glibc)", figures.nothing_glibc),
        ("static true (C, musl)", figures.nothing_musl),
        ("dra-cdi-hook, VM mount in memory", figures.hook),
        ("dra-cdi-hook, VM mount on disk", figures.hook_on_disk),
        ("nvidia-cdi-hook, one link", figures.nvidia),
    ] {
        table.row([
            name.to_owned(),
            milliseconds(time),
            ratio(time, figures.nothing_glibc),
            ratio(time, figures.nothing_musl),
            ratio(time, figures.nvidia),
        ]);
    }
    table
}

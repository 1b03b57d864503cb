//! What `bench relay` prints.

use dra_guest_tests::bench::RelayFigures;
use dra_guest_tests::table::{Table, milliseconds, ratio};

pub(crate) fn latency_table(figures: &RelayFigures) -> Table {
    let mut table = Table::new([
        "reports",
        "bare apply, median",
        "99 %",
        "relay, median",
        "99 %",
        "median to median",
        "99 % to median",
        "99 % to 99 %",
    ]);
    for (name, relay, bare) in &figures.cases {
        let [middle, late] = [relay.percentile(50), relay.percentile(99)];
        let [bare_middle, bare_late] = [bare.percentile(50), bare.percentile(99)];
        table.row([
            (*name).to_owned(),
            milliseconds(bare_middle),
            milliseconds(bare_late),
            milliseconds(middle),
            milliseconds(late),
            ratio(middle, bare_middle),
            ratio(late, bare_middle),
            ratio(late, bare_late),
        ]);
    }
    table
}

pub(crate) fn request_table(figures: &RelayFigures) -> Table {
    let mut table = Table::new(["", "changes", "reads", "applies", "a change", "Events"]);
    for (name, requests) in [
        ("first word of each guest", figures.first),
        ("further changes", figures.further),
    ] {
        let all = requests.reads + requests.applies;
        table.row([
            name.to_owned(),
            requests.changes.to_string(),
            requests.reads.to_string(),
            requests.applies.to_string(),
            format!("{:.2}", f64::from(all) / f64::from(requests.changes)),
            requests.events.to_string(),
        ]);
    }
    table
}

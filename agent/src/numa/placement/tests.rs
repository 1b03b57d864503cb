//! Which CPUs are chosen; what the kernel makes of it is seen by the suites that run commands.

use super::*;

fn chosen(near: &str, allowed: &str, isolated: &str) -> Option<String> {
    let [near, allowed, isolated] = [near, allowed, isolated].map(|text| text.parse().unwrap());
    cpus(&near, &allowed, || isolated).map(|cpus: CpuList| cpus.to_string())
}

#[test]
fn what_was_chosen_before_is_kept_and_what_is_isolated_is_left() {
    for (near, allowed, isolated, cpus, why) in [
        ("2-3", "0-3", "", Some("2-3"), "the node's CPUs"),
        (
            "2-3",
            "0-1",
            "",
            Some("2-3"),
            "an affinity elsewhere is replaced",
        ),
        ("2-3", "1-2", "", Some("2"), "someone chose one of them"),
        ("2-3", "0-2", "3", Some("2"), "isolcpus= leaves one"),
        (
            "2-3",
            "0-1",
            "3",
            Some("2"),
            "an affinity elsewhere, and isolcpus=",
        ),
        ("2-3", "0-1", "2-3", None, "isolcpus= leaves none"),
        (
            "2-3",
            "3",
            "2-3",
            Some("3"),
            "an isolated CPU that someone chose",
        ),
        (
            "512-1023,1536-2047",
            "0-1599",
            "",
            Some("512-1023,1536-1599"),
            "many",
        ),
    ] {
        assert_eq!(chosen(near, allowed, isolated).as_deref(), cpus, "{why}");
    }
}

//! Which names of units are taken: `unit_name_is_valid` and `slice_name_is_valid` of systemd.

use crate::policy::UnitName;

const TAKEN: &[&str] = &[
    "db.service",
    "web@1.service",
    "web@.service",
    // What follows the first @ is the instance's, whatever it has.
    "web@a@b.service",
    "dev-disk-by\\x2dlabel.service",
    "a:b_c.d-e.service",
    "-.service",
    "system.slice",
    "system-web.slice",
    "machine-qemu\\x2d1\\x2dvm.slice",
];

const REFUSED: &[&str] = &[
    "",
    ".service",
    ".slice",
    "db",
    "db.service ",
    "db.Service",
    "db.mount",
    "db.socket",
    "init.scope",
    "db.service.d",
    "db.service/x.service",
    "../db.service",
    "..service",
    "...service",
    "@.service",
    "@1.service",
    "a b.service",
    "a\nb.service",
    "a\0b.service",
    "a%b.service",
    "a*.service",
    "dätenbank.service",
    // All that runs: pinned, the guest's other CPUs would be nobody's.
    "-.slice",
    // No slices of systemd's: the dash is the tree's, and there are no templates.
    "-web.slice",
    "web-.slice",
    "system--web.slice",
    "web@.slice",
    "web@1.slice",
];

#[test]
fn a_name_is_taken_as_systemd_takes_it() {
    for name in TAKEN {
        let taken = UnitName::new(name).map(|name| name.to_string());
        assert_eq!(taken.as_deref(), Some(*name));
    }
    for name in REFUSED {
        assert_eq!(UnitName::new(name), None, "{name:?}");
    }
}

#[test]
fn a_name_has_at_most_255_bytes() {
    for suffix in [".service", ".slice"] {
        let longest = "a".repeat(255 - suffix.len()) + suffix;
        assert!(UnitName::new(&longest).is_some());
        assert_eq!(UnitName::new(&format!("a{longest}")), None);
    }
}

//! Resource limits, and no core dump.
//!
//! No limit of a file's size: it would count the log's, which other runs wrote. None of processor
//! time or processes: the deadline and the filter of system calls are stricter.

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// The most address space: many times what the largest allowed input needs, and little enough that
/// no input can press on the node.
const ADDRESS_SPACE: u64 = 1 << 30;

/// The most descriptors: some per level of a metadata tree, and a few more.
const DESCRIPTORS: u64 = 64;

pub(super) fn set() -> impl Iterator<Item = String> {
    let limit = |resource, most| {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit)
    };
    let what: [(&str, Result<(), Errno>); 3] = [
        (
            "the limit of address space",
            limit(Resource::As, ADDRESS_SPACE),
        ),
        (
            "the limit of descriptors",
            limit(Resource::Nofile, DESCRIPTORS),
        ),
        // A core would be written into the container or handed to a program of the node. Nor can
        // another process trace this one or look into it then.
        (
            "the ban on core dumps",
            set_dumpable_behavior(DumpableBehavior::NotDumpable),
        ),
    ];
    what.into_iter().filter_map(|(what, result)| {
        let error = result.err()?;
        Some(format!("{what} is not set: {error}"))
    })
}

//! The capabilities of root that the hook keeps.

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// A VM mount may be another user's (`DAC_OVERRIDE`) and sticky (`FOWNER`). Metadata and bundles
/// may be closed to others, too.
const KEPT: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::FOWNER);

pub(super) fn drop_others() -> Option<String> {
    let sets = |kept| CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    let result = match set_capabilities(None, sets(KEPT)) {
        // It has fewer than these to begin with.
        Err(Errno::PERM) => capabilities(None)
            .and_then(|had| set_capabilities(None, sets(had.permitted.intersection(KEPT)))),
        result => result,
    };
    let error = result.err()?;
    Some(format!("capabilities are kept: capset: {error}"))
}

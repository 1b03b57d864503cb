//! The bounds that hold for every input.

/// The most bytes of one file that are read: 1 MiB, kata-agent's bound for watched files.
pub const FILE_BYTES: usize = 1 << 20;

/// The deepest nesting of arrays and objects. The deepest known form has seven levels.
pub const NESTING: usize = 32;

/// The most attributes of one device (`ResourceSliceMaxAttributesAndCapacitiesPerDevice` of
/// `resource.k8s.io/v1`).
pub const ATTRIBUTES: usize = 32;

/// The most metadata files below one directory: a claim has at most 32 devices, a pod few claims.
pub const FILES: usize = 512;

/// The most bytes of one line of the report protocol, its newline included.
pub const LINE_BYTES: usize = 64 << 10;

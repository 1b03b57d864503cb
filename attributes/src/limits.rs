//! The bounds that hold for every input.

/// The most bytes of one file that are read: 1 MiB, kata-agent's bound for watched files.
pub const FILE_BYTES: usize = 1 << 20;

/// The deepest nesting of arrays and objects. The deepest known form has seven levels.
pub const NESTING: usize = 32;

/// The most keys of one object. The largest of a known form, a device's attributes, has 32.
pub const KEYS: usize = 1024;

/// The most attributes of one device (`ResourceSliceMaxAttributesAndCapacitiesPerDevice` of
/// `resource.k8s.io/v1`).
pub const ATTRIBUTES: usize = 32;

/// The most addresses of one device of a metadata file (`NetworkDeviceData.ips` of `resource.k8s.io/v1`).
pub const ADDRESSES: usize = 16;

/// The most devices of one file: a claim has at most 32, a pod few claims.
pub const DEVICES: usize = 1024;

/// The most notes of one reading; what goes beyond is counted only.
pub const NOTES: usize = 64;

/// The most metadata files below one directory: a claim has at most 32 devices, a pod few claims.
pub const FILES: usize = 512;

/// The most bytes of all metadata files below one directory: what they say must fit one document.
pub const TREE_BYTES: usize = 8 << 20;

/// The most names below one directory of metadata files, those that are passed over included.
pub const TREE_ENTRIES: usize = 4096;

/// How often a tree is read whose files are exchanged meanwhile.
pub const VERSIONS: usize = 4;

/// The levels below a directory of metadata files: kind of claim, claim, request, file.
pub const TREE_LEVELS: usize = 4;

/// The most bytes of one line of the report protocol, its newline included.
pub const LINE_BYTES: usize = 64 << 10;

//! What is wrong with an input, and where.

use std::fmt;

/// Why an input could not be read: the file, the place in it, and the reason.
///
/// Displayed on one line as `file:line:column: field: what is wrong`, each part only where it is
/// known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// The file, as the user named it.
    pub file: String,
    /// Line and column, both from 1; the column counts bytes.
    pub position: Option<Position>,
    /// The path of the field inside the document, like `devices[0].network.macAddress`.
    pub field: Option<String>,
    /// What is wrong there.
    pub kind: ReadErrorKind,
}

/// A place in a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// In bytes, from 1.
    pub column: usize,
}

/// What is wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// No bytes, or white space only: a writer that truncates in place leaves this for a moment.
    #[error("the file is empty: it may not have been written yet")]
    Empty,
    /// More than [`crate::limits::FILE_BYTES`].
    #[error(
        "the file has more than {} bytes, the most that is read",
        crate::limits::FILE_BYTES
    )]
    TooLarge,
    /// Arrays and objects nested deeper than [`crate::limits::NESTING`].
    #[error("arrays and objects are nested deeper than {}", crate::limits::NESTING)]
    TooDeep,
    /// More keys in one object than [`crate::limits::KEYS`].
    #[error("an object has more than {} keys", crate::limits::KEYS)]
    TooManyKeys,
    /// The text ends inside a value: cut, or still being written.
    #[error("the JSON text ends too early: the file is cut or still being written")]
    Truncated,
    /// No JSON, in the words of the parser.
    #[error("{0}")]
    Syntax(String),
    /// Valid JSON that does not fit its form, in the words of the parser.
    #[error("{0}")]
    Invalid(String),
    /// None of the forms that are read.
    #[error(
        "this is none of the known forms: expected are a dra-guest/v1 DeviceAttributes document, a \
         metadata.resource.k8s.io DeviceMetadata stream, a config drive's meta_data.json with \"devices\", \
         or a flat object with \"pciAddress\", \"macAddress\" or \"numaNode\""
    )]
    UnknownForm,
    /// `kind` is not the one that the apiVersion has.
    #[error("kind {found:?} is not {expected:?}, the kind of {api_version}")]
    WrongKind {
        /// The apiVersion of the object.
        api_version: String,
        /// The kind that it has.
        found: String,
        /// The kind that it should have.
        expected: &'static str,
    },
    /// An object without `apiVersion` or `kind` where both are mandatory.
    #[error("{0:?} is missing")]
    Missing(&'static str),
    /// No object of the stream, or not the document, has a version that is known.
    #[error("no known apiVersion: found {}, known are {}", .found.join(", "), .known.join(", "))]
    NoKnownVersion {
        /// The versions that were met, in their order.
        found: Vec<String>,
        /// The versions that are read.
        known: &'static [&'static str],
    },
    /// More attributes than [`crate::limits::ATTRIBUTES`] on one device.
    #[error("{count} attributes on one device: upstream\'s limit is {limit}", limit = crate::limits::ATTRIBUTES)]
    TooManyAttributes {
        /// How many there are.
        count: usize,
    },
    /// More devices than [`crate::limits::DEVICES`] in one file.
    #[error("{count} devices: at most {limit} are read", limit = crate::limits::DEVICES)]
    TooManyDevices {
        /// How many there are.
        count: usize,
    },
    /// A claim that the scheduler has given no devices yet, or that was given back.
    #[error("no devices are allocated to the claim")]
    NotAllocated,
    /// More below a directory of metadata files than is read.
    #[error("the metadata files below this directory are too many: {0} is the limit")]
    Tree(TreeLimit),
    /// Files that are exchanged for others again and again while they are read.
    #[error("its files were exchanged each time while they were read")]
    Changing,
    /// A directory, a FIFO, a device or a socket in a file's place.
    #[error("this is {0}, not a regular file")]
    NotAFile(&'static str),
    /// Nothing of that name.
    #[error("there is no such file or directory")]
    NotFound,
    /// The operating system's answer.
    #[error("{0}")]
    Io(String),
}

/// A bound of a directory of metadata files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeLimit {
    /// [`crate::limits::FILES`].
    #[error("{} files", crate::limits::FILES)]
    Files,
    /// [`crate::limits::TREE_ENTRIES`].
    #[error("{} names of files and directories", crate::limits::TREE_ENTRIES)]
    Entries,
    /// [`crate::limits::TREE_BYTES`].
    #[error("{} bytes of all files together", crate::limits::TREE_BYTES)]
    Bytes,
}

impl ReadError {
    /// An error about the file as a whole.
    pub fn file(file: impl Into<String>, kind: ReadErrorKind) -> Self {
        Self {
            file: file.into(),
            position: None,
            field: None,
            kind,
        }
    }

    /// Whether there is no such file or directory.
    pub fn is_not_found(&self) -> bool {
        self.kind == ReadErrorKind::NotFound
    }

    /// Whether the file may be whole in a moment: it is empty or ends too early, as while a
    /// writer that truncates in place is at work, or was exchanged.
    pub fn may_be_unfinished(&self) -> bool {
        matches!(
            self.kind,
            ReadErrorKind::Empty | ReadErrorKind::Truncated | ReadErrorKind::Changing
        )
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self
            .position
            .map_or_else(String::new, |Position { line, column }| {
                format!(":{line}:{column}")
            });
        let field = self.field.as_ref();
        let field = field.map_or_else(String::new, |field| format!(": {field}"));
        let text = format!("{}{place}{field}: {}", self.file, self.kind);
        // Each part is bounded; its characters are a stranger's.
        f.write_str(&crate::one_line(&text, usize::MAX))
    }
}

impl std::error::Error for ReadError {}

/// The start of a text that a stranger may have made long, for use in a message.
pub(crate) fn excerpt(text: &str) -> String {
    const KEPT: usize = 80;
    match text.char_indices().nth(KEPT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

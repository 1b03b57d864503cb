//! Cases in folders: `<case>.json` is read, and what comes of it is held against `<case>.expected`.
//!
//! `BLESS=1 cargo test -p device-attributes` writes the expectations anew; the difference is then for a
//! person to read.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use device_attributes::ReadError;
use device_attributes::read::Reading;

/// The crate's directory of tests.
pub(crate) fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// All that a reading says, as text.
pub(crate) fn shown(result: &Result<Reading, ReadError>) -> String {
    let reading = match result {
        Ok(reading) => reading,
        Err(error) => return format!("error: {error}\n"),
    };
    let mut text = format!("form: {:?}\n", reading.form);
    for rejected in &reading.rejected {
        writeln!(text, "rejected: {}: {}", rejected.identity, rejected.error).unwrap();
    }
    for note in &reading.notes {
        writeln!(text, "note: {note}").unwrap();
    }
    text.push_str(std::str::from_utf8(&reading.document.to_bytes()).unwrap());
    text
}

/// Holds a text against the file that has what is expected.
pub(crate) fn compare(expected: &Path, found: &str) -> Result<(), String> {
    if std::env::var_os("BLESS").is_some() {
        fs::write(expected, found).unwrap();
    }
    let wanted = fs::read_to_string(expected)
        .map_err(|error| format!("{}: {error}\n", expected.display()))?;
    if wanted == found {
        Ok(())
    } else {
        Err(format!(
            "{}:\n--- expected\n{wanted}--- found\n{found}",
            expected.display()
        ))
    }
}

/// The cases of a folder, sorted.
pub(crate) fn cases(folder: &str) -> Vec<PathBuf> {
    let mut cases: Vec<PathBuf> = fs::read_dir(tests().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "no cases in {folder}");
    cases
}

//! `validate`: the mistakes of files, with their places.

use std::path::{Path, PathBuf};

use device_attributes::read::Form;

use super::print;
use crate::exit::{Ended, Exit};
use crate::policy::Policy;
use crate::silent_share;
use crate::source::load_path;

pub(super) fn validate(files: &[PathBuf]) -> Result<Exit, Ended> {
    let mut mistakes = Vec::new();
    for file in files {
        let result = if file
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            policy(file)
        } else {
            attributes(file, &mut mistakes)
        };
        match result {
            Ok(good) => print(good)?,
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if mistakes.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Ended::failed(mistakes.join("\n")))
}

fn policy(file: &Path) -> Result<String, String> {
    let policy = Policy::read_file(file).map_err(|error| error.to_string())?;
    Ok(format!(
        "{}: a policy of {} [[device]] tables",
        file.display(),
        policy.table_count()
    ))
}

fn attributes(file: &Path, mistakes: &mut Vec<String>) -> Result<String, String> {
    let reading = match load_path(file, silent_share::open) {
        Ok(loaded) => loaded.reading,
        Err(error) => return Err(error.to_string()),
    };
    mistakes.extend(
        reading
            .rejected
            .iter()
            .map(|rejected| rejected.error.to_string()),
    );
    let form = match reading.form {
        Form::Document => "a dra-guest/v1 document",
        Form::Stream => "upstream device metadata",
        Form::ConfigDrive => "a config drive's meta_data.json",
        Form::Flat => "the flat form",
    };
    let count = reading.document.devices.len();
    let noun = if count == 1 { "device" } else { "devices" };
    let mut text = format!("{}: {form} with {count} usable {noun}", file.display());
    for note in &reading.notes {
        text.push_str("\n  ");
        text.push_str(note);
    }
    Ok(text)
}

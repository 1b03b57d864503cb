//! Manifest files, YAML or JSON, to values and back.

use std::path::Path;

use device_attributes::{Position, ReadError, ReadErrorKind};

use crate::value::Value;

/// The format of a manifest file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `*.yaml` and `*.yml`: one or more documents.
    Yaml,
    /// `*.json`: one object.
    Json,
}

impl Format {
    /// The format that a file's name tells; `None` for a file that is no manifest. A name that
    /// starts with a dot is hidden.
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        if name.starts_with('.') {
            return None;
        }
        match name.rsplit_once('.')?.1 {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// Reads a file's text. `file` is its name for messages.
    ///
    /// # Errors
    /// The text is not of this format; the error has the line.
    pub fn parse(self, file: &str, text: &str) -> Result<Vec<Value>, ReadError> {
        if text.trim().is_empty() {
            return Err(ReadError::file(file, ReadErrorKind::Empty));
        }
        let (position, words) = match self {
            Self::Json => match serde_json::from_str(text) {
                Ok(value) => return Ok(vec![value]),
                Err(error) => (
                    (error.line(), error.column()),
                    without_place(&error.to_string()),
                ),
            },
            Self::Yaml => match serde_saphyr::from_multiple(text) {
                Ok(documents) => return Ok(documents),
                Err(error) => yaml_error(&error),
            },
        };
        let (line, column) = position;
        Err(ReadError {
            position: (line > 0).then_some(Position { line, column }),
            ..ReadError::file(file, ReadErrorKind::Syntax(words))
        })
    }

    /// The text of a file that holds these values.
    ///
    /// # Errors
    /// In the words of the library; not met for values that [`Format::parse`] made.
    pub fn render(self, documents: &[Value]) -> Result<String, String> {
        match self {
            Self::Json => {
                let mut text = String::new();
                for document in documents {
                    text += &serde_json::to_string_pretty(document)
                        .map_err(|error| error.to_string())?;
                    text.push('\n');
                }
                Ok(text)
            }
            Self::Yaml => {
                // Long messages stay on one line: people grep for them.
                let options = serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX };
                serde_saphyr::to_string_multiple_with_options(documents, options)
                    .map_err(|error| error.to_string())
            }
        }
    }
}

/// Place and words of an error, on one line.
fn yaml_error(error: &serde_saphyr::Error) -> ((usize, usize), String) {
    let place = error.location().map_or((0, 0), |location| {
        (
            usize::try_from(location.line()).unwrap_or_default(),
            usize::try_from(location.column()).unwrap_or_default(),
        )
    });
    let words = error.without_snippet().to_string();
    let words = words.lines().next().unwrap_or_default();
    (place, without_place(words))
}

/// The place stands in front already.
fn without_place(words: &str) -> String {
    words
        .rsplit_once(" at line ")
        .map_or(words, |(words, _)| words)
        .to_owned()
}

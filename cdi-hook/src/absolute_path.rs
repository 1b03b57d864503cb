//! Paths that the command line takes: absolute, and fit for a JSON string.

use std::fmt;
use std::str::FromStr;

/// An absolute path in UTF-8 without control characters, dots and slashes too many: one spelling for one path.
///
/// The working directory of a hook differs by runtime (runc: the root file system, crun: the
/// bundle, youki: the sandbox's bundle), so that a relative path means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsolutePath(String);

/// Why a text is no [`AbsolutePath`].
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AbsolutePathError {
    /// It does not start with a slash.
    #[error("the path must be absolute, from / on: it is one of the node or the container")]
    Relative,
    /// It has a control character.
    #[error("the path has a control character")]
    Control,
    /// It has a part that is no name.
    #[error("the path has a part . or ..: write it without")]
    Dots,
}

impl AbsolutePath {
    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `/`.
    pub(crate) fn root() -> Self {
        Self("/".to_owned())
    }

    /// The path of something in this directory.
    #[must_use]
    pub(crate) fn join(&self, name: &str) -> Self {
        Self(format!("{}/{name}", self.0.trim_end_matches('/')))
    }
}

impl FromStr for AbsolutePath {
    type Err = AbsolutePathError;

    fn from_str(text: &str) -> Result<Self, AbsolutePathError> {
        if !text.starts_with('/') {
            return Err(AbsolutePathError::Relative);
        }
        if text.chars().any(char::is_control) {
            return Err(AbsolutePathError::Control);
        }
        let mut path = String::with_capacity(text.len());
        for name in text.split('/').filter(|name| !name.is_empty()) {
            if matches!(name, "." | "..") {
                return Err(AbsolutePathError::Dots);
            }
            path.push('/');
            path.push_str(name);
        }
        if path.is_empty() {
            path.push('/');
        }
        Ok(Self(path))
    }
}

impl fmt::Display for AbsolutePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_absolute_paths_are_taken() {
        let path: AbsolutePath = "/var/run/x".parse().unwrap();
        assert_eq!(path.as_str(), "/var/run/x");
        for (text, path) in [
            ("//a///b/", "/a/b"),
            ("/", "/"),
            ("///", "/"),
            ("/..a", "/..a"),
        ] {
            assert_eq!(text.parse::<AbsolutePath>().unwrap().as_str(), path);
        }
        for text in ["/a/../b", "/..", "/a/."] {
            assert_eq!(text.parse::<AbsolutePath>(), Err(AbsolutePathError::Dots));
        }
        for text in ["", "var/run", "./x", "../x"] {
            assert_eq!(
                text.parse::<AbsolutePath>(),
                Err(AbsolutePathError::Relative)
            );
        }
        assert_eq!(
            "/a\nb".parse::<AbsolutePath>(),
            Err(AbsolutePathError::Control)
        );
        assert_eq!(
            "/a\0b".parse::<AbsolutePath>(),
            Err(AbsolutePathError::Control)
        );
    }
}

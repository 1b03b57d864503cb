//! Places in a directory of metadata files, and what their names say.

use crate::DeviceIdentity;

/// Whether a file of that name is one of metadata.
pub(super) fn is_metadata(name: &str) -> bool {
    name == "metadata.json" || name.ends_with("-metadata.json")
}

/// A place in the tree.
pub(super) struct Place {
    /// Its name for messages.
    pub(super) name: String,
    /// The names below the root that lead to it.
    pub(super) path: Vec<String>,
}

impl Place {
    /// The directory that the walk begins in, by its name for messages.
    pub(super) fn root(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            path: Vec::new(),
        }
    }

    /// What a directory has under a name.
    pub(super) fn below(&self, name: &str) -> Self {
        let mut path = self.path.clone();
        path.push(name.to_owned());
        Self {
            // Whoever made the tree chose the name: it must not steer a terminal.
            name: format!(
                "{}/{}",
                self.name.trim_end_matches('/'),
                name.escape_debug()
            ),
            path,
        }
    }

    /// What the path says of the devices of a file: the request, and the driver by the file's name.
    pub(super) fn identity(&self) -> DeviceIdentity {
        let mut names = self.path.iter().rev();
        let driver = names
            .next()
            .and_then(|file| file.strip_suffix("-metadata.json"));
        DeviceIdentity {
            request: names.next().and_then(|request| request.parse().ok()),
            driver: driver.and_then(|driver| driver.parse().ok()),
            ..DeviceIdentity::default()
        }
    }
}

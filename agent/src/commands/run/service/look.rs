//! What the service makes of a look at the source of the attributes.

use super::Service;
use crate::commands::apply::tell_notes;
use crate::commands::run::reader;
use crate::source::LoadError;

/// What a look at the source says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Other attributes than before.
    News,
    /// What it said before.
    Nothing,
    /// There are none, or they cannot be used.
    Problem(String),
}

impl Service<'_> {
    /// A file that goes away or breaks does not take back what was applied: the last good one
    /// stays in force.
    pub(super) async fn look(&mut self) -> Look {
        let Some(answer) = self.reader.load().await else {
            return Look::Problem(reader::silence(self.loaded.as_ref()));
        };
        match answer {
            // A source that comes after the one that has gone says other things of other devices: to follow it
            // would take back what was applied.
            Ok(loaded)
                if self
                    .loaded
                    .as_ref()
                    .is_some_and(|last| last.rank < loaded.rank) =>
            {
                Look::Nothing
            }
            Ok(loaded) => {
                let known = self
                    .loaded
                    .as_ref()
                    .is_some_and(|last| last.digest == loaded.digest && last.path == loaded.path);
                if known {
                    return Look::Nothing;
                }
                tracing::info!("attributes from {}", loaded.path.display());
                tell_notes(&loaded);
                self.loaded = Some(loaded);
                Look::News
            }
            Err(LoadError::NotYet(_)) if self.loaded.is_some() => Look::Nothing,
            Err(error) => Look::Problem(error.to_string()),
        }
    }
}

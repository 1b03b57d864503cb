//! Where the programs of a cluster are: those that a user has, or those that `cluster/build.sh` builds.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::command::made_by;
use crate::programs::workspace;

/// A directory with programs of Kubernetes.
#[derive(Debug, Clone)]
pub struct Components {
    directory: PathBuf,
}

impl Components {
    /// etcd and the API server: those in the directory that `KUBEBUILDER_ASSETS` names, where it is
    /// set; else those of [`Components::built`].
    ///
    /// # Errors
    /// When that directory lacks one, or the build fails.
    pub fn of_control_plane() -> Result<Self> {
        let name = "KUBEBUILDER_ASSETS";
        let Some(directory) = std::env::var_os(name).filter(|value| !value.is_empty()) else {
            return Self::built();
        };
        let found = Self {
            directory: PathBuf::from(directory),
        };
        for program in ["etcd", "kube-apiserver"] {
            found
                .program(program)
                .with_context(|| format!("the environment variable {name}"))?;
        }
        Ok(found)
    }

    /// All programs of a node, from the cache: they are built at the first use, which takes about a
    /// quarter of an hour on two cores.
    ///
    /// # Errors
    /// When the build fails; its own words are on standard error.
    pub fn built() -> Result<Self> {
        build("components")
    }

    /// A DRA driver on upstream's library, built like the others.
    ///
    /// # Errors
    /// See [`Components::built`].
    pub fn driver() -> Result<PathBuf> {
        build("driver")?.program("dra-driver")
    }

    /// The program of that name.
    ///
    /// # Errors
    /// When it is not there.
    pub fn program(&self, name: &str) -> Result<PathBuf> {
        let path = self.directory.join(name);
        if !path.is_file() {
            bail!("{} is not there", path.display());
        }
        Ok(path)
    }
}

/// What the build script makes of that name.
fn build(what: &str) -> Result<Components> {
    let directory = made_by(Command::new(workspace().join("tests/cluster/build.sh")).arg(what))?;
    Ok(Components { directory })
}

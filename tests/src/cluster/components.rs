//! Where the programs of a cluster are: those that a user has, or those that `cluster/build.sh` builds.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::programs::workspace;

/// The programs of a control plane.
#[derive(Debug, Clone)]
pub struct Components {
    /// `etcd`.
    pub etcd: PathBuf,
    /// `kube-apiserver`.
    pub api_server: PathBuf,
}

impl Components {
    /// Those in the directory that `KUBEBUILDER_ASSETS` names, where it is set; else from the cache,
    /// built at the first use: about a quarter of an hour on two cores.
    ///
    /// # Errors
    /// When the directory lacks one, or the build fails; its own words are on standard error.
    pub fn get() -> Result<Self> {
        match std::env::var_os("KUBEBUILDER_ASSETS").filter(|value| !value.is_empty()) {
            Some(directory) => Self::of_directory(Path::new(&directory))
                .context("the directory of KUBEBUILDER_ASSETS"),
            None => Self::of_directory(&build()?),
        }
    }

    fn of_directory(directory: &Path) -> Result<Self> {
        let program = |name: &str| {
            let path = directory.join(name);
            if !path.is_file() {
                bail!("{} is not there", path.display());
            }
            Ok(path)
        };
        Ok(Self {
            etcd: program("etcd")?,
            api_server: program("kube-apiserver")?,
        })
    }
}

fn build() -> Result<PathBuf> {
    let script = workspace().join("tests/cluster/build.sh");
    let output = Command::new(&script)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{} cannot be started", script.display()))?;
    if !output.status.success() {
        bail!("{} failed: its words are above", script.display());
    }
    let directory = String::from_utf8(output.stdout).context("the answer of build.sh")?;
    Ok(PathBuf::from(directory.trim()))
}

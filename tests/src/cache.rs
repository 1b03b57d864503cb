//! What is slow to make and made once, outside the tree: tools and images.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// The tools and their versions, as `setup/tools.sh` builds them.
const TOOLS: &str = include_str!("../setup/tools.txt");

/// The directory of everything that is kept between runs: `$XDG_CACHE_HOME/dra-guest`, or
/// `~/.cache/dra-guest`.
///
/// # Errors
/// When neither `XDG_CACHE_HOME` nor `HOME` is set.
pub fn directory() -> Result<PathBuf> {
    let base = match std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()) {
        Some(base) => PathBuf::from(base),
        None => Path::new(&std::env::var_os("HOME").context("HOME is not set")?).join(".cache"),
    };
    Ok(base.join("dra-guest"))
}

/// The program of that name, of the version that `setup/tools.txt` states.
///
/// # Errors
/// When the list does not name it, or it is not built yet.
pub fn tool(program: &str) -> Result<PathBuf> {
    let version = TOOLS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| {
            let mut words = line.split_whitespace().skip(2);
            let version = words.next()?;
            (words.next()? == program).then_some(version)
        })
        .with_context(|| format!("tests/setup/tools.txt does not list {program}"))?;
    let path = directory()?.join(format!("tools/{program}-{version}/bin/{program}"));
    if !path.exists() {
        bail!("{} is not there: run `make setup`", path.display());
    }
    Ok(path)
}

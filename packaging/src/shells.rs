//! Man pages and completions of bash, zsh and fish, from a program's own command line.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::Command;
use clap_complete::Shell;
use clap_complete::generate_to;
use clap_mangen::Man;

/// Programs of the system's administrator (`man-pages(7)`).
const SECTION: &str = "8";

/// Writes `man/NAME.8`, a page for each subcommand, and a completion for each shell into a directory.
pub(crate) fn write(name: &str, command: &Command, directory: &Path) -> Result<()> {
    let pages = directory.join("man");
    fs::create_dir_all(&pages)?;
    let mut whole = command.clone().disable_help_subcommand(true);
    whole.build();
    write_page(&whole, &pages)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut command.clone(), name, directory)
            .with_context(|| format!("the completion of {name} for {shell}"))?;
    }
    Ok(())
}

fn write_page(command: &Command, pages: &Path) -> Result<()> {
    for subcommand in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        write_page(subcommand, pages)?;
    }
    let version = command.get_version().unwrap_or_default();
    let page = Man::new(command.clone())
        .section(SECTION)
        .source(format!("dra-guest {version}").trim())
        .manual("dra-guest");
    page.generate_to(pages)
        .with_context(|| format!("the man page of {}", command.get_name()))?;
    Ok(())
}

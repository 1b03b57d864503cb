//! What comes before any way: the programs, and an image with the agent.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::POLICY;
use super::progress::Progress;
use crate::guest::{BakedImage, BaseImage, Guest};
use crate::programs::static_program;

/// Builds the programs under test.
///
/// # Errors
/// When one does not build.
pub(crate) fn build_programs(progress: &mut Progress) -> Result<()> {
    progress.step("build the hook, the agent and the relay", || {
        let mut sizes = Vec::new();
        for name in ["dra-cdi-hook", "dra-guest-agent", "dra-guest-relay"] {
            sizes.push(format!("{name} {}", megabytes(&static_program(name)?)?));
        }
        Ok(((), format!("static: {}", sizes.join(", "))))
    })
}

/// Makes the guest's disk.
///
/// # Errors
/// When the image is not there and does not build.
pub(crate) fn bake_image(progress: &mut Progress) -> Result<BakedImage> {
    let base = progress.step("find the Debian guest image, or build it", || {
        Ok((BaseImage::get()?, "Debian 13, systemd, its own kernel"))
    })?;
    progress.step("bake the agent into a copy of it", || {
        let image = base.bake(&static_program("dra-guest-agent")?, Some(POLICY))?;
        Ok((image, "binary, units, preset, a policy with mtu = 9000"))
    })
}

/// What the agent and its units said, as far as the guest still answers.
pub fn journal(guest: &mut Guest) -> String {
    let command = "journalctl --boot --no-pager --output=short-monotonic \
                   --unit=dra-guest-agent.service --unit=run-kubevirt.mount | tail -n 20";
    match guest.run(command) {
        Ok(output) => format!("the guest's journal ends with:\n{}", output.stdout),
        Err(error) => format!("the guest's journal cannot be read: {error:#}"),
    }
}

fn megabytes(program: &Path) -> Result<String> {
    #[expect(clippy::cast_precision_loss, reason = "a size to be read by people")]
    let size = fs::metadata(program)?.len() as f64 / 1e6;
    Ok(format!("{size:.2} MB"))
}

//! The places of the file system that are left to a run (Landlock).

use std::os::fd::BorrowedFd;

use landlock::make_bitflags;
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus,
};

/// The access rights that this program knows. A kernel that knows fewer is asked for those.
const RIGHTS: ABI = ABI::V5;

/// The places: directories and files that are open already, so that no link can be put in between.
#[derive(Debug, Default)]
pub struct Files<'fd> {
    /// Where files and directories may be read.
    pub read: Vec<BorrowedFd<'fd>>,
    /// Where files may be made, replaced and removed too.
    pub write: Option<BorrowedFd<'fd>>,
}

impl Files<'_> {
    /// Takes all other places from the process; says so where the kernel cannot.
    pub fn confine(&self) -> Option<String> {
        match self.restrict() {
            Ok(RulesetStatus::NotEnforced) => {
                Some("places are not restricted: this kernel has no Landlock".to_owned())
            }
            Ok(_) => None,
            Err(error) => Some(format!("places are not restricted: {error}")),
        }
    }

    fn restrict(&self) -> Result<RulesetStatus, RulesetError> {
        let read = make_bitflags!(AccessFs::{ReadFile | ReadDir});
        // RemoveDir so that the kernel says what stands in the document's place; the filter of
        // system calls lets no directory be removed or renamed.
        let write = make_bitflags!(AccessFs::{ReadFile | ReadDir | WriteFile | MakeReg | RemoveFile | RemoveDir});
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(RIGHTS))?
            .create()?;
        for place in &self.read {
            rules = rules.add_rule(PathBeneath::new(place, read))?;
        }
        if let Some(place) = &self.write {
            rules = rules.add_rule(PathBeneath::new(place, write))?;
        }
        // It is set already, unless the kernel has no seccomp.
        Ok(rules.no_new_privs(false).restrict_self()?.ruleset)
    }
}

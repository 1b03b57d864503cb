//! `generate`: for a driver that writes no metadata, the metadata files of a claim's devices and a CDI spec
//! that mounts them where upstream's would be, and asks for the hook.
//!
//! Mounted, and not handed to the hook as an argument: a pod with several claims has several such devices,
//! the hook runs once for each, and each run must see them all.

mod error;
mod metadata;

use std::path::Path;
use std::process::ExitCode;

use device_attributes::read::claim::{Slices, devices, read_claim, read_slices};
use device_attributes::read::file::read_path;
use device_attributes::{Claim, Device, ReadError, limits};
use rustix::io::Errno;

use self::error::Error;
use self::metadata::MetadataFile;
use crate::absolute_path::AbsolutePath;
use crate::command_line::{Invocation, UsageError, options};
use crate::hook_options::HookOptions;
use crate::node_root::NodeRoot;
use crate::{spec, whole_file};

/// The CDI device's kind; its name is the claim's UID.
const KIND: &str = "dra-guest/claim";

/// Where what is generated goes.
struct Places {
    root: NodeRoot,
    specs: AbsolutePath,
    metadata: AbsolutePath,
    hook_path: AbsolutePath,
    hook: HookOptions,
}

/// Runs `dra-cdi-hook generate`.
pub(crate) fn main(invocation: &Invocation) -> Result<ExitCode, UsageError> {
    let remove: Option<String> = invocation.value(&options::REMOVE)?;
    // What is removed needs no claim, which is often gone by then.
    let claim: String = match remove {
        Some(_) => String::new(),
        None => invocation.required(&options::CLAIM)?,
    };
    let slices: Vec<String> = invocation.values(&options::SLICES)?;
    let print = invocation.has(&options::PRINT);
    let specs = invocation.required(&options::OUT)?;
    let metadata = invocation.required(&options::METADATA_OUT)?;
    let hook_path = invocation.required(&options::HOOK_PATH)?;
    let hook = HookOptions::from_invocation(invocation)?;
    let run = || {
        let places = Places {
            root: NodeRoot::own().map_err(|source| Error::file("/", "opened", source))?,
            specs,
            metadata,
            hook_path,
            hook,
        };
        match remove {
            Some(uid) => places.remove(&uid),
            None => places.generate(&claim, &slices, print),
        }
    };
    Ok(match run() {
        Ok(bytes) => crate::print(&bytes, "what was generated"),
        Err(error) => {
            crate::print_error(&error);
            ExitCode::from(1)
        }
    })
}

impl Places {
    /// Writes the files of a claim, or with `print` none; what is to be printed.
    fn generate(&self, claim: &str, slices: &[String], print: bool) -> Result<Vec<u8>, Error> {
        let (claim, devices) = allocated(claim, slices)?;
        let uid = match &claim.uid {
            Some(uid) => checked_uid(uid.as_str())?,
            None => return Err(Error::NoUid(claim.name.to_string())),
        };
        let files = metadata::files(&claim, uid, &devices);
        let directory = self.metadata.join(uid);
        let mounts = files
            .iter()
            .map(|file| spec::Mount::read_only(&directory.join(&file.name), &file.container_path))
            .collect();
        let spec = spec::cdi(KIND, uid, &self.hook_path, &self.hook, mounts);
        if print {
            return Ok([
                files.into_iter().flat_map(|file| file.bytes).collect(),
                spec,
            ]
            .concat());
        }
        self.write(&directory, &files)?;
        // Last: it names the others.
        let name = spec_name(uid);
        self.put(&self.specs, &name, &spec)?;
        Ok(format!("{KIND}={uid}\n").into_bytes())
    }

    fn write(&self, directory: &AbsolutePath, files: &[MetadataFile]) -> Result<(), Error> {
        for file in files {
            if file.bytes.len() > limits::FILE_BYTES {
                return Err(Error::TooLarge(file.name.clone()));
            }
            self.put(directory, &file.name, &file.bytes)?;
        }
        Ok(())
    }

    fn put(&self, path: &AbsolutePath, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let failed = |source| Error::file(path.as_str(), "made or opened", source);
        for missing in self.root.missing(path).map_err(failed)? {
            self.root.make_directory(&missing).map_err(failed)?;
        }
        let directory = self.root.directory(path.as_str()).map_err(failed)?;
        let directory = directory.ok_or(Errno::NOENT).map_err(failed)?;
        let stat = rustix::fs::fstat(&directory).map_err(failed)?;
        if stat.st_mode & 0o022 != 0 || stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(Error::OthersMayWrite(path.to_string()));
        }
        whole_file::put(&directory, name, bytes, 0o644).map_err(|(step, source)| {
            let path = path.join(name);
            Error::file(path.as_str(), step, source)
        })
    }

    /// Removes the files of a claim, the spec first.
    fn remove(&self, uid: &str) -> Result<Vec<u8>, Error> {
        let uid = checked_uid(uid)?;
        let mut removed = Vec::new();
        let mut remove =
            |path: &AbsolutePath, directory: bool| match self.root.remove(path.as_str(), directory)
            {
                Ok(false) => Ok(()),
                Ok(true) => {
                    removed.extend_from_slice(format!("removed {path}\n").as_bytes());
                    Ok(())
                }
                Err(source) => Err(Error::file(path.as_str(), "removed", source)),
            };
        remove(&self.specs.join(&spec_name(uid)), false)?;
        let directory = self.metadata.join(uid);
        for name in self.root.names(directory.as_str()) {
            remove(&directory.join(&name), false)?;
        }
        remove(&directory, true)?;
        Ok(removed)
    }
}

fn spec_name(uid: &str) -> String {
    format!("dra-guest-claim_{uid}.json")
}

/// A UID that may be a file's name and a CDI device's.
fn checked_uid(uid: &str) -> Result<&str, Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let ends = uid.starts_with('-') || uid.ends_with('-');
    if uid.is_empty() || uid.len() > 64 || ends || !uid.chars().all(plain) {
        return Err(Error::Uid(device_attributes::one_line(uid, 128)));
    }
    Ok(uid)
}

/// The claim and its devices.
fn allocated(claim: &str, slices: &[String]) -> Result<(Claim, Vec<Device>), Error> {
    let claim = read_claim(claim, &read_json(claim)?)?;
    let mut known = Slices::default();
    for file in slices {
        for slice in read_slices(file, &read_json(file)?)? {
            known.put(slice);
        }
    }
    let found = devices(&claim, &known)?;
    for note in &found.notes {
        crate::print_note(note);
    }
    let mut rejected: Vec<ReadError> = found.rejected.into_iter().map(|it| it.error).collect();
    if !rejected.is_empty() {
        return Err(rejected.swap_remove(0).into());
    }
    if found.devices.is_empty() {
        return Err(Error::NoDevices(claim.claim.name.to_string()));
    }
    Ok((claim.claim, found.devices))
}

fn read_json(file: &str) -> Result<Vec<u8>, Error> {
    let bytes = read_path(Path::new(file))?;
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        None | Some(b'{' | 0xef) => Ok(bytes),
        Some(_) => Err(Error::NotJson(file.to_owned())),
    }
}

//! IPv6 of an interface, set as it was before the kernel took it away and gave it back.

use std::path::{Path, PathBuf};

use nix::errno::Errno;

use super::sysctl::write;
use crate::netlink::NetlinkError;
use crate::observe::Ipv6Settings;
use crate::small_file;

/// Puts back what is not as it was. Meanwhile IPv6 is off: an address, or a question to a router, that the kernel makes
/// with another setting would stay.
///
/// `mtu` is that of the interface, above which IPv6's own cannot be.
///
/// # Errors
/// The first refusal, after all were tried.
pub(super) fn put_back(
    proc: &Path,
    interface: &str,
    settings: &Ipv6Settings,
    mtu: u32,
) -> Result<(), NetlinkError> {
    let [(conf_at, conf), (neigh_at, neigh)] = settings.kinds(interface);
    let (conf_at, neigh_at) = (proc.join(conf_at), proc.join(neigh_at));
    let of_conf = conf.iter().map(|(name, value)| (&conf_at, name, value));
    let of_neigh = neigh.iter().map(|(name, value)| (&neigh_at, name, value));
    let (mut own_mtu, mut wanted) = (None, Vec::new());
    for (directory, name, value) in of_conf.chain(of_neigh) {
        let setting = (directory.join(name), value.as_str());
        match name.as_str() {
            "disable_ipv6" => {}
            "mtu" => {
                let fits = value.parse().is_ok_and(|own: u32| own <= mtu);
                own_mtu = fits.then_some(setting);
            }
            _ => wanted.push(setting),
        }
    }
    let disable = conf_at.join("disable_ipv6");
    let disabled = conf.get("disable_ipv6").map_or("0", String::as_str);
    let mut result = Ok(());
    if wanted.iter().any(|(path, value)| is_other(path, value)) {
        result = write(&disable, "1");
        // With it comes another `addr_gen_mode`.
        wanted.sort_by_key(|(path, _)| !path.ends_with("stable_secret"));
        for setting in wanted {
            result = result.and(set(setting));
        }
    }
    // With IPv6 comes another `mtu`.
    let last = [Some((disable, disabled)), own_mtu];
    for setting in last.into_iter().flatten() {
        result = result.and(set(setting));
    }
    result
}

fn set((path, value): (PathBuf, &str)) -> Result<(), NetlinkError> {
    if !is_other(&path, value) {
        return Ok(());
    }
    match write(&path, value) {
        // One that is gone.
        Err(error) if error.errno() == Some(Errno::ENOENT) => Ok(()),
        written => written,
    }
}

/// Whether a setting is not as it was. One that has no value is.
fn is_other(path: &Path, value: &str) -> bool {
    let now = small_file::read(path).ok();
    now.as_deref().map(<[u8]>::trim_ascii) != Some(value.as_bytes())
}

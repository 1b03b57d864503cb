//! Which guests there are, and which claims each may speak of.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use device_attributes::report::PORT;

use crate::store::ClaimName;

/// The longest path of a UNIX socket: `sun_path` of unix(7) with its final NUL.
const SOCKET_PATH_BYTES: usize = 107;

/// One guest, as `--guest cid=5,socket=/run/vm5.vsock,claim=default/vm-nic` says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    /// Its vsock CID.
    pub cid: u32,
    /// `uds-path` of its vhost-device-vsock; without it the guest comes over `AF_VSOCK`.
    pub socket: Option<PathBuf>,
    /// The claims that it may speak of; at least one.
    pub claims: Vec<ClaimName>,
}

impl Guest {
    /// Where the relay has to listen for this guest: vhost-device-vsock carries a connection of
    /// the guest to port N of the host to `<uds-path>_N`.
    pub fn listen_path(&self) -> Option<PathBuf> {
        self.socket.as_deref().map(listen_path)
    }
}

impl FromStr for Guest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut cid = None;
        let mut socket = None;
        let mut claims = Vec::new();
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                return Err(format!(
                    "{part:?} is not KEY=VALUE: the keys are cid, socket and claim"
                ));
            };
            match key {
                "cid" => {
                    if cid.replace(parse_cid(value)?).is_some() {
                        return Err("cid stands twice".to_owned());
                    }
                }
                "socket" => {
                    if socket.replace(parse_socket(value)?).is_some() {
                        return Err("socket stands twice".to_owned());
                    }
                }
                "claim" => {
                    let claim: ClaimName = value.parse()?;
                    if claims.contains(&claim) {
                        return Err(format!("claim {claim} stands twice"));
                    }
                    claims.push(claim);
                }
                _ => {
                    return Err(format!(
                        "{key:?} is not a key of a guest: the keys are cid, socket and claim"
                    ));
                }
            }
        }
        if claims.is_empty() {
            return Err("the guest has no claim: give it claim=NAMESPACE/NAME".to_owned());
        }
        Ok(Self {
            cid: cid.ok_or("the guest has no cid: give it cid=NUMBER")?,
            socket,
            claims,
        })
    }
}

/// Reads the CID of a guest (vsock(7): those below 3 are not).
///
/// # Errors
/// A sentence: it is none.
pub fn parse_cid(text: &str) -> Result<u32, String> {
    let cid = text.parse().ok();
    cid.filter(|cid| (3..u32::MAX).contains(cid))
        .ok_or_else(|| {
            format!(
                "cid {text:?} is not the CID of a guest: a number from 3 to 4294967294 is expected"
            )
        })
}

/// Reads the `uds-path` of a vhost-device-vsock.
///
/// # Errors
/// A sentence: nobody can listen beside it.
pub fn parse_socket(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if text.is_empty() || listen_path(&path).as_os_str().len() > SOCKET_PATH_BYTES {
        return Err(format!(
            "socket {text:?} does not work: with _{PORT} at its end it has to have 1 to {SOCKET_PATH_BYTES} bytes, \
             as unix(7) bounds it"
        ));
    }
    Ok(path)
}

/// Where connections of the guest with this `uds-path` to [`PORT`] of the host arrive.
pub fn listen_path(socket: &Path) -> PathBuf {
    let mut path = OsString::from(socket);
    path.push(format!("_{PORT}"));
    PathBuf::from(path)
}

/// Holds the guests against each other.
///
/// # Errors
/// A sentence: two guests have the same CID, socket or claim.
pub fn check(guests: &[Guest]) -> Result<(), String> {
    let mut cids = BTreeSet::new();
    let mut sockets = BTreeSet::new();
    let mut claims = BTreeMap::new();
    for guest in guests {
        if !cids.insert(guest.cid) {
            return Err(format!(
                "two --guest have cid={}: give each guest one",
                guest.cid
            ));
        }
        if let Some(socket) = &guest.socket
            && !sockets.insert(socket)
        {
            return Err(format!(
                "two --guest have socket={}: the socket tells who the guest is, so each needs its own",
                socket.display()
            ));
        }
        for claim in &guest.claims {
            if let Some(other) = claims.insert(claim, guest.cid) {
                return Err(format!(
                    "claim {claim} is given to the guests {other} and {}: each would overwrite what the other says",
                    guest.cid
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_what_its_words_say() {
        let guest: Guest = "cid=5,socket=/run/vm5.vsock,claim=default/nic,claim=lab/gpu"
            .parse()
            .unwrap();
        assert_eq!(guest.cid, 5);
        assert_eq!(
            guest.listen_path().unwrap(),
            PathBuf::from("/run/vm5.vsock_10739")
        );
        assert_eq!(guest.claims[1].to_string(), "lab/gpu");
        let guest: Guest = "claim=default/nic,cid=7".parse().unwrap();
        assert_eq!(guest.listen_path(), None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("", "is not KEY=VALUE"),
            ("cid=5", "the guest has no claim"),
            ("claim=a/b", "the guest has no cid"),
            ("cid=2,claim=a/b", "is not the CID of a guest"),
            ("cid=4294967295,claim=a/b", "is not the CID of a guest"),
            ("cid=five,claim=a/b", "is not the CID of a guest"),
            ("cid=5,cid=6,claim=a/b", "cid stands twice"),
            ("cid=5,claim=b", "is not NAMESPACE/NAME"),
            ("cid=5,claim=a/b/c", "more than one '/'"),
            ("cid=5,claim=a/b,claim=a/b", "stands twice"),
            ("cid=5,claim=a/", "is not a Kubernetes name"),
            ("cid=5,claim=a/b,port=1", "is not a key of a guest"),
            ("cid=5,claim=a/b,socket=", "does not work"),
        ] {
            let error = text.parse::<Guest>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let long = format!("cid=5,claim=a/b,socket=/{}", "x".repeat(120));
        assert!(long.parse::<Guest>().unwrap_err().contains("unix(7)"));
    }

    #[test]
    fn guests_do_not_share() {
        let guests = |texts: &[&str]| -> Vec<Guest> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        assert_eq!(
            check(&guests(&["cid=5,claim=a/b", "cid=6,claim=a/c"])),
            Ok(())
        );
        for (two, why) in [
            (
                ["cid=5,claim=a/b", "cid=5,claim=a/c"],
                "two --guest have cid=5",
            ),
            (
                ["cid=5,socket=s,claim=a/b", "cid=6,socket=s,claim=a/c"],
                "socket=s",
            ),
            (
                ["cid=5,claim=a/b", "cid=6,claim=a/b"],
                "given to the guests 5 and 6",
            ),
        ] {
            let error = check(&guests(&two)).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}

//! Where a guest connects whose vsock is not the kernel's, when who it is comes from the API server.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;

use crate::configuration::{parse_cid, parse_socket};

/// `--guest-socket cid=5,socket=/run/vm5.vsock`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestSocket {
    /// The CID of whoever connects there.
    pub cid: u32,
    /// `uds-path` of its vhost-device-vsock.
    pub socket: PathBuf,
}

impl FromStr for GuestSocket {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut cid = None;
        let mut socket = None;
        for part in text.split(',') {
            let stands_twice = match part.split_once('=') {
                Some(("cid", value)) => cid.replace(parse_cid(value)?).is_some(),
                Some(("socket", value)) => socket.replace(parse_socket(value)?).is_some(),
                _ => {
                    return Err(format!(
                        "{part:?} is neither cid=CID nor socket=PATH; claims come from the API server"
                    ));
                }
            };
            if stands_twice {
                return Err(format!("{part:?}: the key stands twice"));
            }
        }
        match (cid, socket) {
            (Some(cid), Some(socket)) => Ok(Self { cid, socket }),
            _ => Err("cid=CID,socket=PATH is expected, both of them".to_owned()),
        }
    }
}

/// Holds the sockets against each other.
///
/// # Errors
/// A sentence: two have the same CID or path.
pub fn check(sockets: &[GuestSocket]) -> Result<(), String> {
    let mut cids = BTreeSet::new();
    let mut paths = BTreeSet::new();
    for GuestSocket { cid, socket } in sockets {
        if !cids.insert(cid) {
            return Err(format!(
                "two --guest-socket have cid={cid}: give each guest one"
            ));
        }
        if !paths.insert(socket) {
            return Err(format!(
                "two --guest-socket have socket={}: the socket tells who the guest is, so each needs its own",
                socket.display()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_of_one_cid() {
        let socket: GuestSocket = "socket=/run/vm5,cid=5".parse().unwrap();
        assert_eq!((socket.cid, socket.socket.to_str()), (5, Some("/run/vm5")));
        for (text, why) in [
            ("", "neither cid=CID nor socket=PATH"),
            ("cid=5", "both of them"),
            ("socket=/x", "both of them"),
            ("cid=2,socket=/x", "is not the CID of a guest"),
            ("cid=5,cid=5,socket=/x", "stands twice"),
            ("cid=5,socket=", "does not work"),
            (
                "cid=5,socket=/x,claim=a/b",
                "claims come from the API server",
            ),
        ] {
            let error = text.parse::<GuestSocket>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let other = |text: &str| text.parse().unwrap();
        for (text, why) in [
            ("cid=5,socket=/y", "have cid=5"),
            ("cid=6,socket=/run/vm5", "have socket=/run/vm5"),
        ] {
            let error = check(&[socket.clone(), other(text)]).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert_eq!(check(&[socket.clone(), other("cid=6,socket=/y")]), Ok(()));
    }
}

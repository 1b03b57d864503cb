//! Why a request to the kernel failed: what was tried, the errno, and the kernel's own words.

use std::fmt;
use std::io;
use std::time::Duration;

use nix::errno::Errno;
use rtnetlink::packet_core::{NLM_F_CAPPED, NlasIterator};

/// A request to the kernel that failed.
///
/// Displayed as `cannot rename eth0 to net1: EEXIST: File exists`, with the kernel's own sentence
/// in the last place where it gave one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetlinkError {
    /// What was tried, in words that follow "cannot".
    pub attempt: String,
    /// What happened.
    pub cause: Cause,
}

/// What happened to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The kernel refused it.
    Refused {
        /// The errno.
        errno: Errno,
        /// The kernel's sentence (`NLMSGERR_ATTR_MSG`), where it gave one.
        message: Option<String>,
    },
    /// No answer came in time.
    NoAnswer(Duration),
    /// Interfaces or addresses changed during each of so many dumps.
    Interrupted(usize),
    /// The socket's receive buffer overflowed (`ENOBUFS`), so that the answer may be lost.
    Overrun,
    /// The answer is not what the protocol says.
    Unreadable(String),
    /// The socket was closed, or could not be made or set up.
    Socket(String),
}

impl NetlinkError {
    pub(super) fn socket(attempt: &str, error: &io::Error) -> Self {
        let words = match error.raw_os_error().map(Errno::from_raw) {
            Some(errno) => format!("{errno:?}: {}", errno.desc()),
            None => error.to_string(),
        };
        Self {
            attempt: attempt.to_owned(),
            cause: Cause::Socket(words),
        }
    }

    /// A file of the kernel's that cannot be written, as that of a sysctl.
    pub(crate) fn sysctl(attempt: &str, error: &io::Error) -> Self {
        let cause = match error.raw_os_error().map(Errno::from_raw) {
            Some(errno) => Cause::Refused {
                errno,
                message: None,
            },
            None => Cause::Socket(error.to_string()),
        };
        Self {
            attempt: attempt.to_owned(),
            cause,
        }
    }

    /// What the kernel would refuse, or has in another way than by netlink.
    pub(crate) fn refused(attempt: &str, errno: Errno) -> Self {
        Self {
            attempt: attempt.to_owned(),
            cause: Cause::Refused {
                errno,
                message: None,
            },
        }
    }

    /// The same with other words for what was tried: those of a caller that knows names.
    #[must_use]
    pub fn attempting(self, attempt: impl fmt::Display) -> Self {
        Self {
            attempt: attempt.to_string(),
            ..self
        }
    }

    /// The errno, when the kernel refused the request.
    pub fn errno(&self) -> Option<Errno> {
        match self.cause {
            Cause::Refused { errno, .. } => Some(errno),
            _ => None,
        }
    }
}

impl fmt::Display for NetlinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.attempt, self.cause)
    }
}

impl std::error::Error for NetlinkError {}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { errno, message } => {
                let message = message.as_deref().unwrap_or(errno.desc());
                write!(f, "{errno:?}: {message}")
            }
            Self::NoAnswer(time) => {
                write!(f, "the kernel did not answer within {time:?}")
            }
            Self::Interrupted(times) => write!(
                f,
                "the list changed while it was read, {times} times in a row: something keeps \
                 changing network interfaces; try again when it has settled"
            ),
            Self::Overrun => f.write_str(
                "ENOBUFS: the socket's receive buffer overflowed and the answer may be lost",
            ),
            Self::Unreadable(what) => write!(f, "the kernel's answer cannot be read: {what}"),
            Self::Socket(what) => write!(f, "the netlink socket failed: {what}"),
        }
    }
}

/// `struct nlmsghdr` (`include/uapi/linux/netlink.h`).
const HEADER_BYTES: usize = 16;
/// `enum nlmsgerr_attrs` (`include/uapi/linux/netlink.h`).
const NLMSGERR_ATTR_MSG: u16 = 1;

/// The cause that an `NLMSG_ERROR` gives: `code` as it came, negative; `rest` what follows it,
/// which is the request's header, the request itself unless `NLM_F_CAPPED` is set, and attributes.
pub(super) fn refused(code: i32, flags: u16, rest: &[u8]) -> Cause {
    let request_length = rest
        .first_chunk()
        .map_or(0, |bytes| u32::from_ne_bytes(*bytes) as usize);
    let attributes_start = if flags & NLM_F_CAPPED != 0 {
        HEADER_BYTES
    } else {
        request_length.max(HEADER_BYTES).next_multiple_of(4)
    };
    refused_with(code, rest.get(attributes_start..).unwrap_or_default())
}

/// The cause that a code with extended acknowledgement attributes gives.
pub(super) fn refused_with(code: i32, attributes: &[u8]) -> Cause {
    // The kernel sends them only with NLM_F_ACK_TLVS; without it there is nothing to iterate over.
    let message = NlasIterator::new(attributes)
        .map_while(Result::ok)
        .find(|attribute| attribute.kind() == NLMSGERR_ATTR_MSG)
        .map(|attribute| super::text(attribute.value()));
    Cause::Refused {
        errno: Errno::from_raw(code.saturating_neg()),
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Linux 6.18 answered to an MTU of 70000 on a veth, after the code.
    fn answer(capped: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(40_u32.to_ne_bytes());
        bytes.extend([0; HEADER_BYTES - 4]);
        if !capped {
            bytes.extend([0xff; 40 - HEADER_BYTES]);
        }
        let text = b"mtu greater than device maximum\0";
        bytes.extend(u16::try_from(text.len() + 4).unwrap().to_ne_bytes());
        bytes.extend(NLMSGERR_ATTR_MSG.to_ne_bytes());
        bytes.extend(text);
        bytes
    }

    #[test]
    fn the_kernels_words_are_found_behind_a_capped_and_a_whole_request() {
        for (capped, flags) in [(true, NLM_F_CAPPED), (false, 0)] {
            assert_eq!(
                refused(-22, flags, &answer(capped)),
                Cause::Refused {
                    errno: Errno::EINVAL,
                    message: Some("mtu greater than device maximum".into())
                }
            );
        }
    }

    #[test]
    fn any_bytes_give_an_error_without_words() {
        for rest in [
            &[][..],
            &[1],
            &[0xff; 16],
            &[0xff; 64],
            &[0; 17],
            &[0; 64],
            &u32::MAX.to_ne_bytes(),
        ] {
            for flags in [0, NLM_F_CAPPED] {
                assert_eq!(
                    refused(-17, flags, rest),
                    Cause::Refused {
                        errno: Errno::EEXIST,
                        message: None
                    },
                    "{rest:?}"
                );
            }
        }
        assert!(matches!(
            refused(i32::MIN, 0, &[]),
            Cause::Refused {
                errno: Errno::UnknownErrno,
                ..
            }
        ));
    }

    #[test]
    fn errors_read_from_the_outside_in() {
        let error = NetlinkError {
            attempt: "rename interface 2 to net1".into(),
            cause: refused(-17, 0, &[]),
        };
        assert_eq!(
            error.attempting("rename eth0 to net1").to_string(),
            "cannot rename eth0 to net1: EEXIST: File exists"
        );
        let error = NetlinkError::socket("open", &io::Error::from_raw_os_error(97));
        assert_eq!(
            error.to_string(),
            "cannot open: the netlink socket failed: EAFNOSUPPORT: Address family not supported by protocol"
        );
    }
}

//! Tests of a request's end on a socket that answers by a script: what the kernel says too rarely
//! to be waited for.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::time::Duration;

use rtnetlink::packet_core::{NLM_F_DUMP_INTR, NLM_F_MULTIPART, NLMSG_DONE, NLMSG_ERROR};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::link::LinkMessage;

use super::Cause;
use super::connection::{Connection, DUMPS};
use super::socket::Channel;
use crate::pause::block_on;

/// One message of an answer, or an error of the socket.
#[derive(Clone)]
enum Part {
    Link {
        flags: u16,
    },
    Broken,
    Done {
        flags: u16,
        code: i32,
    },
    Ack {
        code: i32,
    },
    Fault(i32),
    /// Nothing yet.
    Pause,
    /// Another part, in the sequence number of the request before.
    Late(Box<Part>),
}

/// Answers each request with the next script, in its sequence number.
#[derive(Clone, Default)]
struct Scripted(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    scripts: VecDeque<Vec<Part>>,
    pending: VecDeque<io::Result<Vec<u8>>>,
    requests: usize,
}

fn message(kind: u16, flags: u16, sequence: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(16 + payload.len()).unwrap();
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(sequence);
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes
}

impl Part {
    fn bytes(&self, sequence: [u8; 4]) -> io::Result<Vec<u8>> {
        Ok(match self {
            Self::Link { flags } => message(16, NLM_F_MULTIPART | flags, sequence, &[0; 16]),
            Self::Broken => message(16, NLM_F_MULTIPART, sequence, &[0; 4]),
            Self::Done { flags, code } => message(
                NLMSG_DONE,
                NLM_F_MULTIPART | flags,
                sequence,
                &code.to_ne_bytes(),
            ),
            Self::Ack { code } => message(NLMSG_ERROR, 0, sequence, &code.to_ne_bytes()),
            Self::Late(part) => {
                let earlier = u32::from_ne_bytes(sequence).wrapping_sub(1);
                return part.bytes(earlier.to_ne_bytes());
            }
            Self::Pause => return Err(ErrorKind::WouldBlock.into()),
            Self::Fault(errno) => return Err(io::Error::from_raw_os_error(*errno)),
        })
    }
}

impl Channel for Scripted {
    fn explain_refusals(&self) -> io::Result<()> {
        Ok(())
    }

    fn send(&self, request: &[u8]) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        state.requests += 1;
        let sequence = request[8..12].try_into().unwrap();
        for part in state.scripts.pop_front().unwrap_or_default() {
            state.pending.push_back(part.bytes(sequence));
        }
        Ok(())
    }

    fn receive(&self, datagram: &mut Vec<u8>) -> io::Result<()> {
        let next = self.0.borrow_mut().pending.pop_front();
        *datagram = next.unwrap_or_else(|| Err(ErrorKind::WouldBlock.into()))?;
        Ok(())
    }
}

const PATIENCE: Duration = Duration::from_millis(200);

fn scripted(scripts: impl IntoIterator<Item = Vec<Part>>) -> Scripted {
    let scripted = Scripted::default();
    scripted.0.borrow_mut().scripts = scripts.into_iter().collect();
    scripted
}

fn list(connection: &Connection<Scripted>) -> Result<usize, Cause> {
    let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
    let list = block_on(connection.dump(request, "list"));
    list.map(|list| list.len()).map_err(|error| error.cause)
}

fn set(connection: &Connection<Scripted>) -> Result<(), Cause> {
    let request = RouteNetlinkMessage::SetLink(LinkMessage::default());
    let result = block_on(connection.change(request, 0, format_args!("change")));
    result.map_err(|error| error.cause)
}

/// What a list ends with, and how many requests were sent in all.
fn dump(scripts: impl IntoIterator<Item = Vec<Part>>) -> (Result<usize, Cause>, usize) {
    let scripted = scripted(scripts);
    let result = list(&Connection::over(scripted.clone(), PATIENCE));
    let requests = scripted.0.borrow().requests;
    (result, requests)
}

fn change(script: Vec<Part>) -> Result<(), Cause> {
    set(&Connection::over(scripted([script]), PATIENCE))
}

const LINK: Part = Part::Link { flags: 0 };
const DONE: Part = Part::Done { flags: 0, code: 0 };
const CHANGED_LINK: Part = Part::Link {
    flags: NLM_F_DUMP_INTR,
};
const CHANGED_DONE: Part = Part::Done {
    flags: NLM_F_DUMP_INTR,
    code: 0,
};
const ENOBUFS: i32 = 105;

// vishvananda/netlink#1018, vishvananda/netlink#1163, moby#48400 (case 77);
// vishvananda/netlink#1057, pyroute2#535 (case 78).
#[test]
fn a_list_that_changed_while_it_was_read_is_read_again() {
    let scripts = [
        vec![CHANGED_LINK, LINK, DONE],
        vec![LINK, CHANGED_DONE],
        vec![LINK, LINK, LINK, DONE],
    ];
    assert_eq!(dump(scripts), (Ok(3), 3));
    // In a burst of changes, which takes longer than a few looks.
    let burst = vec![vec![LINK, CHANGED_DONE]; 10];
    let calm = vec![LINK, LINK, DONE];
    assert_eq!(dump([burst, vec![calm]].concat()), (Ok(2), 11));
}

/// A request that was given up is answered all the same.
// vishvananda/netlink#1057, pyroute2#535 (case 78); netavark@885f6578 (case 82).
#[test]
fn the_answer_to_another_request_is_passed_over() {
    let late = |part: &Part| Part::Late(Box::new(part.clone()));
    let script = vec![late(&LINK), LINK, late(&DONE), LINK, DONE];
    assert_eq!(dump([script]), (Ok(2), 1));
    let refusal = late(&Part::Ack { code: -1 });
    assert_eq!(change(vec![refusal, Part::Ack { code: 0 }]), Ok(()));
    let only_late = change(vec![late(&Part::Ack { code: 0 })]);
    assert_eq!(only_late, Err(Cause::NoAnswer(PATIENCE)));
}

// vishvananda/netlink#1018, vishvananda/netlink#1163, moby#48400 (case 77).
#[test]
fn a_list_that_keeps_changing_is_given_up() {
    let scripts = vec![vec![LINK, CHANGED_DONE]; DUMPS + 1];
    assert_eq!(dump(scripts), (Err(Cause::Interrupted(DUMPS)), DUMPS));
}

// amazon-ec2-net-utils#86 (case 46); systemd#14417, systemd#5398, talos#8157 (case 79).
#[test]
fn an_overrun_is_followed_by_another_look() {
    let scripts = [
        vec![LINK, Part::Fault(ENOBUFS), DONE],
        vec![LINK, LINK, DONE],
    ];
    assert_eq!(dump(scripts), (Ok(2), 2));
    let overrun = vec![Part::Fault(ENOBUFS), Part::Ack { code: 0 }];
    assert_eq!(change(overrun), Err(Cause::Overrun));
}

#[test]
fn an_interface_that_cannot_be_read_is_an_error_and_not_missing() {
    let (result, requests) = dump([vec![LINK, Part::Broken, DONE]]);
    assert!(matches!(result, Err(Cause::Unreadable(_))), "{result:?}");
    assert_eq!(requests, 1);
}

#[test]
fn a_dump_can_fail_at_its_beginning_and_at_its_end() {
    for end in [Part::Done { flags: 0, code: -1 }, Part::Ack { code: -1 }] {
        let (result, _) = dump([vec![LINK, end]]);
        assert!(matches!(result, Err(Cause::Refused { .. })), "{result:?}");
    }
}

// amazon-ec2-net-utils@26a67ce, amazon-ec2-net-utils@65fbb03 (case 47).
#[test]
fn silence_ends_with_the_deadline() {
    let expected = Cause::NoAnswer(PATIENCE);
    assert_eq!(change(vec![]), Err(expected.clone()));
    assert_eq!(dump([vec![LINK]]), (Err(expected), 1));
}

#[test]
fn a_connection_that_breaks_is_no_success() {
    let broken = Part::Fault(9);
    for script in [vec![broken.clone()], vec![LINK, broken]] {
        assert!(matches!(change(script.clone()), Err(Cause::Socket(_))));
        assert!(matches!(dump([script]).0, Err(Cause::Socket(_))));
    }
}

#[test]
fn an_answer_that_is_late_is_waited_for() {
    let script = vec![Part::Pause, LINK, Part::Pause, Part::Pause, DONE];
    assert_eq!(dump([script]), (Ok(1), 1));
    let script = vec![Part::Pause, Part::Ack { code: 0 }];
    assert_eq!(change(script), Ok(()));
}

/// The kernel refuses a list with `EBUSY` until the one before is read to its end.
// vishvananda/netlink#1057, pyroute2#535 (case 78).
#[test]
fn the_rest_of_a_list_that_was_given_up_is_read_first() {
    let scripted = scripted([vec![LINK], vec![], vec![LINK, LINK, DONE]]);
    let connection = Connection::over(scripted.clone(), PATIENCE);
    assert_eq!(list(&connection), Err(Cause::NoAnswer(PATIENCE)));
    let rest = [LINK, Part::Fault(ENOBUFS), LINK, DONE];
    let rest = rest.iter().map(|part| part.bytes([1, 0, 0, 0]));
    scripted.0.borrow_mut().pending.extend(rest);
    assert_eq!(set(&connection), Err(Cause::NoAnswer(PATIENCE)));
    assert!(scripted.0.borrow().pending.is_empty());
    assert_eq!(list(&connection), Ok(2));
}

#[test]
fn any_bytes_are_no_answer() {
    for bytes in [vec![0; 40], vec![0xff; 40], vec![1], vec![0; 16]] {
        let scripted = scripted([]);
        scripted.0.borrow_mut().pending.push_back(Ok(bytes.clone()));
        let result = set(&Connection::over(scripted, PATIENCE));
        let is_told = matches!(
            result,
            Err(Cause::Unreadable(_) | Cause::NoAnswer(_) | Cause::Refused { .. })
        );
        assert!(is_told, "{bytes:?}: {result:?}");
    }
}

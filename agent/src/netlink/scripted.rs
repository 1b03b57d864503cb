//! Tests of a request's end on a socket that answers by a script: what the kernel says too rarely
//! to be waited for.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rtnetlink::packet_core::{NLM_F_DUMP_INTR, NLM_F_MULTIPART, NLMSG_DONE, NLMSG_ERROR};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::link::LinkMessage;
use rtnetlink::sys::{AsyncSocket, Socket, SocketAddr, protocols::NETLINK_ROUTE};

use super::connection::{Connection, DUMPS};
use super::{Cause, Message};

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
    /// Another part, in the sequence number of the request before.
    Late(Box<Part>),
}

/// Answers each request with the next script, in its sequence number.
struct Scripted {
    socket: Socket,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    scripts: VecDeque<Vec<Part>>,
    pending: VecDeque<io::Result<Vec<u8>>>,
    reader: Option<Waker>,
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
            Self::Fault(errno) => return Err(io::Error::from_raw_os_error(*errno)),
        })
    }
}

impl AsyncSocket for Scripted {
    fn socket_ref(&self) -> &Socket {
        &self.socket
    }

    fn socket_mut(&mut self) -> &mut Socket {
        &mut self.socket
    }

    fn new(_: isize) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn poll_send(&self, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }

    fn poll_send_to(
        &self,
        _: &mut Context<'_>,
        request: &[u8],
        _: &SocketAddr,
    ) -> Poll<io::Result<usize>> {
        let mut state = self.state.lock().unwrap();
        state.requests += 1;
        let sequence = request[8..12].try_into().unwrap();
        for part in state.scripts.pop_front().unwrap_or_default() {
            state.pending.push_back(part.bytes(sequence));
        }
        if let Some(waker) = state.reader.take() {
            waker.wake();
        }
        Poll::Ready(Ok(request.len()))
    }

    fn poll_recv<B: bytes::BufMut>(&self, _: &mut Context<'_>, _: &mut B) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }

    fn poll_recv_from<B: bytes::BufMut>(
        &self,
        context: &mut Context<'_>,
        buffer: &mut B,
    ) -> Poll<io::Result<SocketAddr>> {
        let mut state = self.state.lock().unwrap();
        match state.pending.pop_front() {
            Some(Ok(bytes)) => {
                buffer.put_slice(&bytes);
                Poll::Ready(Ok(SocketAddr::new(0, 0)))
            }
            Some(Err(error)) => Poll::Ready(Err(error)),
            None => {
                state.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    fn poll_recv_from_full(&self, _: &mut Context<'_>) -> Poll<io::Result<(Vec<u8>, SocketAddr)>> {
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }
}

/// Lists links and then sets one up, over a socket with these scripts; gives both ends and how many
/// requests were sent in all.
fn outcome(
    scripts: impl IntoIterator<Item = Vec<Part>>,
    dump_first: bool,
) -> (Result<Vec<Message>, Cause>, usize) {
    let state = Arc::new(Mutex::new(State {
        scripts: scripts.into_iter().collect(),
        ..State::default()
    }));
    let socket = Scripted {
        socket: Socket::new(NETLINK_ROUTE).unwrap(),
        state: Arc::clone(&state),
    };
    let result = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(async {
            let connection = Connection::over(socket, Duration::from_millis(200));
            let message = LinkMessage::default();
            if dump_first {
                connection
                    .dump(RouteNetlinkMessage::GetLink(message), "list")
                    .await
            } else {
                let request = RouteNetlinkMessage::SetLink(message);
                let result = connection.change(request, 0, "change").await;
                result.map(|()| Vec::new())
            }
        });
    let requests = state.lock().unwrap().requests;
    (result.map_err(|error| error.cause), requests)
}

fn dump(scripts: impl IntoIterator<Item = Vec<Part>>) -> (Result<usize, Cause>, usize) {
    let (result, requests) = outcome(scripts, true);
    (result.map(|list| list.len()), requests)
}

fn change(script: Vec<Part>) -> Result<(), Cause> {
    outcome([script], false).0.map(|_| ())
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
    assert_eq!(only_late, Err(Cause::NoAnswer(Duration::from_millis(200))));
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
    let expected = Cause::NoAnswer(Duration::from_millis(200));
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

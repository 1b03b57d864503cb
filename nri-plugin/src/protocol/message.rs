//! ttRPC messages: a header of ten bytes, then a request or a response (`PROTOCOL.md` of `github.com/containerd/ttrpc`).
//!
//! The crate `ttrpc` is not used: it takes a whole socket and serves it with a pool of threads, and here two
//! connections share one.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use super::envelope::{Code, Request, Response, Status};

/// Bytes of a header.
pub const HEADER: usize = 10;
/// The most bytes behind it.
pub const LONGEST: usize = 4 << 20;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Begins a call.
    Request,
    /// Ends a call.
    Response,
    /// Part of a stream, or what is not known: NRI has none.
    Other(u8),
}

/// The header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes behind it.
    pub length: usize,
    /// Which call; the caller counts in odd numbers.
    pub stream: u32,
    /// What it is.
    pub kind: Kind,
}

/// A message as it was received.
#[derive(Debug, Clone)]
pub struct Message {
    /// Its header.
    pub header: Header,
    /// What is behind it.
    pub body: Bytes,
}

impl Header {
    /// Reads the header at the front of a stream, if all of it is there.
    pub fn read(stream: &[u8]) -> Option<Self> {
        let mut rest = stream;
        let (length, stream) = (rest.try_get_u32().ok()?, rest.try_get_u32().ok()?);
        let (kind, _flags) = (rest.try_get_u8().ok()?, rest.try_get_u8().ok()?);
        Some(Self {
            length: usize::try_from(length).unwrap_or(usize::MAX),
            stream,
            kind: match kind {
                1 => Kind::Request,
                2 => Kind::Response,
                other => Kind::Other(other),
            },
        })
    }
}

/// The bytes of a call.
pub fn call(stream: u32, service: &str, method: &str, payload: &impl prost::Message) -> Bytes {
    let request = Request {
        service: service.to_owned(),
        method: method.to_owned(),
        payload: payload.encode_to_vec().into(),
        timeout_nano: 0,
    };
    message(1, stream, &request)
}

/// The bytes of an answer.
pub fn answer(stream: u32, payload: &impl prost::Message) -> Bytes {
    let response = Response {
        status: None,
        payload: payload.encode_to_vec().into(),
    };
    message(2, stream, &response)
}

/// The bytes of an answer that says that there is none.
pub fn refusal(stream: u32, code: Code, words: String) -> Bytes {
    let response = Response {
        status: Some(Status {
            code: code.into(),
            message: words,
        }),
        payload: Bytes::new(),
    };
    message(2, stream, &response)
}

fn message(kind: u8, stream: u32, body: &impl prost::Message) -> Bytes {
    let length = body.encoded_len();
    let mut bytes = BytesMut::with_capacity(HEADER + length);
    // What is said here has a few hundred bytes.
    bytes.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    bytes.put_u32(stream);
    bytes.put_u8(kind);
    bytes.put_u8(0);
    bytes.extend_from_slice(&body.encode_to_vec());
    bytes.freeze()
}

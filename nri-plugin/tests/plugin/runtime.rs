//! A runtime: the other end of the socket.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use bytes::Bytes;
use dra_guest_nri::protocol::detail::{Container, CreateContainerResponse, PodSandbox};
use dra_guest_nri::protocol::envelope::{Request, Response};
use dra_guest_nri::protocol::message::{self, HEADER};
use dra_guest_nri::protocol::outline::{
    CreateContainerRequest, RemoveContainerRequest, StateChangeEvent, SynchronizeRequest,
};
use dra_guest_nri::protocol::{PLUGIN_SERVICE, detail};
use prost::Message;

const PLUGIN: u32 = 1;
const RUNTIME: u32 = 2;
/// Much more than any answer takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection to the plugin.
pub struct Runtime {
    socket: UnixStream,
    stream: u32,
    /// What has arrived of each connection.
    arrived: [Vec<u8>; 2],
}

/// A container, in the words of a request.
pub fn request(pod: &PodSandbox, container: &Container) -> CreateContainerRequest {
    CreateContainerRequest {
        pod: pod.encode_to_vec().into(),
        container: container.encode_to_vec().into(),
    }
}

impl Runtime {
    /// Waits for the plugin, registers and configures it.
    pub fn accept(listener: &UnixListener) -> Self {
        let mut runtime = Self::accept_only(listener);
        let (connection, stream, body) = runtime.receive();
        assert_eq!(connection, RUNTIME);
        let request = Request::decode(body).unwrap();
        assert_eq!(request.method, "RegisterPlugin");
        let registration = detail::RegisterPluginRequest::decode(request.payload).unwrap();
        assert_eq!(registration.plugin_name, "dra-guest");
        assert_eq!(registration.plugin_idx, "90");
        let answer = message::answer(stream, &detail::ConfigureResponse::default());
        runtime.send(RUNTIME, &answer);
        let configuration = detail::ConfigureRequest {
            runtime_name: "test".to_owned(),
            ..detail::ConfigureRequest::default()
        };
        let answer: detail::ConfigureResponse = runtime.call("Configure", &configuration).unwrap();
        // CREATE_CONTAINER and REMOVE_CONTAINER.
        assert_eq!(answer.events, 1 << 3 | 1 << 10);
        runtime
    }

    /// Waits for the plugin's connection.
    pub fn accept_only(listener: &UnixListener) -> Self {
        let (socket, _) = listener.accept().unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self {
            socket,
            stream: 1,
            arrived: [Vec::new(), Vec::new()],
        }
    }

    /// Calls the plugin; `Err` has the code of a refusal.
    pub fn call<A: Message + Default>(
        &mut self,
        method: &str,
        request: &impl Message,
    ) -> Result<A, i32> {
        self.call_bytes(method, &request.encode_to_vec())
    }

    /// As [`Self::call`], with any bytes as the request.
    pub fn call_bytes<A: Message + Default>(
        &mut self,
        method: &str,
        request: &[u8],
    ) -> Result<A, i32> {
        let stream = self.begin(method, request);
        let (connection, answered, body) = self.receive();
        assert_eq!((connection, answered), (PLUGIN, stream));
        let response = Response::decode(body).unwrap();
        match response.status {
            Some(status) if status.code != 0 => Err(status.code),
            _ => Ok(A::decode(response.payload).unwrap()),
        }
    }

    /// Sends a call and does not wait for its answer.
    pub fn begin(&mut self, method: &str, request: &[u8]) -> u32 {
        let envelope = Request {
            service: PLUGIN_SERVICE.to_owned(),
            method: method.to_owned(),
            payload: request.to_vec().into(),
            timeout_nano: 2_000_000_000,
        };
        self.begin_with(&envelope.encode_to_vec())
    }

    /// Sends any bytes as a call.
    pub fn begin_with(&mut self, body: &[u8]) -> u32 {
        let stream = self.stream;
        self.stream += 2;
        let mut bytes = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend(stream.to_be_bytes());
        bytes.extend([1, 0]);
        bytes.extend(body);
        self.send(PLUGIN, &bytes);
        stream
    }

    pub fn create(&mut self, pod: &PodSandbox, container: &Container) -> CreateContainerResponse {
        self.call("CreateContainer", &request(pod, container))
            .unwrap()
    }

    pub fn synchronize(&mut self, all: &[(PodSandbox, Container)]) {
        let request = SynchronizeRequest {
            pods: all
                .iter()
                .map(|(pod, _)| pod.encode_to_vec().into())
                .collect(),
            containers: all
                .iter()
                .map(|(_, container)| container.encode_to_vec().into())
                .collect(),
            more: false,
        };
        let answer: detail::SynchronizeResponse = self.call("Synchronize", &request).unwrap();
        assert!(!answer.more);
    }

    pub fn remove(&mut self, container: &Container) {
        let request = RemoveContainerRequest {
            container: container.encode_to_vec().into(),
        };
        let _: detail::ConfigureResponse = self.call("RemoveContainer", &request).unwrap();
    }

    /// As runtimes with an older NRI tell of a removal.
    pub fn state_change(&mut self, event: i32, container: &Container) {
        let event = StateChangeEvent {
            event,
            container: container.encode_to_vec().into(),
        };
        let _: detail::ConfigureResponse = self.call("StateChange", &event).unwrap();
    }

    /// Sends bytes of a connection, in small pieces.
    pub fn send(&mut self, connection: u32, bytes: &[u8]) {
        for part in bytes.chunks(1000) {
            let mut piece = connection.to_be_bytes().to_vec();
            piece.extend(u32::try_from(part.len()).unwrap().to_be_bytes());
            piece.extend(part);
            self.send_raw(&piece);
        }
    }

    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    /// Whether the plugin has closed the connection.
    pub fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        matches!(self.socket.read(&mut byte), Ok(0) | Err(_))
    }

    /// The next message: connection, stream, body.
    pub fn receive(&mut self) -> (u32, u32, Bytes) {
        loop {
            for connection in [PLUGIN, RUNTIME] {
                let arrived = &mut self.arrived[connection as usize - 1];
                if arrived.len() < HEADER {
                    continue;
                }
                let number =
                    |at: usize| u32::from_be_bytes(arrived[at..at + 4].try_into().unwrap());
                let (length, stream) = (number(0) as usize, number(4));
                if arrived.len() >= HEADER + length {
                    let rest = arrived.split_off(HEADER + length);
                    let body = std::mem::replace(arrived, rest).split_off(HEADER);
                    return (connection, stream, body.into());
                }
            }
            let mut header = [0; 8];
            self.socket.read_exact(&mut header).unwrap();
            let connection = u32::from_be_bytes(header[..4].try_into().unwrap());
            let length = u32::from_be_bytes(header[4..].try_into().unwrap());
            let mut piece = vec![0; length as usize];
            self.socket.read_exact(&mut piece).unwrap();
            self.arrived[connection as usize - 1].extend(piece);
        }
    }
}

//! One connection to the runtime: the plugin registers, is configured and told of what runs, and answers from then on.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use prost::Message as _;

use crate::plugin::{Answer, News, Plugin};
use crate::protocol::detail::{
    ConfigureRequest, ConfigureResponse, Event, RegisterPluginRequest, SynchronizeResponse,
};
use crate::protocol::envelope::{Code, Request, Response};
use crate::protocol::message::{self, Kind, Message};
use crate::protocol::outline::{
    CreateContainerRequest, RemoveContainerRequest, StateChangeEvent, SynchronizeRequest,
};
use crate::protocol::trunk::{PLUGIN_CONNECTION, RUNTIME_CONNECTION, Trunk, TrunkError};
use crate::protocol::{PLUGIN_SERVICE, RUNTIME_SERVICE};

/// The plugin's name in the runtime's log.
pub const NAME: &str = "dra-guest";
/// The version of NRI whose description the types are generated from.
const NRI_VERSION: &str = "v0.12.3";
/// The stream of the plugin's only call.
const REGISTRATION: u32 = 1;
/// How long the runtime may take to register and to configure the plugin; it waits for five seconds itself.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most bytes of a request for one container that are looked into: many times what the largest has.
const CONTAINER_BYTES: usize = 1 << 20;

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is nobody, or it is not for this user.
    #[error("the runtime cannot be connected to: {0}")]
    Connect(#[source] io::Error),
    /// The connection is of no use any more.
    #[error(transparent)]
    Trunk(#[from] TrunkError),
    /// The runtime does not want this plugin.
    #[error("the runtime refuses the plugin: {0}")]
    Refused(String),
    /// What is not of the protocol.
    #[error("the runtime's answer to the registration cannot be read: {0}")]
    Answer(#[source] prost::DecodeError),
}

/// Registers, and answers until the connection ends.
///
/// # Errors
/// Always: why it ended.
pub fn serve(trunk: &mut Trunk, index: &str, plugin: &Plugin) -> Result<Infallible, SessionError> {
    trunk
        .set_patience(Some(PATIENCE))
        .map_err(SessionError::Connect)?;
    let registration = RegisterPluginRequest {
        plugin_name: NAME.to_owned(),
        plugin_idx: index.to_owned(),
        nri_version: NRI_VERSION.to_owned(),
    };
    let call = message::call(
        REGISTRATION,
        RUNTIME_SERVICE,
        "RegisterPlugin",
        &registration,
    );
    trunk.send(RUNTIME_CONNECTION, &call)?;
    let mut session = Session {
        plugin,
        waiting: Synchronization::default(),
        news: Vec::new(),
        held: None,
    };
    loop {
        if session.has_news() && (session.news.len() >= NEWS || !trunk.wait(SHORTLY)?) {
            session.take_note();
        }
        let (connection, message) = trunk.receive()?;
        match (connection, message.header.kind) {
            (RUNTIME_CONNECTION, Kind::Response) => registered(&message)?,
            (PLUGIN_CONNECTION, Kind::Request) => {
                let (answer, configured) = session.answer(&message);
                trunk.send(PLUGIN_CONNECTION, &answer)?;
                if configured {
                    trunk.set_patience(None).map_err(SessionError::Connect)?;
                }
            }
            (_, kind) => tracing::debug!("a message that NRI has not, {kind:?}: passed over"),
        }
    }
}

fn registered(message: &Message) -> Result<(), SessionError> {
    let response = Response::decode(message.body.clone()).map_err(SessionError::Answer)?;
    match response.status {
        Some(status) if status.code != i32::from(Code::Ok) => {
            Err(SessionError::Refused(status.message))
        }
        _ => Ok(()),
    }
}

/// Pods and containers of messages that say that more follow.
#[derive(Debug, Default)]
struct Synchronization {
    pods: Vec<Bytes>,
    containers: Vec<Bytes>,
    bytes: usize,
}

/// For so long the next request is waited for before note is taken of what was answered: the runtime is to have the
/// processor, which it waits for with the container.
const SHORTLY: Duration = Duration::from_millis(5);
/// The most of it that may wait.
const NEWS: usize = 32;

/// The most bytes of pods and containers that are kept until the last message: many times what a node has.
const SYNCHRONIZATION_BYTES: usize = 64 << 20;

struct Session<'a> {
    plugin: &'a Plugin,
    waiting: Synchronization,
    /// What is left to do about containers whose answers the runtime has.
    news: Vec<News>,
    /// Shows the node that this connection holds.
    held: Option<File>,
}

impl Session<'_> {
    fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    fn take_note(&mut self) {
        for news in self.news.drain(..) {
            self.plugin.answered(news);
        }
    }

    /// The bytes of the answer to a request, and whether it was the one that configures.
    ///
    /// A request that cannot be read never keeps a container from being created: that is answered with no wish.
    fn answer(&mut self, message: &Message) -> (Bytes, bool) {
        let stream = message.header.stream;
        let refuse = |code, words| (message::refusal(stream, code, words), false);
        let request = match Request::decode(message.body.clone()) {
            Ok(request) => request,
            Err(error) => {
                tracing::warn!("a request of the runtime cannot be read: {error}");
                return refuse(Code::InvalidArgument, error.to_string());
            }
        };
        if request.service != PLUGIN_SERVICE {
            return refuse(
                Code::Unimplemented,
                format!("there is no service {:?}", request.service),
            );
        }
        let payload = request.payload;
        let empty = |stream| message::answer(stream, &ConfigureResponse::default());
        match request.method.as_str() {
            "CreateContainer" => {
                let Answer { wish, news } = self.create(payload);
                self.news.extend(news);
                (message::answer(stream, &wish), false)
            }
            "RemoveContainer" => {
                self.take_note();
                match RemoveContainerRequest::decode(payload) {
                    Ok(request) => self.plugin.removed(&request.container),
                    Err(error) => tracing::warn!("RemoveContainer cannot be read: {error}"),
                }
                (empty(stream), false)
            }
            // How runtimes with an NRI before 0.12 tell of a removal.
            "StateChange" => {
                self.take_note();
                match StateChangeEvent::decode(payload) {
                    Ok(event) if event.event == i32::from(Event::RemoveContainer) => {
                        self.plugin.removed(&event.container);
                    }
                    Ok(_) => {}
                    Err(error) => tracing::warn!("StateChange cannot be read: {error}"),
                }
                (empty(stream), false)
            }
            "Configure" => (message::answer(stream, &self.configure(payload)), true),
            "Synchronize" => (message::answer(stream, &self.synchronize(payload)), false),
            "Shutdown" => {
                tracing::info!("the runtime ends");
                (empty(stream), false)
            }
            other => refuse(Code::Unimplemented, format!("this plugin has no {other:?}")),
        }
    }

    fn create(&self, payload: Bytes) -> Answer {
        if payload.len() > CONTAINER_BYTES {
            tracing::warn!(
                "a request of {} bytes for one container is passed over",
                payload.len()
            );
            return Answer::default();
        }
        match CreateContainerRequest::decode(payload) {
            Ok(request) => self.plugin.created(&request.pod, &request.container),
            Err(error) => {
                tracing::warn!("CreateContainer cannot be read, so no hook is added: {error}");
                Answer::default()
            }
        }
    }

    fn synchronize(&mut self, payload: Bytes) -> SynchronizeResponse {
        let (length, request) = (payload.len(), SynchronizeRequest::decode(payload));
        let request = match request {
            Ok(request) => request,
            Err(error) => {
                tracing::warn!(
                    "Synchronize cannot be read, so running VMs have no live updates: {error}"
                );
                return SynchronizeResponse::default();
            }
        };
        self.take_note();
        let more = request.more;
        // What is empty takes a place all the same.
        let places = request.pods.len() + request.containers.len();
        self.waiting.bytes += length + places * size_of::<Bytes>();
        if self.waiting.bytes > SYNCHRONIZATION_BYTES {
            tracing::warn!("the runtime tells of too much at once: the rest has no live updates");
        } else {
            self.waiting.pods.extend(request.pods);
            self.waiting.containers.extend(request.containers);
        }
        if !more {
            let all = std::mem::take(&mut self.waiting);
            self.plugin.synchronized(&all.pods, &all.containers);
        }
        SynchronizeResponse { more }
    }

    fn configure(&mut self, payload: Bytes) -> ConfigureResponse {
        match ConfigureRequest::decode(payload) {
            Ok(request) => {
                tracing::info!(
                    "connected to {} {}, NRI {}",
                    request.runtime_name,
                    request.runtime_version,
                    if request.nri_version.is_empty() {
                        "unknown"
                    } else {
                        &request.nri_version
                    },
                );
                // One connection has one such file.
                self.held = None;
                self.held = self.plugin.hold(request);
            }
            Err(error) => tracing::warn!("Configure cannot be read: {error}"),
        }
        let bit = |event: Event| 1 << (i32::from(event) - 1);
        ConfigureResponse {
            events: bit(Event::CreateContainer) | bit(Event::RemoveContainer),
        }
    }
}

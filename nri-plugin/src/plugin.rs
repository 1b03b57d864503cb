//! What the plugin does when the runtime tells it something.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;

use bytes::Bytes;
use device_attributes::{Name, Pod};
use dra_cdi_hook::keep_up::HookWishes;
use prost::Message as _;

use crate::command_line::Arguments;
use crate::connection::{self, Connection};
use crate::hook::HookRequest;
use crate::protocol::detail::{ConfigureRequest, Container, CreateContainerResponse, PodSandbox};
use crate::protocol::outline;
use crate::refresh::{Keeper, Kept};
use crate::relay::Relay;
use crate::selection::{OPT_OUT, Selection, Verdict};

/// The plugin.
#[derive(Debug)]
pub struct Plugin {
    selection: Selection,
    hook: HookRequest,
    relay: Option<Relay>,
    keeper: Keeper,
    state: PathBuf,
}

/// What a container is to have, and what is left to do when the runtime knows.
#[derive(Debug, Default)]
pub struct Answer {
    /// What it is to have.
    pub wish: CreateContainerResponse,
    /// To be given to [`Plugin::answered`].
    pub news: Option<News>,
}

/// What was found out about a container.
#[derive(Debug)]
pub struct News {
    words: String,
    /// One with a hook: its document is kept up to date.
    container: Option<(PodSandbox, Container)>,
}

impl Answer {
    fn nothing(pod: &PodSandbox, why: &str) -> Self {
        let words = format!("{}: {why}", shown(pod));
        Self {
            wish: CreateContainerResponse::default(),
            news: Some(News {
                words,
                container: None,
            }),
        }
    }
}

impl Plugin {
    /// Starts it, and the thread that keeps documents up to date.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(arguments: &Arguments) -> io::Result<Self> {
        let relay = Relay::new(arguments);
        Ok(Self {
            selection: Selection {
                pod_label: arguments.pod_label.clone(),
                container: arguments.container.clone(),
                vm_mount: arguments.vm_mount.clone(),
                hook: arguments.hook.clone(),
            },
            hook: HookRequest::new(arguments),
            keeper: Keeper::start(&arguments.kubelet, relay.clone())?,
            relay,
            state: arguments.state.clone().into(),
        })
    }

    /// Shows the node that this runtime is connected to, until the file is closed.
    pub fn hold(&self, runtime: ConfigureRequest) -> Option<File> {
        let connection = Connection {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            runtime: runtime.runtime_name,
            runtime_version: runtime.runtime_version,
            nri_version: runtime.nri_version,
        };
        connection::hold(&self.state, &connection)
            .inspect_err(|error| {
                tracing::debug!(
                    "{}: doctor will not see the connection: {error}",
                    self.state.display()
                );
            })
            .ok()
    }

    /// A container is being created: says what it is to have.
    ///
    /// Of a container with another name than a VM's nothing but that name is looked at.
    pub fn created(&self, pod: &Bytes, container: &Bytes) -> Answer {
        if !self.may_be_a_vms(container) {
            return Answer::default();
        }
        match decode(pod, container) {
            Ok((pod, container)) => self.vm_created(pod, container),
            Err(error) => {
                tracing::warn!("a container cannot be read, so no hook is added: {error}");
                Answer::default()
            }
        }
    }

    fn may_be_a_vms(&self, container: &Bytes) -> bool {
        outline::Container::decode(container.clone())
            .is_ok_and(|container| container.name == self.selection.container.as_str())
    }

    fn vm_created(&self, pod: PodSandbox, container: Container) -> Answer {
        let verdict = self.selection.judge(&pod, &container);
        let Verdict::Vm {
            metadata,
            asked,
            asked_by_device,
            ..
        } = &verdict
        else {
            return match verdict {
                Verdict::OptedOut => {
                    Answer::nothing(&pod, &format!("its annotation {OPT_OUT} says off"))
                }
                Verdict::NoVmMount => Answer::nothing(
                    &pod,
                    &format!(
                        "no volume is mounted at {}, so there is nowhere to write a document",
                        self.selection.vm_mount
                    ),
                ),
                _ => Answer::default(),
            };
        };
        if asked.is_some() {
            let words = format!("{}: a driver has asked for the hook", shown(&pod));
            return Answer {
                wish: CreateContainerResponse::default(),
                news: Some(News {
                    words,
                    container: Some((pod, container)),
                }),
            };
        }
        if *asked_by_device {
            return Answer::nothing(&pod, "a driver has asked for the hook by its CDI device");
        }
        let attributes = self.ask_relay(&pod, &container);
        if metadata.is_empty() && attributes.is_none() {
            return Answer::nothing(&pod, "no metadata of a DRA device is mounted");
        }
        let words = format!(
            "{}: the hook is added, metadata files: {}",
            shown(&pod),
            metadata.len()
        );
        let wish = self.hook.wish(self.hook.arguments(attributes.as_deref()));
        let mut container = container;
        container.hooks = wish.adjust.as_ref().and_then(|adjust| adjust.hooks.clone());
        Answer {
            wish,
            news: Some(News {
                words,
                container: Some((pod, container)),
            }),
        }
    }

    /// Asks the relay, where there is one; the file with its answer.
    fn ask_relay(&self, pod: &PodSandbox, container: &Container) -> Option<String> {
        let (relay, named) = (self.relay.as_ref()?, named(pod)?);
        relay.answer_file(&container.id, &named).unwrap_or_else(|error| {
            tracing::warn!(
                "{}: {error}; devices whose driver writes no metadata are missing in its document",
                shown(pod)
            );
            None
        })
    }

    /// Takes note of what was answered, once the runtime has the answer.
    pub fn answered(&self, news: News) {
        tracing::info!("{}", news.words);
        let kept = news
            .container
            .and_then(|(pod, container)| self.kept(&pod, &container));
        if let Some(kept) = kept {
            self.keeper.keep(kept);
        }
    }

    /// A container is gone.
    pub fn removed(&self, container: &Bytes) {
        let Ok(container) = outline::Container::decode(container.clone()) else {
            return;
        };
        // A runtime need not send the name of what is gone.
        if !container.name.is_empty() && container.name != self.selection.container.as_str() {
            return;
        }
        if let Ok(id) = std::str::from_utf8(&container.id) {
            self.keeper.forget(id);
            if let Some(relay) = &self.relay {
                relay.forget(id);
            }
        }
    }

    /// These are all pods and containers that there are.
    pub fn synchronized(&self, pods: &[Bytes], containers: &[Bytes]) {
        let mut by_id = HashMap::new();
        for bytes in pods {
            if let Ok(pod) = outline::PodSandbox::decode(bytes.clone()) {
                by_id.insert(pod.id, bytes);
            }
        }
        let mut all = Vec::new();
        for bytes in containers.iter().filter(|bytes| self.may_be_a_vms(bytes)) {
            let pod = outline::Container::decode(bytes.clone())
                .ok()
                .and_then(|container| by_id.get(&container.pod_sandbox_id));
            let Some(Ok((pod, container))) = pod.map(|pod| decode(pod, bytes)) else {
                continue;
            };
            all.extend(self.kept(&pod, &container));
        }
        tracing::info!(
            "running containers of VMs whose documents are kept up to date: {}",
            all.len()
        );
        if let Some(relay) = &self.relay {
            relay.forget_all_but(all.iter().map(Kept::id));
        }
        self.keeper.keep_only(all);
    }

    /// A container: kept up to date where it has a hook, whoever asked for that.
    fn kept(&self, pod: &PodSandbox, container: &Container) -> Option<Kept> {
        let Verdict::Vm {
            volume,
            metadata,
            asked: Some(arguments),
            ..
        } = self.selection.judge(pod, container)
        else {
            return None;
        };
        let wishes = match HookWishes::of_arguments(arguments) {
            Ok(wishes) => wishes,
            Err(error) => {
                tracing::warn!(
                    "{}: its document is not kept up to date: the arguments of its hook: {error}",
                    shown(pod)
                );
                return None;
            }
        };
        Some(Kept::new(container, named(pod)?, volume, &metadata, wishes))
    }
}

fn decode(pod: &Bytes, container: &Bytes) -> Result<(PodSandbox, Container), prost::DecodeError> {
    Ok((
        PodSandbox::decode(pod.clone())?,
        Container::decode(container.clone())?,
    ))
}

fn named(pod: &PodSandbox) -> Option<Pod> {
    let name = |text: &str| text.parse::<Name>().ok();
    Some(Pod {
        namespace: name(&pod.namespace)?,
        name: name(&pod.name)?,
        uid: Some(name(&pod.uid)?),
    })
}

fn shown(pod: &PodSandbox) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

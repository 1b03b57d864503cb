//! The hook that is asked for.

use crate::command_line::{Arguments, OnError};
use crate::protocol::detail::{
    ContainerAdjustment, CreateContainerResponse, Hook, Hooks, OptionalInt,
};

/// Never empty: a hook without `env` gets the environment of the container's image from runc before 1.3, `LD_PRELOAD`
/// included.
const ENVIRONMENT: &str = "DRA_GUEST_LOG=info";
/// Seconds until the runtime kills the hook; the hook itself gives up before.
const TIMEOUT: i64 = 10;

/// The hook, the same for every container.
#[derive(Debug, Clone)]
pub struct HookRequest {
    path: String,
    arguments: Vec<String>,
}

impl HookRequest {
    /// The hook as the command line has it.
    pub fn new(options: &Arguments) -> Self {
        let mut arguments = vec!["dra-cdi-hook".to_owned(), "create-container".to_owned()];
        // One argument each: a value is never taken for an option.
        let mut option = |name: &str, value: &str| arguments.push(format!("{name}={value}"));
        option("--vm-mount", &options.vm_mount);
        for key in &options.export {
            option("--export", key);
        }
        if options.on_error == OnError::Skip {
            option("--on-error", "skip");
        }
        if let Some(log) = &options.hook_log {
            option("--log", log);
        }
        Self {
            path: options.hook.clone(),
            arguments,
        }
    }

    /// The arguments, the program's name first; `attributes` is a file of the node that it is to read as well.
    pub fn arguments(&self, attributes: Option<&str>) -> Vec<String> {
        let mut arguments = self.arguments.clone();
        arguments.extend(attributes.map(|file| format!("--attributes={file}")));
        arguments
    }

    /// The wish that it be added.
    pub fn wish(&self, arguments: Vec<String>) -> CreateContainerResponse {
        let hook = Hook {
            path: self.path.clone(),
            args: arguments,
            env: vec![ENVIRONMENT.to_owned()],
            timeout: Some(OptionalInt { value: TIMEOUT }),
        };
        let hooks = Hooks {
            create_container: vec![hook],
        };
        CreateContainerResponse {
            adjust: Some(ContainerAdjustment { hooks: Some(hooks) }),
        }
    }
}

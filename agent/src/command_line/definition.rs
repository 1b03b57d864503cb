//! The definition of the agent's command line.

use ::command_line::{Command, ExitMeaning, Operands, Program, Section};

use super::options;
use crate::commands;

/// The whole command line of `dra-guest-agent`.
pub static PROGRAM: Program = Program {
    name: "dra-guest-agent",
    version: env!("CARGO_PKG_VERSION"),
    about: "Puts the attributes of a VM's devices to use inside the VM",
    description: &[
        "Kubernetes Dynamic Resource Allocation knows the devices of this VM: MAC addresses, names, addresses, NUMA \
         nodes. The node brings that in as device-attributes.json; this program finds each device by its MAC or \
         guest PCI address, names and configures it, and reports whether it is ready.",
    ],
    commands: &[
        &RUN, &APPLY, &PLAN, &STATUS, &CHECK, &EXEC, &ENV, &INSPECT, &REVERT, &VALIDATE,
    ],
    options: &[&options::LOG_LEVEL],
    hidden: &[
        &options::SYS_ROOT,
        &options::PROC_ROOT,
        &options::RUN_ROOT,
        &options::ETC_ROOT,
        &options::USR_ROOT,
    ],
    exit_codes: &[
        ExitMeaning {
            code: 0,
            meaning: "done or ready",
        },
        ExitMeaning {
            code: 1,
            meaning: "failed",
        },
        ExitMeaning {
            code: super::WRONG_USAGE,
            meaning: "wrong usage or configuration",
        },
        ExitMeaning {
            code: 3,
            meaning: "some devices failed",
        },
        ExitMeaning {
            code: 4,
            meaning: "no attributes yet",
        },
    ],
    environment: &[(
        "CREDENTIALS_DIRECTORY",
        "where systemd has put the credential device-attributes",
    )],
    files: &[
        ("/etc/dra-guest/agent.toml", "the policy"),
        ("/etc/dra-guest/agent.d/*.toml", "drop-ins of it"),
    ],
};

static RUN: Command = Command {
    name: "run",
    about: "Apply the attributes, and keep watching them: what the service does",
    description: &[
        "Waits for attributes that are not there yet, follows their changes, tells systemd and the node's relay.",
    ],
    sections: &[&Section {
        heading: "Options",
        options: &[&options::ATTRIBUTES],
    }],
    operands: None,
    examples: &[],
    run: commands::run,
};

static APPLY: Command = Command {
    name: "apply",
    about: "Apply the attributes once",
    description: &[],
    sections: &[&Section {
        heading: "Options",
        options: &[&options::ATTRIBUTES, &options::WAIT],
    }],
    operands: None,
    examples: &[(
        "dra-guest-agent apply --wait 60",
        "From a script that runs before the network is needed",
    )],
    run: commands::apply,
};

static PLAN: Command = Command {
    name: "plan",
    about: "Show what apply would change, and why; change nothing",
    description: &[],
    sections: &[&Section {
        heading: "Options",
        options: &[&options::ATTRIBUTES, &options::JSON],
    }],
    operands: None,
    examples: &[],
    run: commands::plan,
};

static STATUS: Command = Command {
    name: "status",
    about: "Show what the last run or apply saw of each device",
    description: &[],
    sections: AS_JSON,
    operands: None,
    examples: &[],
    run: commands::status,
};

static CHECK: Command = Command {
    name: "check",
    about: "Exit 0 when every device is ready, for probes; one line says why not",
    description: &[],
    sections: &[],
    operands: None,
    examples: &[],
    run: commands::check,
};

static EXEC: Command = Command {
    name: "exec",
    about: "Run a command on the CPUs and memory that are near a device",
    description: &[
        "The command takes this process' place: its exit code, signals and standard streams are its own. Its exit \
         code is 126 when it cannot be run and 127 when it is not there. Needs the status that run or apply has \
         written, and no privilege. With one NUMA node all is near, and nothing is done.",
    ],
    sections: &[&Section {
        heading: "Options",
        options: &[&options::DEVICE, &options::MEMORY, &options::STRICT],
    }],
    operands: Some(Operands {
        usage: "-- <CMD>...",
        about: "The command and its arguments",
        behind_dashes: true,
    }),
    examples: &[(
        "dra-guest-agent exec --device nic/vf -- dpdk-testpmd -a 0000:81:00.0",
        "The packet processor on the node of its NIC",
    )],
    run: commands::exec,
};

static ENV: Command = Command {
    name: "env",
    about: "Print what is known of a device as assignments, for scripts and a unit's environment",
    description: &[
        "Beside what the device's file below /run/dra-guest/devices has, the CPUs and the memory nodes near it as \
         they are now, which podman takes as --cpuset-cpus and --cpuset-mems. With one NUMA node all is near, and \
         both are absent.",
    ],
    sections: &[&Section {
        heading: "Options",
        options: &[&options::DEVICE],
    }],
    operands: None,
    examples: &[],
    run: commands::env,
};

static INSPECT: Command = Command {
    name: "inspect",
    about: "Show what this guest has: its network interfaces as the kernel describes them",
    description: &["As JSON it has the form of the planner's cases."],
    sections: AS_JSON,
    operands: None,
    examples: &[],
    run: commands::inspect,
};

static REVERT: Command = Command {
    name: "revert",
    about: "Take back what run and apply did since the machine came up, and nothing else",
    description: &[
        "Names, MAC addresses, MTUs, sysctls, addresses, routes, rules and whether an interface is up become what \
         they were before. What others have changed since is left, and said. Refused while the service runs, which \
         would do it all again.",
    ],
    sections: &[&Section {
        heading: "Options",
        options: &[&options::DRY_RUN],
    }],
    operands: None,
    examples: &[],
    run: commands::revert,
};

static VALIDATE: Command = Command {
    name: "validate",
    about: "Check files: attributes in any known form, or a policy (*.toml)",
    description: &[],
    sections: &[],
    operands: Some(Operands {
        usage: "<FILE>...",
        about: "The files",
        behind_dashes: false,
    }),
    examples: &[],
    run: commands::validate,
};

const AS_JSON: &[&Section] = &[&Section {
    heading: "Options",
    options: &[&options::JSON],
}];

#[cfg(test)]
mod tests {
    use ::command_line::CommandOption;

    use super::*;

    #[test]
    fn no_two_options_of_a_command_have_one_name() {
        for command in PROGRAM.commands {
            let everywhere = PROGRAM.options.iter().chain(PROGRAM.hidden).copied();
            let all: Vec<&CommandOption> = command.options().chain(everywhere).collect();
            for (place, option) in all.iter().enumerate() {
                let others = all.iter().skip(place + 1);
                assert!(others.into_iter().all(|it| it.name != option.name));
            }
        }
    }
}

//! Generates the protocol's types from its published descriptions (`proto/`), as far as the plugin reads and
//! writes them: what is not named here is passed over by the decoder, and takes neither time nor memory.

use std::error::Error;
use std::path::{Path, PathBuf};

use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FileDescriptorProto, FileDescriptorSet};

/// A message, and those of its fields that are read or written.
type Wanted = (&'static str, &'static [&'static str]);

/// What is looked at in every message: the parts as slices of what was received, without a copy.
const OUTLINE: &[Wanted] = &[
    ("CreateContainerRequest", &["pod", "container"]),
    ("RemoveContainerRequest", &["container"]),
    ("StateChangeEvent", &["event", "container"]),
    ("SynchronizeRequest", &["pods", "containers", "more"]),
    ("PodSandbox", &["id"]),
    ("Container", &["id", "pod_sandbox_id", "name"]),
];

/// What is looked at in the containers of VMs, and what is said.
const DETAIL: &[Wanted] = &[
    (
        "PodSandbox",
        &["name", "uid", "namespace", "labels", "annotations"],
    ),
    (
        "Container",
        &["id", "name", "mounts", "hooks", "CDI_devices"],
    ),
    ("Mount", &["destination", "source"]),
    ("Hooks", &["create_container"]),
    ("Hook", &["path", "args", "env", "timeout"]),
    ("OptionalInt", &["value"]),
    ("CDIDevice", &["name"]),
    (
        "RegisterPluginRequest",
        &["plugin_name", "plugin_idx", "NRI_version"],
    ),
    (
        "ConfigureRequest",
        &[
            "runtime_name",
            "runtime_version",
            "request_timeout",
            "NRI_version",
        ],
    ),
    ("ConfigureResponse", &["events"]),
    ("SynchronizeResponse", &["more"]),
    ("CreateContainerResponse", &["adjust"]),
    ("ContainerAdjustment", &["hooks"]),
];

/// The envelope of every message.
const ENVELOPE: &[Wanted] = &[
    ("Request", &["service", "method", "payload", "timeout_nano"]),
    ("Response", &["status", "payload"]),
    ("Status", &["code", "message"]),
];

fn main() -> Result<(), Box<dyn Error>> {
    static_link::leave_out_unwinding()?;
    let manifest = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let proto = manifest.join("proto");
    println!("cargo::rerun-if-changed={}", proto.display());
    let nri = describe(&proto, "nri-api.proto")?;
    let ttrpc = describe(&proto, "ttrpc.proto")?;
    generate("outline", opaque(select(nri.clone(), OUTLINE)?))?;
    generate("detail", select(nri, DETAIL)?)?;
    generate("envelope", select(ttrpc, ENVELOPE)?)
}

fn describe(directory: &Path, name: &str) -> Result<FileDescriptorProto, Box<dyn Error>> {
    let files = protox::compile([name], [directory])?.file;
    files
        .into_iter()
        .last()
        .ok_or_else(|| format!("{name} describes nothing").into())
}

/// Leaves the wanted messages and fields; fails for one that there is not.
fn select(
    mut file: FileDescriptorProto,
    wanted: &[Wanted],
) -> Result<FileDescriptorProto, Box<dyn Error>> {
    file.service.clear();
    let mut messages = std::mem::take(&mut file.message_type);
    for (name, fields) in wanted {
        let at = messages.iter().position(|message| message.name() == *name);
        let at = at.ok_or_else(|| format!("{}: there is no message {name}", file.name()))?;
        let mut message = messages.swap_remove(at);
        for field in *fields {
            if !message.field.iter().any(|one| one.name() == *field) {
                return Err(format!("{}: {name} has no field {field}", file.name()).into());
            }
        }
        message.field.retain(|field| fields.contains(&field.name()));
        let types: Vec<&str> = message
            .field
            .iter()
            .map(prost_types::FieldDescriptorProto::type_name)
            .collect();
        let is_used = |nested: &DescriptorProto| {
            types
                .iter()
                .any(|name| name.ends_with(&format!(".{}", nested.name())))
        };
        message.nested_type.retain(is_used);
        message.enum_type.clear();
        file.message_type.push(message);
    }
    file.source_code_info = None;
    Ok(file)
}

/// Turns messages and texts into bytes, which they are on the wire, and enumerations into numbers.
fn opaque(mut file: FileDescriptorProto) -> FileDescriptorProto {
    file.enum_type.clear();
    for message in &mut file.message_type {
        message.nested_type.clear();
        for field in &mut message.field {
            match field.r#type() {
                Type::Message | Type::String => field.set_type(Type::Bytes),
                Type::Enum => field.set_type(Type::Int32),
                _ => {}
            }
            field.type_name = None;
        }
    }
    file
}

fn generate(package: &str, mut file: FileDescriptorProto) -> Result<(), Box<dyn Error>> {
    let before = format!(".{}.", file.package());
    for field in file
        .message_type
        .iter_mut()
        .flat_map(|message| &mut message.field)
    {
        if let Some(name) = field
            .type_name
            .as_mut()
            .and_then(|name| name.strip_prefix(&before).map(str::to_owned))
        {
            field.type_name = Some(format!(".{package}.{name}"));
        }
    }
    file.package = Some(package.to_owned());
    let mut config = prost_build::Config::new();
    config.bytes(["."]).btree_map(["."]);
    config.compile_fds(FileDescriptorSet { file: vec![file] })?;
    Ok(())
}

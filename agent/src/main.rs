//! `dra-guest-agent`: puts the attributes of a VM's devices to use inside the VM.

fn main() {}

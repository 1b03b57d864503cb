//! Interrupts of devices that are none, many, managed or shared, in a sysfs and a procfs of files.

use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

struct Machine {
    root: TempDir,
    address: PciAddress,
}

impl Machine {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let address = "0000:81:00.0".parse().unwrap();
        fs::create_dir_all(root.path().join("bus/pci/devices/0000:81:00.0/msi_irqs")).unwrap();
        Self { root, address }
    }

    fn device(&self) -> PathBuf {
        self.root.path().join("bus/pci/devices/0000:81:00.0")
    }

    fn interrupt(&self, number: u32, cpus: &str, handlers: &[&str], mode: u32) {
        let directory = self.root.path().join("irq").join(number.to_string());
        for handler in handlers {
            fs::create_dir_all(directory.join(handler)).unwrap();
        }
        fs::create_dir_all(&directory).unwrap();
        let file = directory.join("smp_affinity_list");
        fs::write(&file, format!("{cpus}\n")).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn vector(&self, number: u32, cpus: &str, handlers: &[&str], mode: u32) {
        fs::write(self.device().join("msi_irqs").join(number.to_string()), "").unwrap();
        self.interrupt(number, cpus, handlers, mode);
    }

    fn look(&self) -> Vectors {
        let root = self.root.path().to_owned();
        let roots = Roots {
            sys: root.clone(),
            proc: root,
            ..Roots::default()
        };
        look(&roots, self.address)
    }
}

// mlnx-tools `common_irq_affinity.sh` looks for the interface's name in /proc/interrupts (case 104).
#[test]
fn interrupts_are_those_of_the_function_whatever_they_are_called() {
    let machine = Machine::new();
    machine.vector(101, "0-3", &["virtio2-output.0"], 0o644);
    machine.vector(99, "0-3", &["virtio2-config"], 0o644);
    machine.vector(100, "2", &["virtio2-input.0"], 0o644);
    machine.interrupt(7, "0-3", &["eth0"], 0o644);
    // One that went away in between.
    fs::write(machine.device().join("msi_irqs/102"), "").unwrap();
    let found: Vec<_> = machine
        .look()
        .interrupts
        .into_iter()
        .map(|it| (it.number, it.cpus.to_string(), it.queue, it.fixed))
        .collect();
    assert_eq!(
        found,
        [
            (99, "0-3".to_owned(), None, None),
            (100, "2".to_owned(), Some(0), None),
            (101, "0-3".to_owned(), Some(0), None),
        ]
    );
}

// irqbalance#349: a mask of mode 0444 (case 101).
#[test]
fn a_managed_interrupt_is_known_by_its_mode() {
    let machine = Machine::new();
    machine.vector(51, "0-1", &["nvme0q0"], 0o644);
    machine.vector(52, "2", &["nvme0q1"], 0o444);
    let fixed = machine.look().interrupts.into_iter().map(|it| it.fixed);
    assert_eq!(fixed.collect::<Vec<_>>(), [None, Some(Fixed::Managed)]);
}

// irqbalance#172 (case 103).
#[test]
fn a_device_with_a_pin_or_with_nothing_is_read_too() {
    let machine = Machine::new();
    assert_eq!(machine.look(), Vectors::default());
    fs::write(machine.device().join("irq"), "0\n").unwrap();
    assert_eq!(machine.look(), Vectors::default());
    fs::write(machine.device().join("irq"), "11\n").unwrap();
    fs::write(machine.device().join("local_cpulist"), "2-3\n").unwrap();
    machine.interrupt(11, "0-3", &["uhci_hcd:usb1", "eth0"], 0o644);
    let found = machine.look();
    assert_eq!(found.local_cpus, "2-3".parse().ok());
    assert_eq!(found.interrupts[0].fixed, Some(Fixed::Shared));
    let nowhere = Roots {
        sys: "/proc/self/cmdline".into(),
        ..Roots::default()
    };
    assert_eq!(look(&nowhere, machine.address), Vectors::default());
}

#[test]
fn more_than_a_thousand_cpus_are_read() {
    let machine = Machine::new();
    machine.vector(51, "1024-2047", &[], 0o644);
    assert_eq!(machine.look().interrupts[0].cpus.len(), 1024);
}

#[test]
fn a_queue_is_told_by_the_name_of_its_interrupt() {
    for (name, expected) in [
        ("virtio2-input.1", Some(1)),
        ("net1-TxRx-12", Some(12)),
        ("i40e-net1-TxRx-0", Some(0)),
        ("mlx5_comp3@pci:0000:81:00.0", Some(3)),
        ("gve-ntfy-block.4@pci:0000:00:04.0", Some(4)),
        ("net1", None),
        ("nvme0q1", None),
        ("virtio2-config", None),
        ("mlx5_async0@pci:0000:81:00.0", None),
        ("x-99999999999", None),
        ("", None),
        ("-", None),
    ] {
        assert_eq!(queue(name), expected, "{name}");
    }
}

//! What is written where, and what is not, in a sysfs and a procfs of files; and the kernel's own refusal.

use std::fs;
use std::os::unix::net::UnixListener;
use std::thread;

use tempfile::TempDir;

use super::*;

const FUNCTION: &str = "0000:81:00.0";

fn machine() -> (TempDir, Roots) {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().to_owned();
    let roots = Roots {
        sys: path.join("sys"),
        proc: path.join("proc"),
        run: path.join("run"),
        ..Roots::default()
    };
    let device = roots.sys.join("bus/pci/devices").join(FUNCTION);
    fs::create_dir_all(device.join("msi_irqs")).unwrap();
    fs::write(device.join("msi_irqs/42"), "msix\n").unwrap();
    for number in ["42", "43"] {
        let directory = roots.proc.join("irq").join(number);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("smp_affinity_list"), "0-3\n").unwrap();
    }
    (root, roots)
}

fn interrupt(number: u32, to: &str) -> Pin {
    Pin::Interrupt {
        function: FUNCTION.parse().unwrap(),
        interrupt: number,
        from: "0-3".parse().unwrap(),
        to: to.parse().unwrap(),
    }
}

#[test]
fn a_list_for_interrupts_and_a_mask_for_queues() {
    let (_root, roots) = machine();
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    set(&roots, 2, "net1", &interrupt(42, "2-3,1024")).unwrap();
    let written = read(roots.proc.join("irq/42/smp_affinity_list"));
    assert_eq!(written, "2-3,1024\n");
    let queues = roots.sys.join("class/net/net1/queues");
    for directory in ["tx-0", "rx-7"] {
        fs::create_dir_all(queues.join(directory)).unwrap();
    }
    for file in ["tx-0/xps_cpus", "rx-7/rps_cpus", "rx-7/rps_flow_cnt"] {
        fs::write(queues.join(file), "").unwrap();
    }
    let cpus = |text: &str| -> crate::numa::CpuList { text.parse().unwrap() };
    let (from, to) = (cpus(""), cpus("2-3,64"));
    let transmit = Pin::Transmit {
        queue: 0,
        from: from.clone(),
        to: to.clone(),
    };
    set(&roots, 2, "net1", &transmit).unwrap();
    set(
        &roots,
        2,
        "net1",
        &Pin::Receive {
            queue: 7,
            from: to,
            to: from,
        },
    )
    .unwrap();
    set(
        &roots,
        2,
        "net1",
        &Pin::Flows {
            queue: 7,
            from: 0,
            to: 4096,
        },
    )
    .unwrap();
    assert_eq!(read(queues.join("tx-0/xps_cpus")), "1,00000000,0000000c\n");
    assert_eq!(read(queues.join("rx-7/rps_cpus")), "0\n");
    assert_eq!(read(queues.join("rx-7/rps_flow_cnt")), "4096\n");
    // Another interface of that name is not there, nor is the queue.
    let error = set(&roots, 2, "net9", &transmit).err().unwrap();
    assert_eq!(error.errno(), Some(Errno::ENOENT));
}

/// The kernel gives the numbers of a device that is gone to others.
#[test]
fn an_interrupt_of_another_device_is_not_touched() {
    let (_root, roots) = machine();
    let error = set(&roots, 2, "net1", &interrupt(43, "2")).err().unwrap();
    assert_eq!(error.errno(), Some(Errno::ENOENT));
    let untouched = fs::read_to_string(roots.proc.join("irq/43/smp_affinity_list")).unwrap();
    assert_eq!(untouched, "0-3\n");
}

// irqbalance#271, irqbalance#336 (case 101): this kernel's own timer is one that nobody may move.
#[test]
fn a_refused_interrupt_is_left_and_the_others_are_set() {
    let (_root, roots) = machine();
    let affinity = roots.proc.join("irq/42/smp_affinity_list");
    fs::remove_file(&affinity).unwrap();
    let unmovable = fs::read_dir("/proc/irq").unwrap().find_map(|entry| {
        let path = entry.unwrap().path().join("smp_affinity_list");
        let cpus = fs::read_to_string(&path).ok()?;
        let refused = fs::write(&path, cpus).err()?.raw_os_error()?;
        [Errno::EIO as i32, Errno::EPERM as i32]
            .contains(&refused)
            .then_some(path)
    });
    let unmovable = unmovable.expect("this machine has no interrupt that cannot be moved");
    std::os::unix::fs::symlink(unmovable, affinity).unwrap();
    let set = set(&roots, 2, "net1", &interrupt(42, "0")).unwrap();
    assert!(matches!(set, Pinned::Unmovable(42)));
}

#[test]
fn irqbalance_keeps_what_others_told_it() {
    let (_root, roots) = machine();
    let pin = |leaves| Pin::Irqbalance {
        function: FUNCTION.parse().unwrap(),
        interrupts: vec![42, 43],
        leaves,
    };
    let so = |pin: &Pin| match set(&roots, 2, "net1", pin).unwrap() {
        Pinned::So(outcome) => outcome,
        Pinned::Unmovable(_) => panic!(),
    };
    // It does not run.
    assert_eq!(so(&pin(true)), Outcome::AlreadySo);
    fs::create_dir_all(roots.run.join("irqbalance")).unwrap();
    let listener = UnixListener::bind(roots.run.join("irqbalance/irqbalance7.sock")).unwrap();
    let answering = thread::spawn(move || {
        use std::io::Read as _;
        let mut told = Vec::new();
        let mut banned = "IRQ 9 LOAD 0".to_owned();
        for _ in 0..5 {
            let (mut stream, _) = listener.accept().unwrap();
            let mut message = [0; 500];
            let length = stream.read(&mut message).unwrap();
            let message = String::from_utf8(message[..length].to_vec()).unwrap();
            if let Some(numbers) = message.strip_prefix("settings ban irqs ") {
                let numbers = numbers.trim_end_matches('\0').split(' ');
                let words: Vec<String> = numbers.map(|it| format!("IRQ {it} LOAD 0")).collect();
                banned = words.join(" ");
                told.push(message);
            } else {
                stream.write_all(banned.as_bytes()).unwrap();
            }
        }
        told
    });
    assert_eq!(so(&pin(true)), Outcome::Changed);
    assert_eq!(so(&pin(true)), Outcome::AlreadySo);
    assert_eq!(so(&pin(false)), Outcome::Changed);
    let told = answering.join().unwrap();
    assert_eq!(
        told,
        ["settings ban irqs 9 42 43\0", "settings ban irqs 9\0"]
    );
}

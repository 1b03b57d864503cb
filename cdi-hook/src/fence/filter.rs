//! Puts the filter of system calls together, as the kernel runs it (classic BPF).
//!
//! seccompiler's own compiler makes one comparison after the other, five instructions each. When a filter
//! is put in force, the kernel runs it once for every number that there is: 199 instructions took it
//! 140 µs of a run of 500, these 80 take it 70. Here a number is looked for in small groups.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W,
    SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS, c_int, c_long,
};
use seccompiler::sock_filter;

/// The kernel's number of this architecture (`linux/audit.h`); another's system calls have other
/// meanings.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else {
    None
};

/// Where the kernel has what is asked (`struct seccomp_data`), in bytes.
const NUMBER: u32 = 0;
const ARCHITECTURE_OF_CALL: u32 = 4;
const ARGUMENTS: u32 = 16;

/// How many numbers are compared one after the other.
const GROUP: usize = 6;

/// The instructions.
pub(super) type Program = Vec<sock_filter>;

/// A system call that is allowed where its arguments are right.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check {
    call: c_long,
    first: Condition,
    second: Option<Condition>,
}

/// The lower half of an argument has this value in the bits of the mask.
#[derive(Debug, Clone, Copy)]
struct Condition {
    argument: u32,
    mask: u32,
    value: u32,
}

impl Condition {
    const fn new(argument: u32, mask: c_int, value: c_int) -> Self {
        Self {
            argument,
            mask: mask.cast_unsigned(),
            value: value.cast_unsigned(),
        }
    }
}

impl Check {
    /// With one condition. The kernel takes the lower 32 bits alone of the arguments in question.
    pub(super) const fn new(call: c_long, argument: u32, mask: c_int, value: c_int) -> Self {
        Self {
            call,
            first: Condition::new(argument, mask, value),
            second: None,
        }
    }

    /// And another.
    pub(super) const fn and(self, argument: u32, mask: c_int, value: c_int) -> Self {
        Self {
            second: Some(Condition::new(argument, mask, value)),
            ..self
        }
    }
}

/// A program that allows these calls, the others where a check holds, and kills for the rest.
///
/// `None`: this architecture is not known, or the program would be too long for its jumps.
pub(super) fn assemble(always: &[c_long], checked: &[Check]) -> Option<Program> {
    let mut assembler = Assembler::default();
    assembler.load(ARCHITECTURE_OF_CALL);
    assembler.jump(BPF_JEQ, ARCHITECTURE?, 1, 0);
    assembler.kill();
    assembler.load(NUMBER);
    for check in checked {
        assembler.check(check)?;
    }
    let mut numbers: Vec<u32> = always
        .iter()
        .filter_map(|call| u32::try_from(*call).ok())
        .collect();
    numbers.sort_unstable();
    let mut groups = numbers.chunks(GROUP).peekable();
    while let Some(group) = groups.next() {
        if let Some(next) = groups.peek().and_then(|next| next.first()) {
            assembler.jump(BPF_JGE, *next, u8::try_from(group.len() + 1).ok()?, 0);
        }
        for number in group {
            assembler.allow_if(*number, 0);
        }
        assembler.kill();
    }
    assembler.finish()
}

/// The program as far as it is, and those of its jumps that lead to the end.
#[derive(Default)]
struct Assembler {
    program: Program,
    to_allow: Vec<usize>,
}

impl Assembler {
    fn push(&mut self, code: u32, value: u32, if_true: u8, if_false: u8) {
        self.program.push(sock_filter {
            // All codes of classic BPF are below 256.
            code: u16::try_from(code).unwrap_or_default(),
            jt: if_true,
            jf: if_false,
            k: value,
        });
    }

    fn load(&mut self, offset: u32) {
        self.push(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
    }

    fn kill(&mut self) {
        self.push(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    }

    fn jump(&mut self, comparison: u32, value: u32, if_true: u8, if_false: u8) {
        self.push(BPF_JMP | comparison | BPF_K, value, if_true, if_false);
    }

    /// Allows the call if what was loaded is this value.
    fn allow_if(&mut self, value: u32, otherwise: u8) {
        self.to_allow.push(self.program.len());
        self.jump(BPF_JEQ, value, 0, otherwise);
    }

    /// What was loaded is the call's number, before and after.
    fn check(&mut self, check: &Check) -> Option<()> {
        // Three instructions a condition, and one that loads the number again.
        let length = if check.second.is_some() { 7 } else { 4 };
        self.jump(BPF_JEQ, u32::try_from(check.call).ok()?, 0, length);
        if let Some(second) = check.second {
            self.mask(check.first);
            self.jump(BPF_JEQ, check.first.value, 0, 3);
            self.mask(second);
            self.allow_if(second.value, 0);
        } else {
            self.mask(check.first);
            self.allow_if(check.first.value, 0);
        }
        self.load(NUMBER);
        Some(())
    }

    fn mask(&mut self, condition: Condition) {
        self.load(ARGUMENTS + 8 * condition.argument);
        self.push(BPF_ALU | BPF_AND | BPF_K, condition.mask, 0, 0);
    }

    fn finish(mut self) -> Option<Program> {
        let end = self.program.len();
        self.push(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
        for place in self.to_allow {
            // Jumps count from the instruction after them.
            self.program.get_mut(place)?.jt = u8::try_from(end - place - 1).ok()?;
        }
        Some(self.program)
    }
}

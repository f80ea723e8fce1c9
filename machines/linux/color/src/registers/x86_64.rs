//! Those of x86-64.
#![allow(unsafe_code)]

use crate::tracee::{Call, Tracee};
use std::io;

/// The registers of a stopped thread.
#[derive(Clone, Copy)]
pub(crate) struct Registers(libc::user_regs_struct);

impl Registers {
    pub(crate) fn read(of: Tracee) -> io::Result<Self> {
        // SAFETY: all zeros is a set of registers.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        of.ptrace(libc::PTRACE_GETREGS, 0, &raw mut registers)?;
        Ok(Self(registers))
    }

    pub(crate) fn write(mut self, to: Tracee) -> io::Result<()> {
        to.ptrace(libc::PTRACE_SETREGS, 0, &raw mut self.0)
    }

    /// The system call at which it stands.
    pub(crate) fn call(&self) -> Call {
        let now = &self.0;
        let arguments = [now.rdi, now.rsi, now.rdx, now.r10, now.r8, now.r9];
        Call { number: now.orig_rax as i64, arguments }
    }

    /// What the system call that it has made returned.
    pub(crate) fn value(&self) -> i64 {
        self.0.rax as i64
    }

    /// Whether it runs a 64-bit program.
    pub(crate) fn is_sixty_four(&self) -> bool {
        /// The selector of 64-bit code.
        const CODE_64: u64 = 0x33;
        self.0.cs == CODE_64
    }

    /// About to make this call, at an instruction that makes one.
    pub(crate) fn at_call(mut self, instruction: u64, call: &Call) -> Self {
        let registers = &mut self.0;
        registers.rip = instruction;
        registers.rax = call.number as u64;
        registers.orig_rax = u64::MAX;
        [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9] =
            call.arguments;
        self
    }

    /// A thread that was halted inside of a system call begins it again when it is put back: what the kernel would have done, had nobody
    /// asked for another call.
    pub(crate) fn interrupted(mut self) -> Self {
        /// `ERESTARTSYS` to `ERESTARTNOHAND`, and `ERESTART_RESTARTBLOCK`, of the kernel's own `linux/errno.h`.
        const AGAIN: std::ops::RangeInclusive<i64> = -514..=-512;
        const BLOCK: i64 = -516;
        let (value, registers) = (self.value(), &mut self.0);
        if registers.orig_rax as i64 >= 0 && (AGAIN.contains(&value) || value == BLOCK) {
            registers.rip -= 2;
            registers.rax =
                if value == BLOCK { libc::SYS_restart_syscall as u64 } else { registers.orig_rax };
            registers.orig_rax = u64::MAX;
        }
        self
    }
}

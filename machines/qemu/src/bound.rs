//! Processes that do not outlive this one, whatever becomes of it.

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// Starts `program`, which the kernel ends with the thread that starts it, as far as `setpriv` can do that; every Debian has it
/// (util-linux). Without it, what was started outlives a process that was killed by SIGKILL.
pub fn bound(program: impl AsRef<OsStr>) -> Command {
    static KNOWN: LazyLock<bool> = LazyLock::new(|| {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "true"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    });
    if !*KNOWN {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

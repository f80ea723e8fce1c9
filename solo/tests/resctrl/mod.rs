//! A made-up resctrl at `/sys/fs/resctrl`, for whole programs: a file system in this process (FUSE), in a mount namespace of its own. Programs that are
//! started there make their system calls against it, and nobody else sees it.

mod fuse;
mod kernel;

use fuse::Behind;
pub(crate) use fuse::Tree;
pub(crate) use kernel::Resctrl;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    unmount,
};
use rustix::thread::UnshareFlags;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The mount point.
const PLACE: &str = "/sys/fs/resctrl";
/// What the kernel says of it in its list of mounts: a FUSE file system can't have this type.
const MOUNTED: &str = "resctrl /sys/fs/resctrl resctrl rw,relatime,mba_MBps 0 0\n";

/// A machine with resctrl.
pub(crate) struct Machine {
    resctrl: Arc<Mutex<Resctrl>>,
    mounts: tempfile::NamedTempFile,
}

/// Held by a test: CPUs are the machine's own, and a guard claims them.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a test on a machine with resctrl; says why where there can be none.
pub(crate) fn with(test: impl FnOnce(&Machine) + Send) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let outside = fs::read_link("/proc/thread-self/ns/mnt").ok();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| match Machine::make() {
            Ok(machine) => {
                assert_ne!(fs::read_link("/proc/thread-self/ns/mnt").ok(), outside);
                test(&machine);
            }
            Err((what, error)) => println!("skipped: a made-up resctrl: {what}: {error}"),
        });
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

impl Machine {
    /// In a namespace of this thread.
    fn make() -> Result<Self, (&'static str, io::Error)> {
        let failed = |what| move |error: rustix::io::Errno| (what, io::Error::from(error));
        let device = File::options().read(true).write(true).open("/dev/fuse");
        let device = device.map_err(|error| ("/dev/fuse", error))?;
        #[expect(
            deprecated,
            reason = "it is unsafe for flags that touch descriptors, and this one does not"
        )]
        rustix::thread::unshare(UnshareFlags::NEWNS).map_err(failed("a mount namespace"))?;
        let apart = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
        mount_change("/", apart).map_err(failed("mounts that nobody else sees"))?;
        let kept = tempfile::tempdir().map_err(|error| ("a folder", error))?;
        mount_bind_recursive("/sys/fs/cgroup", kept.path()).map_err(failed("cgroups"))?;
        for place in ["/sys/fs", "/run"] {
            mount("none", place, "tmpfs", MountFlags::empty(), None).map_err(failed("a tmpfs"))?;
        }
        for place in [PLACE, "/sys/fs/cgroup"] {
            fs::create_dir(place).map_err(|error| ("a mount point", error))?;
        }
        mount_bind_recursive(kept.path(), "/sys/fs/cgroup").map_err(failed("cgroups"))?;
        unmount(kept.path(), UnmountFlags::DETACH).map_err(failed("cgroups"))?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
        let options = CString::new(options).expect("no zero byte");
        mount("none", PLACE, "fuse", MountFlags::empty(), options.as_c_str()).map_err(failed("FUSE"))?;
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get().min(4));
        let resctrl = Arc::new(Mutex::new(Resctrl::new(cpus as u16)));
        let behind = Arc::clone(&resctrl);
        std::thread::spawn(move || fuse::serve(device, &behind));
        let mut mounts = tempfile::NamedTempFile::new().map_err(|error| ("a file", error))?;
        mounts.write_all(MOUNTED.as_bytes()).map_err(|error| ("a file", error))?;
        let machine = Self { resctrl, mounts };
        assert_eq!(machine.seen(), machine.kernel().tree(), "files are what stands behind them");
        Ok(machine)
    }

    /// What stands behind the files.
    pub(crate) fn kernel(&self) -> MutexGuard<'_, Resctrl> {
        self.resctrl.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All folders and files, as programs see them.
    pub(crate) fn seen(&self) -> Tree {
        let mut tree = Tree::from([(String::new(), None)]);
        below(Path::new(PLACE), "", &mut tree);
        tree
    }

    /// Starts a program that sees resctrl among its mounts from its first instruction on.
    pub(crate) fn start(&self, command: &Command) -> Child {
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", "read go; exec \"$0\" \"$@\" </dev/null"])
            .arg(command.get_program())
            .args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            shell.current_dir(folder);
        }
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = shell.spawn().expect("a shell");
        mount_bind(self.mounts.path(), format!("/proc/{}/mounts", child.id())).expect("a list of mounts");
        drop(child.stdin.take().map(|mut line| line.write_all(b"go\n")));
        child
    }
}

/// What goes away while it is looked at is not there.
fn below(folder: &Path, name: &str, tree: &mut Tree) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let own = entry.file_name().into_string().expect("a name");
        let own = if name.is_empty() { own } else { format!("{name}/{own}") };
        if entry.path().is_dir() {
            tree.insert(own.clone(), None);
            below(&entry.path(), &own, tree);
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            tree.insert(own, Some(text));
        }
    }
}

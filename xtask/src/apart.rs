//! Debian packages, fetched and unpacked by an apt that knows nothing of this machine: its package system stays as it is.

use crate::run;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where Debian's packages come from.
pub(crate) const MIRROR: &str = "http://deb.debian.org/debian";
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A folder of packages of one suite.
#[derive(Debug)]
pub(crate) struct Apart {
    folder: PathBuf,
    options: Vec<String>,
}

impl Apart {
    /// Lists the packages of `suite` for `architecture` into `folder`.
    pub(crate) fn list(folder: &Path, suite: &str, architecture: &str) -> Result<Self> {
        let apt = folder.join("apt");
        for part in ["state/lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(apt.join(part))?;
        }
        let source = format!("deb [arch={architecture} signed-by={KEYS}] {MIRROR} {suite} main\n");
        fs::write(apt.join("sources.list"), source)?;
        let at = |part: &str| apt.join(part).display().to_string();
        let options = vec![
            format!("Dir::State={}", at("state")),
            "Dir::State::status=/dev/null".into(),
            format!("Dir::Cache={}", at("cache")),
            format!("Dir::Etc::sourcelist={}", at("sources.list")),
            "Dir::Etc::sourceparts=/dev/null".into(),
            format!("APT::Architecture={architecture}"),
            format!("APT::Architectures={architecture}"),
            "APT::Sandbox::User=root".into(),
        ];
        let apart = Self { folder: folder.to_owned(), options };
        run(apart.command("apt-get", &["update", "-qq"]).stdout(Stdio::null()))?;
        Ok(apart)
    }

    fn command(&self, tool: &str, words: &[&str]) -> Command {
        let mut command = Command::new(tool);
        command.args(self.options.iter().flat_map(|option| ["-o", option]));
        command.args(words).current_dir(&self.folder);
        command
    }

    /// The packages that one depends on, as its description has them.
    pub(crate) fn depends(&self, package: &str) -> Result<String> {
        let about = self.command("apt-cache", &["show", package]).output().context("apt-cache")?;
        let about = String::from_utf8_lossy(&about.stdout).into_owned();
        Ok(about.lines().find_map(|line| line.strip_prefix("Depends: ")).unwrap_or_default().to_owned())
    }

    /// Unpacks a package into `place` in the folder.
    pub(crate) fn unpack(&self, package: &str, place: &str) -> Result<()> {
        run(&mut self.command("apt-get", &["download", "-qq", package]))?;
        // Behind a slash stands the suite that it is taken from.
        let named = format!("{}_", package.split('/').next().unwrap_or(package));
        let archive = find(&self.folder, |name| name.starts_with(&named) && name.ends_with(".deb"))?;
        run(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(self.folder.join(place)))?;
        Ok(fs::remove_file(archive)?)
    }
}

/// The first of a folder's files with a name that is wanted.
pub(crate) fn find(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<PathBuf> {
    let mut names = fs::read_dir(folder)?.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let named = |path: &PathBuf| path.file_name().is_some_and(|name| wanted(&name.to_string_lossy()));
    names.find(named).with_context(|| format!("nothing of that name in {}", folder.display()))
}

//! The word that lets a browser in.

use rustix::rand::{GetRandomFlags, getrandom};
use solo_model::text::Printable;
use solo_store::{Output, StoreError};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The shortest and the longest token that is believed to be hard to guess.
const LENGTHS: std::ops::RangeInclusive<usize> = 32..=512;

/// 32 random bytes in hexadecimal, or what a file holds.
#[derive(Debug)]
pub(crate) struct Token(String);

/// Why a file gives no token.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the system has no randomness to give: {}", solo_store::system_reason(.0))]
    Random(#[from] io::Error),
    #[error(
        "{} can be read by others than its owner (mode {mode:03o}): chmod 600, or name a file that does not exist yet",
        Printable(.path.display())
    )]
    Open { path: PathBuf, mode: u32 },
    #[error(
        "{} holds no token: expected one word of 32 to 512 letters and digits, found {length} characters",
        Printable(.path.display())
    )]
    Word { path: PathBuf, length: usize },
}

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub(crate) fn new() -> io::Result<Self> {
        let mut bytes = [0_u8; 32];
        // No descriptor is needed, so there is a token where there are no descriptors left.
        let got = getrandom(&mut bytes, GetRandomFlags::empty())?;
        if got != bytes.len() {
            return Err(io::Error::other("the system gave too few random bytes"));
        }
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The token that a file holds. Where there is no file it is made, for its owner alone, with a new token.
    ///
    /// # Errors
    /// When others may read the file, or it holds something else.
    pub(crate) fn kept(file: &Path) -> Result<Self, TokenError> {
        // A link that leads nowhere is there, too.
        if file.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Self::new()?.keep(file);
        }
        let path = file.to_owned();
        let opened = solo_store::read::open(file)?;
        let mode = opened.metadata()?.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(TokenError::Open { path, mode });
        }
        let text = solo_store::read::text(file, 1 << 10)?;
        let word = text.trim();
        if !LENGTHS.contains(&word.len()) || !word.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(TokenError::Word { path, length: word.chars().count() });
        }
        Ok(Self(word.to_owned()))
    }

    fn keep(self, file: &Path) -> Result<Self, TokenError> {
        let mut output = Output::create(file)?;
        // Before there is anything to be read.
        output.handle()?.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        io::Write::write_all(&mut output, format!("{}\n", self.0).as_bytes())?;
        output.commit()?;
        Ok(self)
    }

    /// As it stands in the address.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether `said` is the token; how long the answer takes does not tell how much of it is right.
    pub(super) fn is(&self, said: &str) -> bool {
        constant_time_eq::constant_time_eq(self.0.as_bytes(), said.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_the_token_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let made = Token::kept(&file).unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert_eq!(Token::kept(&file).unwrap().text(), made.text(), "the next server has the same");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Token::kept(&file), Err(TokenError::Open { mode: 0o640, .. })));
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let long = "a".repeat(513);
        for wrong in ["", "\n", "secret", "two words that are long enough to be a token", long.as_str()] {
            std::fs::write(&file, wrong).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
            assert!(matches!(Token::kept(&file), Err(TokenError::Word { .. })), "{wrong}");
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("nowhere"), &link).unwrap();
        assert!(matches!(Token::kept(&link), Err(TokenError::Store(_))));
        assert!(matches!(Token::kept(folder.path()), Err(TokenError::Store(_))));
    }

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token::new().unwrap();
        assert_eq!(token.text().len(), 64);
        assert!(token.is(token.text()));
        for wrong in ["", &token.text()[1..], &format!("{}0", token.text()), Token::new().unwrap().text()] {
            assert!(!token.is(wrong));
        }
    }
}

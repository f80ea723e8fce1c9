//! The word that lets a browser in.

use rustix::rand::{GetRandomFlags, getrandom};
use std::io;

/// 32 random bytes in hexadecimal.
pub(crate) struct Token(String);

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
    fn only_the_whole_token_is_the_token() {
        let token = Token::new().unwrap();
        assert_eq!(token.text().len(), 64);
        assert!(token.is(token.text()));
        for wrong in ["", &token.text()[1..], &format!("{}0", token.text()), Token::new().unwrap().text()] {
            assert!(!token.is(wrong));
        }
    }
}

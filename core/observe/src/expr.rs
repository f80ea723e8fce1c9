//! Metrics by expression: `ipc=instructions/cycles`, `mpki=1000*llc_misses/instructions`.
//!
//! ```text
//! metric  = name '=' sum
//! sum     = product (('+' | '-') product)*
//! product = factor (('*' | '/') factor)*
//! factor  = number | name | '-' factor | '(' sum ')'
//! ```
//! Names are columns of a row, with `_` where they have `-`; `seconds` is the length of the row's interval. A
//! metric is absent where one of its columns is absent or a divisor is zero.

use crate::catalog;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use solo_model::EventId;
use solo_model::Fixed;

/// Expressions nested deeper than this are refused.
const DEPTH_MAX: usize = 64;
/// Expressions of more operators than this are refused: whoever walks the tree, here or in a reader of its JSON, does so
/// on a stack.
const OPERATORS_MAX: usize = 100;
/// Longer texts are refused unread.
const BYTES_MAX: usize = 4096;

/// A named expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Metric {
    /// The name of its column.
    pub name: String,
    /// What it is computed by.
    pub expression: Expression,
}

/// An expression over columns.
#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    /// A constant.
    Number(Fixed),
    /// A column.
    Column(String),
    /// The negative.
    Negative(Box<Expression>),
    /// Two operands.
    Binary(Operator, Box<Expression>, Box<Expression>),
}

/// What is done to two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The product.
    Multiply,
    /// The quotient; absent for a zero divisor.
    Divide,
}

/// Why a text is no metric.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExpressionError {
    /// No `name=` before the expression.
    #[error("expected name=expression, as in ipc=instructions/cycles")]
    NoName,
    /// Something that does not belong where it stands.
    #[error("expected {expected} at character {at}")]
    Unexpected {
        /// What belongs there.
        expected: &'static str,
        /// Where, from 1, in the expression.
        at: usize,
    },
    /// More parentheses than anybody needs.
    #[error("nested deeper than {DEPTH_MAX}")]
    TooDeep,
    /// More operators than anybody can check.
    #[error("more than {OPERATORS_MAX} operators, at character {at}")]
    TooManyOperators {
        /// Where the first one too many stands, from 1, in the expression.
        at: usize,
    },
    /// A text that nobody has typed.
    #[error("expected {BYTES_MAX} bytes at most, found {bytes}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
}

impl Metric {
    /// Reads `name=expression`.
    ///
    /// # Errors
    /// Where and what was expected.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        bounded(text)?;
        let (name, expression) = text.split_once('=').ok_or(ExpressionError::NoName)?;
        let name = name.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(ExpressionError::NoName);
        }
        Ok(Self { name: name.into(), expression: Expression::parse(expression)? })
    }
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// Where and what was expected.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        bounded(text)?;
        let mut reader = Reader { text: text.as_bytes(), at: 0, depth: 0, operators: 0 };
        let expression = reader.sum()?;
        match reader.peek() {
            None => Ok(expression),
            Some(_) => Err(reader.unexpected("an operator or the end")),
        }
    }

    /// Every column that it mentions, from left to right.
    pub fn columns(&self) -> Vec<&str> {
        let (mut columns, mut rest) = (Vec::new(), alloc::vec![self]);
        while let Some(expression) = rest.pop() {
            match expression {
                Self::Number(_) => {}
                Self::Column(name) => columns.push(name.as_str()),
                Self::Negative(inner) => rest.push(inner),
                Self::Binary(_, left, right) => rest.extend([&**right, &**left]),
            }
        }
        columns
    }

    /// The value, from the values of columns; `None` where one is absent, a divisor is zero, or a number leaves the range
    /// of [`Fixed`].
    pub fn value(&self, of: &dyn Fn(&str) -> Option<Fixed>) -> Option<Fixed> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Column(name) => of(name),
            Self::Negative(inner) => inner.value(of)?.negative(),
            Self::Binary(operator, left, right) => {
                let (left, right) = (left.value(of)?, right.value(of)?);
                operator.apply(left, right)
            }
        }
    }
}

/// As it can be read again, with the parentheses that it needs.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Column(name) => f.write_str(name),
            Self::Negative(inner) => {
                f.write_str("-")?;
                inner.write(f, matches!(**inner, Self::Binary(..)))
            }
            Self::Binary(operator, left, right) => {
                let binds = |side: &Self| match side {
                    Self::Binary(operator, ..) => operator.binds(),
                    _ => u8::MAX,
                };
                left.write(f, binds(left) < operator.binds())?;
                write!(f, "{}", operator.sign())?;
                // Operators of one kind are taken from the left.
                right.write(f, binds(right) <= operator.binds())
            }
        }
    }
}

impl Expression {
    fn write(&self, f: &mut fmt::Formatter<'_>, in_parentheses: bool) -> fmt::Result {
        if in_parentheses { write!(f, "({self})") } else { write!(f, "{self}") }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.expression)
    }
}

impl Operator {
    /// What becomes of two operands; `None` for a zero divisor and beyond the range.
    pub(crate) fn apply(self, left: Fixed, right: Fixed) -> Option<Fixed> {
        match self {
            Self::Add => left.add(right),
            Self::Subtract => left.subtract(right),
            Self::Multiply => left.multiply(right),
            Self::Divide => left.divide(right),
        }
    }

    /// How it is written.
    pub const fn sign(self) -> char {
        match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
            Self::Divide => '/',
        }
    }

    /// How closely it holds its operands.
    const fn binds(self) -> u8 {
        match self {
            Self::Add | Self::Subtract => 1,
            Self::Multiply | Self::Divide => 2,
        }
    }
}

fn bounded(text: &str) -> Result<(), ExpressionError> {
    if text.len() > BYTES_MAX { Err(ExpressionError::TooLong { bytes: text.len() }) } else { Ok(()) }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    operators: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn unexpected(&self, expected: &'static str) -> ExpressionError {
        ExpressionError::Unexpected { expected, at: self.at + 1 }
    }

    fn sum(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.product()?;
        while let Some(operator) = self.operator(b'+', Operator::Add, b'-', Operator::Subtract)? {
            left = Expression::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.factor()?;
        while let Some(operator) = self.operator(b'*', Operator::Multiply, b'/', Operator::Divide)? {
            left = Expression::Binary(operator, Box::new(left), Box::new(self.factor()?));
        }
        Ok(left)
    }

    fn operator(
        &mut self,
        a: u8,
        first: Operator,
        b: u8,
        second: Operator,
    ) -> Result<Option<Operator>, ExpressionError> {
        let operator = match self.peek() {
            Some(c) if c == a => first,
            Some(c) if c == b => second,
            _ => return Ok(None),
        };
        self.one_more()?;
        Ok(Some(operator))
    }

    /// Takes an operator's sign.
    fn one_more(&mut self) -> Result<(), ExpressionError> {
        self.at += 1;
        self.operators += 1;
        if self.operators > OPERATORS_MAX {
            return Err(ExpressionError::TooManyOperators { at: self.at });
        }
        Ok(())
    }

    fn factor(&mut self) -> Result<Expression, ExpressionError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(ExpressionError::TooDeep);
        }
        let factor = match self.peek() {
            Some(b'(') => {
                self.at += 1;
                let inner = self.sum()?;
                if self.peek() != Some(b')') {
                    return Err(self.unexpected("`)`"));
                }
                self.at += 1;
                inner
            }
            Some(b'-') => {
                self.one_more()?;
                Expression::Negative(Box::new(self.factor()?))
            }
            Some(c) if c.is_ascii_digit() || c == b'.' => self.number()?,
            Some(c) if c.is_ascii_alphabetic() || c == b'_' => {
                let word = self.word(|c| c.is_ascii_alphanumeric() || c == b'_');
                Expression::Column(
                    catalog::find(word).and_then(EventId::canonical).map_or(word, |event| &event.name).into(),
                )
            }
            _ => return Err(self.unexpected("a number, a column or `(`")),
        };
        self.depth -= 1;
        Ok(factor)
    }

    fn word(&mut self, belongs: impl Fn(u8) -> bool) -> &str {
        let start = self.at;
        while self.text.get(self.at).is_some_and(|c| belongs(*c)) {
            self.at += 1;
        }
        core::str::from_utf8(&self.text[start..self.at]).unwrap_or_default()
    }

    fn number(&mut self) -> Result<Expression, ExpressionError> {
        let start = self.at;
        let text = self.word(|c| c.is_ascii_digit() || c == b'.' || c == b'e' || c == b'E');
        let number = Fixed::parse(text).map(Expression::Number);
        number.ok_or(ExpressionError::Unexpected { expected: "a number", at: start + 1 })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    fn number(text: &str) -> Option<Fixed> {
        Fixed::parse(text)
    }

    fn value(text: &str) -> Option<Fixed> {
        let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        expression.value(&|name| match name {
            "instructions" => number("3000"),
            "cycles" => number("1500"),
            "zero" => number("0"),
            _ => None,
        })
    }

    #[test]
    fn the_usual_precedence_holds() {
        assert_eq!(value("1+2*3"), number("7"));
        assert_eq!(value("(1+2)*3"), number("9"));
        assert_eq!(value("8-2-1"), number("5"));
        assert_eq!(value("8/2/2"), number("2"));
        assert_eq!(value("-2*-3"), number("6"));
        assert_eq!(value("1e3 * instr / cycles"), number("2000"));
    }

    #[test]
    fn absent_columns_and_zero_divisors_make_the_metric_absent() {
        assert_eq!(value("instructions/absent"), None);
        assert_eq!(value("instructions/zero"), None);
    }

    #[test]
    fn wrong_text_says_where() {
        for (text, part) in [
            ("ipc", "name=expression"),
            ("9x=1", "name=expression"),
            ("x=", "a number, a column or `(` at character 1"),
            ("x=1+", "at character 3"),
            ("x=(1", "`)` at character 3"),
            ("x=1 2", "an operator or the end"),
            ("x=1.2.3", "a number"),
        ] {
            let error = Metric::parse(text).expect_err(text);
            assert!(std::format!("{error}").contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn nothing_is_nested_or_chained_without_end() {
        let long = |text: &str, times: usize| Metric::parse(&std::format!("x={}1", text.repeat(times)));
        assert_eq!(long("(", 4000), Err(ExpressionError::TooDeep));
        assert_eq!(long("-", 65), Err(ExpressionError::TooDeep));
        assert_eq!(long("(", 200_000), Err(ExpressionError::TooLong { bytes: 200_003 }));
        for chain in ["1+", "1*", "1-2/", "-1+"] {
            let operators = chain.len() / 2 + usize::from(chain.len() == 3);
            assert!(long(chain, OPERATORS_MAX / operators).is_ok(), "{chain}");
            let error = long(chain, 1 + OPERATORS_MAX / operators).expect_err(chain);
            assert!(
                matches!(error, ExpressionError::TooManyOperators { at } if at > OPERATORS_MAX),
                "{chain}: {error}"
            );
            assert!(matches!(long(chain, 60_000), Err(ExpressionError::TooLong { .. })), "{chain}");
        }
    }

    #[test]
    fn the_longest_that_is_read_is_written_and_read_again() {
        for text in [
            std::format!("{}1", "1+".repeat(OPERATORS_MAX)),
            std::format!("{}1{}", "(1-".repeat(DEPTH_MAX - 1), ")".repeat(DEPTH_MAX - 1)),
        ] {
            let read = Expression::parse(&text).expect("within the limits");
            assert_eq!(Expression::parse(&std::format!("{read}")), Ok(read));
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig {
            cases: 512, failure_persistence: None, ..Default::default()
        })]
        #[test]
        fn no_text_makes_the_parser_panic(text in "[a-z0-9=()+*/. -]{0,60}") {
            let _ = Metric::parse(&text);
        }

        #[test]
        fn what_is_written_reads_the_same(text in "([a-c]|[1-9]|-b|\\(a-2\\))([-+*/]([a-c]|[1-9]|\\(c/b\\))){0,6}") {
            let read = Expression::parse(&text).unwrap();
            proptest::prop_assert_eq!(Expression::parse(&std::format!("{read}")), Ok(read));
        }
    }
}

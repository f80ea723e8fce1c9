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

/// Expressions nested deeper than this are refused.
const DEPTH_MAX: usize = 64;

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
    Number(f64),
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
}

impl Metric {
    /// Reads `name=expression`.
    ///
    /// # Errors
    /// Where and what was expected.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
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
        let mut reader = Reader { text: text.as_bytes(), at: 0, depth: 0 };
        let expression = reader.sum()?;
        match reader.peek() {
            None => Ok(expression),
            Some(_) => Err(reader.unexpected("an operator or the end")),
        }
    }

    /// Every column that it mentions.
    pub fn columns(&self) -> Vec<&str> {
        match self {
            Self::Number(_) => Vec::new(),
            Self::Column(name) => alloc::vec![name.as_str()],
            Self::Negative(inner) => inner.columns(),
            Self::Binary(_, left, right) => {
                let mut columns = left.columns();
                columns.extend(right.columns());
                columns
            }
        }
    }

    /// The value, from the values of columns; `None` where one is absent or a divisor is zero.
    pub fn value(&self, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Column(name) => of(name),
            Self::Negative(inner) => Some(-inner.value(of)?),
            Self::Binary(operator, left, right) => {
                let (left, right) = (left.value(of)?, right.value(of)?);
                match operator {
                    Operator::Add => Some(left + right),
                    Operator::Subtract => Some(left - right),
                    Operator::Multiply => Some(left * right),
                    Operator::Divide => (right != 0.0).then(|| left / right),
                }
            }
        }
    }
}

/// As it can be read again, with every pair of parentheses that it needs and some that it does not.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Column(name) => f.write_str(name),
            Self::Negative(inner) => write!(f, "-{inner}"),
            Self::Binary(operator, left, right) => write!(f, "({left}{}{right})", operator.sign()),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.expression)
    }
}

impl Operator {
    /// How it is written.
    pub const fn sign(self) -> char {
        match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
            Self::Divide => '/',
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
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
        while let Some(operator) = self.operator(b'+', Operator::Add, b'-', Operator::Subtract) {
            left = Expression::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.factor()?;
        while let Some(operator) = self.operator(b'*', Operator::Multiply, b'/', Operator::Divide) {
            left = Expression::Binary(operator, Box::new(left), Box::new(self.factor()?));
        }
        Ok(left)
    }

    fn operator(&mut self, a: u8, first: Operator, b: u8, second: Operator) -> Option<Operator> {
        let operator = match self.peek()? {
            c if c == a => first,
            c if c == b => second,
            _ => return None,
        };
        self.at += 1;
        Some(operator)
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
                self.at += 1;
                Expression::Negative(Box::new(self.factor()?))
            }
            Some(c) if c.is_ascii_digit() || c == b'.' => self.number()?,
            Some(c) if c.is_ascii_alphabetic() || c == b'_' => {
                let word = self.word(|c| c.is_ascii_alphanumeric() || c == b'_');
                Expression::Column(catalog::find(word).map_or(word, |entry| entry.name).into())
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
        let number = text.parse();
        number
            .map(Expression::Number)
            .map_err(|_| ExpressionError::Unexpected { expected: "a number", at: start + 1 })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    fn value(text: &str) -> Option<f64> {
        let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        expression.value(&|name| match name {
            "instructions" => Some(3000.0),
            "cycles" => Some(1500.0),
            "zero" => Some(0.0),
            _ => None,
        })
    }

    #[test]
    fn the_usual_precedence_holds() {
        assert_eq!(value("1+2*3"), Some(7.0));
        assert_eq!(value("(1+2)*3"), Some(9.0));
        assert_eq!(value("8-2-1"), Some(5.0));
        assert_eq!(value("8/2/2"), Some(2.0));
        assert_eq!(value("-2*-3"), Some(6.0));
        assert_eq!(value("1e3 * instr / cycles"), Some(2000.0));
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
        let deep = std::format!("x={}1", "(".repeat(100_000));
        assert_eq!(Metric::parse(&deep), Err(ExpressionError::TooDeep));
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

//! `solo serve`: watches on a web page of this machine.
//!
//! ```text
//! watches ──▶ hub: a track each ──▶ GET /frames?after=12,40   what is new since then, as JSON
//!                                   GET /expression?text=...  an expression as a tree, or what is wrong with it
//!                                   GET /                     the page: no script, font or image from elsewhere
//! ```
//! Every request needs the token, in the query or as `Authorization: Bearer`, and a `Host` that is this machine's. The
//! server answers questions and does nothing else: there is no request that changes anything. hyper speaks HTTP.

mod answer;
mod gate;
mod hosts;
mod http;
mod hub;
mod metrics;
mod server;
mod token;

pub(crate) use hosts::Hosts;
pub(crate) use hub::Hub;
pub(crate) use server::Server;
pub(crate) use token::Token;

#[cfg(test)]
mod tests;

//! Tests of the report as its users meet it: a stream of records goes in, files and tables come out.

mod browser;
mod exports;
mod fabricate;
mod hostile;
mod isolation;
mod pages;
mod run_directory;
mod summary;
mod tables;
mod trace;

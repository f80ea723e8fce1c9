//! docs/prove.md lists the tests as the catalogue does.

use solo_prove::catalogue::table;

#[test]
fn the_document_holds_the_catalogue() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/prove.md");
    let document = std::fs::read_to_string(path).expect("docs/prove.md");
    let table = table();
    assert!(document.contains(&table), "docs/prove.md should hold this table:\n{table}");
}

//! docs/prove.md lists the tests as the catalogue does.

use solo_prove::catalogue::document;

#[test]
fn the_document_holds_the_catalogue() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/prove.md");
    let text = std::fs::read_to_string(path).expect("docs/prove.md");
    let list = document();
    assert!(text.contains(&list), "docs/prove.md should hold this list:\n{list}");
}

//! Modules use only lower layers, and the picture in docs/architecture.md is up to date.

use lsbf_tools::modules::{CRATES, picture, repository, uses, violations};

#[test]
fn no_module_uses_its_own_or_a_higher_layer() {
    let found: Vec<String> = CRATES.iter().flat_map(|krate| violations(&repository(), krate)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn uses_are_found() {
    let modules = uses(&repository(), "crates/lsbf/src");
    let filter = &modules["filter"];
    assert!(filter.contains("hash") && filter.contains("params") && !filter.contains("rates"), "{filter:?}");
}

#[test]
fn the_picture_is_up_to_date() {
    let drawn = std::fs::read_to_string(repository().join("docs/architecture/modules.svg")).unwrap();
    assert!(drawn == picture(&repository()), "run: cargo run -p lsbf-tools --bin modules");
}

#[test]
fn files_named_in_the_architecture_exist() {
    let page = std::fs::read_to_string(repository().join("docs/architecture.md")).unwrap();
    let named: Vec<&str> = page.split('`').filter(|part| part.contains('/') && part.ends_with(".rs")).collect();
    assert!(named.len() > 20);
    let missing: Vec<&&str> = named.iter().filter(|file| !repository().join(file).exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

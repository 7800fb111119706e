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
fn uses_are_found_however_they_are_written() {
    let root = std::env::temp_dir().join(format!("lsbf-modules-{}", std::process::id()));
    let write = |file: &str, text: &str| {
        let file = root.join("src").join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write("lib.rs", "pub mod a;\npub use b::{Thing, other};\n");
    for module in ["b", "c", "d", "e", "f", "g"] {
        write(&format!("{module}.rs"), "");
    }
    write(
        "a/inner.rs",
        "use crate::Thing;\nuse super::super::c::X;\nuse crate::{\n    d::{self, e},\n    f,\n};\n// crate::g\nfn x() { super::y() }\n",
    );
    let found = uses(&root, "src");
    std::fs::remove_dir_all(&root).unwrap();
    assert_eq!(found["a"].iter().collect::<Vec<_>>(), ["b", "c", "d", "f"]);
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

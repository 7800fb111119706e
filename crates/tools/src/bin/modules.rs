//! Generates docs/architecture/modules.svg from the source files.

use lsbf_tools::modules::{picture, repository};

fn main() -> std::io::Result<()> {
    let root = repository();
    std::fs::write(root.join("docs/architecture/modules.svg"), picture(&root))
}

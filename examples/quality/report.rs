pub fn write(_: &std::path::Path, _: &std::path::Path) -> std::io::Result<()> { Ok(()) }

//! Which instructions to compute with. All paths give the same bits.

/// A set of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Sse2,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Path {
    /// The paths this machine can run, best last. SSE2 and NEON belong to their architectures.
    pub fn available() -> Vec<Path> {
        #[allow(unused_mut)]
        let mut paths = vec![Path::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            paths.push(Path::Sse2);
            if std::arch::is_x86_feature_detected!("avx2") {
                paths.push(Path::Avx2);
                // What has no use for wider registers takes the path of AVX2 on these machines too.
                if std::arch::is_x86_feature_detected!("avx512f") {
                    paths.push(Path::Avx512);
                }
            }
        }
        #[cfg(target_arch = "aarch64")]
        paths.push(Path::Neon);
        paths
    }

    /// The path to take here.
    pub fn best() -> Path {
        Path::available().pop().unwrap_or(Path::Plain)
    }
}

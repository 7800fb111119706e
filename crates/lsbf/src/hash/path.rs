//! Selection of instruction sets. All of them give the same bits.

/// An instruction set that the kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Portable code.
    Plain,
    /// SSE2, which every x86-64 processor has.
    #[cfg(target_arch = "x86_64")]
    Sse2,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512F and AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// NEON, which every AArch64 processor has.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Path {
    /// The instruction sets of this processor, best last.
    pub fn available() -> Vec<Path> {
        #[allow(unused_mut)]
        let mut paths = vec![Path::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            paths.push(Path::Sse2);
            if std::arch::is_x86_feature_detected!("avx2") {
                paths.push(Path::Avx2);
                // Kernels without an AVX-512 variant use AVX2.
                if std::arch::is_x86_feature_detected!("avx512f") {
                    paths.push(Path::Avx512);
                }
            }
        }
        #[cfg(target_arch = "aarch64")]
        paths.push(Path::Neon);
        paths
    }

    /// The best instruction set of this processor.
    pub fn best() -> Path {
        Path::available().pop().unwrap_or(Path::Plain)
    }
}

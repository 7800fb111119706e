//! Selection of instruction sets. All of them give the same bits.

use std::sync::OnceLock;

/// An instruction set that the kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Portable code.
    Plain,
    /// SSE2, which every x86-64 processor has.
    #[cfg(target_arch = "x86_64")]
    Sse2,
    /// AVX2, and the instructions for bits that came with it.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512F and AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// NEON, which every AArch64 processor has.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

/// Whether the processor has AVX2, and BMI1, BMI2, LZCNT and POPCNT, which came with it.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("lzcnt")
        && std::arch::is_x86_feature_detected!("popcnt")
}

impl Path {
    /// The instruction sets of this processor, best last.
    pub fn available() -> Vec<Path> {
        #[allow(unused_mut)]
        let mut paths = vec![Path::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            paths.push(Path::Sse2);
            if has_avx2() {
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

    /// The best instruction set of this processor, or the one that the environment variable `LSBF_PATH` names (plain, sse2,
    /// avx2, avx512 or neon), if the processor has it. The variable is for measurements.
    pub fn best() -> Path {
        static BEST: OnceLock<Path> = OnceLock::new();
        *BEST.get_or_init(|| {
            let wanted = std::env::var("LSBF_PATH").unwrap_or_default();
            let mut paths = Path::available();
            let named = paths.iter().copied().find(|path| format!("{path:?}").eq_ignore_ascii_case(&wanted));
            named.or_else(|| paths.pop()).unwrap_or(Path::Plain)
        })
    }
}

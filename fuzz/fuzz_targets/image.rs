//! A filter in its binary form: what is let in can be used in every way, the rest is refused with a reason.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use lsbf::hash::rng::Stream;
use pg_lsbf_fuzz::{mutate, promises};

fuzz_target!(|payload: &[u8]| {
    if let Ok(image) = promises::accept(payload) {
        let salt = payload.iter().fold(0u64, |salt, &byte| salt.wrapping_mul(0x100000001b3) ^ u64::from(byte));
        promises::hold(&image, salt ^ salt >> 29);
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut stream = Stream::new(seed.into(), 0);
    let way = stream.below(4);
    let changed = match way {
        0 | 1 => mutate::with_changed_parameter(&data[..size], &mut stream),
        _ => None,
    };
    let mut new = changed.filter(|new| new.len() <= max_size).unwrap_or_else(|| {
        let size = fuzzer_mutate(data, size, max_size);
        data[..size].to_vec()
    });
    // Some are left as they are: what is refused is tested too.
    if way != 3 {
        new = mutate::repaired(&new, max_size).unwrap_or(new);
    }
    data[..new.len()].copy_from_slice(&new);
    new.len()
});

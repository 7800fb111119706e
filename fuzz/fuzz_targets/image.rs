//! A filter in its binary form: a valid one has all properties in `promises`, any other is rejected with an error.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use lsbf::hash::rng::Stream;
use pg_lsbf_fuzz::{mutate, promises};

fuzz_target!(|payload: &[u8]| {
    if let Ok(image) = promises::accept(payload) {
        let salt = payload.iter().fold(0u64, |salt, &byte| salt.wrapping_mul(0x100000001b3) ^ u64::from(byte));
        promises::check(&image, salt ^ salt >> 29);
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut stream = Stream::new(seed.into(), 0);
    let strategy = stream.below(4);
    let changed = match strategy {
        0 | 1 => mutate::with_changed_parameter(&data[..size], &mut stream),
        _ => None,
    };
    let mut new = changed.filter(|new| new.len() <= max_size).unwrap_or_else(|| {
        let size = fuzzer_mutate(data, size, max_size);
        data[..size].to_vec()
    });
    // Some values are not repaired, so that their rejection is tested, too.
    if strategy != 3 {
        new = mutate::repaired(&new, max_size).unwrap_or(new);
    }
    data[..new.len()].copy_from_slice(&new);
    new.len()
});

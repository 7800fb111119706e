//! Work that may take seconds checks for interrupts in between.

use std::sync::OnceLock;

/// What checks for them; nothing where there is no server.
static CHECK: OnceLock<fn()> = OnceLock::new();

/// Sets what checks for interrupts. It unwinds where there is one.
pub fn set(check: fn()) {
    CHECK.get_or_init(|| check);
}

/// Called between steps.
#[inline]
pub fn pause() {
    if let Some(check) = CHECK.get() {
        check();
    }
}

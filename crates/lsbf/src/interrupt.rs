//! Checks for interrupts in work that may take seconds. The embedding program sets the function to call.

use std::sync::OnceLock;

/// Unset outside of a server.
static CHECK: OnceLock<fn()> = OnceLock::new();

/// Sets the function that checks for interrupts, once per process. It unwinds if an interrupt is pending.
pub fn set(check: fn()) {
    CHECK.get_or_init(|| check);
}

/// Checks for interrupts; called regularly by long loops.
#[inline]
pub fn check() {
    if let Some(check) = CHECK.get() {
        check();
    }
}

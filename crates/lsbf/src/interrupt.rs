//! Checks for interrupts in work that may take seconds: the one mechanism, for the core and for whoever embeds it.

use std::sync::OnceLock;

/// The function that checks; none outside of a server.
static CHECK: OnceLock<fn()> = OnceLock::new();

/// Sets the function that checks for interrupts, once per process. It unwinds if there is one.
pub fn set(check: fn()) {
    CHECK.get_or_init(|| check);
}

/// Called between two steps of long work.
#[inline]
pub fn check() {
    if let Some(check) = CHECK.get() {
        check();
    }
}

//! Work that may take seconds lets others in now and then.

use std::sync::OnceLock;

/// What is called then: whoever can be interrupted sets it.
pub static PAUSE: OnceLock<fn()> = OnceLock::new();

/// Called between steps.
pub fn pause() {
    if let Some(pause) = PAUSE.get() {
        pause();
    }
}

//! Where worlds run: one thread and one paused single-threaded runtime each.

use std::future::Future;
use std::panic::resume_unwind;

/// Runs `story` on a thread and runtime of its own, with time paused: it passes only when everything waits. A thread
/// of its own matters, because thread-local state of libraries would otherwise leak from one world into the next.
///
/// # Panics
/// When the story does, with its message.
pub fn run<T, F, Fut>(story: F) -> T
where
    T: Send + 'static,
    F: FnOnce() -> Fut + Send + 'static,
    Fut: Future<Output = T>,
{
    let thread = std::thread::Builder::new().name("world".into()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without I/O needs nothing of the system");
        runtime.block_on(story())
    });
    match thread.expect("the system can start a thread").join() {
        Ok(result) => result,
        Err(panic) => resume_unwind(panic),
    }
}

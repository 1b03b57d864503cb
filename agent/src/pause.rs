//! Waiting: as the service does, which has other things to do meanwhile, and as a short command does,
//! which has none and would pay for a runtime with a tenth of its system calls.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;

/// Waits so long: in the runtime where there is one, and else with the whole thread.
pub(crate) async fn pause(time: Duration) {
    if Handle::try_current().is_ok() {
        tokio::time::sleep(time).await;
    } else {
        thread::sleep(time);
    }
}

/// Runs what waits by [`pause`] alone to its end, without a runtime.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        // Nothing wakes it but time.
        thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_and_without_a_runtime_it_waits() {
        let time = Duration::from_millis(20);
        let waited = async || {
            let begin = std::time::Instant::now();
            pause(time).await;
            begin.elapsed() >= time
        };
        assert!(block_on(waited()));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        assert!(runtime.block_on(waited()));
    }

    #[test]
    fn what_is_not_ready_is_asked_again() {
        let mut left = 3;
        let after_three = std::future::poll_fn(|_| {
            left -= 1;
            if left == 0 {
                Poll::Ready("done")
            } else {
                Poll::Pending
            }
        });
        assert_eq!(block_on(after_three), "done");
    }
}

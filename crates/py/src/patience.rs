// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work that takes its time, while Ctrl-C is heard and progress is told.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// Between two looks at Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// What the work is told and tells.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    is_off: AtomicBool,
    /// How far it has come, from 0 to 1, as the bits of an `f64`.
    progress: AtomicU64,
}

impl Watch {
    /// Whether nobody waits for the work any more.
    pub(crate) fn is_off(&self) -> bool {
        self.is_off.load(Ordering::Relaxed)
    }

    /// The work has come so far, from 0 to 1.
    pub(crate) fn tell(&self, progress: f64) {
        self.progress.store(progress.to_bits(), Ordering::Relaxed);
    }
}

/// Does `work` on a thread of its own, and meanwhile looks for signals and tells `on_progress`. Whoever is interrupted waits no
/// longer: the work ends by itself.
pub(crate) fn patiently<T: Send + 'static>(
    py: Python<'_>,
    on_progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<T> {
    let watch = Arc::new(Watch::default());
    let (done, mut waits) = channel();
    let theirs = Arc::clone(&watch);
    let worker = thread::Builder::new().name("lasthop".into()).spawn(move || {
        // Nobody may be waiting any more.
        let _ = done.send(work(&theirs));
    });
    let worker = worker.map_err(|e| PyOSError::new_err(format!("no thread to work on: {e}")))?;
    loop {
        let result;
        (waits, result) = py.detach(move || {
            let result = waits.recv_timeout(LOOK);
            (waits, result)
        });
        match result {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {}
            // It has sent nothing, and so has panicked.
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => return Err(PyOSError::new_err("the work has ended without a result")),
            },
        }
        let told = py.check_signals().and_then(|()| match on_progress {
            Some(on_progress) => {
                let progress = f64::from_bits(watch.progress.load(Ordering::Relaxed));
                on_progress.call1(py, (progress,)).map(|_| ())
            }
            None => Ok(()),
        });
        if let Err(error) = told {
            watch.is_off.store(true, Ordering::Relaxed);
            return Err(error);
        }
    }
}

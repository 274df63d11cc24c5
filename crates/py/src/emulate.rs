// SPDX-License-Identifier: MIT OR Apache-2.0
//! Emulation: convert, call, convert.

use std::ffi::OsString;
use std::path::PathBuf;

use lasthop_emu::{EmulationOptions, Ended, Error, Report};
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

use crate::{Overrides, RunResult, refuse};

create_exception!(_lasthop, EmulationError, PyRuntimeError, "The system does not give what an emulation takes.");

/// The options, as a dict with all of these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Wanted {
    seed: Option<u64>,
    command: Option<Vec<OsString>>,
    serve: Vec<String>,
    station: Option<String>,
    flows: bool,
    proxy: bool,
    cc: Option<String>,
    ipv6: bool,
    offload: bool,
    log: Option<PathBuf>,
    user: Option<String>,
    privileged: bool,
    apart: bool,
    internet: bool,
    watch: Option<String>,
}

/// The signals that Python may take: an interrupt, and what else ends a process.
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// The command's exit status, the signal that ended the run, and what failed besides.
type End = (Option<i32>, Option<i32>, Vec<String>);

/// Emulates a scenario; with the result comes how it ended.
#[pyfunction]
fn emulate(
    py: Python<'_>,
    text: &str,
    directory: PathBuf,
    overrides: Overrides,
    options: Wanted,
) -> PyResult<(RunResult, End)> {
    let Wanted { seed, command, serve, station: host, flows, cc: congestion_control, ipv6, offload, log, .. } = options;
    let Wanted { proxy, user, privileged, apart, internet, watch, .. } = options;
    let options = EmulationOptions {
        seed,
        command,
        serve,
        host,
        flows,
        proxy,
        congestion_control,
        ipv6,
        offload,
        log,
        user,
        privileged,
        apart,
        internet,
        watch,
    };
    // A signal may be taken by another thread of the interpreter, which tells this one.
    let interrupted = || {
        Python::attach(|py| {
            let error = py.check_signals().err()?;
            Some(if error.is_instance_of::<PyKeyboardInterrupt>(py) { SIGINT } else { SIGTERM })
        })
    };
    let run = py.detach(|| lasthop_emu::run(text, &directory, &overrides, &options, &interrupted));
    let Report { outcome, emulation, ended, complaints } = run.map_err(|error| match error {
        Error::Scenario(error) => refuse(error),
        error @ Error::System(_) => EmulationError::new_err(error.to_string()),
    })?;
    let (status, signal) = match ended {
        Ended::InTime => (None, None),
        Ended::Command(status) => (Some(status), None),
        Ended::Interrupted(signal) => (None, Some(signal)),
    };
    Ok((RunResult { outcome, emulation: Some(emulation), is_random: true }, (status, signal, complaints)))
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("EmulationError", module.py().get_type::<EmulationError>())?;
    module.add_function(wrap_pyfunction!(emulate, module)?)
}

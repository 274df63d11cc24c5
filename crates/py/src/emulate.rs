// SPDX-License-Identifier: MIT OR Apache-2.0
//! Emulation: convert, call, convert.

use std::ffi::OsString;
use std::path::PathBuf;

use lasthop_emu::{Ended, Error, Options};
use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
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
    cc: Option<String>,
    ipv6: bool,
    offload: bool,
    log: Option<PathBuf>,
}

/// Emulates a scenario; with the result come the command's exit status and whether it was interrupted.
#[pyfunction]
fn emulate(
    py: Python<'_>,
    text: &str,
    directory: PathBuf,
    overrides: Overrides,
    options: Wanted,
) -> PyResult<(RunResult, Option<i32>, bool)> {
    let Wanted { seed, command, serve, station, flows, cc, ipv6, offload, log } = options;
    let options = Options { seed, command, serve, host: station, flows, congestion_control: cc, ipv6, offload, log };
    // A signal may be taken by another thread of the interpreter, which tells this one.
    let interrupted = || Python::attach(|py| py.check_signals().is_err());
    let run = py.detach(|| lasthop_emu::run(text, &directory, &overrides, &options, &interrupted));
    let (outcome, emulation, ended) = run.map_err(|error| match error {
        Error::Scenario(error) => refuse(error),
        error @ Error::System(_) => EmulationError::new_err(error.to_string()),
    })?;
    let (status, interrupted) = match ended {
        Ended::InTime => (None, false),
        Ended::Command(status) => (Some(status), false),
        Ended::Interrupted => (None, true),
    };
    Ok((RunResult { outcome, emulation: Some(emulation) }, status, interrupted))
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("EmulationError", module.py().get_type::<EmulationError>())?;
    module.add_function(wrap_pyfunction!(emulate, module)?)
}

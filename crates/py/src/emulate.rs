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

/// Emulates a scenario; with the result comes how it ended: "in time", "interrupted", or the command's exit status.
#[pyfunction]
#[pyo3(signature = (text, directory, overrides, *, seed=None, command=None, serve=vec![], station=None, flows=false,
                    cc=None, ipv6=false, offload=false, log=None))]
#[allow(clippy::too_many_arguments)]
fn emulate(
    py: Python<'_>,
    text: &str,
    directory: PathBuf,
    overrides: Overrides,
    seed: Option<u64>,
    command: Option<Vec<OsString>>,
    serve: Vec<String>,
    station: Option<String>,
    flows: bool,
    cc: Option<String>,
    ipv6: bool,
    offload: bool,
    log: Option<PathBuf>,
) -> PyResult<(RunResult, Option<i32>, bool)> {
    let options = Options { seed, command, serve, host: station, flows, congestion_control: cc, ipv6, offload, log };
    let run = py.detach(|| lasthop_emu::run(text, &directory, &overrides, &options));
    let (outcome, ended) = run.map_err(|error| match error {
        Error::Scenario(error) => refuse(error),
        error @ Error::System(_) => EmulationError::new_err(error.to_string()),
    })?;
    let (status, interrupted) = match ended {
        Ended::InTime => (None, false),
        Ended::Command(status) => (Some(status), false),
        Ended::Interrupted => (None, true),
    };
    Ok((RunResult(outcome), status, interrupted))
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("EmulationError", module.py().get_type::<EmulationError>())?;
    module.add_function(wrap_pyfunction!(emulate, module)?)
}

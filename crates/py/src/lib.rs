// SPDX-License-Identifier: MIT OR Apache-2.0
//! The extension module `lasthop._lasthop`: convert, call, convert.
//!
//! ```text
//!   Python: text, overrides, seed ─► Run, emulate, model, fluid ─► lasthop-sim, lasthop-emu, lasthop-core
//!           dict, columns ◄───────────────────────────────────────────────┘
//! ```
//!
//! | module | what it calls |
//! |---|---|
//! | this one | runs in virtual time, schema, traces, units |
//! | `emulate` | runs in real time |
//! | `model`, `fluid` | theory |
//! | `patience` | long work that Ctrl-C can end |

mod emulate;
mod fluid;
mod model;
mod patience;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::thread::available_parallelism;

use lasthop_emu::{Emulation, Figures};
use lasthop_scenario::{Scenario, effective};
use lasthop_sim::table::Column;
use lasthop_sim::{Outcome, Point, Run, read_trace};
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::patience::patiently;

create_exception!(_lasthop, ScenarioError, PyValueError, "A scenario that cannot be run: key, value, what is wanted.");
create_exception!(_lasthop, TraceError, PyValueError, "A trace file that cannot be read: line, value, what is wanted.");

/// Events between two looks at the memory and at whether anybody waits.
const SLICE: u64 = 1 << 17;

type Overrides = Vec<(String, String)>;

/// What a run gave.
#[pyclass(frozen, module = "lasthop._lasthop")]
struct RunResult {
    outcome: Outcome,
    emulation: Option<Emulation>,
    /// Whether anything depends on the seed.
    #[pyo3(get)]
    is_random: bool,
}

#[pymethods]
impl RunResult {
    /// The figures, as JSON.
    #[getter]
    fn summary_json(&self) -> PyResult<String> {
        let figures = Figures { summary: &self.outcome.summary, emulation: self.emulation.as_ref() };
        serde_json::to_string(&figures).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The scenario's full text, overrides put in.
    #[getter]
    fn scenario(&self) -> &str {
        &self.outcome.scenario
    }

    /// The tables by name, each a dict from column to (dtype, bytes), little-endian.
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = PyDict::new(py);
        for (name, table) in self.outcome.tables() {
            let columns = PyDict::new(py);
            for (name, column) in table.columns() {
                let (dtype, bytes) = match column {
                    Column::Ints(values) => ("<i8", values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>()),
                    Column::Floats(values) => ("<f8", values.iter().flat_map(|v| v.to_le_bytes()).collect()),
                };
                columns.set_item(name, (dtype, PyBytes::new(py, &bytes)))?;
            }
            tables.set_item(name, columns)?;
        }
        Ok(tables)
    }

    /// Names of the flows and of the queues, by the numbers that the tables use.
    #[getter]
    fn names(&self) -> (Vec<&str>, Vec<&str>) {
        let summary = &self.outcome.summary;
        let flows = summary.flows.iter().map(|flow| flow.name.as_str()).collect();
        (flows, summary.queues.iter().map(|queue| queue.name.as_str()).collect())
    }

    /// Writes the packets recorded at one end of the flows, `sender` or `receiver`.
    fn write_pcapng(&self, path: PathBuf, end: &str) -> PyResult<()> {
        let end = match end {
            "sender" => Point::Sender,
            "receiver" => Point::Receiver,
            _ => return Err(PyValueError::new_err(format!("{end:?}: wanted \"sender\" or \"receiver\""))),
        };
        if !self.outcome.has_packets() {
            return Err(ScenarioError::new_err("probe.packets = false: wanted true, so that packets are recorded"));
        }
        let write = || {
            let mut file = BufWriter::new(File::create(&path)?);
            self.outcome.write_pcapng(&mut file, end)?;
            file.flush()
        };
        write().map_err(|e| PyOSError::new_err(format!("{}: {e}", path.display())))
    }
}

/// Runs a scenario; `on_progress` is told now and then how far it has come, from 0 to 1. Parts of the network that share nothing
/// go to so many `threads`, without which to all cores.
#[pyfunction]
#[pyo3(signature = (text, directory, overrides, seed=None, on_progress=None, threads=None))]
fn run(
    py: Python<'_>,
    text: &str,
    directory: PathBuf,
    overrides: Overrides,
    seed: Option<u64>,
    on_progress: Option<Py<PyAny>>,
    threads: Option<usize>,
) -> PyResult<RunResult> {
    let text = text.to_owned();
    let threads = threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    let outcome = patiently(py, on_progress.as_ref(), move |watch| -> Result<_, lasthop_scenario::ScenarioError> {
        let mut run = Run::new(&text, &directory, &overrides, seed)?.on_threads(threads);
        while run.advance(SLICE)? {
            if watch.is_off() {
                return Ok(None);
            }
            watch.tell(run.progress());
        }
        let is_random = run.is_random();
        Ok(Some((run.finish(), is_random)))
    })?;
    let (outcome, is_random) = outcome.map_err(refuse)?.ok_or_else(|| PyKeyboardInterrupt::new_err(()))?;
    Ok(RunResult { outcome, emulation: None, is_random })
}

/// Checks a scenario without running it; gives its full text, overrides put in.
#[pyfunction]
fn check(py: Python<'_>, text: &str, directory: PathBuf, overrides: Overrides) -> PyResult<String> {
    let text = text.to_owned();
    let checked = patiently(py, None, move |_| {
        lasthop_emu::check(&text, &directory, &overrides)?;
        effective(&text, &overrides)
    })?;
    checked.map_err(refuse)
}

/// The title and the seed of a scenario.
#[pyfunction]
fn title(text: &str) -> PyResult<(String, u64)> {
    let scenario = Scenario::from_toml(text, &[]).map_err(refuse)?;
    Ok((scenario.title, scenario.seed))
}

/// The JSON Schema of scenario files.
#[pyfunction]
fn schema() -> String {
    lasthop_scenario::schema().to_string()
}

/// The JSON Schema of a run's summary.
#[pyfunction]
fn summary_schema() -> PyResult<String> {
    serde_json::to_string(&lasthop_sim::summary_schema()).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// A value of a scenario as a number in plain units and the ending of a column of such values; none of other values.
#[pyfunction]
fn quantity(text: &str) -> Option<(f64, &'static str)> {
    lasthop_core::units::number(text)
}

/// The version.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The opportunities of a trace in ms, as (dtype, bytes); of rows `time_s,rate_bps` also the time that became 0 s.
#[pyfunction]
fn trace(py: Python<'_>, path: PathBuf) -> PyResult<(&'static str, Bound<'_, PyBytes>, Option<f64>)> {
    let trace = py.detach(|| read_trace(&path)).map_err(TraceError::new_err)?;
    let bytes: Vec<u8> = trace.opportunities_ms().iter().flat_map(|&ms| (ms as i64).to_le_bytes()).collect();
    Ok(("<i8", PyBytes::new(py, &bytes), trace.start_s()))
}

fn refuse(error: lasthop_scenario::ScenarioError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

#[pymodule]
fn _lasthop(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("TraceError", module.py().get_type::<TraceError>())?;
    module.add_class::<RunResult>()?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(title, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(summary_schema, module)?)?;
    module.add_function(wrap_pyfunction!(quantity, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(trace, module)?)?;
    emulate::add(module)?;
    fluid::add(module)?;
    model::add(module)
}

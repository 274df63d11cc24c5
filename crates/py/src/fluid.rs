// SPDX-License-Identifier: MIT OR Apache-2.0
//! CLAMP as a fluid: trajectories, and for which b it returns to its rest.

use lasthop_core::error::ParameterError;
use lasthop_core::law::clamp::PriceForm;
use lasthop_core::model::fluid::{self, Fluid, FluidFlow, Loop, Mixing, Scale, Start};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// CLAMP's loop near its rest (clamp eq. 5, 9; clamp-report eq. 9, 10).
#[pyclass(frozen, name = "Loop", module = "lasthop._lasthop")]
struct PyLoop(Loop);

#[pymethods]
impl PyLoop {
    #[new]
    #[pyo3(signature = (delays_s, weights, scale, mixing, queueing_s, price_s, average))]
    fn new(
        delays_s: Vec<f64>,
        weights: Vec<f64>,
        scale: &str,
        mixing: &str,
        queueing_s: f64,
        price_s: f64,
        average: Option<f64>,
    ) -> PyResult<Self> {
        let paths = paths(delays_s, weights)?;
        Loop::new(&paths, scale_of(scale)?, mixing_of(mixing)?, queueing_s, price_s, average).map(Self).map_err(refuse)
    }

    /// The least b up to `upto` with which it swings for ever; none: it returns with all of them.
    fn critical_b(&self, py: Python<'_>, upto: f64) -> Option<f64> {
        py.detach(|| self.0.critical_b(upto))
    }

    /// How many roots of the characteristic equation lie to the right of the imaginary axis.
    fn unstable_roots(&self, py: Python<'_>, b: f64) -> usize {
        py.detach(|| self.0.unstable_roots(b))
    }

    /// The critical b by integration of the fluid.
    fn critical_b_by_integration(&self, py: Python<'_>, upto: f64, tolerance: f64) -> PyResult<Option<f64>> {
        py.detach(|| self.0.critical_b_by_integration(upto, tolerance)).map_err(refuse)
    }
}

/// The queue and its flows, as a dict with all of these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Wanted {
    delays_s: Vec<f64>,
    weights: Vec<f64>,
    price: String,
    tau_bytes: f64,
    a_bytes: f64,
    b: f64,
    rate: f64,
    scale: String,
    mixing: String,
    average: Option<f64>,
}

/// The fluid over time, as a dict from column to values; those of flows are a list a flow.
#[pyfunction]
fn fluid_trajectory<'py>(
    py: Python<'py>,
    wanted: Wanted,
    start: StartArgument,
    duration_s: f64,
    step_s: f64,
    every: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let Wanted { delays_s, weights, price, tau_bytes, a_bytes, b, rate, scale, mixing, average } = wanted;
    let fluid = Fluid {
        price: price_of(&price)?,
        scale: scale_of(&scale)?,
        mixing: mixing_of(&mixing)?,
        average,
        ..Fluid::new(paths(delays_s, weights)?, tau_bytes, a_bytes, b, rate)
    };
    let start = match start {
        StartArgument::Times(times) => Start::NearRest(times),
        StartArgument::Windows(windows) => Start::Windows(windows),
    };
    let found = py.detach(|| fluid.trajectory(&start, duration_s, step_s, every)).map_err(refuse)?;
    let columns = PyDict::new(py);
    columns.set_item("time_s", found.times_s)?;
    columns.set_item("queue_bytes", found.queue_bytes)?;
    columns.set_item("average_bytes", found.average_bytes)?;
    columns.set_item("window_bytes", found.windows_bytes)?;
    columns.set_item("buffered_bytes", found.buffered_bytes)?;
    columns.set_item("rate", found.rates)?;
    Ok(columns)
}

/// Where a trajectory begins: so many times the queue at rest, or a window a flow.
#[derive(FromPyObject)]
enum StartArgument {
    Times(f64),
    Windows(Vec<f64>),
}

/// The critical b of one flow behind the router's average, in closed form.
#[pyfunction]
fn averaged_critical_b(delay_s: f64, scale_s: f64, gain: f64) -> PyResult<f64> {
    fluid::averaged_critical_b(delay_s, scale_s, gain).map_err(refuse)
}

/// The critical b of the older law with two flows, in closed form (clamp-report eq. 27).
#[pyfunction]
fn two_flows_critical_b(one_s: f64, other_s: f64) -> PyResult<f64> {
    fluid::two_flows_critical_b(one_s, other_s).map_err(refuse)
}

fn paths(delays_s: Vec<f64>, weights: Vec<f64>) -> PyResult<Vec<FluidFlow>> {
    if delays_s.len() != weights.len() {
        return Err(PyValueError::new_err(format!("weights: {} of them: wanted one for each flow", weights.len())));
    }
    Ok(delays_s.into_iter().zip(weights).map(|(delay_s, phi)| FluidFlow { delay_s, phi }).collect())
}

fn scale_of(name: &str) -> PyResult<Scale> {
    match name {
        "propagation" => Ok(Scale::Propagation),
        "round-trip" => Ok(Scale::RoundTrip),
        "nothing" => Ok(Scale::Nothing),
        _ => Err(unknown("scale", name, "propagation, round-trip or nothing")),
    }
}

fn mixing_of(name: &str) -> PyResult<Mixing> {
    match name {
        "at-rest" => Ok(Mixing::AtRest),
        "perfect" => Ok(Mixing::Perfect),
        _ => Err(unknown("mixing", name, "at-rest or perfect")),
    }
}

fn price_of(name: &str) -> PyResult<PriceForm> {
    match name {
        "linear" => Ok(PriceForm::Linear),
        "mice" => Ok(PriceForm::Mice),
        "smooth" => Ok(PriceForm::Smooth),
        _ => Err(unknown("price", name, "linear, mice or smooth")),
    }
}

fn unknown(key: &str, value: &str, wanted: &str) -> PyErr {
    PyValueError::new_err(format!("{key} = {value}: wanted {wanted}"))
}

fn refuse(error: ParameterError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Puts the class and the functions into the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyLoop>()?;
    module.add_function(wrap_pyfunction!(fluid_trajectory, module)?)?;
    module.add_function(wrap_pyfunction!(averaged_critical_b, module)?)?;
    module.add_function(wrap_pyfunction!(two_flows_critical_b, module)?)
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the papers' equations say, for figures to draw beside what was simulated.

use lasthop_core::error::ParameterError;
use lasthop_core::law::aimd;
use lasthop_core::law::clamp::PriceForm;
use lasthop_core::law::share;
use lasthop_core::model::dumbbell::{self, Dumbbell};
use lasthop_core::model::throughput::{LossyPath, throughput as rate};
use lasthop_core::model::{equilibrium, fairness, settling, standing};
use lasthop_core::parameter::Parameter;
use lasthop_core::radio::LinearErrors;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The throughput of TCP(α, β) in packets/s at a loss rate (gamma eq. 1).
#[pyfunction]
#[pyo3(signature = (loss, rtt_s, timeout_s, *, alpha=1.0, beta=0.5, packets_per_ack=1.0))]
fn throughput(loss: f64, rtt_s: f64, timeout_s: f64, alpha: f64, beta: f64, packets_per_ack: f64) -> PyResult<f64> {
    let path = LossyPath { loss, rtt_s, timeout_s, packets_per_ack };
    rate(alpha, beta, &path).map_err(refuse)
}

/// α that makes TCP(α, β) as fast as TCP (gamma eq. 3).
#[pyfunction]
fn friendly_alpha(beta: f64) -> f64 {
    aimd::equations::friendly_alpha(beta)
}

/// γ as a share of the window (gamma eq. 16).
#[pyfunction]
fn gamma(threshold: f64, min_rtt_s: f64, max_rtt_s: f64) -> f64 {
    lasthop_core::law::gamma::equations::gamma(threshold, min_rtt_s, max_rtt_s)
}

/// Round trips from one decrease of a window to the next (gamma eq. 4).
#[pyfunction]
fn congestion_epoch(alpha: f64, beta: f64, window: f64) -> f64 {
    dumbbell::congestion_epoch(alpha, beta, window)
}

/// Round trips from the least window to `window` (gamma eq. 14).
#[pyfunction]
fn recovery_epoch(alpha: f64, window: f64) -> f64 {
    dumbbell::recovery_epoch(alpha, window)
}

/// Knee and cliff in packets, and the β between them, of a bottleneck (gamma eq. 8, 12, 13).
#[pyfunction]
fn knee_cliff_beta(rate: f64, rtt_s: f64, buffer: f64) -> PyResult<(f64, f64, f64)> {
    let path = Dumbbell::new(rate, rtt_s, buffer).map_err(refuse)?;
    Ok((path.knee(), path.cliff(), path.efficient_beta()))
}

/// Throughput in packets/s and queueing delay in s of a bottleneck with windows of `cwnd` in all (gamma eq. 7, 10, 11).
#[pyfunction]
fn dumbbell_state(rate: f64, rtt_s: f64, buffer: f64, cwnd: f64) -> PyResult<(f64, f64)> {
    let path = Dumbbell::new(rate, rtt_s, buffer).map_err(refuse)?;
    Ok((path.throughput(cwnd), path.queueing_delay(cwnd)))
}

/// Seconds that QFCP's controller takes to its steady state in the model of qfcp Table I; none: for ever.
#[pyfunction]
fn settling_time(alpha: f64, beta: f64) -> Option<f64> {
    settling::settling_time(alpha, beta)
}

/// Bytes at which CLAMP's queue comes to rest with so many flows, or with the sum of their weights (clamp eq. 11).
#[pyfunction]
fn clamp_equilibrium(a_bytes: f64, b: f64, tau_bytes: f64, flows: f64) -> PyResult<f64> {
    equilibrium::queue(PriceForm::Linear, a_bytes, b, tau_bytes, flows).map_err(refuse)
}

/// Jain's index (qfcp eq. 12); none without a positive value.
#[pyfunction]
fn jain(values: Vec<f64>) -> Option<f64> {
    fairness::jain(&values)
}

/// TCP's mean window in packets at a loss rate, by the square-root law.
#[pyfunction]
fn square_root_window(loss: f64) -> PyResult<f64> {
    lasthop_core::model::throughput::square_root_window(loss).map_err(refuse)
}

/// Probability of a frame error at a signal-to-noise ratio (clamp-report §V, Fig. 2).
#[pyfunction]
fn frame_error(snr: f64, worst: f64, lower_snr: f64, upper_snr: f64) -> PyResult<f64> {
    let law = LinearErrors { worst, lower_snr, upper_snr };
    law.validate().map_err(refuse)?;
    Ok(law.probability(snr))
}

/// Bytes that stand at an XCP router which takes a line of `carried_bps` for one of `told_bps`; none: they have no end.
#[pyfunction]
#[pyo3(signature = (told_bps, carried_bps, rtt_s, *, alpha=0.4, beta=0.226))]
fn xcp_standing_queue(told_bps: f64, carried_bps: f64, rtt_s: f64, alpha: f64, beta: f64) -> PyResult<Option<f64>> {
    standing::xcp_queue(alpha, beta, told_bps / 8.0, carried_bps / 8.0, rtt_s).map_err(refuse)
}

/// Seconds that the share window's queue takes where it comes to rest, for flows of one propagation delay (beyond eq. 15).
#[pyfunction]
fn share_wait(target_s: f64, g: f64, kappa: f64, delay_s: f64) -> PyResult<f64> {
    standing::share_wait(target_s, g, kappa, delay_s).map_err(refuse)
}

fn refuse(error: ParameterError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Puts the functions into the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(throughput, module)?)?;
    module.add_function(wrap_pyfunction!(friendly_alpha, module)?)?;
    module.add_function(wrap_pyfunction!(gamma, module)?)?;
    module.add_function(wrap_pyfunction!(congestion_epoch, module)?)?;
    module.add_function(wrap_pyfunction!(recovery_epoch, module)?)?;
    module.add_function(wrap_pyfunction!(knee_cliff_beta, module)?)?;
    module.add_function(wrap_pyfunction!(dumbbell_state, module)?)?;
    module.add_function(wrap_pyfunction!(settling_time, module)?)?;
    module.add_function(wrap_pyfunction!(clamp_equilibrium, module)?)?;
    module.add_function(wrap_pyfunction!(jain, module)?)?;
    module.add_function(wrap_pyfunction!(square_root_window, module)?)?;
    module.add_function(wrap_pyfunction!(frame_error, module)?)?;
    module.add_function(wrap_pyfunction!(xcp_standing_queue, module)?)?;
    module.add("SHARE_TARGET_S", share::TARGET.as_secs_f64())?;
    module.add("SHARE_G", share::G)?;
    module.add("SHARE_THETA_S", share::THETA.as_secs_f64())?;
    module.add_function(wrap_pyfunction!(share_wait, module)?)
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The queue that stands at an XCP router which is told the wrong capacity.

use crate::error::{ParameterError, ensure};

/// The standing queue \[B\] where a line that carries `carried` B/s is taken for one of `told` B/s, the propagation delay
/// being `rtt_s`; none where it has no end.
///
/// At rest the efficiency controller asks for no change, α(C − y)d = βq, where d = d₀ + q/y: with g = (α/β)(C − y)/y
/// this is q = g·y·d₀/(1 − g).
///
/// # Errors
/// A number outside its domain.
pub fn xcp_queue(alpha: f64, beta: f64, told: f64, carried: f64, rtt_s: f64) -> Result<Option<f64>, ParameterError> {
    ensure(alpha > 0.0 && alpha.is_finite(), "alpha", alpha, "a number above 0")?;
    ensure(beta > 0.0 && beta.is_finite(), "beta", beta, "a number above 0")?;
    ensure(told > 0.0 && told.is_finite(), "told", told, "more than 0 B/s")?;
    ensure(carried > 0.0 && carried.is_finite(), "carried", carried, "more than 0 B/s")?;
    ensure(rtt_s >= 0.0 && rtt_s.is_finite(), "rtt_s", rtt_s, "at least 0 s")?;
    let gain = alpha / beta * (told - carried) / carried;
    Ok((gain < 1.0).then(|| (gain * carried * rtt_s / (1.0 - gain)).max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_promised_too_much_waits() {
        // α/β = 2 and a quarter too much: g = ½, so as much waits as the line carries in the 0.1 s of the path.
        let queue = |told| xcp_queue(0.4, 0.2, told, 1000.0, 0.1).unwrap();
        assert_eq!(queue(1250.0), Some(100.0));
        // Half too much: g = 1. Less than the line carries: nothing waits.
        assert_eq!((queue(1500.0), queue(900.0)), (None, Some(0.0)));
    }

    #[test]
    fn the_controller_asks_for_nothing_there() {
        // q = 100 B, y = 1000 B/s, d = 0.1 + 0.1 s: 0.4 · 250 · 0.2 = 0.2 · 100.
        let (alpha, beta) = (0.4, 0.2);
        let queue = xcp_queue(alpha, beta, 1250.0, 1000.0, 0.1).unwrap().unwrap();
        assert!((alpha * 250.0 * (0.1 + queue / 1000.0) - beta * queue).abs() < 1e-12);
    }

    #[test]
    fn errors_name_the_number() {
        let refused = |alpha, beta, told, carried, rtt_s| xcp_queue(alpha, beta, told, carried, rtt_s).unwrap_err().key;
        assert_eq!(refused(0.0, 1.0, 1.0, 1.0, 1.0), "alpha");
        assert_eq!(refused(1.0, 0.0, 1.0, 1.0, 1.0), "beta");
        assert_eq!(refused(1.0, 1.0, 0.0, 1.0, 1.0), "told");
        assert_eq!(refused(1.0, 1.0, 1.0, 0.0, 1.0), "carried");
        assert_eq!(refused(1.0, 1.0, 1.0, 1.0, -1.0), "rtt_s");
    }
}

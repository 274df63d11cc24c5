// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues that stand: at an XCP router which is told the wrong capacity, and at the share window's.

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

/// The standing queue of the share window, as the time that the line takes for it \[s\], of flows whose propagation delay is
/// `delay_s`: the same for any number of them. Where delays differ, it is that of the means of min((1 − g)d, T) and κ, by the flows'
/// parts of the line.
///
/// At rest the k flows' windows, (μ/k)(max(g d, d − T) + T + κ(T − y)) each, are what is on its way and in the queue, μ(d + y).
///
/// # Errors
/// A number outside its domain.
pub fn share_wait(target_s: f64, g: f64, kappa: f64, delay_s: f64) -> Result<f64, ParameterError> {
    ensure(target_s > 0.0 && target_s.is_finite(), "target_s", target_s, "more than 0 s")?;
    ensure(g > 0.0 && g <= 1.0, "g", g, "more than 0 and at most 1")?;
    ensure((0.0..1.0).contains(&kappa), "kappa", kappa, "from 0 up to, but not, 1")?;
    ensure(delay_s >= 0.0 && delay_s.is_finite(), "delay_s", delay_s, "at least 0 s")?;
    //= beyond#15  q*/μ = T − min((1 − g)d, T)/(1 + κ)
    Ok((target_s - ((1.0 - g) * delay_s).min(target_s) / (1.0 + kappa)).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    //= beyond#15
    #[test]
    fn the_share_windows_queue_is_its_target_less_what_g_leaves_out() {
        // 25 ms − 0.1 · 60 ms/1.5.
        assert!((share_wait(0.025, 0.9, 0.5, 0.06).unwrap() - 0.021).abs() < 1e-15);
        assert_eq!(share_wait(0.025, 1.0, 0.5, 0.2), Ok(0.025));
        assert_eq!(share_wait(0.005, 0.5, 0.0, 0.2), Ok(0.0));
        // However long the path, something stands.
        assert!((share_wait(0.025, 0.88, 0.25, 0.5).unwrap() - 0.005).abs() < 1e-15);
        // What is on its way and in the queue is the window.
        let (d, y) = (0.06, 0.021);
        let window = crate::law::share::equations::window(1.0, 1e6, 0.9 * d, 0.025 + 0.5 * (0.025 - y), 1.0);
        assert!((window - 1e6 * (d + y)).abs() < 1e-6);
        let refused = |target_s, g, kappa, delay_s| share_wait(target_s, g, kappa, delay_s).unwrap_err().key;
        assert_eq!(refused(0.0, 1.0, 0.0, 0.0), "target_s");
        assert_eq!(refused(1.0, 0.0, 0.0, 0.0), "g");
        assert_eq!(refused(1.0, 1.0, 1.0, 0.0), "kappa");
        assert_eq!(refused(1.0, 1.0, 0.0, -1.0), "delay_s");
    }

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

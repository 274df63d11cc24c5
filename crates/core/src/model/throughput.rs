// SPDX-License-Identifier: MIT OR Apache-2.0
//! The throughput of TCP(α, β) by its loss rate (gamma eq. 1; PFTK for α = 1, β = ½), and TCP's window by the square-root
//! law.

use crate::error::{ParameterError, ensure};

/// A path, as the equation knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossyPath {
    /// p, in (0, 1]: share of the packets that are lost, or of those that begin a loss.
    pub loss: f64,
    /// RTT \[s\], above 0.
    pub rtt_s: f64,
    /// T₀ \[s\], at least 0: the retransmission time-out.
    pub timeout_s: f64,
    /// b, at least 1: packets that an acknowledgement acknowledges.
    pub packets_per_ack: f64,
}

/// The steady throughput of TCP(α, β) on a path \[packets/s\].
///
/// # Errors
/// A number outside its domain.
pub fn throughput(alpha: f64, beta: f64, path: &LossyPath) -> Result<f64, ParameterError> {
    let LossyPath { loss: p, rtt_s, timeout_s, packets_per_ack: b } = *path;
    ensure(alpha > 0.0 && alpha.is_finite(), "alpha", alpha, "a number above 0")?;
    ensure(beta > 0.0 && beta < 1.0, "beta", beta, "a number between 0 and 1")?;
    ensure(p > 0.0 && p <= 1.0, "loss", p, "a number above 0 and at most 1")?;
    ensure(rtt_s > 0.0 && rtt_s.is_finite(), "rtt_s", rtt_s, "a number of seconds above 0")?;
    ensure(timeout_s >= 0.0 && timeout_s.is_finite(), "timeout_s", timeout_s, "a number of seconds of at least 0")?;
    ensure(b >= 1.0 && b.is_finite(), "packets_per_ack", b, "a number of at least 1")?;
    //= gamma#1  T = 1/(RTT·√(2b(1 − β)/(α(1 + β))·p) + T₀·min(1, 3√((1 − β²)b/(2α)·p))·p(1 + 32p²))
    let window = (2.0 * b * (1.0 - beta) / (alpha * (1.0 + beta)) * p).sqrt();
    let timeouts = (3.0 * ((1.0 - beta * beta) * b / (2.0 * alpha) * p).sqrt()).min(1.0);
    Ok(1.0 / (rtt_s * window + timeout_s * timeouts * p * (1.0 + 32.0 * p * p)))
}

/// The throughput of TCP(α, β) as a multiple of TCP's on the same path: 1 where it is friendly.
///
/// # Errors
/// A number outside its domain.
pub fn friendliness(alpha: f64, beta: f64, path: &LossyPath) -> Result<f64, ParameterError> {
    //= gamma#2  T_{α,β}(p, RTT, T₀, b) = T_{1,0.5}(p, RTT, T₀, b)
    Ok(throughput(alpha, beta, path)? / throughput(1.0, 0.5, path)?)
}

/// The mean window of TCP by the square-root law, √(3/2p) \[packets\]: each of 1/p packets acknowledged, one is lost.
///
/// # Errors
/// A loss rate outside (0, 1].
pub fn square_root_window(loss: f64) -> Result<f64, ParameterError> {
    ensure(loss > 0.0 && loss <= 1.0, "loss", loss, "a number above 0 and at most 1")?;
    Ok(libm::sqrt(1.5 / loss))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::aimd::equations::friendly_alpha;

    const PATH: LossyPath = LossyPath { loss: 0.06, rtt_s: 0.1, timeout_s: 0.0, packets_per_ack: 1.0 };

    #[test]
    fn without_timeouts_it_is_the_square_root_law() {
        //= gamma#1
        // TCP: √(2/3·0.06) = 0.2, so 1/(0.1·0.2) = 50 packets/s; with two packets an ACK 1/√2 of it.
        let rate = |path: LossyPath| throughput(1.0, 0.5, &path).unwrap();
        assert!((rate(PATH) - 50.0).abs() < 1e-9);
        assert!((rate(LossyPath { packets_per_ack: 2.0, ..PATH }) - 50.0 / 2.0_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn timeouts_take_their_share() {
        //= gamma#1
        // 3·√(3/8·0.06) = 0.45; 1 + 32·0.0036 = 1.1152: 0.02 s + 0.2·0.45·0.06·1.1152 s = 0.02602208 s a packet.
        let rate = throughput(1.0, 0.5, &LossyPath { timeout_s: 0.2, ..PATH }).unwrap();
        assert!((rate - 1.0 / 0.026_022_08).abs() < 1e-6, "{rate}");
        // At p = ½ the share of losses that are time-outs is bounded by 1: 0.1/√3 + 0.2·0.5·9 = 0.957735 s.
        let rate = throughput(1.0, 0.5, &LossyPath { loss: 0.5, timeout_s: 0.2, ..PATH }).unwrap();
        assert!((rate - 1.0 / 0.957_735).abs() < 1e-6, "{rate}");
    }

    #[test]
    fn friendly_numbers_are_as_fast_as_tcp() {
        //= gamma#2
        //= gamma#3
        // The two terms ask for different α: 3(1 − β)/(1 + β) the first, 4(1 − β²)/3 the second, which eq. 3 takes. So
        // all are alike where time-outs rule, and the smooth are faster where there are none: √(α(1 + β)/(1 − β)) is
        // then √(4/3)·(1 + β), against √3 of TCP.
        for beta in [0.25, 0.75, 0.875] {
            let ratio = |timeout_s| friendliness(friendly_alpha(beta), beta, &LossyPath { timeout_s, ..PATH }).unwrap();
            assert!((ratio(1e6) - 1.0).abs() < 1e-6, "{beta}: {}", ratio(1e6));
            assert!((ratio(0.0) - (1.0 + beta) / 1.5).abs() < 1e-9, "{beta}: {}", ratio(0.0));
        }
    }

    #[test]
    fn the_square_root_law_is_the_equation_without_timeouts() {
        // √(1.5/0.06) = 5 packets in 0.1 s: the 50 packets/s of above.
        assert_eq!(square_root_window(0.06).unwrap(), 5.0);
        assert_eq!(square_root_window(0.0).unwrap_err().key, "loss");
    }

    #[test]
    fn it_is_tfrcs_equation() {
        // The same curve in another form: a time-out of 0.4 s is four round trips, packets are of 1000 B.
        let here = throughput(1.0, 0.5, &LossyPath { timeout_s: 0.4, ..PATH }).unwrap();
        let there = crate::law::tfrc::throughput(1000.0, 0.1, 0.06, 4.0);
        assert!((1000.0 * here / there - 1.0).abs() < 1e-12, "{here}, {there}");
    }

    #[test]
    fn what_is_no_path_is_refused() {
        let refused = |alpha, beta, path: LossyPath| throughput(alpha, beta, &path).unwrap_err().key;
        assert_eq!(refused(0.0, 0.5, PATH), "alpha");
        assert_eq!(refused(1.0, 1.0, PATH), "beta");
        assert_eq!(refused(1.0, 0.5, LossyPath { loss: 0.0, ..PATH }), "loss");
        assert_eq!(refused(1.0, 0.5, LossyPath { rtt_s: 0.0, ..PATH }), "rtt_s");
        assert_eq!(refused(1.0, 0.5, LossyPath { timeout_s: -1.0, ..PATH }), "timeout_s");
        assert_eq!(refused(1.0, 0.5, LossyPath { packets_per_ack: 0.5, ..PATH }), "packets_per_ack");
    }
}

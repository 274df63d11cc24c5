// SPDX-License-Identifier: MIT OR Apache-2.0
//! When timers go off.

use crate::units::{Duration, Instant};

/// The timer goes off when the time is past: an acknowledgement that comes in the very instant comes in time,
/// whichever of the two is served first.
pub(super) const TOO_LATE: Duration = Duration::from_nanos(1);

/// The roughest level of the wheel, 3 for each eighth.
const MOST_LEVEL: u32 = 24;

/// When a timer goes off that is set at `now` for `wait` later, by a clock of such ticks: when it has ticked, the later the
/// rougher (kernel/time/timer.c, calc_wheel_index). Without ticks right after it, so that what comes in time comes before.
pub(super) fn go_off(now: Instant, wait: Duration, tick: Duration) -> Instant {
    if tick.is_zero() {
        return now + wait + TOO_LATE;
    }
    let tick_ns = tick.as_nanos();
    let ahead = wait.as_nanos().div_ceil(tick_ns);
    let mut level = 0;
    while ahead >= 63 << level && level < MOST_LEVEL {
        level += 3;
    }
    let expires = now.as_nanos() / tick_ns + ahead;
    Instant::from_nanos((((expires >> level) + 1) << level) * tick_ns) + TOO_LATE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_goes_off_after_its_tick_and_an_eighth_late_at_most() {
        let ms = Duration::from_millis;
        let at = |now, wait, tick| {
            (go_off(Instant::ZERO + ms(now), ms(wait), ms(tick)) - Instant::ZERO).as_nanos() / 1_000_000
        };
        // Ticks of 4 ms: from the one before 1001 ms, number 250, 10 on and one more; 70 on, to the next multiple of 8; 600 on,
        // of 64.
        assert_eq!(at(1001, 40, 4), 261 * 4);
        assert_eq!(at(1001, 280, 4), 328 * 4);
        assert_eq!(at(1001, 2400, 4), 896 * 4);
        assert_eq!(at(1001, 280, 0), 1281);
    }
}

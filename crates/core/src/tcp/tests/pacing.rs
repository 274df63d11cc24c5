// SPDX-License-Identifier: MIT OR Apache-2.0
//! New segments one by one.

use super::script::{plain, sender};
use crate::tcp::SenderConfig;

#[test]
fn segments_leave_at_a_multiple_of_the_window_over_the_round_trip() {
    // Nothing is measured at first: four at once. Then SRTT = 100 ms and a window of 5: at twice that, one each 10 ms, and
    // with a window of 6 one each 8.3 ms.
    sender(
        SenderConfig { pacing: 2.0, ..plain() },
        "0   open  -> 0 1 2 3
         100 ack 1 -> 4
         ? timer 110
         110 wake  -> 5
         120 ack 3 -> 6
         ? timer 128.333",
    );
}

#[test]
fn what_waits_to_leave_delays_no_time_out() {
    // Of five the last waits, and nothing is acknowledged any more: the time-out comes 1 s after the last acknowledgement.
    sender(
        SenderConfig { pacing: 0.1, ..plain() },
        "0    open  -> 0 1 2 3
         100  ack 1 -> 4
         300  wake  -> 5
         1100 wake -> 1",
    );
}

#[test]
fn pieces_are_not_paced() {
    let config = SenderConfig { pacing: 1.5, pieces: true, ..SenderConfig::default() };
    assert_eq!(config.validate().unwrap_err().key, "pacing");
}

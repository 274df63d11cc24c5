// SPDX-License-Identifier: MIT OR Apache-2.0
//! RFC 6675: recovery by selective acknowledgements.

use super::script::{plain, sender};
use crate::tcp::{Recovery, SenderConfig};

fn sack(initial_window: u32) -> SenderConfig {
    SenderConfig { recovery: Recovery::Sack, initial_window: Some(initial_window), ..plain() }
}

#[test]
fn two_losses_in_a_window() {
    // §5. 0 and 3 of ten are lost. Third duplicate: FlightSize 10, cwnd = ssthresh = 5, 0 goes again (step 4). Pipe:
    // 0 (again), 3 (not lost yet: two segments SACKed above), 5 to 9 are 7, then 6; with three above, 3 is lost and
    // pipe is 4: room for one, rule 1 gives 3. Then each block of news lets one new segment go (rule 2).
    // ACK 3: pipe is 3 again, 10 to 12: 4. ACK 11 is past RecoveryPoint: over, and 14 + 15 fill the window of 5.
    sender(
        sack(10),
        "0   open               -> 0 1 2 3 4 5 6 7 8 9
         100 ack 0 sack 1-2     ->
         100 ack 0 sack 1-3     ->
         100 ack 0 sack 4-5 1-3 -> 0
         ? state Recovery
         ? cwnd 5
         100 ack 0 sack 4-6 1-3 ->
         100 ack 0 sack 4-7 1-3 -> 3
         100 ack 0 sack 4-8 1-3 -> 10
         100 ack 0 sack 4-9 1-3 -> 11
         100 ack 0 sack 4-10 1-3 -> 12
         200 ack 3 sack 4-10    -> 13
         200 ack 11             -> 14 15
         ? state Open
         ? cwnd 5",
    );
}

#[test]
fn enough_sacked_bytes_make_a_loss_before_the_third_duplicate() {
    // §5 step 2: IsLost(HighACK + 1). Acknowledgements were lost; the first that comes SACKs three segments.
    sender(sack(10), "0 open -> 0 1 2 3 4 5 6 7 8 9\n 100 ack 0 sack 1-4 -> 0\n ? state Recovery");
}

#[test]
fn an_acknowledgement_without_news_is_no_duplicate() {
    // §2: a duplicate carries a block of what was not known to have come.
    sender(
        sack(4),
        "0   open           -> 0 1 2 3
         100 ack 0 sack 1-2 ->
         100 ack 0 sack 1-2 ->
         100 ack 0 sack 1-2 ->
         100 ack 0          ->
         ? state Open",
    );
}

#[test]
fn rescue_retransmission() {
    // §4 NextSeg rule 4. 0 and 5, the last, are lost and there is no new data. cwnd 3: 0 again, and 4, 5 in the pipe.
    // When 4 is SACKed too the pipe is 2 and nothing else can go, so 5 does, once.
    sender(
        sack(6),
        "0   open 6         -> 0 1 2 3 4 5
         100 ack 0 sack 1-2 ->
         100 ack 0 sack 1-3 ->
         100 ack 0 sack 1-4 -> 0
         100 ack 0 sack 1-5 -> 5
         200 ack 5          ->
         200 ack 6          ->
         ? state Open",
    );
}

#[test]
fn a_hole_that_is_not_lost_goes_when_there_is_nothing_new() {
    // §4 NextSeg rule 3. 0 and 4 of eight are lost, all is sent. cwnd 4. With 1-4 and 5-7 SACKed the pipe is 0
    // (again), 4 and 7 = 3; 4 has two segments above it, so it is not lost, but there is no new data: 4 goes.
    sender(
        sack(8),
        "0   open 8              -> 0 1 2 3 4 5 6 7
         100 ack 0 sack 1-2      ->
         100 ack 0 sack 1-3      ->
         100 ack 0 sack 1-4      -> 0
         100 ack 0 sack 5-6 1-4  ->
         100 ack 0 sack 5-7 1-4  -> 4",
    );
}

#[test]
fn new_data_needs_room_in_the_receivers_window() {
    // §4 NextSeg rule 2: the same as above with a window of ten: 10 may not go, and there is no hole left: rescue.
    sender(
        sack(10),
        "0   open                      -> 0 1 2 3 4 5 6 7 8 9
         100 ack 0 win 10 sack 1-2     ->
         100 ack 0 win 10 sack 1-3     ->
         100 ack 0 win 10 sack 1-4     -> 0
         100 ack 0 win 10 sack 1-7     -> 9
         100 ack 0 win 10 sack 1-8     ->",
    );
}

#[test]
fn limited_transmit_asks_for_news() {
    // §5 step 3, RFC 3042 §2: one new segment for each duplicate with news.
    let config = SenderConfig { limited_transmit: true, ..sack(4) };
    sender(
        config,
        "0   open           -> 0 1 2 3
         100 ack 0 sack 1-2 -> 4
         100 ack 0 sack 1-2 ->
         100 ack 0 sack 1-3 -> 5
         100 ack 0 sack 1-4 -> 0
         ? ssthresh 2",
    );
}

#[test]
fn a_timeout_keeps_the_blocks_and_bars_recovery_until_all_is_acknowledged() {
    // §5.1. What is SACKed before the time-out or after is not sent again, and leaves the window to others: of two segments,
    // 3 has arrived; then 2 alone is under way, as 4 to 6 have come. News below RecoveryPoint starts nothing.
    sender(
        sack(10),
        "0    open               -> 0 1 2 3 4 5 6 7 8 9
         100  ack 0 sack 1-2     ->
         1000 wake               -> 0
         1100 ack 2 sack 3-4     -> 2 4
         1200 ack 2 sack 3-7     -> 7
         1200 ack 2 sack 3-8     -> 8
         ? state Loss
         1300 ack 8              -> 9 10
         1400 ack 10             -> 11 12 13
         ? state Open
         1500 ack 10 sack 11-12  ->
         1500 ack 10 sack 11-13  ->
         1600 ack 13             -> 14 15 16 17",
    );
    // ns-2's Sack1 forgets all, and goes back to the first.
    sender(
        SenderConfig { keep_sacked: false, ..sack(10) },
        "0    open               -> 0 1 2 3 4 5 6 7 8 9
         100  ack 0 sack 1-2     ->
         1000 wake               -> 0
         1100 ack 2 sack 3-4     -> 2 3
         1200 ack 2 sack 3-7     ->
         ? state Loss
         1300 ack 10             -> 10 11 12
         ? state Open
         1400 ack 10 sack 11-12  ->
         1400 ack 10 sack 11-13  ->
         1500 ack 13             -> 13 14 15 16",
    );
}

#[test]
fn a_receiver_may_renege() {
    // RFC 2018 §8. It had 1 to 3 and has thrown them away: when it asks for 1 they count as arrived, until the timer goes off for
    // 1 itself.
    sender(
        sack(6),
        "0    open 6             -> 0 1 2 3 4 5
         100  ack 0 sack 1-2     ->
         100  ack 0 sack 1-3     ->
         1000 wake               -> 0
         1100 ack 1              -> 3 4
         3100 wake               -> 1
         3200 ack 2              -> 2 3",
    );
}

#[test]
fn a_recovery_on_the_heels_of_another_widens_no_window() {
    // §5 step 4.2. 0 and 10 are lost. While 0 is on its way again, what is SACKed lets new segments go, one for each:
    // when it comes, 10 to 19 are outstanding, twice the window, of which 11 to 16 have arrived. With the next news 10 is
    // taken for lost once more, and half of the window of 5 is left, not half of what is outstanding.
    sender(
        sack(10),
        "0   open                  -> 0 1 2 3 4 5 6 7 8 9
         100 ack 0 sack 1-4        -> 0
         100 ack 0 sack 1-7        -> 10
         100 ack 0 sack 1-8        -> 11
         100 ack 0 sack 1-9        -> 12
         100 ack 0 sack 1-10       -> 13
         ? cwnd 5
         190 ack 0 sack 11-12 1-10 -> 14
         190 ack 0 sack 11-13 1-10 -> 15
         190 ack 0 sack 11-14 1-10 -> 10 16
         190 ack 0 sack 11-15 1-10 -> 17
         190 ack 0 sack 11-16 1-10 -> 18
         190 ack 0 sack 11-17 1-10 -> 19
         200 ack 10 sack 11-17     ->
         ? state Open
         ? flight 10
         290 ack 10 sack 11-18     -> 10
         ? cwnd 2.5",
    );
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! DCCP headers (RFC 4340) of rate-based flows, with the options of CCID 3 (RFC 4342).
//!
//! ```text
//!   data:     generic header 16 B, padding 4 B             = 40 B with IPv4
//!   feedback: generic header 16 B, acknowledgement 8 B,
//!             elapsed time, loss event rate, receive rate 18 B, padding 2 B = 64 B with IPv4
//! ```

use etherparse::IpNumber;
use lasthop_core::packet::RateReport;

/// DCCP's number in IP.
pub(super) const PROTOCOL: IpNumber = IpNumber(33);

/// Packet types (RFC 4340 §5.1).
const DATA: u8 = 2;
const ACK: u8 = 3;

/// Options: elapsed time in 10 µs (RFC 4340 §13.2); loss event rate, inverse, and receive rate in B/s (RFC 4342 §8.5, 8.3).
const ELAPSED_TIME: u8 = 43;
const LOSS_EVENT_RATE: u8 = 192;
const RECEIVE_RATE: u8 = 194;

/// The generic header with a 48-bit number; the checksum covers headers alone (CsCov = 1).
fn generic(kind: u8, (from, to): (u16, u16), number: u64) -> Vec<u8> {
    let mut header = Vec::with_capacity(44);
    header.extend(from.to_be_bytes());
    header.extend(to.to_be_bytes());
    header.extend([0, 1, 0, 0, (kind << 1) | 1, 0]);
    header.extend(&number.to_be_bytes()[2..]);
    header
}

/// DCCP-Data.
pub(super) fn data(ports: (u16, u16), number: u64) -> Vec<u8> {
    let mut header = generic(DATA, ports, number);
    header.resize(20, 0);
    header
}

/// DCCP-Ack of packet `latest`, with what CCID 3 tells.
pub(super) fn feedback(ports: (u16, u16), latest: u64, report: &RateReport) -> Vec<u8> {
    let mut header = generic(ACK, ports, latest);
    header.extend(latest.to_be_bytes());
    // No loss yet is the greatest number.
    let interval = if report.loss_event_rate > 0.0 { (1.0 / report.loss_event_rate) as u32 } else { u32::MAX };
    let elapsed = (report.hold.as_nanos() / 10_000) as u32;
    for (option, value) in
        [(ELAPSED_TIME, elapsed), (LOSS_EVENT_RATE, interval), (RECEIVE_RATE, report.receive_rate as u32)]
    {
        header.extend([option, 6]);
        header.extend(value.to_be_bytes());
    }
    header.resize(44, 0);
    header
}

/// Puts in the length of the header and the checksum over it and IPv4's pseudo-header (RFC 4340 §9.1).
pub(super) fn with_checksum(mut header: Vec<u8>, from: [u8; 4], to: [u8; 4], payload: usize) -> Vec<u8> {
    header[4] = (header.len() / 4) as u8;
    let length = (header.len() + payload) as u16;
    let pseudo = [from, to].concat().into_iter().chain([0, PROTOCOL.0]).chain(length.to_be_bytes());
    let bytes: Vec<u8> = pseudo.chain(header.iter().copied()).collect();
    let mut sum: u32 = bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    header[6..8].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_core::units::Duration;

    #[test]
    fn feedback_is_a_dccp_ack_with_the_options_of_ccid_3() {
        let report = RateReport { loss_event_rate: 0.01, receive_rate: 65_537.0, hold: Duration::from_millis(3) };
        let header = feedback((10_000, 80), 0x0102, &report);
        // Ports, then offset, CsCov, checksum, type 3 with X, reserved, the number in 48 bits, twice.
        assert_eq!(header[..10], [0x27, 0x10, 0, 80, 0, 1, 0, 0, 0b111, 0]);
        assert_eq!(header[10..24], [0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(header[24..30], [43, 6, 0, 0, 1, 44], "3 ms are 300 times 10 µs");
        assert_eq!(header[30..36], [192, 6, 0, 0, 0, 100], "the interval is 1/p");
        assert_eq!(header[36..], [194, 6, 0, 1, 0, 1, 0, 0]);
    }

    #[test]
    fn the_checksum_makes_the_sum_come_out() {
        let header = with_checksum(data((80, 10_000), 7), [10, 0, 0, 1], [10, 1, 0, 1], 1460);
        assert_eq!((header.len(), header[4]), (20, 5));
        // Words of header and pseudo-header, checksum included, add up to 0xffff in ones' complement.
        let pseudo = [0x0a00, 0x0001, 0x0a01, 0x0001, 33, 1480];
        let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let sum = words.chain(pseudo).fold(0u32, |sum, word| (sum + word) % 0xffff);
        assert_eq!(sum, 0);
    }
}

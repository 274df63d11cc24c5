// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces from rates over time: rows `time_s,rate_bps` behind that heading.

use super::{MOST_MS, TraceError, shown};

/// Bits of the packets that a rate is made of, of 1500 B each.
const PACKET_BITS: f64 = 12_000.0;

/// Most packets of a trace that is made of rates.
const MOST_PACKETS: f64 = 1e7;

/// Whether a line is the heading.
pub(super) fn is_heading(line: &str) -> bool {
    cells(line).eq(["time_s", "rate_bps"])
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|cell| cell.trim().trim_matches('"').trim())
}

/// A rate from a time on.
struct Row {
    at_s: f64,
    rate_bps: f64,
}

/// The opportunities \[ms\] of the rows behind the heading, and the time of the first \[s\], which becomes 0 ms.
///
/// A rate holds until the next row; the last one as long as the one before it. Opportunities come where the integral of the rate
/// passes a whole packet, so none is gained or lost.
pub(super) fn opportunities(text: &str) -> Result<(Vec<u64>, f64), TraceError> {
    let rows = rows(text)?;
    let ([first, ..], [.., before, last]) = (&rows[..], &rows[..]) else {
        return Err(TraceError::Rows { rows: rows.len() });
    };
    let end_s = 2.0 * last.at_s - before.at_s;
    let ends = || rows[1..].iter().map(|row| row.at_s).chain([end_s]);
    let length_s = end_s - first.at_s;
    if length_s.is_nan() || length_s > MOST_MS as f64 / 1e3 {
        return Err(TraceError::TooLong { seconds: length_s });
    }
    let packets =
        rows.iter().zip(ends()).map(|(row, end_s)| row.rate_bps * (end_s - row.at_s)).sum::<f64>() / PACKET_BITS;
    if packets > MOST_PACKETS {
        return Err(TraceError::TooMany { packets });
    }
    let mut stamps_ms = vec![];
    let mut bits = 0.0;
    for (row, end_s) in rows.iter().zip(ends()) {
        let after = bits + row.rate_bps * (end_s - row.at_s);
        loop {
            let passed = (stamps_ms.len() + 1) as f64 * PACKET_BITS;
            if passed > after {
                break;
            }
            let due_s = row.at_s + (passed - bits) / row.rate_bps;
            stamps_ms.push((libm::rint((due_s - first.at_s) * 1e3) as u64).max(1));
        }
        bits = after;
    }
    if stamps_ms.is_empty() { Err(TraceError::NotOnePacket) } else { Ok((stamps_ms, first.at_s)) }
}

fn rows(text: &str) -> Result<Vec<Row>, TraceError> {
    let mut rows: Vec<Row> = vec![];
    for (index, text) in text.lines().enumerate().skip(1) {
        let refused = |wanted| TraceError::Row { line: index + 1, text: shown(text), wanted };
        let numbers: Vec<f64> = cells(text).map_while(|cell| cell.parse().ok()).collect();
        let (&[at_s, rate_bps], 2) = (&numbers[..], cells(text).count()) else { return Err(refused("two numbers")) };
        if !at_s.is_finite() {
            return Err(refused("a time in s"));
        }
        if rows.last().is_some_and(|before| at_s <= before.at_s) {
            return Err(refused("a later time than that of the row before"));
        }
        if !(0.0..f64::INFINITY).contains(&rate_bps) {
            return Err(refused("a rate from 0 bit/s"));
        }
        rows.push(Row { at_s, rate_bps });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use crate::capacity::Trace;

    #[test]
    fn opportunities_come_where_the_integral_passes_a_packet() {
        // One packet a second for a second, none for another, two a second for the last, which is as long as that before it.
        let trace = Trace::parse("time_s,rate_bps\n5,12000\n6,0\n7,24000\n8,0\n").unwrap();
        assert_eq!((trace.opportunities_ms(), trace.start_s()), (&[1000, 2500, 3000][..], Some(5.0)));
        assert_eq!(Trace::parse("1000\n2500\n3000\n").unwrap().start_s(), None);
        let quoted = Trace::parse(" \"time_s\" , rate_bps\r\n0, \"12e3\"\r\n1,0\r\n").unwrap();
        assert_eq!(quoted.opportunities_ms(), [1000]);
    }

    #[test]
    fn what_is_no_row_is_told_with_its_line() {
        for (rows, says) in [
            ("1,2\nx,3", "line 3: `x,3`: wanted two numbers"),
            ("1,2,3", "line 2: `1,2,3`: wanted two numbers"),
            ("inf,1", "line 2: `inf,1`: wanted a time in s"),
            ("1,2\n1,3", "line 3: `1,3`: wanted a later time than that of the row before"),
            ("1,2\n2,-3", "line 3: `2,-3`: wanted a rate from 0 bit/s"),
            ("1,nan", "line 2: `1,nan`: wanted a rate from 0 bit/s"),
            ("1,2", "1 row of rates: wanted at least 2"),
            ("1,2\n2,2", "not one packet of 1500 B in all: wanted higher rates"),
            ("0,1\n1e9,1", "2000000000 s: wanted at most 1000000 s"),
            ("0,1e12\n1,0", "83333333 packets of 1500 B: wanted at most 10000000"),
        ] {
            assert_eq!(Trace::parse(&format!("time_s,rate_bps\n{rows}\n")).unwrap_err().to_string(), says);
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a scenario can bear that nothing is relayed.
//!
//! While the emulator stands still no acknowledgement comes back. What was in a buffer goes on by its stamps, so a stall
//! shorter than a full buffer lasts empties none; and then what has gathered comes at once, which overflows none either if
//! it is less than a buffer holds. A stall of a round-trip time doubles one.

use lasthop_core::queue::Buffer;
use lasthop_core::units::Amount;
use lasthop_core::units::{Bytes, Duration, Rate};
use lasthop_scenario::{AccessPointSpec, FlowSpec, Radio, Scenario};

/// What no machine without a real-time kernel can promise is borne by all.
const LEAST: Duration = Duration::from_millis(2);
/// A network without a delay of its own tells no round trip, as where emulations nest: this is short beside those of the nets
/// around it, and beside any time-out.
const UNTOLD: Duration = Duration::from_millis(10);

/// The longest stall that a scenario bears: the shortest round-trip time or what the smallest buffer lasts, whichever is
/// less, and at least 2 ms. No delay at all tells nothing, and where nothing does it is 10 ms. What a recorded channel's buffer
/// lasts is not reckoned.
pub(crate) fn longest_stall(scenario: &Scenario) -> Duration {
    let packet = scenario.flow.iter().map(|flow| flow.packet).max().unwrap_or(Bytes::new(1500));
    let links = scenario.link.iter().filter_map(|link| lasts(&link.queue, link.rate, packet));
    let aps = scenario.ap.iter().filter_map(|ap| lasts(&ap.queue, rate_of(&ap.radio)?, packet));
    let trips = scenario.flow.iter().map(|flow| round_trip(flow, scenario)).filter(|trip| !trip.is_zero());
    links.chain(aps).chain(trips).min().unwrap_or(UNTOLD).max(LEAST)
}

/// How long a full buffer takes to leave.
fn lasts(buffer: &Buffer, rate: Rate, packet: Bytes) -> Option<Duration> {
    let bytes = match buffer.limit? {
        Amount::Bytes(bytes) => bytes,
        Amount::Packets(packets) => Bytes::new(packets.saturating_mul(packet.get())),
    };
    (rate.as_bps() > 0).then(|| bytes / rate)
}

/// The rate that a radio never passes.
fn rate_of(radio: &Radio) -> Option<Rate> {
    match radio {
        Radio::Jakes(jakes) => Some(jakes.max_rate),
        Radio::Constant(constant) => Some(constant.rate),
        Radio::Trace(_) => None,
    }
}

/// The round-trip time of a flow in an empty network, transmission left out.
fn round_trip(flow: &FlowSpec, scenario: &Scenario) -> Duration {
    let over = |ends: &[String]| {
        let is_it = |from: &str, to: &str| from == ends[0] && to == ends[1];
        let link = scenario.link.iter().find(|link| is_it(&link.from, &link.to) || is_it(&link.to, &link.from));
        link.map_or(Duration::ZERO, |link| link.delay)
    };
    let links: Duration = flow.path.windows(2).map(over).fold(Duration::ZERO, |sum, delay| sum + delay);
    let radio = |ap: &AccessPointSpec| ap.delay;
    let last = flow.station.as_ref().and_then(|_| scenario.ap.iter().map(radio).min()).unwrap_or(Duration::ZERO);
    flow.rtt + (links + last) * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = r#"
duration = "1 s"
[[link]]
name = "wire"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "10 ms"
queue = { limit = "20 packets" }
[[flow]]
name = "f"
path = ["a", "b"]
"#;

    fn of(settings: &[(&str, &str)]) -> Duration {
        let settings: Vec<_> = settings.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        longest_stall(&Scenario::from_toml(LINK, &settings).unwrap())
    }

    #[test]
    fn the_shortest_round_trip_or_the_smallest_buffer() {
        // Twice 10 ms; 20 packets of 1500 B at 10 Mbit/s last 24 ms.
        assert_eq!(of(&[]), Duration::from_millis(20));
        assert_eq!(of(&[("link[0].delay", "50 ms")]), Duration::from_millis(24));
        assert_eq!(of(&[("link[0].delay", "1 ms"), ("flow[0].rtt", "5 ms")]), Duration::from_millis(7));
        assert_eq!(of(&[("link[0].delay", "100 us")]), LEAST);
        // Without a delay the buffer alone tells; without a limit nothing does.
        assert_eq!(of(&[("link[0].delay", "0 s")]), Duration::from_millis(24));
        assert_eq!(of(&[("link[0].delay", "0 s"), ("link[0].queue", "{}")]), UNTOLD);
    }
}

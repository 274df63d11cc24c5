// SPDX-License-Identifier: MIT OR Apache-2.0
//! What routers and senders tell each other in packets.

/// Feedback from routers: stamped into passing data, and sent back in acknowledgements.
///
/// CLAMP's price, the share window, XCP and QFCP use the one path: the sender asks, each router may only ask for more restraint than
/// those before it (the highest price, the least rate, the least change stands), and what came through goes back.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Signal {
    /// No router on the path has said anything, and the sender asks for nothing.
    #[default]
    None,
    /// CLAMP's price \[s\] (clamp eq. 13). Over several routers the highest price stands.
    Price(f64),
    /// The same, which the sender asks to have sent back; minus infinity: no router has spoken.
    PriceAsked(f64),
    /// The share window's stamp, its fields one by one: as a whole it would not fit. Over several routers the one with the least share
    /// stands.
    Share {
        /// [`ShareStamp::target_s`], in steps of 50 µs.
        target_steps: u16,
        /// [`ShareStamp::share`].
        share: f32,
        /// [`ShareStamp::wait_s`].
        wait_s: f32,
        /// [`ShareStamp::waited_s`].
        waited_s: f32,
    },
    /// The station window's stamp, its fields one by one: as a whole it would not fit.
    Station {
        /// [`StationStamp::line`].
        line: u8,
        /// [`StationStamp::elsewhere_s`], the upper half of its bits.
        elsewhere: u16,
        /// [`StationStamp::sent_bytes`].
        sent_bytes: u32,
        /// [`StationStamp::behind_bytes`].
        behind_bytes: f32,
        /// [`StationStamp::waited_s`].
        waited_s: f32,
    },
    /// XCP's congestion header.
    Xcp(XcpHeader),
    /// QFCP's congestion header.
    Qfcp(QfcpHeader),
    /// ABC's mark.
    Steering(Steering),
    /// In an acknowledgement: by how much the flow's rate is to change \[B/s\] (XCP), or by how many
    /// packets its window is (ABC).
    Change(f32),
    /// In an acknowledgement: the rate that the flow may have (QFCP).
    Rate(RateFeedback),
    /// In an acknowledgement: CLAMP's price \[s\], as it was asked for.
    PriceEchoed(f64),
}

/// Steps of a target in a second.
const TARGET_STEPS_PER_S: f32 = 20_000.0;

/// What a share window's router tells receivers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareStamp {
    /// What a flow of weight 1 may have \[B/s on the wire\]; 0: not known yet.
    pub share: f32,
    /// How long the queue is wanted to take \[s\]; it travels in steps of 50 µs, up to 3.2 s.
    pub target_s: f32,
    /// How long the queue behind the packet takes \[s\].
    pub wait_s: f32,
    /// How long the packet waited in the queue \[s\].
    pub waited_s: f32,
}

/// What a station window's router tells the station's agent.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct StationStamp {
    /// The number of the router's line, among those that a path crosses.
    pub line: u8,
    /// How long the packet waited in the queues of other lines \[s\]; it travels with 8 bits of precision.
    pub elsewhere_s: f32,
    /// All that the queue has sent, the packet with it \[B, modulo 2³², or 2²⁴ in a coarse stamp\].
    pub sent_bytes: u32,
    /// What waits behind the packet \[B\].
    pub behind_bytes: f32,
    /// How long the packet waited in the queue \[s\].
    pub waited_s: f32,
}

/// What ABC's routers tell a sender by each of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// No router has spoken.
    Asked,
    /// Send two for it.
    Accelerate,
    /// Send none for it.
    Brake,
}

/// XCP's congestion header, in bytes on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct XcpHeader {
    /// The sender's window \[B\].
    pub cwnd_bytes: f32,
    /// The sender's round-trip time \[s\]; 0: not known yet.
    pub rtt_s: f32,
    /// The change of the flow's rate that is asked for, and then granted \[B/s\].
    pub change: f32,
}

/// QFCP's congestion header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QfcpHeader {
    /// The sender's round-trip time \[s\]; 0: not known yet.
    pub rtt_s: f32,
    /// The rate that is asked for, and then granted \[B/s on the wire\].
    pub rate: f32,
    /// Queues of the path that have not spoken.
    pub silent: u8,
}

/// What QFCP's receivers send back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateFeedback {
    /// The least of the routers' rates \[B/s on the wire\].
    pub rate: f32,
    /// Queues of the path that have not spoken.
    pub silent: u8,
}

impl Signal {
    /// Stamps a price; an earlier, higher one stands. Headers of other protocols stay as they are.
    #[inline]
    pub fn raise_price(&mut self, price: f64) {
        match self {
            Signal::Price(p) if *p >= price => {}
            Signal::None | Signal::Price(_) => *self = Signal::Price(price),
            Signal::PriceAsked(p) => *p = p.max(price),
            _ => {}
        }
    }

    /// The price, if any router stamped one.
    #[inline]
    pub fn price(&self) -> Option<f64> {
        match *self {
            Signal::Price(p) => Some(p),
            Signal::PriceAsked(p) => p.is_finite().then_some(p),
            _ => None,
        }
    }

    /// Stamps a share; an earlier, lower one stands, unless it is not known. Headers of other protocols stay as they are.
    #[inline]
    pub fn lower_share(&mut self, stamp: ShareStamp) {
        match self {
            Signal::Share { share, .. } if *share > 0.0 && !(stamp.share > 0.0 && stamp.share < *share) => {}
            Signal::None | Signal::Share { .. } => {
                let ShareStamp { share, target_s, wait_s, waited_s } = stamp;
                *self = Signal::Share {
                    target_steps: libm::roundf(target_s * TARGET_STEPS_PER_S) as u16,
                    share,
                    wait_s,
                    waited_s,
                };
            }
            _ => {}
        }
    }

    /// What a share window's router has told, if one has.
    #[inline]
    pub fn share(&self) -> Option<ShareStamp> {
        match *self {
            Signal::Share { target_steps, share, wait_s, waited_s } => {
                Some(ShareStamp { share, target_s: f32::from(target_steps) / TARGET_STEPS_PER_S, wait_s, waited_s })
            }
            _ => None,
        }
    }

    /// Stamps what a queue tells the agent of its station. Where another line has spoken before, this one takes its place if `it_is_its_turn`;
    /// what the packet has waited for the other is told in either case. Headers of other protocols stay as they are.
    #[inline]
    pub fn stamp_station(&mut self, stamp: StationStamp, it_is_its_turn: bool) {
        let told = match (&*self, self.station()) {
            (_, Some(before)) if it_is_its_turn => {
                StationStamp { elsewhere_s: before.elsewhere_s + before.waited_s, ..stamp }
            }
            (_, Some(before)) => StationStamp { elsewhere_s: before.elsewhere_s + stamp.waited_s, ..before },
            (Signal::None, None) => stamp,
            _ => return,
        };
        let StationStamp { line, elsewhere_s, sent_bytes, behind_bytes, waited_s } = told;
        *self = Signal::Station { line, elsewhere: upper_half(elsewhere_s), sent_bytes, behind_bytes, waited_s };
    }

    /// What the queue of one of the lines of the packet's path has told its station, if one has.
    #[inline]
    pub fn station(&self) -> Option<StationStamp> {
        match *self {
            Signal::Station { line, elsewhere, sent_bytes, behind_bytes, waited_s } => {
                let elsewhere_s = f32::from_bits(u32::from(elsewhere) << 16);
                Some(StationStamp { line, elsewhere_s, sent_bytes, behind_bytes, waited_s })
            }
            _ => None,
        }
    }

    /// Stamps XCP's change of the flow's rate \[B/s\]; an earlier, lower one stands.
    #[inline]
    pub fn lower_change(&mut self, change: f64) {
        if let Signal::Xcp(header) = self {
            header.change = header.change.min(change as f32);
        }
    }

    /// Stamps QFCP's rate \[B/s\]; an earlier, lower one stands.
    #[inline]
    pub fn lower_rate(&mut self, rate: f64) {
        if let Signal::Qfcp(header) = self {
            header.rate = header.rate.min(rate as f32);
        }
    }

    /// Stamps ABC's mark: who is told once to brake brakes.
    #[inline]
    pub fn steer(&mut self, accelerates: bool) {
        if let Signal::Steering(steering) = self
            && *steering != Steering::Brake
        {
            *steering = if accelerates { Steering::Accelerate } else { Steering::Brake };
        }
    }

    /// The queue that the packet leaves has spoken.
    #[inline]
    pub fn break_silence(&mut self) {
        if let Signal::Qfcp(header) = self {
            header.silent = header.silent.saturating_sub(1);
        }
    }

    /// Whether it is to be told back, by [`echo`](Self::echo).
    #[inline]
    pub fn is_request(&self) -> bool {
        matches!(self, Signal::Steering(_) | Signal::Xcp(_) | Signal::Qfcp(_) | Signal::PriceAsked(_))
    }

    /// Whether it tells a sender what it has asked for.
    #[inline]
    pub fn is_answer(&self) -> bool {
        matches!(self, Signal::Change(_) | Signal::Rate(_) | Signal::PriceEchoed(_))
    }

    /// Whether it speaks to routers whose law is their own, or brings back what these have said.
    #[inline]
    pub fn speaks(&self) -> bool {
        match self {
            Signal::Steering(_) | Signal::Xcp(_) | Signal::Qfcp(_) | Signal::Change(_) | Signal::Rate(_) => true,
            Signal::None
            | Signal::Price(_)
            | Signal::PriceAsked(_)
            | Signal::PriceEchoed(_)
            | Signal::Share { .. }
            | Signal::Station { .. } => false,
        }
    }

    /// What a receiver sends back.
    #[inline]
    pub fn echo(&self) -> Signal {
        match *self {
            Signal::Xcp(header) => Signal::Change(header.change),
            Signal::Steering(Steering::Asked) => Signal::Change(f32::INFINITY),
            Signal::Steering(Steering::Accelerate) => Signal::Change(1.0),
            Signal::Steering(Steering::Brake) => Signal::Change(-1.0),
            Signal::Qfcp(header) => Signal::Rate(RateFeedback { rate: header.rate, silent: header.silent }),
            Signal::PriceAsked(price) => Signal::PriceEchoed(price),
            Signal::None
            | Signal::Price(_)
            | Signal::Share { .. }
            | Signal::Station { .. }
            | Signal::Change(_)
            | Signal::Rate(_)
            | Signal::PriceEchoed(_) => Signal::None,
        }
    }

    /// What one acknowledgement of two packets sends back, `later` being that of the second: changes add up, of rates the
    /// later one holds.
    #[must_use]
    pub fn joined(self, later: Signal) -> Signal {
        match (self, later) {
            (Signal::Change(one), Signal::Change(other)) => Signal::Change(one + other),
            _ => later,
        }
    }
}

/// The upper half of a number's bits, rounded: sign, exponent and 8 bits of precision.
fn upper_half(number: f32) -> u16 {
    ((number.to_bits() + 0x8000) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_the_lines_of_a_path_tells_and_all_waits_count() {
        let stamp = |line, waited_s| StationStamp { line, waited_s, sent_bytes: 1500, ..StationStamp::default() };
        let told = |turns: [bool; 3]| {
            let mut signal = Signal::None;
            for (line, (waited_s, turn)) in (1..).zip([0.125, 0.5, 0.25].into_iter().zip(turns)) {
                signal.stamp_station(stamp(line, waited_s), turn);
            }
            signal.station().map(|stamp| (stamp.line, stamp.waited_s, stamp.elsewhere_s))
        };
        assert_eq!(told([false; 3]), Some((1, 0.125, 0.75)), "there was nobody before the first");
        assert_eq!(told([true, true, false]), Some((2, 0.5, 0.375)));
        assert_eq!(told([true, false, true]), Some((3, 0.25, 0.625)));
        // What does not fit is rounded to 8 bits.
        let mut signal = Signal::None;
        signal.stamp_station(stamp(1, 0.1), false);
        signal.stamp_station(stamp(2, 0.0), true);
        let elsewhere_s = signal.station().unwrap().elsewhere_s;
        assert!((elsewhere_s / 0.1 - 1.0).abs() < 1.0 / 256.0, "{elsewhere_s}");
        let mut asked = Signal::PriceAsked(0.0);
        asked.stamp_station(stamp(1, 0.1), true);
        assert_eq!(asked, Signal::PriceAsked(0.0));
    }

    #[test]
    fn the_lowest_rate_and_change_on_the_path_stand() {
        let mut rate = Signal::Qfcp(QfcpHeader { rtt_s: 0.1, rate: f32::INFINITY, silent: 3 });
        for told in [4e5, 1e5, 2e5] {
            rate.lower_rate(told);
            rate.break_silence();
        }
        assert_eq!(rate.echo(), Signal::Rate(RateFeedback { rate: 1e5, silent: 0 }));
        let mut change = Signal::Xcp(XcpHeader { cwnd_bytes: 3000.0, rtt_s: 0.1, change: f32::INFINITY });
        change.lower_change(500.0);
        change.lower_change(-250.0);
        change.lower_change(100.0);
        assert_eq!(change.echo(), Signal::Change(-250.0));
    }

    #[test]
    fn the_least_known_share_on_the_path_stands() {
        let stamp = |share| ShareStamp { share, target_s: 0.0125 * share, wait_s: 0.25 * share, waited_s: 0.0 };
        let mut signal = Signal::None;
        let mut told = |share| {
            signal.lower_share(stamp(share));
            signal.share().unwrap()
        };
        let shares = [0.0, 3.0, 0.0, 2.0, 4.0].map(&mut told);
        assert_eq!(shares, [0.0, 3.0, 3.0, 2.0, 2.0].map(stamp), "with what belongs to it");
        assert_eq!((signal.echo(), signal.price()), (Signal::None, None));
    }

    #[test]
    fn one_brake_on_the_path_brakes() {
        let told = |marks: &[bool]| {
            let mut signal = Signal::Steering(Steering::Asked);
            marks.iter().for_each(|&accelerates| signal.steer(accelerates));
            signal.echo()
        };
        assert_eq!(told(&[]), Signal::Change(f32::INFINITY));
        assert_eq!((told(&[true, true]), told(&[true, false])), (Signal::Change(1.0), Signal::Change(-1.0)));
        assert_eq!(told(&[false, true]), Signal::Change(-1.0));
        assert_eq!(told(&[true]).joined(told(&[true])), Signal::Change(2.0));
    }

    #[test]
    fn routers_of_one_protocol_leave_the_others_alone() {
        let header = Signal::Qfcp(QfcpHeader { rtt_s: 0.1, rate: 1e6, silent: 1 });
        let mut signal = header;
        signal.raise_price(0.5);
        signal.lower_change(-100.0);
        assert_eq!(signal, header);
        // And acknowledgements are nobody's.
        let mut ack = header.echo();
        ack.raise_price(0.5);
        ack.lower_rate(1.0);
        ack.break_silence();
        assert_eq!(ack, header.echo());
        assert_eq!(Signal::Price(0.5).echo(), Signal::None);
    }

    #[test]
    fn an_acknowledgement_of_two_packets_brings_both_changes() {
        assert_eq!(Signal::Change(100.0).joined(Signal::Change(-30.0)), Signal::Change(70.0));
        let rate = |rate| Signal::Rate(RateFeedback { rate, silent: 0 });
        assert_eq!(rate(2.0).joined(rate(3.0)), rate(3.0));
    }

    #[test]
    fn the_highest_price_on_the_path_stands() {
        let mut signal = Signal::None;
        signal.raise_price(0.25);
        signal.raise_price(0.125);
        assert_eq!(signal.price(), Some(0.25));
    }

    #[test]
    fn a_price_that_was_asked_for_goes_back() {
        let mut signal = Signal::PriceAsked(f64::NEG_INFINITY);
        assert_eq!(
            (signal.price(), signal.echo()),
            (None, Signal::PriceEchoed(f64::NEG_INFINITY)),
            "nobody has spoken"
        );
        for price in [0.25, 0.5, 0.125] {
            signal.raise_price(price);
        }
        let mut told = signal.echo();
        told.raise_price(2.0);
        assert_eq!(
            (signal.price(), told),
            (Some(0.5), Signal::PriceEchoed(0.5)),
            "routers of the way back change nothing"
        );
        assert!(signal.is_request() && told.is_answer() && !signal.is_answer() && !told.is_request());
    }
}

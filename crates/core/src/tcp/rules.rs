// SPDX-License-Identifier: MIT OR Apache-2.0
//! By which rules a sender recovers and a receiver acknowledges: three profiles, and switches that depart from them.

use super::config::LONGEST_DELAY;
use super::{ReceiverConfig, Recovery, RttEstimator, SenderConfig, Validation};
use crate::parameter::{above, above_to};
use crate::units::{Bytes, Duration};
use crate::{kinds, parameters};

kinds! {
    /// By whose rules an end of TCP goes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Rules {
        /// Those of the RFCs, with what is optional in them left out.
        #[default]
        Rfc = "rfc",
        /// Those of ns-2, which the figures of gamma were drawn with.
        Ns2 = "ns-2",
        /// Those of Linux 6.18.
        Linux = "linux",
    }
}

/// What a switch has in files, where the rules say what holds without it.
pub trait Switch: Sized {
    /// The type of its key.
    type Key: Copy;

    /// What the key says, or else what the rules do.
    fn over(key: Option<Self::Key>, rules: Self) -> Self;
}

macro_rules! switches_of {
    ($($type:ty),+) => {$(
        impl Switch for $type {
            type Key = $type;
            fn over(key: Option<$type>, rules: $type) -> $type {
                key.unwrap_or(rules)
            }
        }
    )+};
}

switches_of!(bool, u32, Bytes, Duration, RttEstimator, Validation);

/// A switch whose rules may leave it open.
impl Switch for Option<u32> {
    type Key = u32;
    fn over(key: Option<u32>, rules: Self) -> Self {
        key.or(rules)
    }
}

/// Declares each switch of an end once: its key and what the three profiles say. `own` are the keys that no profile speaks of.
macro_rules! switches {
    (
        $(#[$($meta:tt)*])*
        $Name:ident for $Config:ident {
            own { $($(#[$($own_about:tt)*])* $own:ident: $own_type:ty $(, in $own_domain:expr)?;)* }
            $($(#[$($about:tt)*])* $key:ident: $type:ty = [$rfc:expr, $ns2:expr, $linux:expr] $(, in $domain:expr)?;)+
        }
    ) => {
        parameters! {
            $(#[$($meta)*])*
            #[derive(Clone, Copy, Debug, PartialEq)]
            pub struct $Name {
                $($(#[$($own_about)*])* pub $own: Option<$own_type> = None $(, in $own_domain)?;)*
                $($(#[$($about)*])* pub $key: Option<<$type as Switch>::Key> = None $(, in $domain)?;)+
            }
        }

        impl $Name {
            /// An end by `rules`, but for the switches that are set.
            fn switched(&self, rules: Rules, config: $Config) -> $Config {
                $Config {
                    $($key: Switch::over(self.$key, match rules {
                        Rules::Rfc => $rfc,
                        Rules::Ns2 => $ns2,
                        Rules::Linux => $linux,
                    }),)+
                    ..config
                }
            }

            /// These, and where they are silent others.
            #[must_use]
            pub fn or(self, others: Self) -> Self {
                Self {
                    $($own: self.$own.or(others.$own),)*
                    $($key: self.$key.or(others.$key),)+
                }
            }

            /// What each profile says of each switch, as files write it; none: it leaves the switch open.
            #[cfg(feature = "text")]
            pub fn profiles() -> Vec<(&'static str, [Option<serde_json::Value>; 3])> {
                use crate::parameter::Parameter;
                let of = |rules| Self::default().switched(rules, $Config::default());
                let [rfc, ns2, linux] = [Rules::Rfc, Rules::Ns2, Rules::Linux].map(of);
                vec![$((stringify!($key), [rfc.$key.written(), ns2.$key.written(), linux.$key.written()]),)+]
            }
        }
    };
}

impl Switches {
    /// A sender by `rules` and with the `recovery` of its kind, but for the switches that are set.
    pub fn over(&self, rules: Rules, recovery: Recovery, config: SenderConfig) -> SenderConfig {
        let of_rules = if rules == Rules::Linux { Recovery::Sack } else { recovery };
        let wanted = self.recovery.unwrap_or(of_rules);
        let recovery = match self.sack {
            Some(true) => Recovery::Sack,
            Some(false) if wanted != Recovery::Sack => wanted,
            Some(false) if recovery != Recovery::Sack => recovery,
            Some(false) => Recovery::NewReno,
            None => wanted,
        };
        // A SYN of Linux carries 20 bytes of options.
        let syn_size = if rules == Rules::Linux { 60 } else { config.syn_size };
        self.switched(rules, SenderConfig { recovery, syn_size, ..config })
    }
}

impl ReceiverSwitches {
    /// A receiver by `rules`, unless it is told others, but for the switches that are set.
    pub fn over(&self, rules: Rules, config: ReceiverConfig) -> ReceiverConfig {
        let delayed = self.delayed_acks.map_or(Self::default(), |delayed| Self {
            ack_every: Some(2),
            ack_timeout: Some(delayed.timeout),
            ..Self::default()
        });
        let ack_size = self.ack_size.map_or(config.ack_size, |size| size.get() as u32);
        self.or(delayed).switched(self.rules.unwrap_or(rules), ReceiverConfig { ack_size, ..config })
    }
}

parameters! {
    /// Delayed acknowledgements.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DelayedAcks {
        /// The longest that an ACK waits for a second segment (RFC 1122 §4.2.3.2).
        pub timeout: Duration, in above_to(Duration::ZERO, LONGEST_DELAY);
    }
}

switches! {
    /// The switches of recovery.
    Switches for SenderConfig {
        own {
            /// By whose rules the sender recovers; each switch departs from them. By default those of its kind.
            rules: Rules;
            /// How losses are repaired; by default as its kind says, and `sack` by Linux's rules.
            recovery: Recovery;
            /// Selective acknowledgements (RFC 2018, 6675): whether `recovery` is `sack`.
            sack: bool;
        }
        /// Timestamps (RFC 7323): an RTT sample from every ACK.
        timestamps: bool = [false, false, true];
        /// Limited transmit (RFC 3042).
        limited_transmit: bool = [false, true, false];
        /// Initial window in segments; 2 to 4 by their size where the rules leave it open (RFC 5681; 10: RFC 6928).
        initial_window: Option<u32> = [None, Some(2), Some(10)], in 1..;
        /// Least retransmission time-out (RFC 6298: 1 s; TCP_RTO_MIN).
        rto_min: Duration = [Duration::from_secs(1), Duration::from_millis(200), Duration::from_millis(200)],
            in above(Duration::ZERO);
        /// Retransmission time-out before the first RTT sample.
        rto_initial: Duration = [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(1)],
            in above(Duration::ZERO);
        /// Greatest retransmission time-out (TCP_RTO_MAX).
        rto_max: Duration = [Duration::from_secs(60), Duration::from_secs(60), Duration::from_secs(120)],
            in ..=Duration::from_secs(1_000_000);
        /// Clock granularity G: the least that the variation of round-trip times counts for (RFC 6298 §2).
        rto_granularity: Duration = [Duration::ZERO, Duration::ZERO, Duration::ZERO];
        /// Let the window fall back to the initial one when nothing was sent for longer than the time-out (RFC 5681 §4.1).
        restart_after_idle: bool = [true, true, true];
        /// Count an ACK as a duplicate only if its window is that of the last (RFC 5681 to the letter). CLAMP changes the
        /// window on every ACK, and loses its fast retransmits under this rule.
        strict_duplicate_acks: bool = [false, false, false];
        /// Let each time-out set the slow-start threshold, so that two in a row bring it to its floor of two segments
        /// (ns-2); otherwise a segment that times out again leaves it (RFC 5681).
        cut_at_each_timeout: bool = [false, true, false];
        /// With Reno's recovery, let a further loss in a window that has had its fast retransmit wait for the timer (ns-2's
        /// Reno); otherwise it gets a fast retransmit of its own (RFC 5681).
        one_fast_retransmit: bool = [false, true, false];
        /// A loss leaves a share of the congestion window (ns-2), not of what is in flight (RFC 5681), which is less where the
        /// application is the slower.
        cut_of_window: bool = [false, true, false];
        /// Let the ACK that ends a fast recovery leave the slow-start threshold as the window
        /// and grow it as any other does (ns-2; RFC 6582 §3.2 step 3 option 2); otherwise it grows nothing, and with NewReno
        /// leaves no more than what is in flight and a segment (option 1).
        grow_at_recovery_end: bool = [false, true, false];
        /// Let any ACK of new data end a time-out's back-off (as in QUIC, RFC 9002); otherwise a measurement does (RFC 6298, ns-2,
        /// Linux), which without timestamps takes data that is sent for the first time after it.
        new_ack_ends_back_off: bool = [false, false, false];
        /// With selective acknowledgements, find a retransmission lost when something sent later has arrived (RFC 8985);
        /// otherwise it waits for the time-out.
        find_lost_retransmissions: bool = [false, false, false];
        /// With selective acknowledgements, find anything lost when something sent later has arrived, at once or after a
        /// quarter of the least round-trip time, and keep what was SACKed after a time-out (RFC 8985 §6.2, as Linux has it).
        rack: bool = [false, false, true];
        /// With `rack`, send a segment when no acknowledgement has come for two round trips (RFC 8985 §7).
        tail_loss_probe: bool = [false, false, true];
        /// With selective acknowledgements, let the window fall in recovery in proportion to what arrives (RFC 6937).
        rate_reduction: bool = [false, false, true];
        /// With `timestamps`, take the response to a loss back when an acknowledgement echoes a time before the first
        /// retransmission (Eifel: RFC 3522, 4015; Linux: tcp_packet_delayed).
        eifel: bool = [false, false, true];
        /// Take the response to a time-out back when data arrives that it has not sent again; after the first retransmission
        /// new data tells (F-RTO: RFC 5682).
        frto: bool = [false, false, true];
        /// With `sack`, let the receiver tell of what came twice (RFC 2883), and take the response to a loss back when all that
        /// was sent again came twice (RFC 3708 §3.3; Linux: tcp_try_undo_dsack).
        dsack: bool = [false, false, true];
        /// How the time-out follows from round-trip times.
        rtt_estimator: RttEstimator = [RttEstimator::Rfc6298, RttEstimator::Rfc6298, RttEstimator::Linux];
        /// The tick of the clock by which timers go off: after it has ticked, and what is set for 63 ticks and more ahead up to an
    /// eighth late (Linux: the timer wheel, with CONFIG_HZ=250); 0 s: in time.
    timer_tick: Duration = [Duration::ZERO, Duration::ZERO, Duration::from_millis(4)], in ..=Duration::from_millis(10);
    /// When the window may grow.
        validation: Validation = [Validation::Always, Validation::Always, Validation::Linux];
        /// Open with SYN and SYN-ACK; otherwise data goes at once.
        handshake: bool = [true, true, true];
    }
}

switches! {
    /// When a receiver acknowledges, and what it may advertise.
    ReceiverSwitches for ReceiverConfig {
        own {
            /// By whose rules the receiver acknowledges; each switch departs from them. By default those of its kind.
            rules: Rules;
            /// Acknowledge every second segment (RFC 1122): `ack_every = 2`, with its time-out.
            delayed_acks: DelayedAcks;
            /// Size of an ACK on the wire, without SACK blocks; 40 B by default, 52 B if the sender is Linux's and has timestamps.
            ack_size: Bytes, in ..=Bytes::new(65_535);
        }
        /// The receiver's buffer: the most that it ever advertises (4 GiB; tcp_rmem).
        buffer: Bytes = [Bytes::new(u32::MAX as u64), Bytes::new(u32::MAX as u64), Bytes::new(6_291_456)], in Bytes::new(1)..;
        /// How many segments one ACK is for; 1: each is acknowledged at once. More than 2 where the network card joins segments
        /// (GRO).
        ack_every: u32 = [1, 1, 2], in 1..;
        /// How many ACKs at the start are not delayed. Linux's are as measured with Linux 6.18: 16 by themselves
        /// (TCP_MAX_QUICKACKS), the others because a sender whose socket buffer is still growing pushes each segment. HyStart
        /// takes them for a train. After a repeated segment 16 more, if so many are allowed at the start.
        quick_acks: u32 = [0, 0, 300];
        /// The longest that an ACK waits for a further segment (RFC 1122 §4.2.3.2; TCP_ATO_MIN).
        ack_timeout: Duration = [Duration::from_millis(200), Duration::from_millis(200), Duration::from_millis(40)],
            in above_to(Duration::ZERO, LONGEST_DELAY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_what_the_switches_depart_from() {
        let none = Switches::default();
        // The defaults of a sender are the RFCs'.
        assert_eq!(none.over(Rules::Rfc, Recovery::NewReno, SenderConfig::default()), SenderConfig::default());
        let ns2 = none.over(Rules::Ns2, Recovery::Reno, SenderConfig::default());
        assert!(ns2.cut_of_window && ns2.one_fast_retransmit && ns2.cut_at_each_timeout);
        let linux = Switches { rack: Some(false), ..none }.over(Rules::Linux, Recovery::Reno, SenderConfig::default());
        assert!(!linux.rack && linux.tail_loss_probe);
        assert_eq!((ns2.recovery, linux.recovery), (Recovery::Reno, Recovery::Sack));
        assert_eq!((linux.initial_window, linux.rto_max), (Some(10), Duration::from_secs(120)));
    }

    #[test]
    fn a_key_goes_before_the_kind_and_the_kind_before_the_rules() {
        let kind = Switches { rules: Some(Rules::Ns2), cut_of_window: Some(false), ..Switches::default() };
        let key = Switches { limited_transmit: Some(false), ..Switches::default() }.or(kind);
        assert_eq!(key.rules, Some(Rules::Ns2));
        let config = key.over(Rules::Ns2, Recovery::Reno, SenderConfig::default());
        assert!(!config.limited_transmit && !config.cut_of_window && config.cut_at_each_timeout);
        let all = key.or(Switches { limited_transmit: Some(true), ..kind });
        assert_eq!(all, key);
    }

    #[test]
    fn a_receiver_has_rules_too() {
        let over = |keys: ReceiverSwitches, rules| keys.over(rules, ReceiverConfig::default());
        let none = ReceiverSwitches::default();
        assert_eq!(over(none, Rules::Rfc), ReceiverConfig::default());
        let linux = over(none, Rules::Linux);
        assert_eq!((linux.ack_every, linux.quick_acks, linux.buffer), (2, 300, Bytes::new(6_291_456)));
        assert_eq!(over(ReceiverSwitches { rules: Some(Rules::Linux), ..none }, Rules::Rfc), linux);
        let timeout = Duration::from_millis(100);
        let delayed = ReceiverSwitches { delayed_acks: Some(DelayedAcks { timeout }), ..none };
        let config = over(delayed, Rules::Rfc);
        assert_eq!((config.ack_every, config.quick_acks, config.ack_timeout), (2, 0, timeout));
        assert_eq!(over(ReceiverSwitches { ack_every: Some(4), ..delayed }, Rules::Linux).ack_every, 4);
        let size = ReceiverSwitches { ack_size: Some(Bytes::new(60)), ..none };
        assert_eq!(over(size, Rules::Rfc).ack_size, 60);
    }
}

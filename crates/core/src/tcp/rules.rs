// SPDX-License-Identifier: MIT OR Apache-2.0
//! By which rules a sender recovers and a receiver acknowledges: three profiles, and switches that depart from them.

use super::{ReceiverConfig, ReceiverSwitches, Recovery, RttEstimator, SenderConfig, Switches, Validation};
use crate::error::ParameterError;
use crate::kinds;
use crate::units::{Bytes, Duration};

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

switches_of!(bool, u32, f64, Bytes, Duration, RttEstimator, Validation);

/// A switch whose rules may leave it open.
impl Switch for Option<u32> {
    type Key = u32;
    fn over(key: Option<u32>, rules: Self) -> Self {
        key.or(rules)
    }
}

/// Declares each switch of an end once: its key, its field in what the end is told, and what the three profiles say.
/// `config` are the fields that no key of a switch sets, `own` the keys that no profile speaks of.
macro_rules! switches {
    (
        $(#[$($meta:tt)*])*
        $Name:ident
        $(#[$($config_meta:tt)*])*
        for $Config:ident {
            config { $($(#[$($field_about:tt)*])* $field:ident: $field_type:ty = $default:expr;)* }
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

        $(#[$($config_meta)*])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Config {
            $($(#[$($field_about)*])* pub $field: $field_type,)*
            $($(#[$($about)*])* pub $key: $type,)+
        }

        /// By the rules of the RFCs.
        impl Default for $Config {
            fn default() -> Self {
                Self { $($field: $default,)* $($key: $rfc,)+ }
            }
        }

        impl $Config {
            /// Refuses a switch outside the domain of its key.
            fn validate_switches(&self) -> Result<(), ParameterError> {
                $($(ensure_within(stringify!($key), &self.$key, &($domain))?;)?)+
                Ok(())
            }
        }

        impl $Name {
            /// An end by `rules`, but for the switches that are set.
            pub(super) fn switched(&self, rules: Rules, config: $Config) -> $Config {
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

            /// The keys that are set.
            pub fn given(&self) -> Vec<&'static str> {
                let own = [$((stringify!($own), self.$own.is_some()),)*];
                let keys = [$((stringify!($key), self.$key.is_some()),)+];
                own.into_iter().chain(keys).filter(|(_, is_set)| *is_set).map(|(key, _)| key).collect()
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

pub(super) use switches;

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
        let mut switched = self.switched(rules, SenderConfig { recovery, syn_size, ..config });
        if self.rtt_tick.is_none() && switched.rtt_estimator != RttEstimator::Ns2 {
            // The rules' ticks are those of their own estimator.
            switched.rtt_tick = Duration::ZERO;
        }
        switched
    }

    /// Refuses a switch that is set, and that nothing reads in a sender that goes by `config`: whatever its value where it says how
    /// something is done that is not done, and if it is on where it says whether something is done.
    ///
    /// # Errors
    /// The first such switch.
    pub fn refuse_unread(&self, config: &SenderConfig) -> Result<(), ParameterError> {
        let has_sack = config.recovery == Recovery::Sack;
        let rack = (config.rack, "`rack` = false with it");
        let sack = (has_sack, "`sack` = false with it");
        let no_sack = (!has_sack, "`sack` with it");
        let no_timestamps = (!config.timestamps, "`timestamps` with it");
        let on = |switch: Option<bool>| switch.filter(|is_on| *is_on);

        let after_timeout = [
            rack,
            (!config.limited_transmit, "`limited_transmit` with it"),
            (config.fills_gaps(), "`keep_sacked` = false with it: what duplicates tell after a time-out fills gaps"),
        ];
        let by_echoes =
            [no_timestamps, (config.tracks_segments(), "no rule with it that goes by when each segment was sent")];
        let of_reno = [(config.recovery != Recovery::Reno, "`recovery` = \"reno\" with it")];
        let asking = [(!config.law.asks_routers(), "a sender with it that asks routers")];
        let has_ticks = config.rtt_estimator == RttEstimator::Ns2 && !config.rtt_tick.is_zero();
        let rough = [
            (config.rtt_estimator == RttEstimator::Linux, "another `rtt_estimator` with it than \"linux\""),
            (has_ticks, "`rtt_tick` = 0 s with it"),
        ];
        let granularity = self.rto_granularity.filter(|of| !of.is_zero()).map(|of| format!("{of:?}"));

        refuse("limited_transmit", on(self.limited_transmit), &[rack])?;
        refuse("limited_transmit_after_timeout", self.limited_transmit_after_timeout, &after_timeout)?;
        refuse("strict_duplicate_acks", self.strict_duplicate_acks, &[sack])?;
        refuse("one_fast_retransmit", self.one_fast_retransmit, &of_reno)?;
        refuse("echo_ends_back_off", self.echo_ends_back_off, &by_echoes)?;
        refuse("keep_sacked", self.keep_sacked, &[no_sack, rack])?;
        refuse("find_lost_retransmissions", on(self.find_lost_retransmissions), &[no_sack])?;
        refuse("find_lost_retransmissions", self.find_lost_retransmissions, &[rack])?;
        refuse("eifel", on(self.eifel), &[no_timestamps])?;
        refuse("dsack", on(self.dsack), &[no_sack])?;
        refuse("feedback_in_segments", self.feedback_in_segments, &asking)?;
        refuse("rto_granularity", granularity, &rough)
    }
}

/// Refuses what a key is set to, if it is set, where nothing reads it: for the first of the reasons that holds, with what is wanted
/// instead.
fn refuse(key: &str, value: Option<impl ToString>, never: &[(bool, &str)]) -> Result<(), ParameterError> {
    match (value, never.iter().find(|(is_unread, _)| *is_unread)) {
        (Some(value), Some((_, wanted))) => Err(ParameterError::new(key, value, (*wanted).to_owned())),
        _ => Ok(()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::DelayedAcks;

    #[test]
    fn rules_are_what_the_switches_depart_from() {
        let none = Switches::default();
        // The defaults of a sender are the RFCs'.
        assert_eq!(none.over(Rules::Rfc, Recovery::NewReno, SenderConfig::default()), SenderConfig::default());
        let ns2 = none.over(Rules::Ns2, Recovery::Reno, SenderConfig::default());
        assert!(ns2.cut_of_window && ns2.one_fast_retransmit && ns2.cut_at_each_timeout);
        assert_eq!(ns2.rtt_tick, Duration::from_millis(10));
        // The clock of an estimator goes with it.
        let other = Switches { rtt_estimator: Some(RttEstimator::Rfc6298), ..none };
        assert!(other.over(Rules::Ns2, Recovery::Reno, SenderConfig::default()).rtt_tick.is_zero());
        let linux = Switches { rack: Some(false), ..none }.over(Rules::Linux, Recovery::Reno, SenderConfig::default());
        assert!(!linux.rack && linux.tail_loss_probe);
        assert!(none.given().is_empty());
        let set = Switches { rules: Some(Rules::Ns2), rack: Some(false), ..none };
        assert_eq!(set.given(), ["rules", "rack"]);
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
        assert_eq!((linux.ack_every, linux.quick_acks, linux.buffer), (2, 16, Bytes::new(6_291_456)));
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

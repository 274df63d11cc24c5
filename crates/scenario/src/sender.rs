// SPDX-License-Identifier: MIT OR Apache-2.0
//! Senders: the window law, its parameters, and what all senders have.

use lasthop_core::law;
use lasthop_core::parameter::With;
use lasthop_core::role::SenderParams;
use lasthop_core::tcp::{ASKING_OPTION, Recovery, Rules, SenderConfig, Switches, TELLING_OPTION, TIMESTAMPS_OPTION};
use lasthop_core::tfrc::TfrcParams;
use lasthop_core::units::{Amount, Bytes};
use lasthop_core::{kinds, parameters};

/// Declares the senders: those of TCP each with its keys, its name, its recovery, the law, and the switches in which its kind departs
/// from its rules; then the others.
macro_rules! senders {
    (
        tcp {
            $($(#[$($about:tt)*])* $variant:ident($own:ty) = $kind:literal, $rules:ident, $recovery:ident, $law:expr
                $(, with $($switch:ident)+)?;)+
        }
        others { $($(#[$($other_about:tt)*])* $other:ident($keys:ty) = $other_kind:literal;)+ }
    ) => {
        kinds! {
            /// A sender: its window law and its loss recovery, or its rate.
            #[derive(Clone, Debug)]
            pub enum SenderSpec {
                $($(#[$($about)*])* $variant(With<$own, With<SenderKeys, Switches>>) = $kind,)+
                $($(#[$($other_about)*])* $other($keys) = $other_kind,)+
            }
            or "newreno"
        }

        impl SenderSpec {
            /// What every sender of TCP has; none where it is another's.
            pub fn options(&self) -> Option<&With<SenderKeys, Switches>> {
                match self {
                    $(Self::$variant(with) => Some(&with.common),)+
                    $(Self::$other(_) => None,)+
                }
            }

            /// Its law; none where it is not of TCP.
            pub fn law(&self) -> Option<SenderParams> {
                match self {
                    $(Self::$variant(with) => Some($law(with.own)),)+
                    $(Self::$other(_) => None,)+
                }
            }

            /// Of each sender of TCP its name, rules, recovery, and the switches that are on beside them.
            pub(crate) fn habits_of_all() -> Vec<(&'static str, &'static str, &'static str, Vec<&'static str>)> {
                vec![$(($kind, Rules::$rules.kind(), Recovery::$recovery.kind(), vec![$($(stringify!($switch)),+)?]),)+]
            }

            /// What its kind has without any switch: rules, recovery, and the switches that are on whatever its rules.
            fn habits(&self) -> (Rules, Recovery, Switches) {
                match self {
                    $(Self::$variant(_) => {
                        let own = Switches { $($($switch: Some(true),)+)? ..Switches::default() };
                        (Rules::$rules, Recovery::$recovery, own)
                    })+
                    $(Self::$other(_) => (Rules::Rfc, Recovery::NewReno, Switches::default()),)+
                }
            }
        }
    };
}

senders! {
    tcp {
        /// RFC 5681 with the recovery of RFC 6582.
        Newreno(Tcp) = "newreno", Rfc, NewReno, tcp;
        /// RFC 5681 with the recovery of RFC 5681.
        Reno(Tcp) = "reno", Rfc, Reno, tcp;
        /// TCP(α, β), with γ and δ where they are given (gamma), by the law of ns-2: the window is halved at the first
        /// decrease and in slow start.
        Aimd(law::gamma::GammaParams) = "aimd", Rfc, Reno, aimd, with cut_at_each_timeout one_fast_retransmit cut_of_window;
        /// RFC 9438, with the recovery of RFC 6675 by default.
        Cubic(law::cubic::CubicParams) = "cubic", Rfc, Sack, SenderParams::Cubic;
        /// Reno as in Linux 6.18: SACK, RACK and tail loss probes (RFC 8985), proportional rate reduction (RFC 6937), timestamps,
        /// an initial window of 10 (RFC 6928), a least time-out of 200 ms, growth by whole segments while the window is full.
        LinuxReno(Tcp) = "linux-reno", Linux, NewReno, |_| SenderParams::LinuxReno;
        /// CUBIC as in Linux 6.18: HyStart, arithmetic in whole segments and ticks, and all that `linux-reno` has.
        LinuxCubic(law::linux::LinuxCubicParams) = "linux-cubic", Linux, NewReno, SenderParams::LinuxCubic;
        /// TCP(α, β), with γ and δ where they are given, as `lasthop-agent cc` puts it into a kernel: whole segments, each
        /// acknowledged one counts, and all that `linux-reno` has. α, β, the threshold of γ and the increase of δ are 2⁻¹⁶ at least.
        LinuxAimd(law::gamma::GammaParams) = "linux-aimd", Linux, NewReno, SenderParams::LinuxAimd;
        /// Vegas (Brakmo, Peterson 1995), with the recovery of RFC 6582.
        Vegas(law::vegas::VegasParams) = "vegas", Rfc, NewReno, SenderParams::Vegas;
        /// Veno (Fu, Liew 2003), with the recovery of RFC 6582.
        Veno(law::veno::VenoParams) = "veno", Rfc, NewReno, SenderParams::Veno;
        /// Westwood+ (Mascolo, Grieco et al. 2004), with the recovery of RFC 6582.
        Westwood(law::westwood::WestwoodParams) = "westwood", Rfc, NewReno, SenderParams::Westwood;
        /// Binomial congestion control: SQRT by default, with the recovery of RFC 6582.
        Binomial(law::binomial::BinomialParams) = "binomial", Rfc, NewReno, SenderParams::Binomial;
        /// XCP, with the recovery of RFC 5681: routers say by how much the window changes, and a loss halves it. Where no router
        /// speaks it is TCP.
        Xcp(law::xcp::XcpParams) = "xcp", Rfc, Reno, SenderParams::Xcp;
        /// CLAMP at the sender (clamp §6), with the recovery of RFC 6582: acknowledgements tell it the price of the routers, and it sets
        /// its window by the law of the `clamp` receiver, whose keys it has; any receiver will do. Beside it runs NewReno, for queues
        /// without a price and for losses; the lesser window holds.
        Clamp(law::clamp::ClampParams) = "clamp", Rfc, NewReno, SenderParams::Clamp;
        /// ABC (Goyal et al. 2020), with the recovery of RFC 6675: for each packet acknowledged two are sent or none, as routers say.
        /// Beside it runs CUBIC, for queues that say nothing and for losses; the lesser window holds. Its authors pace it
        /// (`pacing = 1.5`).
        Abc(law::abc::AbcParams) = "abc", Rfc, Sack, SenderParams::Abc;
        /// QFCP (qfcp), with the recovery of RFC 6675 and lost retransmissions found: routers tell the rate, and a loss says
        /// nothing. Where a queue of the path does not speak, a TCP runs beside and the lesser window holds.
        Qfcp(law::qfcp::QfcpParams) = "qfcp", Rfc, Sack, SenderParams::Qfcp,
            with find_lost_retransmissions new_ack_ends_back_off;
    }
    others {
        /// TCP-friendly rate control (RFC 5348): packets leave at a rate, and what is lost is not sent again. It comes with a
        /// receiver of its own (`receiver = "plain"`).
        Tfrc(TfrcParams) = "tfrc";
        /// A congestion control of the kernel by its name, such as `bbr`: for `lasthop emu` alone.
        Kernel(Kernel) = "kernel";
    }
}

parameters! {
    /// The laws of TCP itself have no numbers.
    #[derive(Clone, Copy, Debug)]
    pub struct Tcp {}
}

fn tcp(_: Tcp) -> SenderParams {
    SenderParams::default()
}

fn aimd(params: law::gamma::GammaParams) -> SenderParams {
    match (params.gamma, params.delta) {
        (None, None) => SenderParams::Aimd(params.aimd()),
        _ => SenderParams::Gamma(params),
    }
}

parameters! {
    /// A congestion control of the kernel.
    #[derive(Clone, Debug)]
    pub struct Kernel {
        /// Its name, one of those in `/proc/sys/net/ipv4/tcp_available_congestion_control`.
        pub congestion_control: String;
    }
}

parameters! {
    /// What every sender of TCP has beside the switches of recovery.
    #[derive(Clone, Copy, Debug)]
    pub struct SenderKeys {
        /// Payload of a full segment; by default `packet` of the flow less 40 bytes, and by Linux's rules
        /// less the 12 bytes of timestamps, so that packets are `packet` long.
        pub mss: Option<Bytes> = None, in Bytes::new(1)..=Bytes::new(65_535);
        /// IP and TCP header of a data segment, without the 12 bytes of timestamps; 40 B by default.
        pub header: Option<Bytes> = None, in ..=Bytes::new(65_535);
        /// Initial slow-start threshold, at least 2 segments; unlimited by default.
        pub initial_ssthresh: Option<Amount> = None;
        /// A bound on the window besides the receiver's, at least 1 segment; none by default.
        pub window_limit: Option<Amount> = None;
    }
}

impl SenderKeys {
    /// The keys that are set.
    pub fn given(&self) -> Vec<&'static str> {
        let Self { mss, header, initial_ssthresh, window_limit } = self;
        let keys = [
            ("mss", mss.is_some()),
            ("header", header.is_some()),
            ("initial_ssthresh", initial_ssthresh.is_some()),
            ("window_limit", window_limit.is_some()),
        ];
        keys.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key).collect()
    }
}

impl Default for SenderSpec {
    fn default() -> Self {
        SenderSpec::Newreno(With::default())
    }
}

impl SenderSpec {
    /// By whose rules it recovers.
    pub fn rules(&self) -> Rules {
        self.options().and_then(|options| options.common.rules).unwrap_or(self.habits().0)
    }

    /// By its rules, but for the switches of its kind and those that are set.
    pub fn over(&self, config: SenderConfig) -> SenderConfig {
        let (_, recovery, kind) = self.habits();
        let switches = self.options().map_or(Switches::default(), |options| options.common);
        // The rules that are asked for are meant as they are.
        let mut switches = if switches.rules.is_none() { switches.or(kind) } else { switches };
        let takes_over = self.router_options() != (0, 0);
        if takes_over {
            // Their control sets the window in recovery as well, where the kernel then reduces nothing (tcp_cong_control).
            switches.rate_reduction = switches.rate_reduction.or(Some(false));
        }
        switches.over(self.rules(), recovery, SenderConfig { takes_over, ..config })
    }

    /// Bytes of Linux's timestamps, which are within the `packet` of its flow.
    pub fn timestamps_within(&self) -> u32 {
        let has_timestamps = self.over(SenderConfig::default()).timestamps;
        if self.rules() == Rules::Linux && has_timestamps { TIMESTAMPS_OPTION } else { 0 }
    }

    /// Bytes of the option by which a Linux host asks routers, within the `packet` of its flow, and of what its
    /// acknowledgements tell: `lasthop-agent` has one for QFCP and for XCP.
    pub fn router_options(&self) -> (u32, u32) {
        let asks = matches!(self, Self::Qfcp(_) | Self::Xcp(_));
        if asks && self.rules() == Rules::Linux { (ASKING_OPTION, TELLING_OPTION) } else { (0, 0) }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Switches that nothing reads are refused, and what is refused would have changed nothing.

use proptest::prelude::*;

use super::network::Network;
use super::properties::{connections, rough};
use crate::law::xcp::XcpParams;
use crate::rng::Streams;
use crate::role::SenderParams;
use crate::stats::Span;
use crate::tcp::{Receiver, ReceiverConfig, Recovery, Sender, SenderConfig, Switches};
use crate::units::{Bytes, Duration, Instant};

/// Sets a switch, to `Some` of what is given.
type Set = fn(&mut Switches, bool);
/// Gives a sender what a switch says.
type Give = fn(&mut SenderConfig, bool);

const SWITCHES: [(&str, Set, Give); 10] = [
    ("limited_transmit", |s, is| s.limited_transmit = Some(is), |c, is| c.limited_transmit = is),
    (
        "limited_transmit_after_timeout",
        |s, is| s.limited_transmit_after_timeout = Some(is),
        |c, is| c.limited_transmit_after_timeout = is,
    ),
    ("strict_duplicate_acks", |s, is| s.strict_duplicate_acks = Some(is), |c, is| c.strict_duplicate_acks = is),
    ("one_fast_retransmit", |s, is| s.one_fast_retransmit = Some(is), |c, is| c.one_fast_retransmit = is),
    ("echo_ends_back_off", |s, is| s.echo_ends_back_off = Some(is), |c, is| c.echo_ends_back_off = is),
    ("keep_sacked", |s, is| s.keep_sacked = Some(is), |c, is| c.keep_sacked = is),
    (
        "find_lost_retransmissions",
        |s, is| s.find_lost_retransmissions = Some(is),
        |c, is| c.find_lost_retransmissions = is,
    ),
    ("eifel", |s, is| s.eifel = Some(is), |c, is| c.eifel = is),
    ("dsack", |s, is| s.dsack = Some(is), |c, is| c.dsack = is),
    ("feedback_in_segments", |s, is| s.feedback_in_segments = Some(is), |c, is| c.feedback_in_segments = is),
];

/// When which packets arrive in a transfer of `size` bytes, of two hundred at most.
fn arrivals(config: SenderConfig, receiver: ReceiverConfig, (seed, loss, size): (u64, f64, u64)) -> Vec<String> {
    let mut network = Network::new(
        Sender::new(0, config, Span::ALWAYS).unwrap(),
        Receiver::new(0, receiver, Span::ALWAYS).unwrap(),
        rough(Streams::new(seed).stream("path", "all"), loss, 5.0),
    );
    network.sender.open(Instant::ZERO);
    network.sender.write(Instant::ZERO, Bytes::new(size));
    network.sender.close(Instant::ZERO);
    let limit = Instant::ZERO + Duration::from_secs(1_000_000);
    let mut heard = vec![];
    while heard.len() < 200 && network.step_and_tell(limit, |at, packet| heard.push(format!("{at:?} {packet:?}"))) {}
    heard
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_refused_would_have_changed_nothing(
        (sender, receiver) in connections(),
        seed: u64,
        loss in 0.0..0.3,
        size in 1u64..60_000,
    ) {
        let before = arrivals(sender.clone(), receiver.clone(), (seed, loss, size));
        for (key, set, give) in SWITCHES {
            for value in [false, true] {
                let mut switches = Switches::default();
                set(&mut switches, value);
                let mut given = sender.clone();
                give(&mut given, value);
                if switches.refuse_unread(&given).is_err() {
                    let after = arrivals(given, receiver.clone(), (seed, loss, size));
                    prop_assert_eq!(&before, &after, "{} = {}", key, value);
                }
            }
        }
    }
}

#[test]
fn each_is_read_by_one_sender_and_refused_by_its_name_for_another() {
    let plain = SenderConfig::default();
    let sack = SenderConfig { recovery: Recovery::Sack, ..plain.clone() };
    let senders = [
        SenderConfig { recovery: Recovery::Reno, timestamps: true, limited_transmit: true, ..plain.clone() },
        SenderConfig { law: SenderParams::Xcp(XcpParams {}), ..plain.clone() },
        SenderConfig { rack: true, ..sack.clone() },
        sack,
        plain,
    ];
    for (key, set, _) in SWITCHES {
        let mut switches = Switches::default();
        set(&mut switches, true);
        let answers: Vec<_> =
            senders.iter().map(|config| switches.refuse_unread(config).err().map(|refused| refused.key)).collect();
        assert!(answers.contains(&None), "{key} is read nowhere");
        assert!(answers.contains(&Some(key.to_owned())), "{key} is refused nowhere");
        assert!(answers.iter().flatten().all(|refused| refused == key), "{key}: {answers:?}");
    }
}

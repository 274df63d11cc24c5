// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutated packets in the kernel.

use lasthop_agent::config::{Law, StationConfig};
use lasthop_agent::load::Programs;
use lasthop_agent::mode::Mode;

use crate::frames::{ACK, Exchange, OPTIONS, SYN, from_client, from_server, mutate, optioned, packets, seeds, with_v6};
use crate::oracle::judge;
use crate::support::{Random, or_skipped};
use crate::{PASSES_ON, loaded, of_law};

/// Any packet passes; what is not plain TCP leaves as it came, and what changes does so in what is a program's to change.
#[test]
fn packets_change_in_what_is_a_programs_to_change() {
    for mode in [Mode::Proxy, Mode::Ap, Mode::Client] {
        let Some(programs) = loaded(mode) else { return };
        let seeds = seeds();
        let mut random = Random::new();
        let mut changed = 0;
        for _ in 0..packets() / 3 {
            let mut frame = seeds[random.below(seeds.len())].clone();
            mutate(&mut frame, &mut random);
            let program = ["to_server", "to_client"][random.below(2)];
            // The kernel itself refuses what is shorter than an Ethernet header.
            let Ok((verdict, left)) = programs.try_packet(program, &frame) else { continue };
            assert_eq!(verdict, PASSES_ON);
            let judged = judge(mode, program, &frame, &left);
            changed += usize::from(judged.unwrap_or_else(|wrong| panic!("{wrong}: {mode:?} {program} {frame:02x?}")));
        }
        assert!(changed > 0, "{mode:?}");
    }
}

/// The same under the station window, of connections that go on, so that there are updates to be made of packets.
#[test]
fn packets_that_updates_are_made_of_are_as_they_were() {
    for is_hidden in [false, true] {
        let config = of_law(Law::Station(StationConfig::default()));
        let Some(programs) = or_skipped(Programs::load(Mode::Proxy, &config.settings(14, is_hidden))) else { return };
        let mut changed = 0;
        for (to_client, frame) in Exchange::new().take(packets() / 5) {
            let program = if to_client { "to_client" } else { "to_server" };
            let Ok((verdict, left)) = programs.try_packet(program, &frame) else { continue };
            assert_eq!(verdict, PASSES_ON);
            let judged = judge(Mode::Proxy, program, &frame, &left);
            changed += usize::from(judged.unwrap_or_else(|wrong| panic!("{wrong}: {program} {frame:02x?}")));
        }
        assert!(changed > 0);
    }
}

/// Any packet passes, and if it changes at all it is in the window, and that is not raised.
#[test]
fn packets_change_in_nothing_but_the_window() {
    let Some(proxy) = loaded(Mode::Proxy) else { return };
    let seeds = [
        from_client(99, 0, SYN, 64_240, &OPTIONS).frame(),
        from_server(999, 100, SYN | ACK, &OPTIONS, 0).frame(),
        from_server(1000, 100, ACK, &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2], 100).frame(),
        from_client(100, 1100, ACK, 5000, &[1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 1]).frame(),
    ];
    let mut random = Random::new();
    let mut changed = 0;
    for _ in 0..packets() {
        let mut frame = seeds[random.below(seeds.len())].clone();
        mutate(&mut frame, &mut random);
        let program = ["to_server", "to_client"][random.below(2)];
        // The kernel itself refuses what is shorter than an Ethernet header.
        let Ok((verdict, left)) = proxy.try_packet(program, &frame) else { continue };
        assert_eq!(verdict, PASSES_ON);
        assert_eq!(left.len(), frame.len());
        if left != frame {
            changed += 1;
            // An IP header with options puts the fields elsewhere: both lie within eight bytes.
            let places: Vec<usize> = (0..frame.len()).filter(|&i| left[i] != frame[i]).collect();
            assert!(places[places.len() - 1] - places[0] < 4, "{places:?}");
            assert_eq!(program, "to_server");
        }
    }
    assert!(changed > 0);
}

/// What a price was written into is what it was once that is taken out: whatever packet it is.
#[test]
fn packets_are_the_same_behind_both() {
    let (Some(ap), Some(client)) = (loaded(Mode::Ap), loaded(Mode::Client)) else { return };
    let data = from_server(1000, 100, ACK, &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2], 100).frame();
    // And where the client's port is, for each to be of another connection: what is sent again gets no price.
    let seeds = [
        (data.clone(), 36),
        (with_v6(&data), 56),
        (optioned(&data, &[1, 1, 1, 0]), 40),
        (from_server(999, 100, SYN | ACK, &OPTIONS, 0).frame(), 36),
    ];
    let mut random = Random::new();
    let mut written = 0;
    for number in 0..packets() {
        let (mut frame, port_at) = seeds[random.below(seeds.len())].clone();
        frame[port_at..port_at + 2].copy_from_slice(&(number as u16).to_be_bytes());
        mutate(&mut frame, &mut random);
        // The kernel itself refuses what is shorter than its headers.
        let Ok((verdict, priced)) = ap.try_packet("to_client", &frame) else { continue };
        let Ok((again, left)) = client.try_packet("to_client", &priced) else { continue };
        assert_eq!((verdict, again), (PASSES_ON, PASSES_ON));
        assert_eq!(left, frame);
        written += usize::from(priced != frame);
        for (programs, name) in [(&ap, "to_server"), (&client, "to_server")] {
            let Ok((verdict, left)) = programs.try_packet(name, &frame) else { continue };
            assert_eq!((verdict, left.len()), (PASSES_ON, frame.len()));
        }
    }
    assert!(written > packets() / 4, "{written}");
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ends a connection, and what does not: packets that neither of its ends heeds.

use lasthop_agent::load::Programs;
use lasthop_agent::mode::Mode;

use crate::frames::{ACK, OPTIONS, SYN, Segment, from_client, from_server, window};
use crate::{PASSES_ON, counted, loaded};

const RST: u8 = 4;
/// The client's own window, in units of 128 B.
const OWN: u16 = 5000;

fn run(programs: &Programs, program: &str, segment: &Segment<'_>) -> u16 {
    let (verdict, frame) = programs.try_packet(program, &segment.frame()).unwrap();
    assert_eq!(verdict, PASSES_ON);
    window(&frame)
}

/// A connection that has brought two segments.
fn opened(programs: &Programs) {
    run(programs, "to_server", &from_client(99, 0, SYN, 64_240, &OPTIONS));
    run(programs, "to_client", &from_server(999, 100, SYN | ACK, &OPTIONS, 0));
    run(programs, "to_server", &from_client(100, 1000, ACK, OWN, &[]));
    run(programs, "to_client", &from_server(1000, 100, ACK, &[], 1400));
    run(programs, "to_client", &from_server(2400, 100, ACK, &[], 1400));
    run(programs, "to_server", &from_client(100, 3800, ACK, OWN, &[]));
    assert_eq!(programs.flows().unwrap().len(), 1);
}

#[test]
fn a_reset_that_neither_end_heeds_ends_nothing() {
    for mode in [Mode::Proxy, Mode::Client] {
        let Some(programs) = loaded(mode) else { return };
        opened(&programs);
        for far in [1 << 24, 1 << 30, 1 << 31, 3 << 30] {
            run(&programs, "to_client", &from_server(3800_u32.wrapping_add(far), 0, RST, &[], 0));
            if mode == Mode::Proxy {
                run(&programs, "to_server", &from_client(100_u32.wrapping_add(far), 0, RST, 0, &[]));
            }
            assert_eq!(programs.flows().unwrap().len(), 1, "{mode:?} {far}");
        }
        run(&programs, "to_client", &from_server(3800, 0, RST, &[], 0));
        assert!(programs.flows().unwrap().is_empty());
        // The client's own; and what comes after it is of no connection.
        opened(&programs);
        run(&programs, "to_server", &from_client(100, 0, RST, 0, &[]));
        assert!(programs.flows().unwrap().is_empty());
        run(&programs, "to_server", &from_client(100, 3800, ACK, OWN, &[]));
        assert_eq!(counted(&programs, "midstream"), 1);
    }
}

#[test]
fn a_connection_that_is_refused_is_none() {
    for mode in [Mode::Proxy, Mode::Client] {
        let Some(programs) = loaded(mode) else { return };
        run(&programs, "to_server", &from_client(99, 0, SYN, 64_240, &OPTIONS));
        run(&programs, "to_client", &from_server(0, 77, RST | ACK, &[], 0));
        assert_eq!(programs.flows().unwrap().len(), 1);
        run(&programs, "to_client", &from_server(0, 100, RST | ACK, &[], 0));
        assert!(programs.flows().unwrap().is_empty());
    }
}

#[test]
fn an_ack_of_what_was_never_sent_ends_no_steering() {
    let Some(proxy) = loaded(Mode::Proxy) else { return };
    opened(&proxy);
    for far in [1 << 30, 1 << 31, 3 << 30] {
        assert_eq!(run(&proxy, "to_server", &from_client(100, 3800_u32.wrapping_add(far), ACK, OWN, &[])), OWN);
    }
    run(&proxy, "to_client", &from_server(3800, 100, ACK, &[], 1400));
    assert!(run(&proxy, "to_server", &from_client(100, 5200, ACK, OWN, &[])) < OWN);
}

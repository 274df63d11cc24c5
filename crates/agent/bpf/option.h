/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The TCP option by which senders ask routers, and receivers tell what came of it: docs/option.md.
 *
 *      0       1       2       3       4       5       6       7       8       9      10      11
 *   +-------+-------+-------+-------+-------+-------+-------+-------+-------+-------+-------+-------+
 *   |  253  | length|     ExID      |     echo      |    granted    |   RTT [us]    |  window [B]   |
 *   +-------+-------+-------+-------+-------+-------+-------+-------+-------+-------+-------+-------+
 *   |<--------- 8 in acknowledgements, granted 0 ------------------>|<------- 12 with data -------->|
 */
#ifndef LASTHOP_OPTION_H
#define LASTHOP_OPTION_H

#include "wire.h"

/* RFC 4727; experiments are told apart as RFC 6994 says. */
#define OPTION_KIND 253
#define OPTION_QFCP 0x4c51U /* "LQ" */
#define OPTION_XCP 0x4c58U /* "LX" */

/* Without and with what is asked of routers. */
#define OPTION_SHORT 8
#define OPTION_LONG 12

/* What an echo is before anything was heard: no rate, no change. */
#define QFCP_UNHEARD 0U
#define XCP_UNHEARD WIRE_DOWN

/* As it is in a packet; numbers in network order. */
struct feedback_option {
	u8 kind;
	u8 length;
	u16 exid;
	u16 echo;
	u16 granted;
	u16 rtt;
	u16 window;
};

_Static_assert(sizeof(struct feedback_option) == OPTION_LONG, "the layout of a packet");

#endif

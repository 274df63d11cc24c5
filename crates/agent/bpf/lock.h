/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The lock of what shares a queue. bpf_spin_lock and bpf_spin_unlock are two calls, some 45 ns where returns are mitigated; these
 * are none. Who has it is in a softirq and gives it back within a microsecond, unless an interrupt or a hypervisor comes between:
 * who asks in vain for longer gives up, and the packet goes by what is known. What it would have told, the next one tells.
 */
#ifndef LASTHOP_LOCK_H
#define LASTHOP_LOCK_H

#include "kernel.h"

/* Some tens of microseconds where another processor has it. */
#define LOCK_TRIES 512

/* 1 if it is ours. */
static __always_inline int take(unsigned int *lock)
{
#pragma clang loop unroll(disable)
	for (unsigned int i = 0; i < LOCK_TRIES; i++) {
		if (!__sync_val_compare_and_swap(lock, 0, 1))
			return 1;
	}
	return 0;
}

static __always_inline void give(unsigned int *lock)
{
#ifdef MACHINE_x86_64
	/* Its processors put no load or store off until after a later store: one that waits for nothing is enough, as in the kernel's own. */
	barrier();
	*(volatile unsigned int *)lock = 0;
#else
	__sync_lock_test_and_set(lock, 0);
#endif
}

#endif

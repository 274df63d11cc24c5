/* SPDX-License-Identifier: Dual MIT/GPL */
/* On the host, structures are where they are. */
#ifndef HOST_BPF_CORE_READ_H
#define HOST_BPF_CORE_READ_H

#define bpf_core_type_id_kernel(type) 0
#define BPF_CORE_READ_BITFIELD(from, field) ((from)->field)
#define bpf_rdonly_cast(from, type) ((void *)(from))

#endif

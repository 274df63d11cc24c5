/* SPDX-License-Identifier: Dual MIT/GPL */
#ifndef HOST_BPF_ENDIAN_H
#define HOST_BPF_ENDIAN_H

#include <arpa/inet.h>

#define bpf_htons htons
#define bpf_ntohs ntohs
#define bpf_htonl htonl
#define bpf_ntohl ntohl

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where kernels differ; Kbuild looks what there is.
 */
#ifndef REPLAY_COMPAT_H
#define REPLAY_COMPAT_H

#ifdef REPLAY_HAVE_NET_GSO_H
#include <net/gso.h>
#else
#include <linux/netdevice.h>
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The version of the modules and of every package made of them; dkms.conf and
 * tools/packaging/debian/changelog repeat it.
 */
#ifndef HETCC_VERSION_H
#define HETCC_VERSION_H

#define HETCC_VERSION	"0.1"

#endif /* HETCC_VERSION_H */

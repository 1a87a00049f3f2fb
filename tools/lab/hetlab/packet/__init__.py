# SPDX-License-Identifier: GPL-2.0
"""Packet scripts: a scripted TCP peer against the kernel under test, in virtual time.

``parser`` turns a script into ``model`` events, ``options`` and ``wire`` are the
codec, ``tun``, ``calls`` and ``facts`` are the guest's side, ``player`` plays the
events, ``guest`` is the program in the machine, ``host`` the one outside.
"""

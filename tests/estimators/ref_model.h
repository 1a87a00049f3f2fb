/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The papers' equations in double precision, one function per equation. Where
 * a paper does not number what it states, the section names the function.
 * Times are in seconds, windows and queues in segments, rates per second.
 *
 * References
 *   santacruz: Parsa, Garcia-Luna-Aceves: Improving TCP Congestion Control over
 *   Internets with Heterogeneous Transmission Media. ICNP 1999.
 *   fr: Casetti, Gerla, Lee, Mascolo, Sanadidi: TCP with Faster Recovery.
 *   MILCOM 2000.
 *   hybla: Caini, Firrincieli: TCP Hybla: a TCP enhancement for heterogeneous
 *   networks. Int. J. Satell. Commun. Network. 2004; 22:547-566.
 */
#ifndef HETCC_REF_MODEL_H
#define HETCC_REF_MODEL_H

#include <math.h>

/* Santa Cruz (1): relative forward delay of two packets, D = R - S */
static inline double ref_santacruz_eq1(double r, double s)
{
	return r - s;
}

/* Santa Cruz (2): packets in the bottleneck queue, n = n + M */
static inline double ref_santacruz_eq2(double n, double m)
{
	return n + m;
}

/* Santa Cruz (3): service time of a packet, pktS = R / packets received */
static inline double ref_santacruz_eq3(double r, double pkts)
{
	return r / pkts;
}

/* Santa Cruz (4): queue that an interval added, M = sum(D) / pktS */
static inline double ref_santacruz_eq4(double sum_d, double pkt_s)
{
	return sum_d / pkt_s;
}

/* Faster recovery, section II: sample_BWE = pkt_size / (now - lastacktime) */
static inline double ref_fr_sec2_sample(double bytes, double span)
{
	return bytes / span;
}

/* Faster recovery, section II: BWE = BWE * alpha + sample_BWE * (1 - alpha) */
static inline double ref_fr_sec2_filter(double bwe, double sample, double alpha)
{
	return bwe * alpha + sample * (1 - alpha);
}

/* Faster recovery, section III.A: ssthresh = (BWE * RTTmin) / a, in segments */
static inline double ref_fr_sec3a(double bwe, double rtt_min, double a,
				  double mss)
{
	return bwe * rtt_min / a / mss;
}

/* Hybla (5): normalised round trip time; section 3.1: at least 1 */
static inline double ref_hybla_eq5(double rtt, double rtt0)
{
	return fmax(rtt / rtt0, 1);
}

/* Hybla (6): window at time t, ssthresh gamma of the reference connection */
static inline double ref_hybla_eq6(double t, double rtt, double rtt0,
				   double gamma)
{
	double rho = ref_hybla_eq5(rtt, rtt0);
	double t_gamma = rtt / rho * log2(gamma);

	if (t < t_gamma)
		return rho * exp2(rho * t / rtt);
	return rho * (rho * (t - t_gamma) / rtt + gamma);
}

/* Hybla (9), slow start: growth per segment, 2^rho - 1 */
static inline double ref_hybla_eq9_ss(double rho)
{
	return exp2(rho) - 1;
}

/* Hybla (9), congestion avoidance: growth per segment, rho^2 / W */
static inline double ref_hybla_eq9_ca(double rho, double w)
{
	return rho * rho / w;
}

/* Hybla, section 3.3.1: bandwidth of an ACK train times the round trip */
static inline double ref_hybla_sec331(double pkts, double span, double rtt)
{
	return pkts / span * rtt;
}

#endif /* HETCC_REF_MODEL_H */

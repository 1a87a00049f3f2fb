// SPDX-License-Identifier: GPL-2.0
/*
 * AF_PACKET rings (Documentation/networking/packet_mmap.rst), one socket for
 * each direction: only what is received has a virtio header, which tells the
 * segment size of what the device would have to cut.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "args.h"
#include "ring.h"

#define BLOCK_BYTES	(1 << 16)
#define TX_FRAME_BYTES	2048
#define TX_FRAMES	1024
#define RX_FRAME_BYTES	256	/* headers only */
#define RX_FRAMES	32768
#define HEX_PER_LINE	32

struct ring {
	int fd;
	uint8_t *memory;
	size_t frame_bytes;
	unsigned int frames;
	unsigned int next;
};

static struct ring tx, rx;
static unsigned int queued;

static void set(int fd, int name, int value)
{
	if (setsockopt(fd, SOL_PACKET, name, &value, sizeof(value)))
		fatal("packet socket option %d: %s", name, strerror(errno));
}

static struct tpacket2_hdr *frame_of(const struct ring *ring, unsigned int n)
{
	size_t at = (size_t)(n % ring->frames) * ring->frame_bytes;

	return (struct tpacket2_hdr *)(ring->memory + at);
}

static void map(struct ring *ring, int name, size_t frame_bytes,
		unsigned int frames)
{
	struct tpacket_req request = {
		.tp_block_size = BLOCK_BYTES,
		.tp_block_nr = frame_bytes * frames / BLOCK_BYTES,
		.tp_frame_size = frame_bytes,
		.tp_frame_nr = frames,
	};

	if (setsockopt(ring->fd, SOL_PACKET, name, &request, sizeof(request)))
		fatal("packet ring: %s", strerror(errno));
	ring->frame_bytes = frame_bytes;
	ring->frames = frames;
	ring->memory = mmap(NULL, frame_bytes * frames, PROT_READ | PROT_WRITE,
			    MAP_SHARED, ring->fd, 0);
	if (ring->memory == MAP_FAILED)
		fatal("packet ring: %s", strerror(errno));
}

static void open_socket(struct ring *ring)
{
	ring->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (ring->fd < 0)
		fatal("packet socket: %s", strerror(errno));
	set(ring->fd, PACKET_VERSION, TPACKET_V2);
}

static void attach(const struct ring *ring, const char *device, int protocol)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = if_nametoindex(device),
	};

	if (!to.sll_ifindex || bind(ring->fd, (void *)&to, sizeof(to)))
		fatal("%s: %s", device, strerror(errno));
}

void ring_open(const char *device)
{
	open_socket(&rx);
	set(rx.fd, PACKET_VNET_HDR, 1);
	set(rx.fd, PACKET_IGNORE_OUTGOING, 1);
	map(&rx, PACKET_RX_RING, RX_FRAME_BYTES, RX_FRAMES);
	attach(&rx, device, ETH_P_ALL);

	open_socket(&tx);
	set(tx.fd, PACKET_QDISC_BYPASS, 1);
	map(&tx, PACKET_TX_RING, TX_FRAME_BYTES, TX_FRAMES);
	attach(&tx, device, 0);
}

static uint8_t *tx_data(unsigned int n)
{
	return (uint8_t *)frame_of(&tx, n) + TPACKET2_HDRLEN -
	       sizeof(struct sockaddr_ll);
}

uint8_t *ring_next(void)
{
	if (queued == RING_BATCH)
		ring_flush();
	return tx_data(tx.next);
}

void ring_commit(size_t bytes)
{
	struct tpacket2_hdr *header = frame_of(&tx, tx.next++);

	header->tp_len = bytes;
	header->tp_status = TP_STATUS_SEND_REQUEST;
	queued++;
}

void ring_flush(void)
{
	if (queued && send(tx.fd, NULL, 0, 0) < 0 && errno != ENOBUFS)
		fatal("packet ring: %s", strerror(errno));
	queued = 0;
}

unsigned int ring_queued(void)
{
	return queued;
}

bool ring_receive(struct arrival *arrival)
{
	for (;;) {
		struct tpacket2_hdr *h = frame_of(&rx, rx.next);
		const struct virtio_net_hdr *virtio;
		uint8_t *data = (uint8_t *)h + h->tp_mac;
		bool good;

		if (!(h->tp_status & TP_STATUS_USER))
			return false;
		virtio = (void *)(data - sizeof(*virtio));
		arrival->gso = virtio->gso_type ? virtio->gso_size : 0;
		good = wire_read(data, h->tp_snaplen, h->tp_len, arrival);
		h->tp_status = TP_STATUS_KERNEL;
		rx.next++;
		if (good)
			return true;
	}
}

void ring_dump(FILE *to, unsigned int count)
{
	unsigned int n, i;

	for (n = tx.next - count; n != tx.next; n++) {
		const uint8_t *data = tx_data(n);
		unsigned int bytes = frame_of(&tx, n)->tp_len;

		fprintf(to, "frame -%u, %u bytes:", tx.next - n, bytes);
		for (i = 0; i < bytes && i < 4 * HEX_PER_LINE; i++)
			fprintf(to, "%s%02x", i % HEX_PER_LINE ? "" : "\n  ",
				data[i]);
		fputc('\n', to);
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/kmsg gives one record for each read().
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "rng.h"
#include "watch.h"

#define RECORD_BYTES	8192

static const char *const signs[] = {
	"KASAN", "UBSAN", "BUG", "WARNING", "cut here", "Call Trace",
	"corruption", "refcount_t", "general protection", "Oops", "stack-out",
	"scheduling while atomic", "Bad page", "protocol bug",
	"Attempt to release", "leaked",
};

static int kmsg;

void watch_open(void)
{
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg < 0)
		fatal("/dev/kmsg: %s", strerror(errno));
	lseek(kmsg, 0, SEEK_END);
}

static bool is_sign(const char *text)
{
	unsigned int i;

	for (i = 0; i < COUNT_OF(signs); i++)
		if (strstr(text, signs[i]))
			return true;
	return false;
}

bool watch_reports(void)
{
	static char record[RECORD_BYTES];
	bool found = false;
	ssize_t bytes;

	for (;;) {
		const char *text;

		bytes = read(kmsg, record, sizeof(record) - 1);
		if (bytes < 0 && errno == EPIPE)
			continue;	/* some have been overwritten */
		if (bytes <= 0)
			return found;
		record[bytes] = '\0';
		text = strchr(record, ';');
		text = text ? text + 1 : record;
		found = found || is_sign(text);
		if (found)
			fprintf(stderr, "%.*s\n", (int)strcspn(text, "\n"), text);
	}
}

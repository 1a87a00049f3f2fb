// SPDX-License-Identifier: GPL-2.0
/*
 * The steps in the life of a flow.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "args.h"
#include "clock.h"
#include "flow.h"
#include "report.h"

int64_t run_time(void)
{
	return now_ns() - run.t0;
}

static void start_flow(struct flow *flow)
{
	flow->t_start = run_time();
	if (flow->role == ROLE_SEND)
		report_start(flow);
}

bool flow_advance(struct flow *flow, enum flow_state state)
{
	bool alive;

	pthread_mutex_lock(&run.lock);
	alive = flow->state != FLOW_OVER;
	if (alive) {
		flow->state = state;
		if (state == FLOW_CONNECTING)
			flow->t_connect = run_time();
		else
			start_flow(flow);
	}
	pthread_mutex_unlock(&run.lock);
	return alive;
}

static void set_over(struct flow *flow)
{
	flow->state = FLOW_OVER;
	if (flow_is_passive(flow))
		return;
	run.live--;
	eventfd_write(run.changed, 1);
}

void __flow_end(struct flow *flow, int64_t t, const char *reason,
		bool complete)
{
	if (flow->state == FLOW_OVER)
		return;
	if (flow->state == FLOW_RUNNING)
		flow->ops->end(flow, t, reason, complete);
	set_over(flow);
}

void __flow_error(struct flow *flow, const char *what, int error)
{
	int64_t t = run_time();

	if (flow->state == FLOW_OVER)
		return;
	warn("flow %d: %s: %s", (int)flow->id, what, strerror(error));
	report_error(flow, t, what, error);
	run.failed = true;
	__flow_end(flow, t, "error", false);
}

void flow_end(struct flow *flow, const char *reason, bool complete)
{
	pthread_mutex_lock(&run.lock);
	__flow_end(flow, run_time(), reason, complete);
	pthread_mutex_unlock(&run.lock);
}

void flow_error(struct flow *flow, const char *what, int error)
{
	pthread_mutex_lock(&run.lock);
	__flow_error(flow, what, error);
	pthread_mutex_unlock(&run.lock);
}

/* Under the lock, because the main thread uses the socket of a live flow. */
void flow_close(struct flow *flow)
{
	pthread_mutex_lock(&run.lock);
	close(flow->fd);
	flow->fd = -1;
	pthread_mutex_unlock(&run.lock);
}

int flow_set_option(struct flow *flow, int fd, int level, int option,
		    const char *name, int64_t value)
{
	int number = value;

	if (!value ||
	    !setsockopt(fd, level, option, &number, sizeof(number)))
		return 0;
	flow_error(flow, name, errno);
	return -1;
}

int flow_bind(struct flow *flow, int fd, const union address *address)
{
	static const int on = 1;

	if (!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
	    !bind(fd, &address->sa, address_length(address)))
		return 0;
	flow_error(flow, "bind", errno);
	return -1;
}

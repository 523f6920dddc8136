#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

#include "base/mem.h"

static int64_t read_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t real_wall_ms(void)
{
	return read_ns(CLOCK_REALTIME) / 1000000;
}

static int64_t real_mono_ms(void)
{
	return read_ns(CLOCK_MONOTONIC) / 1000000;
}

static void real_random(void *out, size_t bytes)
{
	char *p = out;

	while (bytes) {
		size_t chunk = bytes < 256 ? bytes : 256;
		if (getentropy(p, chunk) != 0)
			abort();
		p += chunk;
		bytes -= chunk;
	}
}

struct clock_source clock_source = {real_wall_ms, real_mono_ms, real_random};

int64_t clock_wall_ms(void)
{
	return clock_source.wall_ms();
}

int64_t clock_mono_ms(void)
{
	return clock_source.mono_ms();
}

int64_t clock_mono_us(void)
{
	return read_ns(CLOCK_MONOTONIC) / 1000;
}

void random_bytes(void *out, size_t bytes)
{
	clock_source.random(out, bytes);
}

uint32_t random_below(uint32_t below)
{
	uint32_t limit, x;

	if (below < 2)
		return 0;
	/* Reject the uneven rest, so that every value is equally likely. */
	limit = UINT32_MAX - UINT32_MAX % below;
	do
		random_bytes(&x, sizeof(x));
	while (x >= limit);
	return x % below;
}

void random_pause_us(uint32_t min, uint32_t max)
{
	int64_t us = min + random_below(max - min + 1);
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

char *clock_iso(int64_t wall_ms)
{
	time_t s = (time_t)(wall_ms / 1000);
	struct tm tm;
	char day[32];

	gmtime_r(&s, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	return xasprintf("%s.%03dZ", day, (int)(wall_ms % 1000));
}

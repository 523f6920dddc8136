/*
 * Time and random numbers, behind one seam: tests replace `clock_source`.
 */
#ifndef ABIDE_BASE_CLOCK_H
#define ABIDE_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

struct clock_source {
	int64_t (*wall_ms)(void);                /* UTC, milliseconds since 1970 */
	int64_t (*mono_ms)(void);                /* monotonic milliseconds */
	void (*random)(void *out, size_t bytes); /* from the kernel */
};
extern struct clock_source clock_source;

int64_t clock_wall_ms(void);
int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);
void random_bytes(void *out, size_t bytes);
/* Uniform in [0, below). */
uint32_t random_below(uint32_t below);
/* Sleeps a random time in [min, max] microseconds: for lock retries only. */
void random_pause_us(uint32_t min, uint32_t max);
/* "2026-11-30T18:01:11.123Z". To be freed. */
char *clock_iso(int64_t wall_ms);

#endif

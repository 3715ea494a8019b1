// A process with this in LD_PRELOAD has a clock that is AHEAD seconds fast. What it measures time
// with (CLOCK_MONOTONIC) is as before.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*own)(clockid_t, struct timespec *);
    if (own == NULL)
        own = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
    int told = own(clock, now);
    if (clock == CLOCK_REALTIME && told == 0)
        now->tv_sec += AHEAD;
    return told;
}

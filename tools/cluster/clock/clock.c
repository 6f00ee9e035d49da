// Makes the clock of a program wrong: by as many seconds as the file CLOCK begins with, as a number of eight bytes.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static const volatile long *off;

__attribute__((constructor)) static void map(void) {
	int file = open(getenv("CLOCK"), O_RDONLY);
	void *found = mmap(NULL, sizeof *off, PROT_READ, MAP_SHARED, file, 0);
	off = found == MAP_FAILED ? NULL : found;
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz) {
	long failed = syscall(SYS_gettimeofday, tv, tz);
	if (!failed && off)
		tv->tv_sec += *off;
	return (int)failed;
}

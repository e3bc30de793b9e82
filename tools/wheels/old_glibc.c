/* SPDX-License-Identifier: Apache-2.0
 * What the wheels, compiled with a newer C library, take from here instead, so that glibc 2.28 is enough. relink.py gives the linker the names
 * behind __wrap_. */
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* 2.32, for libstdc++: nonzero while there is one thread. */
HIDDEN char __libc_single_threaded = 0;

/* 2.36, for libstdc++ */
HIDDEN unsigned arc4random(void) {
  unsigned word;
  if (getentropy(&word, sizeof word) != 0) __builtin_trap();
  return word;
}

/* 2.30, for libstdc++. It looks at its clock again after a wait, which the system's clock may have ended early or late. */
HIDDEN int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until) {
  const long second = 1000000000;
  struct timespec now, end;
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &end) != 0) return EINVAL;
  end.tv_sec += until->tv_sec - now.tv_sec;
  end.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (end.tv_nsec < 0) {
    end.tv_nsec += second;
    end.tv_sec -= 1;
  } else if (end.tv_nsec >= second) {
    end.tv_nsec -= second;
    end.tv_sec += 1;
  }
  return pthread_cond_timedwait(condition, mutex, &end);
}

/* 2.29 gave these a second version, which differs in errno alone. The first has the version of the first glibc of a machine. */
#ifdef __aarch64__
#define FIRST "GLIBC_2.17"
#else
#define FIRST "GLIBC_2.2.5"
#endif
#define ONE(name)                                        \
  double old_##name(double);                             \
  __asm__(".symver old_" #name "," #name "@" FIRST);     \
  HIDDEN double __wrap_##name(double x) { return old_##name(x); }
ONE(exp)
ONE(exp2)
ONE(log)
ONE(log2)
double old_pow(double, double);
__asm__(".symver old_pow,pow@" FIRST);
HIDDEN double __wrap_pow(double x, double y) { return old_pow(x, y); }

/* SPDX-License-Identifier: Apache-2.0
 * What the static libstdc++ of g++ 12 takes from a newer glibc than the wheels are linked with. */
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* 2.32: nonzero while there is one thread. */
HIDDEN char __libc_single_threaded = 0;

/* 2.36 */
HIDDEN unsigned arc4random(void) {
  unsigned word;
  if (getentropy(&word, sizeof word) != 0) __builtin_trap();
  return word;
}

/* What alloc_faults.c gives to programs that run behind it. */
#ifndef ALLOC_FAULTS_H
#define ALLOC_FAULTS_H

#include <limits.h>

/* From now on requests of libstanchion are counted, from 1, and those from `first` on fail, `count` of them. */
void alloc_faults_arm(long first, long count) __attribute__((weak));

/* How many there have been. */
long alloc_faults_seen(void) __attribute__((weak));

#endif

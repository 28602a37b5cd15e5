/* Stanchion: a header of Fenix 1.0 that some programs include besides fenix.h, and which brings more of the
 * standard library.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/fenix_data_recovery.h. */
#ifndef __FENIX_DATA_RECOVERY__
#define __FENIX_DATA_RECOVERY__

#include "fenix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/types.h>
#include <syslog.h>

#endif

/* Stanchion: what the library says about itself and its errors.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/stanchion.h and src/capi/stanchion.rs. */
#ifndef STANCHION_H
#define STANCHION_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STANCHION_VERSION "0.1.0"
#define STANCHION_VERSION_MAJOR (0)
#define STANCHION_VERSION_MINOR (1)
#define STANCHION_VERSION_PATCH (0)
/* To compare: STANCHION_VERSION_NUMBER >= 200 is 0.2.0 or later. */
#define STANCHION_VERSION_NUMBER (0 * 10000 + 1 * 100 + 0)

#define STANCHION_LOG_NONE    (0)
#define STANCHION_LOG_ERROR   (1)
#define STANCHION_LOG_WARNING (2)
#define STANCHION_LOG_INFO    (3)
#define STANCHION_LOG_DEBUG   (4)

/** Receives a log message: its level, its text, and the pointer that was set with the callback. */
typedef void (*stanchion_log_callback)(int level, const char* text, void* user);

/**
 * The version of the library, such as "0.1.0". The string lives forever.
 */
const char *stanchion_version(void);

/**
 * How the library was built: version, target, profile, MPI. One line; the string lives forever.
 */
const char *stanchion_build_info(void);

/**
 * Copies the text of this thread's last error, cut to `size` bytes with the closing NUL.
 *
 * # Returns
 * The length of the whole text without the NUL; 0 if there was no error.
 *
 * # Safety
 * `buffer` is NULL or has room for `size` bytes.
 */
size_t stanchion_last_error(char *buffer, size_t size);

/**
 * Sets which messages are logged: 0 none (the default), 1 errors, 2 warnings, 3 information, 4 all.
 * Before the first call the environment variable STANCHION_LOG decides.
 */
void stanchion_set_log_level(int level);

/**
 * Sends log messages to `callback` instead of standard error; NULL goes back to that.
 *
 * # Safety
 * `callback` may be called with `user` from any thread until another one is set.
 */
void stanchion_set_log_callback(stanchion_log_callback callback, void *user);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif

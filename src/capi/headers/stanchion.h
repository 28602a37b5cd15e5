/* Stanchion: what the library says about itself and its errors.
 *
 * Written by `BLESS=1 cargo test --test headers`: edit src/capi/headers/stanchion.h and src/capi/stanchion.rs. */
#ifndef STANCHION_H
#define STANCHION_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STANCHION_VERSION "@VERSION@"
#define STANCHION_VERSION_MAJOR (@MAJOR@)
#define STANCHION_VERSION_MINOR (@MINOR@)
#define STANCHION_VERSION_PATCH (@PATCH@)
/* To compare: STANCHION_VERSION_NUMBER >= 200 is 0.2.0 or later. */
#define STANCHION_VERSION_NUMBER (@MAJOR@ * 10000 + @MINOR@ * 100 + @PATCH@)

#define STANCHION_LOG_NONE    (0)
#define STANCHION_LOG_ERROR   (1)
#define STANCHION_LOG_WARNING (2)
#define STANCHION_LOG_INFO    (3)
#define STANCHION_LOG_DEBUG   (4)

/** Receives a log message: its level, its text, and the pointer that was set with the callback. */
typedef void (*stanchion_log_callback)(int level, const char* text, void* user);

//BODY
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif

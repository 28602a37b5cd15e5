/* What the functions that raise need (cmake/StanchionRaise.cmake makes them). */
#ifndef STANCHION_RAISE_H
#define STANCHION_RAISE_H

/* Raises what the last call into Rust has met, if the user's communicator is a resilient one.
 * Returns `rc`, unless the error handler jumps. */
int stanchion_raised(int rc);

#endif

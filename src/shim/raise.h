/* A process failure that Rust met on a private communicator is raised on the user's communicator, whose
 * error handler may jump: from C, after the last Rust frame has returned. */
#ifndef STANCHION_RAISE_H
#define STANCHION_RAISE_H

/* Raises what the last call into Rust has met, if the user's communicator is a resilient one.
 * Returns `rc`, unless the error handler jumps. */
int stanchion_raised(int rc);

#endif

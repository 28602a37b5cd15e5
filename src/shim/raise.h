/* A process failure that Rust met on a private communicator is raised on the user's communicator, whose
 * error handler may jump: from C, after the last Rust frame has returned. */
#ifndef STANCHION_RAISE_H
#define STANCHION_RAISE_H

/* Declares what Rust defines below the public function `name`. */
#define INNER(name) extern __typeof__(name) inner_##name

/* Raises what the last call into Rust has met, if the user's communicator is a resilient one.
 * Returns `rc`, unless the error handler jumps. */
int stanchion_raised(int rc);

#endif

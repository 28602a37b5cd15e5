/* Tells Rust, which knows no weak references, whether this program is linked with the file libraries. */
#include "linked.h"

#pragma weak stanchion_linked_calls

/* NULL: PIO loads them. */
const struct stanchion_linked_call* stanchion_linked_table(void);
const struct stanchion_linked_call* stanchion_linked_table(void) { return stanchion_linked_calls; }

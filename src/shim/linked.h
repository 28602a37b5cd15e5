/* The functions of the file libraries as a static program is linked with them, from calls.in. Only PIO's own static library
 * has this table; the last entry is empty. */
#ifndef STANCHION_LINKED_H
#define STANCHION_LINKED_H

struct stanchion_linked_call {
  const char* name;
  void (*function)(void);
};

extern const struct stanchion_linked_call stanchion_linked_calls[];

#endif

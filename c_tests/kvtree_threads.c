/* Several threads read one large tree at once: some walk it with kvtree_elem_next, others look keys up. What had been
 * handed out before and then left the tree must not be followed by any of them. And a thread that is ending may
 * still call the library: its destructors run when there are no thread-locals any more. */
#define _POSIX_C_SOURCE 200809L
#include "kvtree.h"
#include "kvtree_util.h"
#include "stanchion.h"
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { READERS = 3 };

static kvtree* tree;
static int keys, removed; /* keys 4 to removed-1 have left the tree */
static atomic_int started, wrong;

static const char* text(int number, char* buffer)
{
  snprintf(buffer, 16, "%d", number);
  return buffer;
}

static int is_there(int number)
{
  return number < 4 || number >= removed;
}

static void wait_for_all(void)
{
  atomic_fetch_add(&started, 1);
  while (atomic_load(&started) < READERS) sched_yield();
}

/* Hands one element out again and again: each time it comes to another place where the tree notes such things. */
static void* walks(void* unused)
{
  char key[16];
  kvtree_elem* elem = kvtree_elem_get(tree, text(keys - 10, key));
  wait_for_all();
  for (int i = 0; i < 2 * keys; i++) {
    if (!kvtree_elem_next(elem)) atomic_fetch_add(&wrong, 1);
  }
  return unused;
}

static void* looks_up(void* seed)
{
  char key[16];
  wait_for_all();
  for (int i = 0; i < 2 * keys; i++) {
    int number = (int)((7u * (unsigned)i + (unsigned)*(int*)seed) % (unsigned)(keys + 100));
    kvtree* found = kvtree_get(tree, text(number, key));
    if ((found != NULL) != (number < keys && is_there(number))) atomic_fetch_add(&wrong, 1);
  }
  return NULL;
}

static void readers(void)
{
  char key[16];
  pthread_t threads[READERS];
  int seeds[READERS] = {0, 1, 5};
  tree = kvtree_new();
  for (int i = 0; i < keys; i++) kvtree_set(tree, text(i, key), kvtree_new());
  int walked = 0;
  for (kvtree_elem* elem = kvtree_elem_first(tree); elem; elem = kvtree_elem_next(elem)) walked++;
  CHECK_INT(walked, keys);
  for (int i = 4; i < removed; i++) kvtree_unset(tree, text(i, key));

  atomic_store(&started, 0);
  pthread_create(&threads[0], NULL, walks, NULL);
  for (int i = 1; i < READERS; i++) pthread_create(&threads[i], NULL, looks_up, &seeds[i]);
  for (int i = 0; i < READERS; i++) pthread_join(threads[i], NULL);
  CHECK_INT(atomic_load(&wrong), 0);

  /* Alone again: what was handed out may be renamed, and everything is found. */
  kvtree_elem* elem = kvtree_elem_get(tree, text(keys - 1, key));
  free(elem->key);
  elem->key = strdup("renamed");
  CHECK(kvtree_get(tree, "renamed") != NULL);
  CHECK(kvtree_get(tree, text(keys - 1, key)) == NULL);
  CHECK(kvtree_get(tree, text(keys - 2, key)) != NULL);
  kvtree_delete(&tree);
}

static atomic_int ended;

/* Runs after the thread-locals of the library are gone. */
static void at_end(void* used)
{
  kvtree* empty = kvtree_new();
  int value = 0;
  char error[64];
  CHECK(kvtree_read_file("no/such/file", empty) != KVTREE_SUCCESS);
  CHECK(kvtree_util_get_int(empty, "absent", &value) != KVTREE_SUCCESS);
  CHECK(stanchion_last_error(error, sizeof error) <= 1000);
  kvtree_delete(&empty);
  atomic_fetch_add(&ended, 1);
  (void)used;
}

static void* ends(void* key)
{
  kvtree* empty = kvtree_new();
  int value = 0;
  pthread_setspecific(*(pthread_key_t*)key, key);
  CHECK(kvtree_read_file("no/such/file", empty) != KVTREE_SUCCESS);
  CHECK(kvtree_util_get_int(empty, "absent", &value) != KVTREE_SUCCESS);
  kvtree_delete(&empty);
  return NULL;
}

static void ending_thread(void)
{
  pthread_key_t key;
  pthread_t thread;
  CHECK_INT(pthread_key_create(&key, at_end), 0);
  CHECK_INT(pthread_create(&thread, NULL, ends, &key), 0);
  CHECK_INT(pthread_join(thread, NULL), 0);
  CHECK_INT(atomic_load(&ended), 1);
}

int main(void)
{
  keys = check_size(20000, 2000);
  removed = 1 + keys / 2;
  for (int round = 0; round < check_size(6, 2); round++) readers();
  ending_thread();
  return check_result();
}

/* A client of redset without MPI; also compiled as C++. */
#include <redset.h>

#include <stdio.h>

#ifdef REDSET_ENABLE_MPI
#error "the base library is not for programs with MPI"
#endif

int main(void) {
  int size = 7, *ranks = &size;
  const char* files[1] = {"absent"};
  if (redset_filelist_count(NULL) != 0 || redset_rebuild_xor(1, files, "ck.", NULL) == REDSET_SUCCESS ||
      redset_filelist_get_data_rs(1, files, &size, &ranks) != NULL || size != 0 || ranks != NULL) {
    fprintf(stderr, "wrong results for a file that does not exist\n");
    return 1;
  }
  return 0;
}

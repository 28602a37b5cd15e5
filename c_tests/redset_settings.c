/* Upstream's own test reads redset's settings as variables. A program that is linked with libredset.so has copies of them,
 * which the library must be able to write. */
#include <mpi.h>

#include "kvtree.h"
#include "kvtree_util.h"
#include "redset.h"
#include "check.h"

extern int redset_debug, redset_set_size, redset_mpi_buf_size;

int main(int argc, char** argv)
{
  CHECK_INT(MPI_Init(&argc, &argv), MPI_SUCCESS);
  CHECK_INT(redset_init(), REDSET_SUCCESS);
  int debug = !redset_debug, set_size = redset_set_size + 1, buf_size = redset_mpi_buf_size + 1;
  kvtree* config = kvtree_new();
  CHECK_INT(kvtree_util_set_int(config, REDSET_KEY_CONFIG_DEBUG, debug), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_int(config, REDSET_KEY_CONFIG_SET_SIZE, set_size), KVTREE_SUCCESS);
  CHECK_INT(kvtree_util_set_int(config, REDSET_KEY_CONFIG_MPI_BUF_SIZE, buf_size), KVTREE_SUCCESS);
  CHECK(redset_config(config) != NULL);
  CHECK_INT(redset_debug, debug);
  CHECK_INT(redset_set_size, set_size);
  CHECK_INT(redset_mpi_buf_size, buf_size);
  kvtree_delete(&config);
  CHECK_INT(redset_finalize(), REDSET_SUCCESS);
  return check_result_mpi();
}

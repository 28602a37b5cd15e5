/* Every function that talks to other ranks: Rust does the work under an inner name, and what it met is raised
 * once it has returned. */
#include "raise.h"
#include "kvtree_mpi.h"
#include "rankstr_mpi.h"
#include "redset.h"
#include "stanchion.h"

/* Rust: whether there is a failure to raise, where, and its MPI code. */
int inner_take_failure(MPI_Comm* comm, int* code);

int stanchion_raised(int rc)
{
  MPI_Comm comm;
  int code;
  if (inner_take_failure(&comm, &code)) MPI_Comm_call_errhandler(comm, code);
  return rc;
}

/* kvtree_mpi.h */

INNER(kvtree_send);
int kvtree_send(const kvtree* hash, int rank, MPI_Comm comm)
{
  return stanchion_raised(inner_kvtree_send(hash, rank, comm));
}

INNER(kvtree_recv);
int kvtree_recv(kvtree* hash, int rank, MPI_Comm comm)
{
  return stanchion_raised(inner_kvtree_recv(hash, rank, comm));
}

INNER(kvtree_sendrecv);
int kvtree_sendrecv(const kvtree* hash_send, int rank_send, kvtree* hash_recv, int rank_recv, MPI_Comm comm)
{
  return stanchion_raised(inner_kvtree_sendrecv(hash_send, rank_send, hash_recv, rank_recv, comm));
}

INNER(kvtree_bcast);
int kvtree_bcast(kvtree* hash, int root, MPI_Comm comm)
{
  return stanchion_raised(inner_kvtree_bcast(hash, root, comm));
}

INNER(kvtree_exchange);
int kvtree_exchange(const kvtree* hash_send, kvtree* hash_recv, MPI_Comm comm)
{
  return stanchion_raised(inner_kvtree_exchange(hash_send, hash_recv, comm));
}

INNER(kvtree_exchange_direction);
int kvtree_exchange_direction(const kvtree* hash_send, kvtree* hash_recv, MPI_Comm comm,
                              kvtree_exchange_enum direction)
{
  return stanchion_raised(inner_kvtree_exchange_direction(hash_send, hash_recv, comm, direction));
}

INNER(kvtree_write_gather);
int kvtree_write_gather(const char* prefix, kvtree* data, MPI_Comm comm)
{
  return stanchion_raised(inner_kvtree_write_gather(prefix, data, comm));
}

INNER(kvtree_read_scatter);
int kvtree_read_scatter(const char* prefix, kvtree* data, MPI_Comm comm)
{
  return stanchion_raised(inner_kvtree_read_scatter(prefix, data, comm));
}

/* rankstr_mpi.h */

INNER(rankstr_mpi);
void rankstr_mpi(const char* str, MPI_Comm comm, int tag1, int tag2, int* groups, int* groupid)
{
  inner_rankstr_mpi(str, comm, tag1, tag2, groups, groupid);
  stanchion_raised(0);
}

INNER(rankstr_mpi_comm_split);
void rankstr_mpi_comm_split(MPI_Comm comm, const char* str, int key, int tag1, int tag2, MPI_Comm* newcomm)
{
  inner_rankstr_mpi_comm_split(comm, str, key, tag1, tag2, newcomm);
  stanchion_raised(0);
}

/* redset.h */

INNER(redset_create);
int redset_create(int type, MPI_Comm comm, const char* group, redset* d)
{
  return stanchion_raised(inner_redset_create(type, comm, group, d));
}

INNER(redset_create_single);
int redset_create_single(MPI_Comm comm, const char* group, redset* d)
{
  return stanchion_raised(inner_redset_create_single(comm, group, d));
}

INNER(redset_create_partner);
int redset_create_partner(MPI_Comm comm, const char* group, int size, int replicas, redset* d)
{
  return stanchion_raised(inner_redset_create_partner(comm, group, size, replicas, d));
}

INNER(redset_create_xor);
int redset_create_xor(MPI_Comm comm, const char* group, int size, redset* d)
{
  return stanchion_raised(inner_redset_create_xor(comm, group, size, d));
}

INNER(redset_create_rs);
int redset_create_rs(MPI_Comm comm, const char* group, int size, int k, redset* d)
{
  return stanchion_raised(inner_redset_create_rs(comm, group, size, k, d));
}

INNER(redset_delete);
int redset_delete(redset* d)
{
  return stanchion_raised(inner_redset_delete(d));
}

INNER(redset_apply);
int redset_apply(int numfiles, const char** files, const char* name, const redset d)
{
  return stanchion_raised(inner_redset_apply(numfiles, files, name, d));
}

INNER(redset_recover);
int redset_recover(MPI_Comm comm, const char* name, redset* d)
{
  return stanchion_raised(inner_redset_recover(comm, name, d));
}

INNER(redset_unapply);
int redset_unapply(const char* name, const redset d)
{
  return stanchion_raised(inner_redset_unapply(name, d));
}

/* stanchion.h */

INNER(fdp_create);
int fdp_create(MPI_Comm comm, const char* path, const fdp_scheme* scheme, fdp_t** placement)
{
  return stanchion_raised(inner_fdp_create(comm, path, scheme, placement));
}

INNER(stanchion_redset_create_placed);
int stanchion_redset_create_placed(MPI_Comm comm, const fdp_t* placement, redset* d)
{
  return stanchion_raised(inner_stanchion_redset_create_placed(comm, placement, d));
}

INNER(stanchion_redset_verify);
int stanchion_redset_verify(MPI_Comm comm, const char* name, kvtree** report)
{
  return stanchion_raised(inner_stanchion_redset_verify(comm, name, report));
}

/* Objects of NCAR's PIO that no public header declares. Upstream's own test programs use them; nothing else should. */
#if STANCHION_PIO_NCAR
#include <mpi.h>

char err_buffer[MPI_MAX_ERROR_STRING];
int resultlen;
#else
typedef int nothing; /* a translation unit is not empty */
#endif

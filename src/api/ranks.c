/* See abd/mpi.h. Tested by tests/cli/ranks.sh. */
#include <abd/mpi.h>

#include "base/base.h"

#ifdef ABD_MPI
#include "mpi/ranks.h"

const char *abd_mpi_missing(void) { return NULL; }

AbdStatus abd_mpi_begin(AbdError *error) {
  AbdError own = {0};
  const char *why = ranks_begin();
  return why ? fault(error ? error : &own, ABD_ERROR_STATE, "%s", why) : ABD_OK;
}

void abd_mpi_end(void) { ranks_end(); }
int abd_mpi_rank(void) { return ranks_rank(); }
int abd_mpi_count(void) { return ranks_count(); }
bool abd_mpi_agree(bool good) { return ranks_agree(good); }
int abd_mpi_worst(int code, int *rank) { return ranks_worst(code, rank); }
bool abd_mpi_spread(void **bytes, size_t *size) { return ranks_count() == 1 || ranks_spread(bytes, size); }
AbdMpiReport abd_mpi_report(void) { return ranks_report(); }
void abd_mpi_spread_of(double value, double *mean, double *most) { ranks_spread_of(value, mean, most); }
void abd_mpi_abort(int code) { ranks_abort(code); }
#else
const char *abd_mpi_missing(void) {
  return "this build has no MPI: configure it with -DABD_MPI=ON (Debian: libopenmpi-dev, openmpi-bin)";
}

AbdStatus abd_mpi_begin(AbdError *error) {
  AbdError own = {0};
  return fault(error ? error : &own, ABD_ERROR_STATE, "%s", abd_mpi_missing());
}

void abd_mpi_end(void) {}
int abd_mpi_rank(void) { return 0; }
int abd_mpi_count(void) { return 1; }
bool abd_mpi_agree(bool good) { return good; }
int abd_mpi_worst(int code, int *rank) { return *rank = 0, code; }
bool abd_mpi_spread(void **bytes, size_t *size) { return (void)bytes, (void)size, true; }
AbdMpiReport abd_mpi_report(void) { return (AbdMpiReport){0}; }
void abd_mpi_spread_of(double value, double *mean, double *most) { *mean = *most = value; }
void abd_mpi_abort(int code) { (void)code; }
#endif

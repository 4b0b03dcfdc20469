/* `mpirun -n N abd run ...`: all ranks run the command, rank 0 reads and writes the files and prints. What another rank
 * prints is kept, and printed if that rank fails and rank 0 does not. Tested by tests/cli/ranks.sh. */
#ifndef ABD_TOOL_MPIRUN_H
#define ABD_TOOL_MPIRUN_H

#include "stop.h"

/* Starts MPI if mpirun started this process with others. Returns EXIT_GOOD, or an exit code after it has printed. */
int mpirun_start(void);
void mpirun_end(void);
/* The worst exit code of all ranks, which all of them call it with. If it is another rank's alone, that rank prints. */
int mpirun_worst_code(int code);
/* Prints on rank 0 how the ranks shared the work of `steps` steps, if there are several. All of them call it. */
void mpirun_print(int64_t steps, bool quiet);
/* stop_cause on any rank. */
bool mpirun_stop_cause(void);

#endif

/* What launchers say, in the environment, of a process's place in its job. */
#ifndef PW_BASE_LAUNCH_H
#define PW_BASE_LAUNCH_H

#include <stdbool.h>

/* The number of this process among those of its job on this node, as launchers tell it; -1: unknown. */
int pw_launch_local_rank(void);

/* Whether launchers tell that the job has other processes, but none of them on this node. */
bool pw_launch_is_alone_on_node(void);

#endif

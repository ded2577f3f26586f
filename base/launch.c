#include "base/launch.h"

#include "base/env.h"

#include <stdlib.h>
#include <string.h>

int pw_launch_local_rank(void)
{
    /* MPICH's hydra, Open MPI, Slurm, PALS. */
    static const char *const names[] = {"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID",
                                        "PALS_LOCAL_RANKID"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = pw_env_foreign(names[i]);

        if (text && *text >= '0' && *text <= '9')
            return atoi(text);
    }
    return -1;
}

/* MPICH's hydra and Open MPI tell how many processes are on this node and in the job. Returns whether one does. */
static bool count_processes(int *here, int *all)
{
    static const char *const names[][2] = {{"MPI_LOCALNRANKS", "PMI_SIZE"},
                                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *on_node = pw_env_foreign(names[i][0]), *of_job = pw_env_foreign(names[i][1]);

        if (on_node && of_job) {
            *here = atoi(on_node);
            *all = atoi(of_job);
            return true;
        }
    }
    return false;
}

bool pw_launch_is_alone_on_node(void)
{
    /* Slurm: "1(x4)" are four nodes with a process each. */
    static const char one_each[] = "1(x";
    const char *slurm = pw_env_foreign("SLURM_STEP_TASKS_PER_NODE");
    int here, all;

    if (count_processes(&here, &all))
        return here == 1 && all > 1;
    return slurm && !strncmp(slurm, one_each, strlen(one_each)) && !strchr(slurm, ',');
}

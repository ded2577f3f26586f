#ifndef PW_RUNTIME_ROLE_H
#define PW_RUNTIME_ROLE_H

/* What MPI does with the buffer: reads it, writes it, or both (in-place and replacing calls). */
typedef enum pw_role { PW_SEND, PW_RECV, PW_BOTH } pw_role;

#endif

/* Internal to ir/: the verifier, for callers that know where a node came from. */
#ifndef PW_IR_VERIFY_H
#define PW_IR_VERIFY_H

#include "ir/ir.h"

/* As pw_verify; `culprit`, when not NULL, gets the node that `diag` is about (NULL: the type itself). */
pw_status pw_verify_at(const pw_type *type, pw_diag *diag, const pw_node **culprit);

#endif

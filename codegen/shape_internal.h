/* What the files of shapes share: shape.c makes them, shape_hash.c hashes them. */
#ifndef PW_CODEGEN_SHAPE_INTERNAL_H
#define PW_CODEGEN_SHAPE_INTERNAL_H

#include "codegen/shape.h"

/* Hashes all that the text form shows. */
pw_hash pw_shape_hash(const pw_shape *shape);

/* Returns how many bytes of an arena a copy takes. */
size_t pw_shape_bytes(const pw_shape *shape);

#endif

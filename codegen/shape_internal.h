/* Between the files of shapes: what shape.c makes, shape_hash.c goes through. */
#ifndef PW_CODEGEN_SHAPE_INTERNAL_H
#define PW_CODEGEN_SHAPE_INTERNAL_H

#include "codegen/shape.h"

/* The hash of all that the text form tells. */
pw_hash pw_shape_hash(const pw_shape *shape);

/* Bytes of an arena that holds a copy. */
size_t pw_shape_bytes(const pw_shape *shape);

#endif

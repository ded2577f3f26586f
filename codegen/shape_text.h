/* The canonical text of a shape: what is printed, compared and hashed. Internal to codegen/. */
#ifndef PW_CODEGEN_SHAPE_TEXT_H
#define PW_CODEGEN_SHAPE_TEXT_H

#include "codegen/shape.h"

/* Writes the text into `arena`. */
pw_status pw_shape_print(const pw_shape *shape, pw_arena *arena, char **out);

#endif

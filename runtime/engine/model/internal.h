/* What the files of this folder share, by the file that defines it. Only they and their tests include this. */
#ifndef PW_RUNTIME_MODEL_INTERNAL_H
#define PW_RUNTIME_MODEL_INTERNAL_H

#include "base/arena.h"
#include "base/status.h"
#include "runtime/engine/model/model.h"

/* ---- default.c --------------------------------------------------------------------------------------------------- */

/*
 * The answers of a model without measurements for GPU memory: figures of an H100 with PCIe 5, and of two H200s with
 * NVLink for memory of another GPU. docs/model.md lists them. Nanoseconds and bytes.
 */

double pw_model_default_move(pw_model_memory packed, pw_direction direction, pw_model_shape s);
double pw_model_default_send(bool device, int64_t bytes);
double pw_model_default_native_device(int64_t bytes, int64_t blocks);
double pw_model_default_copy(pw_model_copy_way way, int64_t bytes);
double pw_model_default_launch(void);
double pw_model_default_across(pw_model_shape s);

#endif

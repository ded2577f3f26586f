/*
 * What a model without measurements answers: figures of an H100 with PCIe 5 for GPU memory, and of the host that
 * runtime/engine/model/cost.h was fitted on. docs/model.md lists them. Nanoseconds and bytes.
 */
#ifndef PW_RUNTIME_MODEL_DEFAULT_H
#define PW_RUNTIME_MODEL_DEFAULT_H

#include "runtime/engine/model/model.h"

double pw_model_default_move(pw_model_memory packed, pw_direction direction, pw_model_shape s);
double pw_model_default_send(bool device, int64_t bytes);
double pw_model_default_native_device(int64_t bytes, int64_t blocks);
double pw_model_default_copy(pw_model_copy_way way, int64_t bytes);
double pw_model_default_rows(pw_model_copy_way way, pw_model_shape s);
double pw_model_default_launch(void);

#endif

/* Part of every cache key; goes up with every change of what codegen/nvrtc emits. NVRTC's own version is no part of it:
 * it is not known without loading NVRTC, and kernels made by one release are right with every driver that takes them.
 */
#ifndef PW_CODEGEN_NVRTC_VERSION_H
#define PW_CODEGEN_NVRTC_VERSION_H

#define PW_NVRTC_GENERATOR_VERSION "15"

#endif

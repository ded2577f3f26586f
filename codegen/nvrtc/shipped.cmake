# The kernels that serve every layout (tier 0, several transfers in one launch, pairs), compiled with the library where there is an
# NVRTC, which needs no GPU: lib/packwright-kernels is a cache directory that runs look into before they compile. A cubin runs on
# all GPUs of its generation from its own number on.
set(PW_GPU_KERNELS AUTO CACHE STRING "GPUs whose general kernels are built with the library: sm_80;sm_90;..., AUTO or OFF")

set(gpus ${PW_GPU_KERNELS})
if(PW_GPU_KERNELS STREQUAL AUTO)
  find_library(PW_NVRTC_LIBRARY NAMES libnvrtc.so.13 PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES lib64 lib)
  mark_as_advanced(PW_NVRTC_LIBRARY)
  set(gpus)
  if(PW_NVRTC_LIBRARY AND NOT PW_SANITIZE)
    set(gpus sm_75 sm_80 sm_90 sm_100 sm_120)
  endif()
endif()
if(NOT gpus)
  return()
endif()

# Made anew when what they are made of changes, and not whenever the command is linked.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/codegen/nvrtc/*.[ch] ${CMAKE_SOURCE_DIR}/codegen/nvrtc/device/*.cuh)
set(made)
foreach(gpu IN LISTS gpus)
  set(folder ${CMAKE_BINARY_DIR}/codegen/nvrtc/shipped/${gpu})
  add_custom_command(OUTPUT ${folder}.made
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder}
    COMMAND ${CMAKE_COMMAND} -E env --unset=PACKWRIGHT_NVRTC_MODULE $<TARGET_FILE:packwright> compile --cache=${folder} --gpu=${gpu} int
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${folder} ${CMAKE_BINARY_DIR}/lib/packwright-kernels
    COMMAND ${CMAKE_COMMAND} -E touch ${folder}.made
    DEPENDS ${sources} ${CMAKE_BINARY_DIR}/codegen/generator.h
    COMMENT "Compiling the general kernels for GPUs (${gpu})"
    VERBATIM)
  list(APPEND made ${folder}.made)
endforeach()
add_custom_target(packwright-kernels ALL DEPENDS ${made})
add_dependencies(packwright-kernels packwright packwright-nvrtc)

# Readable for everybody, as libraries are; a cache is private.
set(permissions FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE
    OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
install(DIRECTORY ${CMAKE_BINARY_DIR}/lib/packwright-kernels DESTINATION ${CMAKE_INSTALL_LIBDIR} ${permissions})
install(DIRECTORY ${CMAKE_BINARY_DIR}/lib/packwright-kernels DESTINATION lib COMPONENT gpu-tests EXCLUDE_FROM_ALL ${permissions})

# `cpack -G TXZ` in the build tree makes packwright-gpu-tests.tar.xz: what tests/gpu/run needs on a machine with a GPU and without
# this tree, a compiler or a package registry. The MPI comes from that machine, or is unpacked beside it (run -p).
set(part COMPONENT gpu-tests EXCLUDE_FROM_ALL)

function(pw_gpu_tarball destination)
  foreach(target IN LISTS ARGN)
    if(TARGET ${target})
      install(TARGETS ${target} RUNTIME DESTINATION ${destination} ${part} LIBRARY DESTINATION ${destination} ${part})
    endif()
  endforeach()
endfunction()

pw_gpu_tarball(lib packwright-mpich packwright-openmpi packwright-nvrtc packwright-llvm)
# The library of the unit tests, by the name under which they ask for it: that machine may have none.
file(REAL_PATH ${CMOCKA_LIBRARY} cmocka)
install(FILES ${cmocka} DESTINATION lib RENAME libcmocka.so.0 ${part})
pw_gpu_tarball(tests test_gpu_kernels test_runtime_gpu_joined test_runtime_gpu_exported)
foreach(mpi mpich openmpi)
  if(NOT TARGET packwright-${mpi})
    continue()
  endif()
  # All that the steps of tests/gpu/run start.
  foreach(program pack messages chosen deferred direct lazy late large loopback near huge several fused pairs windows files collectives reductions asleep shared
          seeded)
    if(NOT TARGET test_${mpi}_gpu_${program})
      message(FATAL_ERROR "the tarball of the GPU tests needs test_${mpi}_gpu_${program}, which tests/mpi/gpu does not build")
    endif()
    pw_gpu_tarball(tests test_${mpi}_gpu_${program})
  endforeach()
endforeach()
pw_gpu_tarball(bin packwright)
pw_gpu_tarball(samples halo3d particles halo3d_openmpi particles_openmpi)
pw_gpu_tarball(bench bench_gpu_joined bench_gpu_fused bench_device_messages_mpich bench_device_messages_openmpi bench_device_sends_mpich bench_device_sends_openmpi
             bench_device_apps_mpich bench_device_apps_openmpi bench_device_first_mpich bench_device_first_openmpi)
install(PROGRAMS ${CMAKE_CURRENT_LIST_DIR}/run ${CMAKE_CURRENT_LIST_DIR}/goals.py ${CMAKE_CURRENT_LIST_DIR}/node ${CMAKE_CURRENT_LIST_DIR}/go ${CMAKE_SOURCE_DIR}/tests/mpi/gpu/seeded.py DESTINATION . ${part})

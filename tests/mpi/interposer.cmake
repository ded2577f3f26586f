# The interposer as programs meet it: linked before the MPI, or preloaded (entry/). A folder for each family of calls, as in
# runtime/mpi, has the programs and their runs.

# The MPIs that the interposer is built for.
set(PW_INTERPOSERS "")
foreach(mpi IN LISTS PW_TEST_MPIS)
  if(TARGET packwright-${mpi})
    list(APPEND PW_INTERPOSERS ${mpi})
  endif()
endforeach()

# Where tests of files lie: they wait for the disk elsewhere.
set(PW_TEST_SCRATCH ${CMAKE_CURRENT_BINARY_DIR})
if(EXISTS /dev/shm)
  set(PW_TEST_SCRATCH /dev/shm)
endif()

# pw_interposer_program(mpi name sources…): linked as test_<mpi>_interposer_<name>; Packwright comes before a counting tool,
# and that before the MPI.
function(pw_interposer_program mpi name)
  set(target test_${mpi}_interposer_${name})
  add_executable(${target} ${ARGN})
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE pw_test_mpi_${mpi} packwright-${mpi} pw_test_count_${mpi} mpi_${mpi} Threads::Threads
                                          ${CMAKE_DL_LIBS})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endfunction()

# What the MPI below needs to run inside a sanitizer: UCX not to hook memory calls of dying threads, its own races and leaks
# not to be ours (whole stacks tell whose they are), no second party with an alternate signal stack (Open MPI has one). The
# sanitizer takes a thread-local block of a late library that happens to begin 16 bytes into a page for one of an old C library, and
# then reads beyond memory at the end, so it must not look for such blocks.
set(PW_SANITIZED_ENV "")
if(PW_SANITIZE)
  set(PW_SANITIZED_ENV UCX_MEM_MMAP_HOOK_MODE=none UCX_MEM_MALLOC_HOOKS=n UCX_MEM_MALLOC_RELOC=n
                       ASAN_OPTIONS=use_sigaltstack=0:fast_unwind_on_malloc=0:intercept_tls_get_addr=0
                       LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_LIST_DIR}/support/leaks.txt:print_suppressions=0
                       TSAN_OPTIONS=ignore_noninstrumented_modules=1)
endif()

# The runs that CI repeats in the sanitizer builds, labelled `sanitized`: what has threads, and in the build that looks at
# memory every family of calls once, with all staged that can be. A further MPI repeats there what mixes all families, and errors;
# ThreadSanitizer is tried with MPICH only. Open MPI itself writes before the buffer when `errors` packs to a negative position.
set(PW_SANITIZED_RUNS "[.](stress.*|request_threads.*|threads[.]async|rma[.]threads.*)$")
set(PW_SANITIZED_RUNS_AGAIN "[.](stress.*|request_threads|collective_errors[.]2)$")
if(NOT PW_SANITIZE STREQUAL thread)
  string(APPEND PW_SANITIZED_RUNS "|[.]packed$|[.](shared|noted|collective_cases|rma[.]local|collective_errors[.]2)$")
endif()

# Open MPI (4.1, 5.0) writes behind contiguous buffers that are too short for what arrives, when the kernel copies, and when
# the sender's TCP puts (docs/mpi-libraries.md).
set(PW_TRUNCATION_ENV_openmpi OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma
                              OMPI_MCA_btl_tcp_flags=send,inplace,need-ack,need-csum,hetero-rdma)

# pw_interposer_run(mpi test program RANKS n [EACH_MPI] [ARGS …] [ENV NAME=value …] [EXPECT regex]): one run of a program,
# if it is not one that is made with the first MPI alone (pw_test_repeats).
function(pw_interposer_run mpi test program)
  cmake_parse_arguments(T "EACH_MPI" "RANKS;EXPECT" "ARGS;ENV" ${ARGN})
  set(each "")
  if(T_EACH_MPI)
    set(each EACH_MPI)
  endif()
  pw_test_repeats(repeats ${mpi} interposer_${program} RANKS ${T_RANKS} ARGS ${T_ARGS} ${each})
  if(repeats)
    return()
  endif()
  string(TOUPPER ${mpi} upper)
  set(name ${mpi}.interposer.${test})
  add_test(NAME ${name} COMMAND ${MPIEXEC_${upper}} -n ${T_RANKS} $<TARGET_FILE:test_${mpi}_interposer_${program}> ${T_ARGS})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 PROCESSORS ${T_RANKS} LABELS "mpi;interposer")
  pw_quick(${name} ${mpi} interposer_${program})
  list(GET PW_TEST_MPIS 0 first)
  set(sanitized ${PW_SANITIZED_RUNS})
  if(NOT mpi STREQUAL first)
    set(sanitized ${PW_SANITIZED_RUNS_AGAIN})
  endif()
  if(name MATCHES "${sanitized}" AND NOT name STREQUAL openmpi.interposer.errors.packed
     AND NOT (PW_SANITIZE STREQUAL thread AND mpi STREQUAL openmpi))
    set_property(TEST ${name} APPEND PROPERTY LABELS sanitized)
    set_property(GLOBAL APPEND PROPERTY PW_SANITIZED_PROGRAMS test_${mpi}_interposer_${program})
  endif()
  set_property(TEST ${name} PROPERTY ENVIRONMENT "PACKWRIGHT_CACHE=0;${T_ENV};${PW_SANITIZED_ENV}")
  if(T_EXPECT)
    set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION "${T_EXPECT}" FAIL_REGULAR_EXPRESSION "${PW_FAILURES}")
  endif()
endfunction()

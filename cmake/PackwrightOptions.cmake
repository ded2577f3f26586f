# What a builder may choose.
option(PW_TESTS "Build the tests and the benchmarks; needs cmocka, FileCheck and lit" OFF)
option(PW_SAMPLES "Build the sample programs" ON)
option(PW_WERROR "Treat warnings as errors" OFF)
set(PW_SANITIZE "" CACHE STRING "Sanitizers to build with: empty, address,undefined or thread")
set(PACKWRIGHT_MPI AUTO CACHE STRING "MPIs to build interposers for: their compiler wrappers (/path/mpicc;/other/mpicc), AUTO or OFF")
set(PW_LLVM AUTO CACHE STRING "Build the LLVM code generator: AUTO, ON or OFF")
set(PW_MPI_RPATH "" CACHE STRING "Where installed programs look for the MPI's library, instead of where it was at build time")
option(PW_LLVM_STATIC "Link LLVM into the code generator (X86 and AArch64 only) instead of loading libLLVM" OFF)
set(PW_FORTRAN AUTO CACHE STRING "Build the Fortran module, samples and tests: AUTO, ON or OFF")
set(PW_TEST_TYPES 12000 CACHE STRING "Random types that the differential tests face")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2 -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g")

add_compile_options(-Wall -Wextra -Wshadow -Wvla -Wpointer-arith
                    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
if(PW_WERROR)
  add_compile_options(-Werror)
endif()
if(PW_SANITIZE)
  add_compile_options(-fsanitize=${PW_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PW_SANITIZE})
  # Instrumented code confuses gcc's flow analysis: false positives.
  add_compile_options(-Wno-maybe-uninitialized)
endif()

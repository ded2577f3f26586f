# LLVM 19 with LLD's library: sets PW_HAVE_LLVM, LLVM_VERSION, LLVM_INCLUDE_DIR, LLVM_LIB_DIR, LLD_ELF and LLD_COMMON, or
# PW_LLVM_MISSING to why there is none.
set(PW_LLVM_WANTED 19)

# -DLLVM_CONFIG=llvm-config is a name on the PATH, which find_program would take for a file of this directory.
if(LLVM_CONFIG AND NOT LLVM_CONFIG MATCHES "/|NOTFOUND$")
  find_program(named NAMES ${LLVM_CONFIG} NO_CACHE)
  if(NOT named)
    message(FATAL_ERROR "LLVM_CONFIG: there is no program '${LLVM_CONFIG}'")
  endif()
  set(LLVM_CONFIG ${named} CACHE FILEPATH "" FORCE)
endif()
find_program(LLVM_CONFIG NAMES llvm-config-${PW_LLVM_WANTED} llvm-config)

# pw_llvm_config(out words…): what llvm-config answers.
function(pw_llvm_config out)
  execute_process(COMMAND ${LLVM_CONFIG} ${ARGN} OUTPUT_VARIABLE said ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(${out} "${said}" PARENT_SCOPE)
endfunction()

if(NOT LLVM_CONFIG)
  set(PW_LLVM_MISSING "there is neither llvm-config-${PW_LLVM_WANTED} nor llvm-config (package llvm-${PW_LLVM_WANTED}-dev)")
  return()
endif()
pw_llvm_config(LLVM_VERSION --version)
if(NOT LLVM_VERSION MATCHES "^${PW_LLVM_WANTED}\\.")
  set(PW_LLVM_MISSING "${LLVM_CONFIG} is of version '${LLVM_VERSION}', not ${PW_LLVM_WANTED} (-DLLVM_CONFIG=…)")
  return()
endif()
pw_llvm_config(LLVM_INCLUDE_DIR --includedir)
pw_llvm_config(LLVM_LIB_DIR --libdir)
# A call between archives can be replaced, one between shared libraries cannot (codegen/llvm/link.cpp).
find_library(LLD_ELF NAMES liblldELF.a lldELF HINTS ${LLVM_LIB_DIR})
find_library(LLD_COMMON NAMES liblldCommon.a lldCommon HINTS ${LLVM_LIB_DIR})
if(NOT LLD_ELF OR NOT LLD_COMMON)
  set(PW_LLVM_MISSING "LLD's library is not in ${LLVM_LIB_DIR} (package liblld-${PW_LLVM_WANTED}-dev)")
  return()
endif()
set(PW_HAVE_LLVM TRUE)

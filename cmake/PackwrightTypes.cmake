# packwright_add_types(target file.ddt… [PREFIX prefix] [TARGET_CPU cpu] [TARGET_TRIPLE triple])
#
# Compiles the types of each file, written in the datatype language, to C functions and links these into `target`. The
# sources of `target` include "file.h" and call pack_NAME and unpack_NAME for each type NAME (packwright-compile(1)).
# Changes of a file rebuild what depends on it. The functions need neither the library nor the command at run time.
#
#   PREFIX          stands before every identifier of the header
#   TARGET_CPU      a CPU such as native, x86-64-v3 or neoverse-n1; by default the functions run on any machine of the
#                   architecture
#   TARGET_TRIPLE   x86_64-linux-gnu or aarch64-linux-gnu; by default what the project is compiled for
#
# Packwright's own build calls this function, too, and names in PACKWRIGHT_TYPES_DEPENDS what the command loads.
#
# `target` must be a target of the calling directory that compiles something. File names without directories must differ.
function(packwright_add_types target)
  cmake_parse_arguments(PARSE_ARGV 1 T "" "PREFIX;TARGET_CPU;TARGET_TRIPLE" "")
  _packwright_check_target("${target}")
  if(T_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "packwright_add_types: ${T_KEYWORDS_MISSING_VALUES} needs a value")
  endif()
  if(NOT T_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "packwright_add_types: no file of types was given for the target '${target}'")
  endif()
  if(NOT T_TARGET_TRIPLE AND CMAKE_CROSSCOMPILING)
    set(T_TARGET_TRIPLE ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
  endif()

  set(options)
  if(T_PREFIX)
    list(APPEND options --prefix=${T_PREFIX})
  endif()
  if(T_TARGET_CPU)
    list(APPEND options --target-cpu=${T_TARGET_CPU})
  endif()
  if(T_TARGET_TRIPLE)
    list(APPEND options --target=${T_TARGET_TRIPLE})
  endif()
  # A directory for each target, since two targets may use the same file with other options.
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/packwright/${target})
  file(MAKE_DIRECTORY ${directory})
  foreach(file IN LISTS T_UNPARSED_ARGUMENTS)
    _packwright_compile_types(${target} "${file}" ${directory} "${options}")
  endforeach()
  target_include_directories(${target} PRIVATE ${directory})
endfunction()

function(_packwright_check_target target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "packwright_add_types: '${target}' is not a target")
  endif()
  get_target_property(type ${target} TYPE)
  get_target_property(imported ${target} IMPORTED)
  get_target_property(aliased ${target} ALIASED_TARGET)
  get_target_property(home ${target} SOURCE_DIR)
  if(imported OR aliased OR NOT type MATCHES "^(EXECUTABLE|STATIC_LIBRARY|SHARED_LIBRARY|MODULE_LIBRARY)$")
    message(FATAL_ERROR "packwright_add_types: '${target}' must be an executable or a static, shared or module library of "
                        "this project")
  endif()
  if(NOT home STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    message(FATAL_ERROR "packwright_add_types: call it in the directory of the target '${target}', which is ${home}")
  endif()
endfunction()

function(_packwright_compile_types target file directory options)
  get_filename_component(path "${file}" ABSOLUTE)
  get_filename_component(name "${file}" NAME_WLE)
  get_source_file_property(generated "${path}" GENERATED)
  if(NOT EXISTS "${path}" AND NOT generated)
    message(FATAL_ERROR "packwright_add_types: there is no file ${path}, and no rule of this directory makes it")
  endif()
  set(outputs ${directory}/${name}.o ${directory}/${name}.h)
  get_source_file_property(taken ${directory}/${name}.o GENERATED)
  if(taken)
    message(FATAL_ERROR "packwright_add_types: '${target}' already has types of a file ${name}.ddt")
  endif()
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND Packwright::command compile "${path}" -o ${directory}/${name}.o --header=${directory}/${name}.h ${options}
    DEPENDS "${path}" Packwright::command ${PACKWRIGHT_TYPES_DEPENDS}
    COMMENT "Compiling the types of ${file}"
    VERBATIM)
  set_source_files_properties(${outputs} PROPERTIES GENERATED TRUE)
  set_source_files_properties(${directory}/${name}.o PROPERTIES EXTERNAL_OBJECT TRUE)
  target_sources(${target} PRIVATE ${outputs})
endfunction()

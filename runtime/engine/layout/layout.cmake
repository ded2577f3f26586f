# The layout engine: no MPI in it; the interposer, the bench and the tools link it.
pw_library(pw_layout
  ${CMAKE_CURRENT_LIST_DIR}/apart.c
  ${CMAKE_CURRENT_LIST_DIR}/memo.c
  ${CMAKE_CURRENT_LIST_DIR}/disjoint.c
  ${CMAKE_CURRENT_LIST_DIR}/compile.c
  ${CMAKE_CURRENT_LIST_DIR}/config.c
  ${CMAKE_CURRENT_LIST_DIR}/heat.c
  ${CMAKE_CURRENT_LIST_DIR}/join.c
  ${CMAKE_CURRENT_LIST_DIR}/move.c
  ${CMAKE_CURRENT_LIST_DIR}/part.c
  ${CMAKE_CURRENT_LIST_DIR}/text.c)
target_link_libraries(pw_layout PUBLIC pw_cache pw_ddt pw_passes pw_interp pw_ir pw_base)

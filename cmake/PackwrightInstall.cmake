# What `cmake --install` puts where, besides the targets that the parts install themselves.
foreach(module packwright-llvm packwright-nvrtc packwright-net)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endforeach()

# packwright-<mpi>.pc finds its prefix from its own place, so that an installation can be moved.
file(RELATIVE_PATH PW_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" PW_PC_TO_PREFIX "${PW_PC_TO_PREFIX}")
foreach(mpi IN LISTS PW_MPIS)
  if(TARGET packwright-${mpi})
    set(kind ${PW_MPI_${mpi}_KIND})
    set(folder "")
    set(name packwright-${kind})
    if(PW_MPI_${mpi}_FOLDER)
      set(folder /${PW_MPI_${mpi}_FOLDER})
      string(REPLACE /packwright/ packwright- name ${folder}) # packwright-mpich-5.0.2
    endif()
    configure_file(${CMAKE_CURRENT_LIST_DIR}/packwright-mpi.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endif()
endforeach()

# For PYTHONPATH: which directory an interpreter looks into is not known here. The wheel has the package at its own place.
if(PW_PYTHON)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/packwright DESTINATION ${CMAKE_INSTALL_DATADIR}/packwright/python
          FILES_MATCHING PATTERN "*.py" PATTERN py.typed PATTERN __pycache__ EXCLUDE)
endif()

# As they lie here, so that links between them lead somewhere.
file(GLOB documents CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${CMAKE_SOURCE_DIR}/LICENSE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Debian wants it under this name.
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
file(GLOB figures CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/figures/*.svg)
install(FILES ${figures} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs/figures)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/bench DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN README.md)

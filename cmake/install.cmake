# What `cmake --install` puts where:
#   attnplan::attnplan  libattnplan.so and its C headers, for find_package and pkg-config
#   attnplan::hip       libattnplan_hip.so and its header, for both too, where they are built
#   bin/attnplan        the command
#   attnplan::core      the static planner behind the C++ headers: no ABI promise
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/attnplan)

set_target_properties(attnplan_core PROPERTIES EXPORT_NAME core)
install(TARGETS attnplan attnplan_core EXPORT attnplan_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET attnplan_hip)
  set_target_properties(attnplan_hip PROPERTIES EXPORT_NAME hip)
  install(TARGETS attnplan_hip EXPORT attnplan_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES capi/attnplan_hip.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
if(TARGET attnplan_command)
  install(TARGETS attnplan_command DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES capi/attnplan.h capi/attnplan_plan_format.h capi/attnplan_types.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/attnplan DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")

install(EXPORT attnplan_targets NAMESPACE attnplan:: DESTINATION ${package_dir})
configure_package_config_file(cmake/attnplan-config.cmake.in
  ${PROJECT_BINARY_DIR}/attnplan-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attnplan-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attnplan-config.cmake
  ${PROJECT_BINARY_DIR}/attnplan-config-version.cmake DESTINATION ${package_dir})

# The prefix is found from the file's own place, so that an installed tree may be moved.
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/attnplan.pc.in ${PROJECT_BINARY_DIR}/attnplan.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/attnplan.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET attnplan_hip)
  configure_file(cmake/attnplan_hip.pc.in ${PROJECT_BINARY_DIR}/attnplan_hip.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/attnplan_hip.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# How the device code of src/hip is compiled:
#   attnplan_hip_find_toolchain()      sets ATTNPLAN_HIP_PLATFORM where the user left it to us
#   attnplan_hip_objects(VAR SOURCE NAME DEFINITION...)   one object with host and device code
# Device code needs no header and no library of a vendor, so any clang from version 20 on compiles
# it for AMD; only the host side meets the HIP runtime. Where ROCm is installed, its compiler does,
# through CMake's language HIP.

set(ATTNPLAN_HIP_PLATFORM auto CACHE STRING "amd, nvidia, off, or auto: amd where it can be built")
set(ATTNPLAN_HIP_ARCHS "gfx90a;gfx942;gfx950" CACHE STRING "AMD targets of the HIP module")
set(ATTNPLAN_HIP_CUDA_ARCHS 90 CACHE STRING "compute capabilities, for the platform nvidia")
set_property(CACHE ATTNPLAN_HIP_PLATFORM PROPERTY STRINGS auto amd nvidia off)

# The newest clang of at least 20 that has its bundler and linker beside it.
function(attnplan_hip_find_clang)
  if(ATTNPLAN_HIP_CLANG)
    return()
  endif()
  foreach(version RANGE 40 20 -1)
    find_program(found_clang clang++-${version} NO_CACHE)
    if(found_clang)
      execute_process(COMMAND ${found_clang} -print-prog-name=clang-offload-bundler
        OUTPUT_VARIABLE bundler OUTPUT_STRIP_TRAILING_WHITESPACE)
      execute_process(COMMAND ${found_clang} -print-prog-name=lld
        OUTPUT_VARIABLE linker OUTPUT_STRIP_TRAILING_WHITESPACE)
      if(EXISTS "${bundler}" AND EXISTS "${linker}")
        set(ATTNPLAN_HIP_CLANG ${found_clang} CACHE FILEPATH "clang++ with AMDGPU, 20 or newer")
        return()
      endif()
    endif()
    unset(found_clang)
  endforeach()
endfunction()

macro(attnplan_hip_find_amd)
  find_file(ATTNPLAN_HIP_LANG hip-lang-config.cmake NO_DEFAULT_PATH PATHS
    ${CMAKE_HIP_COMPILER_ROCM_ROOT}/lib/cmake/hip-lang $ENV{ROCM_PATH}/lib/cmake/hip-lang
    /opt/rocm/lib/cmake/hip-lang)
  set(ATTNPLAN_HIP_LANGUAGE OFF)
  if(ATTNPLAN_HIP_LANG)
    include(CheckLanguage)
    check_language(HIP)
    if(CMAKE_HIP_COMPILER)
      enable_language(HIP)
      set(ATTNPLAN_HIP_LANGUAGE ON)
      set(ATTNPLAN_HIP_CLANG ${CMAKE_HIP_COMPILER})
    endif()
  endif()
  find_path(ATTNPLAN_HIP_INCLUDE hip/hip_runtime_api.h
    PATHS $ENV{ROCM_PATH}/include /opt/rocm/include)
  find_library(ATTNPLAN_HIP_LIBRARY amdhip64 PATHS $ENV{ROCM_PATH}/lib /opt/rocm/lib)
  attnplan_hip_find_clang()
endmacro()

macro(attnplan_hip_find_toolchain)
  if(ATTNPLAN_HIP_PLATFORM MATCHES "^(auto|amd)$")
    attnplan_hip_find_amd()
    if(ATTNPLAN_HIP_INCLUDE AND ATTNPLAN_HIP_LIBRARY AND ATTNPLAN_HIP_CLANG)
      set(ATTNPLAN_HIP_PLATFORM amd)
    elseif(ATTNPLAN_HIP_PLATFORM STREQUAL amd)
      message(FATAL_ERROR "the HIP module needs clang++ 20 or newer with lld and "
        "clang-offload-bundler (${ATTNPLAN_HIP_CLANG}), hip/hip_runtime_api.h "
        "(${ATTNPLAN_HIP_INCLUDE}) and libamdhip64 (${ATTNPLAN_HIP_LIBRARY})")
    else()
      message(STATUS "HIP module: off. It needs clang 20 or newer and the HIP runtime")
      set(ATTNPLAN_HIP_PLATFORM off)
    endif()
  elseif(ATTNPLAN_HIP_PLATFORM STREQUAL nvidia)
    find_program(ATTNPLAN_HIP_NVCC nvcc PATHS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin REQUIRED)
    find_package(CUDAToolkit REQUIRED)
  endif()
endmacro()

# Flags of every device compilation, as a list in ${variable}.
function(attnplan_hip_flags variable)
  set(flags -O3 -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/capi)
  if(ATTNPLAN_HIP_PLATFORM STREQUAL nvidia)
    list(APPEND flags -std=c++20 -x cu --expt-relaxed-constexpr -Xcompiler
      -fPIC,-fvisibility=hidden,-fvisibility-inlines-hidden,-Wall,-Wextra)
    foreach(arch IN LISTS ATTNPLAN_HIP_CUDA_ARCHS)
      list(APPEND flags -gencode arch=compute_${arch},code=sm_${arch})
    endforeach()
  else()
    # Code object version 4 is what HIP 5.2 loads; ROCm 6 and 7 still do.
    list(APPEND flags -nogpulib -nogpuinc -mcode-object-version=4 -fPIC -fvisibility=hidden
      -fvisibility-inlines-hidden -Wall -Wextra -Wshadow)
    if(NOT ATTNPLAN_HIP_LANGUAGE)
      list(APPEND flags -std=c++20 -x hip)
      foreach(arch IN LISTS ATTNPLAN_HIP_ARCHS)
        list(APPEND flags --offload-arch=${arch})
      endforeach()
    endif()
    if(ATTNPLAN_WERROR)
      list(APPEND flags -Werror)
    endif()
  endif()
  set(${variable} ${flags} PARENT_SCOPE)
endfunction()

# Adds the object of `source`, called `name`, to the list in ${variable}.
function(attnplan_hip_objects variable source name)
  attnplan_hip_flags(flags)
  if(ATTNPLAN_HIP_LANGUAGE)
    # A file of its own: the emulation compiles the same source as C++.
    file(CONFIGURE OUTPUT ${name}.hip @ONLY CONTENT
      "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${source}\"\n")
    add_library(attnplan_hip_${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.hip)
    target_compile_options(attnplan_hip_${name} PRIVATE ${flags})
    target_compile_definitions(attnplan_hip_${name} PRIVATE ${ARGN})
    set_target_properties(attnplan_hip_${name} PROPERTIES HIP_STANDARD 20
      HIP_ARCHITECTURES "${ATTNPLAN_HIP_ARCHS}")
    set(${variable} ${${variable}} $<TARGET_OBJECTS:attnplan_hip_${name}> PARENT_SCOPE)
    return()
  endif()
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
  list(TRANSFORM ARGN PREPEND -D OUTPUT_VARIABLE definitions)
  if(ATTNPLAN_HIP_PLATFORM STREQUAL nvidia)
    set(compiler ${ATTNPLAN_HIP_NVCC})
  else()
    set(compiler ${ATTNPLAN_HIP_CLANG})
  endif()
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES ccache AND ATTNPLAN_HIP_PLATFORM STREQUAL amd)
    # By the files that were read, never by what one preprocessor made of them: each target has
    # its own.
    set(compiler ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 ${CMAKE_CXX_COMPILER_LAUNCHER} ${compiler})
  endif()
  add_custom_command(OUTPUT ${object}
    COMMAND ${compiler} ${flags} ${definitions} -MD -MF ${object}.d -MT ${object}
      -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} DEPFILE ${object}.d
    COMMENT "Building ${ATTNPLAN_HIP_PLATFORM} object ${name}.o" VERBATIM)
  set(${variable} ${${variable}} ${object} PARENT_SCOPE)
endfunction()

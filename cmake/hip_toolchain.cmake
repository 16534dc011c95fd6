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

# Sets ${variable} to where ROCm is, or would be.
function(attnplan_hip_rocm variable)
  set(rocm /opt/rocm)
  if(CMAKE_HIP_COMPILER_ROCM_ROOT)
    set(rocm ${CMAKE_HIP_COMPILER_ROCM_ROOT})
  elseif(IS_DIRECTORY "$ENV{ROCM_PATH}")
    set(rocm $ENV{ROCM_PATH})
  elseif(NOT "$ENV{ROCM_PATH}" STREQUAL "")
    message(WARNING "ROCM_PATH is $ENV{ROCM_PATH}, which is no directory; ${rocm} is tried")
  endif()
  set(${variable} ${rocm} PARENT_SCOPE)
endfunction()

function(attnplan_hip_clang_complete variable clang)
  set(${variable} TRUE PARENT_SCOPE)
  foreach(program clang-offload-bundler lld)
    execute_process(COMMAND ${clang} -print-prog-name=${program}
      OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT EXISTS "${path}")
      set(${variable} FALSE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# ROCm's clang, else the newest of at least 20; each with its bundler and linker beside it.
function(attnplan_hip_find_clang rocm)
  if(ATTNPLAN_HIP_CLANG)
    return()
  endif()
  set(names ${rocm}/llvm/bin/clang++)
  foreach(version RANGE 40 20 -1)
    list(APPEND names clang++-${version})
  endforeach()
  foreach(name IN LISTS names)
    unset(found_clang)
    find_program(found_clang ${name} NO_CACHE)
    if(found_clang)
      attnplan_hip_clang_complete(complete ${found_clang})
      if(complete)
        set(ATTNPLAN_HIP_CLANG ${found_clang} CACHE FILEPATH "clang++ with AMDGPU")
        return()
      endif()
    endif()
  endforeach()
endfunction()

# CMake's language HIP, where ROCm brings what it takes and the user has not named a compiler.
macro(attnplan_hip_find_language rocm)
  find_file(ATTNPLAN_HIP_LANG hip-lang-config.cmake NO_DEFAULT_PATH
    PATHS ${rocm}/lib/cmake/hip-lang ${rocm}/lib64/cmake/hip-lang)
  set(ATTNPLAN_HIP_LANGUAGE OFF)
  if(ATTNPLAN_HIP_LANG AND NOT ATTNPLAN_HIP_CLANG)
    # CMake asks the hipconfig on PATH; without one it takes any clang++ that is there.
    set(ENV{PATH} "${rocm}/bin:$ENV{PATH}")
    if("$ENV{HIPCXX}" STREQUAL "" AND EXISTS ${rocm}/llvm/bin/clang++)
      set(ENV{HIPCXX} ${rocm}/llvm/bin/clang++)
    endif()
    include(CheckLanguage)
    check_language(HIP)
    if(CMAKE_HIP_COMPILER)
      enable_language(HIP)
      set(ATTNPLAN_HIP_LANGUAGE ON)
      set(ATTNPLAN_HIP_CLANG ${CMAKE_HIP_COMPILER})
    endif()
  endif()
endmacro()

macro(attnplan_hip_find_amd)
  attnplan_hip_rocm(attnplan_rocm)
  attnplan_hip_find_language(${attnplan_rocm})
  # HINTS: a HIP of the distribution must not be mixed with the compiler of ROCm.
  find_path(ATTNPLAN_HIP_INCLUDE hip/hip_runtime_api.h HINTS ${attnplan_rocm}/include)
  find_library(ATTNPLAN_HIP_LIBRARY amdhip64 HINTS ${attnplan_rocm}/lib ${attnplan_rocm}/lib64)
  attnplan_hip_find_clang(${attnplan_rocm})
endmacro()

# Sets ${variable} to what is missing and what to do about it, a line each.
function(attnplan_hip_missing variable)
  set(lines "")
  if(NOT ATTNPLAN_HIP_CLANG)
    string(APPEND lines "\n  clang++ of ROCm, or 20 or newer, with lld and clang-offload-bundler: "
      "install ROCm, or the packages clang-20, lld-20 and clang-tools-20, or say "
      "-DATTNPLAN_HIP_CLANG=FILE")
  endif()
  if(NOT ATTNPLAN_HIP_INCLUDE)
    string(APPEND lines "\n  hip/hip_runtime_api.h: install ROCm's package hip-dev or Debian's "
      "libamdhip64-dev, or say -DATTNPLAN_HIP_INCLUDE=DIRECTORY")
  endif()
  if(NOT ATTNPLAN_HIP_LIBRARY)
    string(APPEND lines "\n  libamdhip64.so: the same packages, or say "
      "-DATTNPLAN_HIP_LIBRARY=FILE")
  endif()
  if(lines)
    string(APPEND lines "\n  ROCm was looked for in ${attnplan_rocm}; the environment variable "
      "ROCM_PATH names another place")
  endif()
  set(${variable} "${lines}" PARENT_SCOPE)
endfunction()

# Leaves out of ATTNPLAN_HIP_ARCHS what the compiler does not know: gfx950 where clang is below 20.
function(attnplan_hip_known_archs)
  set(empty ${CMAKE_BINARY_DIR}/CMakeFiles/attnplan_hip_empty.cc)
  file(WRITE ${empty} "")
  set(known "")
  foreach(arch IN LISTS ATTNPLAN_HIP_ARCHS)
    execute_process(COMMAND ${ATTNPLAN_HIP_CLANG} -x hip --offload-arch=${arch} --cuda-device-only
      -nogpulib -nogpuinc -S ${empty} -o ${empty}.s
      RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
      list(APPEND known ${arch})
    else()
      message(WARNING "HIP module: without ${arch}, for which ${ATTNPLAN_HIP_CLANG} does not "
        "compile (gfx950 needs clang 20, ROCm 7)")
    endif()
  endforeach()
  if(NOT known)
    message(FATAL_ERROR "HIP module: ${ATTNPLAN_HIP_CLANG} compiles for none of "
      "${ATTNPLAN_HIP_ARCHS}; name another one with -DATTNPLAN_HIP_CLANG=FILE")
  endif()
  set(ATTNPLAN_HIP_ARCHS ${known} PARENT_SCOPE)
endfunction()

# First line of what `compiler --version` says.
function(attnplan_hip_print_compiler compiler)
  execute_process(COMMAND ${compiler} --version OUTPUT_VARIABLE text ERROR_QUIET)
  string(REGEX MATCH "[^\n]*(clang version|release)[^\n]*" version "${text}")
  set(way "")
  if(ATTNPLAN_HIP_LANGUAGE)
    set(way ", through CMake's language HIP")
  endif()
  message(STATUS "HIP module: compiler ${compiler} (${version})${way}")
endfunction()

function(attnplan_hip_print_amd)
  attnplan_hip_print_compiler(${ATTNPLAN_HIP_CLANG})
  set(version "of unknown version")
  if(EXISTS ${ATTNPLAN_HIP_INCLUDE}/hip/hip_version.h)
    file(STRINGS ${ATTNPLAN_HIP_INCLUDE}/hip/hip_version.h lines
      REGEX "define HIP_VERSION_(MAJOR|MINOR) ")
    string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]*([0-9]+)[^0-9]*" "\\1.\\2" version "${lines}")
  endif()
  list(JOIN ATTNPLAN_HIP_ARCHS " " archs)
  message(STATUS "HIP module: headers ${ATTNPLAN_HIP_INCLUDE} (HIP ${version})")
  message(STATUS "HIP module: runtime library ${ATTNPLAN_HIP_LIBRARY}")
  message(STATUS "HIP module: platform amd, for ${archs}")
endfunction()

macro(attnplan_hip_find_toolchain)
  if(ATTNPLAN_HIP_PLATFORM MATCHES "^(auto|amd)$")
    attnplan_hip_find_amd()
    attnplan_hip_missing(attnplan_missing)
    if(attnplan_missing STREQUAL "")
      set(ATTNPLAN_HIP_PLATFORM amd)
      attnplan_hip_known_archs()
      attnplan_hip_print_amd()
    elseif(ATTNPLAN_HIP_PLATFORM STREQUAL amd)
      message(FATAL_ERROR "The HIP module cannot be built for AMD. Missing:${attnplan_missing}")
    else()
      message(STATUS "HIP module: off. Missing:${attnplan_missing}")
      set(ATTNPLAN_HIP_PLATFORM off)
    endif()
  elseif(ATTNPLAN_HIP_PLATFORM STREQUAL nvidia)
    find_program(ATTNPLAN_HIP_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin PATHS /usr/local/cuda/bin)
    if(NOT ATTNPLAN_HIP_NVCC)
      message(FATAL_ERROR "The HIP module for NVIDIA needs nvcc: put it on PATH, name its toolkit in "
        "the environment variable CUDA_HOME, or say -DATTNPLAN_HIP_NVCC=FILE")
    endif()
    find_package(CUDAToolkit REQUIRED)
    attnplan_hip_print_compiler(${ATTNPLAN_HIP_NVCC})
    message(STATUS "HIP module: platform nvidia, for ${ATTNPLAN_HIP_CUDA_ARCHS}")
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

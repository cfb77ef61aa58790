# Whether and for which GPUs to build CUDA kernels.
#
#   ROOFLINE_CUDA        AUTO (default): where there are nvcc and a GPU; ON: where there is nvcc, or it is an error; OFF
#   ROOFLINE_CUDA_ARCHS  AUTO (default): the GPUs that are here, else all of all_archs; or a list such as "80;90a"
#
# A newcomer without a GPU does not wait for kernels that can't run; CI asks for them.
set(ROOFLINE_CUDA AUTO CACHE STRING "Build CUDA kernels: AUTO, ON or OFF")
set(ROOFLINE_CUDA_ARCHS AUTO CACHE STRING "GPU architectures: AUTO or a list such as 80;90a")
set_property(CACHE ROOFLINE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(all_archs 80 86 89 90a 100a 120a)

# Compute capabilities of the GPUs of this machine, "90" each; empty without a driver.
function(roofline_find_gpus out)
  find_program(NVIDIA_SMI nvidia-smi)
  mark_as_advanced(NVIDIA_SMI)
  set(found "")
  if(NVIDIA_SMI)
    execute_process(COMMAND ${NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
      OUTPUT_VARIABLE text RESULT_VARIABLE status ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(status EQUAL 0)
      string(REGEX MATCHALL "[0-9]+[.][0-9]+" found "${text}")
      list(TRANSFORM found REPLACE "[.]" "")
      list(REMOVE_DUPLICATES found)
    endif()
  endif()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

set(wanted ${ROOFLINE_CUDA})
roofline_find_gpus(gpus)
if(wanted STREQUAL "AUTO")
  find_program(ROOFLINE_NVCC nvcc PATHS /usr/local/cuda/bin)
  mark_as_advanced(ROOFLINE_NVCC)
  set(wanted OFF)
  if(ROOFLINE_NVCC AND gpus)
    set(wanted ON)
  elseif(ROOFLINE_NVCC)
    message(STATUS "CUDA: nvcc is here and no GPU: kernels for GPUs are not built (ROOFLINE_CUDA=ON builds them)")
  elseif(gpus)
    message(STATUS "CUDA: a GPU is here and no nvcc: install the CUDA toolkit (12 or 13) to measure it")
  endif()
endif()
set(ROOFLINE_CUDA ${wanted}) # from here on ON or OFF
if(NOT ROOFLINE_CUDA)
  return()
endif()

set(CMAKE_CUDA_ARCHITECTURES OFF) # given below: older CMakes do not know them all
if(NOT CMAKE_CUDA_COMPILER AND ROOFLINE_NVCC)
  set(CMAKE_CUDA_COMPILER ${ROOFLINE_NVCC})
endif()
enable_language(CXX)
enable_language(CUDA)
find_package(CUDAToolkit 12 REQUIRED)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)

set(archs ${ROOFLINE_CUDA_ARCHS})
if(archs STREQUAL "AUTO")
  set(archs ${all_archs})
  if(gpus)
    # kernels of the last generations need the features of exactly their chip
    list(TRANSFORM gpus REPLACE "^(90|1[0-9][0-9])$" "\\1a" OUTPUT_VARIABLE archs)
  endif()
endif()
# Uncompressed, as large cubins from sm_100 on are not by default: tests/cubin.c reads them.
set(roofline_cuda_flags -lineinfo --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra -Xfatbin=-compress=false)
if(ROOFLINE_WERROR)
  list(APPEND roofline_cuda_flags -Werror=all-warnings)
endif()
foreach(arch IN LISTS archs)
  list(APPEND roofline_cuda_flags "SHELL:-gencode arch=compute_${arch},code=sm_${arch}")
endforeach()
list(GET archs 0 first)
if(first MATCHES "^[0-9]+$") # what is newer than all of these compiles its own from this
  list(APPEND roofline_cuda_flags "SHELL:-gencode arch=compute_${first},code=compute_${first}")
endif()
message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER} for ${archs}")

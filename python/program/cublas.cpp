// cuBLAS by name: its functions that the program calls, found when the first is called. The package
// then starts on machines without CUDA's libraries, and takes the version that the process has.
// KSELECT_CUBLAS may name the file.

#include <array>
#include <cstdlib>
#include <cublas_v2.h>
#include <dlfcn.h>

namespace {

void* open_library() {
  const std::array names = {static_cast<const char*>(std::getenv("KSELECT_CUBLAS")),
                            "libcublas.so.13", "libcublas.so.12"};
  for (const char* name : names) {
    if (name == nullptr || *name == '\0') continue;
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

// The function of that name; null if there is no cuBLAS.
template <class Function>
Function* named(const char* name) {
  static void* const library = open_library();
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

template <class Function, class... Arguments>
cublasStatus_t call(const char* name, Arguments... arguments) {
  const auto function = named<Function>(name);
  return function == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : function(arguments...);
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  return call<decltype(cublasCreate_v2)>("cublasCreate_v2", handle);
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  return call<decltype(cublasDestroy_v2)>("cublasDestroy_v2", handle);
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return call<decltype(cublasSetStream_v2)>("cublasSetStream_v2", handle, stream);
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return call<decltype(cublasSetMathMode)>("cublasSetMathMode", handle, mode);
}

const char* cublasGetStatusString(cublasStatus_t status) {
  const auto function = named<decltype(cublasGetStatusString)>("cublasGetStatusString");
  if (function != nullptr) return function(status);
  return "no cuBLAS was found; install it (pip: nvidia-cublas, Debian: libcublas) or set "
         "KSELECT_CUBLAS to libcublas.so";
}

cublasStatus_t cublasSsyrk_v2(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op,
                              int n, int k, const float* alpha, const float* a, int lda,
                              const float* beta, float* c, int ldc) {
  return call<decltype(cublasSsyrk_v2)>("cublasSsyrk_v2", handle, fill, op, n, k, alpha, a, lda,
                                        beta, c, ldc);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                            int m, int n, int k, const void* alpha, const void* a,
                            cudaDataType type_a, int lda, const void* b, cudaDataType type_b,
                            int ldb, const void* beta, void* c, cudaDataType type_c, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  using function =
      cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                     const void*, const void*, cudaDataType, int, const void*, cudaDataType, int,
                     const void*, void*, cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
  return call<function>("cublasGemmEx", handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b,
                        type_b, ldb, beta, c, type_c, ldc, compute, algorithm);
}

}  // extern "C"

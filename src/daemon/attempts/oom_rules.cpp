#include "daemon/attempts/oom_rules.hpp"

#include <array>

namespace berth::daemon {

namespace {

using enum Certainty;

constexpr auto kRules = std::to_array<OomRule>({
    // The driver's and the runtime's own, which most libraries pass on.
    {"CUDA", "CUDA_ERROR_OUT_OF_MEMORY"},
    {"CUDA", "CUDA_OUT_OF_MEMORY"},
    {"CUDA", "cudaErrorMemoryAllocation"},
    {"CUDA", "cuda*out of memory"},
    {"CUDA", "cuMem*out of memory"},
    {"CUDA", "cuCtxCreate*out of memory"},
    {"CUDA", "GPUassert: out of memory"},
    {"CUDA", "gpu*out of memory"},
    {"CUDA", "out of GPU memory"},
    {"CUDA", "out of device memory"},
    {"CUDA", "out of memory on device"},
    {"CUDA", "out of memory*cuda:"},
    {"CUDA", "device out of memory"},
    {"CUDA", "out of VRAM"},
    {"CUDA", "VRAM*out of memory"},
    {"CUDA", "insufficient GPU memory"},
    {"CUDA", "insufficient device memory"},
    {"CUDA", "insufficient VRAM"},
    {"CUDA", "not enough GPU memory"},
    {"CUDA", "not enough VRAM"},
    {"CUDA", "not enough memory*gpu"},
    {"CUDA", "enough GPU RAM"},
    {"CUDA", "amount of GPU memory*could not be allocated"},
    {"CUDA", "failed to allocate*gpu memory"},
    {"CUDA", "failed to allocate*device memory"},
    {"CUDA", "allocation failed on device"},
    {"CUDA", "failed to allocate*cuda memory"},
    {"CUDA", "unable to allocate*cuda memory"},
    {"CUDA", "failed to allocate*on device", Likely},
    {"CUDA", "out of memory*gpu", Likely},
    {"CUDA", "cuda oom", Likely},
    {"CUDA", "gpu oom", Likely},
    {"CUDA", "GPU memory exhausted"},
    {"CUDA", "CUDA allocation failed"},
    {"CUDA", "CUDA error*unable to allocate"},
    {"CUDA", "cuMemCreate failed", Likely},
    {"CUDA", "insufficient memory on accelerator"},
    {"CUDA", "not enough allocatable device memory"},
    {"CUDA", "VRAM exhausted"},
    // Libraries, each with its handle or its workspace.
    {"cuBLAS, cuDNN, cuSOLVER, cuSPARSE, hipBLAS", "_STATUS_ALLOC_FAILED"},
    {"cuBLAS, cuDNN, cuSOLVER, cuSPARSE", "_STATUS_NOT_INITIALIZED", Likely},
    {"cuRAND", "CURAND_STATUS_ALLOCATION_FAILED"},
    {"cuFFT", "CUFFT_ALLOC_FAILED"},
    {"cuFFT", "cuFFT failed to allocate GPU"},
    {"cuFFT", "CUFFT_INTERNAL_ERROR", Possible},
    {"cuSPARSE", "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"},
    {"cuDNN", "CUDNN_STATUS_INTERNAL_ERROR", Possible},
    {"cuDNN", "CUDNN_STATUS_INTERNAL_ERROR*cudnnCreate", Likely},
    {"cuDNN", "unable to find a valid cuDNN algorithm", Likely},
    {"cuDNN", "was unable to find an engine to execute this computation", Likely},
    {"cuDNN", "could not create cudnn handle", Likely},
    {"rocBLAS", "rocblas_status_memory_error"},
    {"MIOpen", "miopenStatusAllocFailed"},
    {"NCCL", "Cuda failure*out of memory"},
    {"NCCL", "Failed to CUDA calloc"},
    {"NCCL", "Failed to CUDA malloc"},
    {"NCCL", "unhandled cuda error", Possible},
    // PyTorch and what stands on it.
    {"PyTorch", "CUDA out of memory"},
    {"PyTorch", "torch.OutOfMemoryError"},
    {"PyTorch", "torch.cuda.OutOfMemoryError"},
    {"PyTorch", "NPU out of memory"},
    {"PyTorch", "MPS backend out of memory"},
    {"PyTorch", "allocation on device*would exceed allowed memory"},
    {"accelerate", "No executable batch size found"},
    {"bitsandbytes", "Error out of memory at line"},
    {"DeepSpeed", "not enough memory*zero", Likely},
    // AMD, Intel and the rest.
    {"HIP", "HIP out of memory"},
    {"HIP", "HIP error*out of memory"},
    {"HIP", "hipMalloc*out of memory"},
    {"HIP", "hipErrorOutOfMemory"},
    {"HIP", "hipErrorMemoryAllocation"},
    {"HSA", "HSA_STATUS_ERROR_OUT_OF_RESOURCES"},
    {"XPU", "XPU out of memory"},
    {"XPU", "UR_RESULT_ERROR_OUT_OF_RESOURCES", Likely},
    {"XPU", "PI_ERROR_OUT_OF_RESOURCES", Likely},
    {"XPU", "PI_ERROR_MEM_OBJECT_ALLOCATION_FAILURE"},
    {"OpenCL", "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {"OpenCL", "Memory Object Allocation Failure"},
    {"OpenCL", "CL_OUT_OF_RESOURCES", Likely},
    {"OpenCL", "clEnqueueNDRangeKernel failed: OUT_OF_RESOURCES", Likely},
    {"Vulkan", "_OUT_OF_DEVICE_MEMORY"},
    {"Vulkan", "OutOfDeviceMemory"},
    {"Vulkan", "Device memory allocation of size*failed"},
    {"OptiX", "_DEVICE_OUT_OF_MEMORY"},
    {"Triton", "Triton Error*out of memory"},
    // JAX and XLA.
    {"XLA", "RESOURCE_EXHAUSTED: Out of memory"},
    {"XLA", "Resource exhausted: Out of memory"},
    {"XLA", "Out of memory while trying to allocate"},
    {"XLA", "Out of memory allocating*bytes"},
    {"XLA", "Failed to allocate request for"},
    {"XLA", "RESOURCE_EXHAUSTED: Failed to allocate"},
    {"XLA", "RESOURCE_EXHAUSTED: Error allocating device buffer"},
    {"XLA", "RESOURCE_EXHAUSTED*Attempting to allocate"},
    {"XLA", "RESOURCE_EXHAUSTED*Allocating*exceeds the memory limit"},
    {"XLA", "Failed to allocate*bytes for new constant"},
    {"XLA", "Attempting to reserve*That was not possible"},
    {"XLA", "Ran out of memory in memory space"},
    {"XLA", "DNN library initialization failed", Likely},
    {"XLA", "gpusolverDnCreate*failed", Likely},
    {"XLA", "failed to create cuBLAS handle", Likely},
    {"XLA", "failed to create cuDNN handle", Likely},
    // TensorFlow.
    {"TensorFlow", "OOM when allocating tensor"},
    {"TensorFlow", "_bfc) ran out of memory trying to allocate"},
    {"TensorFlow", "failed to allocate memory [Op:"},
    {"TensorFlow", "ResourceExhaustedError", Likely},
    {"TensorFlow", "Dst tensor is not initialized", Likely},
    {"TensorFlow", "Failed to get convolution algorithm", Likely},
    {"TensorFlow", "GEMM launch failed", Possible},
    // Arrays.
    {"CuPy", "cupy*OutOfMemoryError"},
    {"CuPy", "OutOfMemoryError: Out of memory allocating"},
    {"PyCUDA", "cuMemAlloc failed"},
    {"Julia", "OutOfGPUMemoryError"},
    {"Julia", "Out of GPU memory"},
    {"Warp", "Failed to allocate*on device*cuda"},
    {"Warp", "Failed to allocate*buffer on the device"},
    {"Taichi", "Out of CUDA pre-allocated memory"},
    {"Theano", "bytes of device memory (out of memory)"},
    {"Kokkos", "Kokkos failed to allocate memory*Cuda"},
    {"PhysX", "PxgCudaDeviceMemoryAllocator fail to allocate"},
    {"MATLAB", "Out of memory on device"},
    {"DL4J", "[DEVICE] allocation failed"},
    {"NVHPC", "ALLOCATE:*bytes requested*2(out of memory)"},
    // RAPIDS and boosted trees.
    {"RMM", "RMM failure*bad_alloc"},
    {"RMM", "RMM failure*Maximum pool size exceeded"},
    {"RMM", "RMM failure*out of memory"},
    {"RMM", "bad_alloc: out_of_memory"},
    {"RMM", "bad_alloc: CUDA error"},
    {"RMM", "rmm::out_of_memory"},
    {"RMM", "Maximum pool size exceeded"},
    {"Thrust", "thrust::*bad_alloc"},
    {"Thrust", "parallel_for failed: out of memory"},
    {"Thrust", "for_each failed*out of memory", Likely},
    {"cudf-spark", "GpuRetryOOM"},
    {"cudf-spark", "GpuSplitAndRetryOOM"},
    {"XGBoost", "Memory allocation error on worker"},
    {"LightGBM", "[CUDA] out of memory"},
    {"faiss", "faiss*cudaMalloc error"},
    {"faiss", "faiss*alloc*fail*device", Likely},
    // Other frameworks.
    {"MXNet", "cudaMalloc*failed: out of memory"},
    {"Paddle", "Out of memory error on GPU"},
    {"Paddle", "Cannot allocate*memory on GPU"},
    {"ONNX Runtime", "BFCArena*Failed to allocate memory", Likely},
    {"ONNX Runtime", "Failed to allocate memory for requested buffer", Likely},
    {"ONNX Runtime", "Available memory of*is smaller than requested bytes of", Likely},
    {"DALI", "CUDABadAlloc"},
    {"nvJPEG", "nvjpeg*ALLOCATOR_FAILURE"},
    {"NVENC", "OpenEncodeSessionEx failed: out of memory", Likely},
    {"Jittor", "GPU memory is overflow"},
    {"MindSpore", "Device*memory isn't enough"},
    {"MegEngine", "mgb::MemAllocError"},
    {"Metal", "Insufficient Memory*ErrorOutOfMemory"},
    {"TensorRT", "Error Code 2: OutOfMemory"},
    {"TensorRT", "OutOfMemory (Requested size was"},
    {"TensorRT", "Cuda Runtime (out of memory)"},
    // Servers of language models, which refuse to start or have no room for a key-value cache.
    {"llama.cpp", "ggml_cuda_device_malloc"},
    {"llama.cpp", "failed to allocate CUDA*buffer"},
    {"llama.cpp", "unable to allocate CUDA*buffer"},
    {"llama.cpp", "failed to allocate ROCm*buffer"},
    {"llama.cpp", "unable to allocate ROCm*buffer"},
    {"llama.cpp", "failed to allocate Vulkan*buffer"},
    {"llama.cpp", "unable to allocate Vulkan*buffer"},
    {"llama.cpp", "failed to allocate SYCL*buffer"},
    {"llama.cpp", "unable to allocate SYCL*buffer"},
    {"llama.cpp", "failed to allocate compute*buffers", Likely},
    {"llama.cpp", "failed to allocate buffer for kv cache", Likely},
    {"llama.cpp", "unable to allocate backend buffer", Likely},
    {"Ollama", "insufficient memory - required allocations", Likely},
    {"vLLM", "No available memory for the cache blocks"},
    {"vLLM", "Free memory on device*is less than desired GPU memory utilization"},
    {"vLLM", "larger than the available KV cache memory"},
    {"vLLM", "larger than the maximum number of tokens that can be stored in KV cache"},
    {"vLLM", "not enough*KV cache", Likely},
    {"SGLang", "Not enough memory*--mem-fraction-static"},
    {"SGLang", "alloc*runs out of memory"},
    {"SGLang", "Prefill out of memory"},
    {"SGLang", "Decode out of memory"},
    {"SGLang", "memory capacity is unbalanced", Likely},
    {"TGI", "Not enough memory to handle*tokens"},
    {"TensorRT-LLM", "insufficient memory*KV cache"},
    {"TensorRT-LLM", "failed to allocate*KV cache"},
    {"LMDeploy", "[TM]*out of memory"},
    {"ExLlama", "Insufficient space in device split", Likely},
    // Pictures and simulations.
    {"Blender", "out of GPU and shared host memory"},
    {"NAMD", "on Pe*device*out of memory"},
    {"RELION", "out of memory in*/cuda/", Likely},
    // Whatever else says so itself.
    {"any", "out of memory", Possible},
    {"any", "OutOfMemoryError", Possible},
    {"any", "memory allocation fail", Possible},
    {"any", "failed to allocate", Possible},
    {"any", "ran out of memory", Possible},
    {"any", "RESOURCE_EXHAUSTED", Possible},
});

constexpr auto kNotGpu = std::to_array<std::string_view>({
    "by allocator cpu",
    "device:cpu",
    "defaultcpuallocator",
    "cpu_allocator",
    "pinned",
    "bytes on host",
    "on the host",
    "cuda_host buffer",
    "host_malloc",
    "killed process",
    "oom-kill",
    "oom_kill",
    "oom killer",
    "slurmstepd:",
    "srun: error:",
    "not a failure",
    "more than 1eb memory",
    "attempting to recover",
    // compilers, and counters of what happened
    "cc1plus:",
    "cc1:",
    "cicc:",
    "cuda ooms:",
    "oom: 0",
    // names of something that is not there
    "nameerror:",
    "importerror:",
    "syntaxerror:",
    "has no attribute",
    "no such file or directory:",
});

constexpr auto kOtherMemory = std::to_array<std::string_view>({
    "unable to allocate*for an array with shape",
    "out of host memory",
    "out_of_host_memory",
    "host memory",
    "system memory",
    "cpu buffer",
    "java heap space",
    "gc overhead limit",
    "metaspace",
    "direct buffer memory",
    "unable to create native thread",
    "unable to create new native thread",
    "requested array size exceeds",
    "device cpu",
    "device 'cpu",
    "heap limit",
    "heap out of memory",
    "javascript heap",
    "std::bad_alloc'",
    "shared memory",
    "node running low on memory",
    "cannot allocate memory",
    "message larger than max",
    "statuscode.resource_exhausted",
    "quota exceeded",
    "exceeded*quota",
    "exhausted*quota",
    "rate limit",
    "no space left on device",
    "too many open files",
});

constexpr auto kTalk = std::to_array<std::string_view>({
    "avoid",      "avoids",       "avoiding",       "prevent",     "prevents", "preventing",
    "if you",     "if it",        "if there",       "in case of",  "when you", "may",
    "might",      "can cause",    "could cause",    "can lead to", "docs:",    "faq",
    "tip:",       "hint:",        "note:",          "notes:",      "help:",    "recommend",
    "recommends", "recommended",  "consider",       "considering", "e.g.",     "for example",
    "such as",    "common error", "common problem", "known issue", "how to",   "without",
    "instead of", "unless",       "never",          "in str(",     "fix",      "fixes",
    "assert '",   "assert \"",    "readme",
});

constexpr auto kOpening = std::to_array<std::string_view>({
    "#",       "//",       "--",     "+ ",    "++ ",     "def ",    "raise ",
    "except ", "except:",  "elif ",  "if ",   "assert ", "return ", "print(",
    "logger.", "logging.", "usage:", "from ", "import ", "class ",  "head is now at ",
});

constexpr auto kLevel = std::to_array<std::string_view>({"info", "debug"});
constexpr auto kWarning = std::to_array<std::string_view>({"warn", "warning"});

constexpr auto kCaught = std::to_array<std::string_view>({
    "retrying",     "retried",       "retry_if_cuda_oom", "trying again",
    "trying batch", "trying with",   "trying #",          ", using #",
    "; using #",    "lowering to",   "decreasing batch",  "lowered to",
    "reduced to",   "switching to",  "dropping to",       "will retry",
    "skip",         "skipping",      "skipped",           "falling back",
    "fallback",     "reducing to",   "reducing batch",    "halving",
    "halved",       "pruned",        "caught cuda",       "caught out of memory",
    "caught oom",   "memory caught", "oom caught",        "memory, caught",
    "continuing",   "recovering",
});

constexpr auto kProgress = std::to_array<std::string_view>({
    "epoch",
    "epochs",
    "step",
    "steps",
    "iter",
    "iteration",
    "trial",
    "loss",
    "it/s",
    "s/it",
    "batch",
});

constexpr auto kCrash = std::to_array<std::string_view>({
    "segmentation fault",
    "panicked at",
    "panic: runtime error",
    "bus error",
    "assertion *failed",
});

constexpr auto kFault = std::to_array<std::string_view>({
    "command not found",
    "can't open file",
    "permission denied",
    ": error: unrecognized arguments",
    ": error: argument",
    ": error: the following arguments",
    "exception in thread \"",
});

constexpr auto kName = std::to_array<std::string_view>({"error", "exception"});

constexpr auto kConsequence = std::to_array<std::string_view>({
    // the next lines of a script that goes on
    "no such file or directory",
    "filenotfounderror",
    // other ranks and workers, which waited for it
    "timed out",
    "timeout",
    "deadline_exceeded",
    "broken pipe",
    "brokenpipeerror",
    "connectionerror",
    "connection refused",
    "diststoreerror",
    "distnetworkerror",
    "collective ops",
    "horovod",
    "exited unexpectedly",
    "died unexpectedly",
    "unexpectedly terminated",
    "terminatedworkererror",
    // parents, and what they call the end of a child
    "trainingfailederror",
    "aborted",
    "previous error",
    "error messages above",
    "see above",
    // what keeps track of runs
    "mlflow.",
    "comet_ml",
    "neptune.",
    "clearml",
    "childfailederror",
    "enginedeaderror",
    "engine core",
    "enginecore",
    "engine process",
    "workerproc",
    "worker failed",
    "distbackenderror",
    "ncclremoteerror",
    "ncclunhandled",
    "processexitedexception",
    "processraisedexception",
    "raytaskerror",
    "rayactorerror",
    "actordiederror",
    "calledprocesserror",
    "brokenprocesspool",
    "connectionreseterror",
    "connectionrefusederror",
    "connection reset",
    "connection closed",
    "eoferror",
    "keyboardinterrupt",
    "systemexit",
    "signalexception",
    "taskfailed",
    "taskerror",
    "tuneerror",
    "executionexception",
    "hydraexception",
    "process died",
    "exit successfully",
    "'nonetype' object",
    "cannot stat",
    "cannot access",
    "ruleexception",
    "workflowerror",
    "failed to reproduce",
    "nccl communicator",
    "cancellederror",
    "failed to load model",
    "error loading model",
    "unable to load model",
    "could not load llama",
    "failed to create context",
    "runner process",
    "exitcode",
    "exit code",
    "exit status",
    "killed by signal",
    "raised an error",
    "see root cause",
    "wandb",
    "srun: error",
    "mpirun",
    "launch.py",
});

constexpr auto kChained = std::to_array<std::string_view>({
    "during handling of the above exception",
    "direct cause of the following exception",
    "exception ignored in",
    "error in atexit",
    "error in sys.excepthook",
});

}  // namespace

std::span<const OomRule> oom_rules() { return kRules; }

std::span<const std::string_view> remark_words(Remark remark) {
  switch (remark) {
    case Remark::NotGpu:
      return kNotGpu;
    case Remark::OtherMemory:
      return kOtherMemory;
    case Remark::Talk:
      return kTalk;
    case Remark::Opening:
      return kOpening;
    case Remark::Level:
      return kLevel;
    case Remark::Warning:
      return kWarning;
    case Remark::Caught:
      return kCaught;
    case Remark::Progress:
      return kProgress;
    case Remark::Crash:
      return kCrash;
    case Remark::Fault:
      return kFault;
    case Remark::Name:
      return kName;
    case Remark::Consequence:
      return kConsequence;
    case Remark::Chained:
      return kChained;
  }
  return {};
}

}  // namespace berth::daemon

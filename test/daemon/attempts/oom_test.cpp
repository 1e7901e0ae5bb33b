// Goal: a job that died for lack of GPU memory is known by what its framework says, by its own
// attempt's words alone, and with the measurement as second witness, whatever scripts, parents and
// other ranks say after it; host memory, talk of memory, a caught failure after which a program
// goes on or which another fault follows, and a kill are something else.
//
// Method: texts of the kinds that public issue threads show, each said anew, through the words and
// the rule; a berthd with jobs of several attempts.
#include "daemon/attempts/oom.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <array>

#include "daemon/rig.hpp"

namespace berth::daemon {
namespace {

using test::Json;
using test::Rig;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kGib = std::int64_t{1} << 30;
constexpr shim::Exit kFailed{.kind = shim::Exit::Kind::Code, .number = 1, .at = {}};

bool is_oom(std::string_view log, const Witness& witness = {}, const shim::Exit& exit = kFailed) {
  static const OomWords words;
  return outcome_of(exit, words, [&] { return std::string(log); }, witness) == Outcome::Oom;
}

constexpr Witness kNear{.peak = Bytes(19 * kGib), .granted = Bytes(20 * kGib)};
constexpr Witness kFar{.peak = Bytes(2 * kGib), .granted = Bytes(20 * kGib)};
constexpr Witness kFull{.peak = Bytes(2 * kGib), .granted = Bytes(20 * kGib), .found_full = true};

// ---- What frameworks say ---------------------------------------------------------------------

constexpr auto kGpuMemory = std::to_array<std::string_view>({
    // PyTorch and what stands on it
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total "
    "capacity of 23.6 GiB. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF to avoid fragmentation",
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB",
    "RuntimeError: CUDA out of memory. Tried to allocate 12.00 MiB (GPU 0; 8 GiB total capacity)",
    "RuntimeError: CUDA error: out of memory",
    "RuntimeError: cuda runtime error (2) : out of memory at THCStorage.cu:58",
    "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
    "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
    "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    "RuntimeError: cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `create`",
    "RuntimeError: cuFFT error: CUFFT_ALLOC_FAILED",
    "RuntimeError: Unable to find a valid cuDNN algorithm to run convolution",
    "RuntimeError: GET was unable to find an engine to execute this computation",
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB",
    "RuntimeError: HIP error: out of memory",
    "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 64.00 MiB",
    "RuntimeError: Native API failed. Native API returns: 39 "
    "(UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)",
    "RuntimeError: Native API failed. Native API returns: -5 (PI_ERROR_OUT_OF_RESOURCES)",
    "RuntimeError: NPU out of memory. Tried to allocate 20.00 MiB (NPU 0; 32 GiB total capacity)",
    "RuntimeError: Triton Error [CUDA]: out of memory",
    "RuntimeError: No executable batch size found, reached zero.",
    "Error out of memory at line 380 in file /tmp/bitsandbytes/csrc/pythonInterface.c",
    "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB",
    // JAX, TensorFlow
    "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4770354 bytes.",
    "XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 2.9GiB (3206250B) on "
    "device "
    "ordinal 0",
    "RuntimeError: Resource exhausted: Out of memory while trying to allocate 55207 bytes.",
    "RuntimeError: Resource exhausted: Failed to allocate request for 32.0MiB on device ordinal 0",
    "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 17179869184 bytes.",
    "jaxlib.xla_extension.XlaRuntimeError: FAILED_PRECONDITION: DNN library initialization failed.",
    "E0612 gpu_driver.cc:100] failed to allocate 9.2G from device: CUDA_ERROR_OUT_OF_MEMORY",
    "ResourceExhaustedError: OOM when allocating tensor with shape[64,128] and type float on "
    "/device:GPU:0 by allocator GPU_0_bfc",
    "tensorflow.python.framework.errors_impl.InternalError: Dst tensor is not initialized.",
    "W tensorflow/bfc_allocator.cc:4] Allocator (GPU_0_bfc) ran out of memory trying to allocate "
    "2GiB",
    // arrays and data frames
    "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,589,934,592 bytes (allocated so "
    "far: 1,024 bytes).",
    "cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorMemoryAllocation: out of memory",
    "pycuda._driver.MemoryError: cuMemAlloc failed: out of memory",
    "numba.cuda.cudadrv.driver.CudaAPIError: [2] Call to cuMemAlloc results in "
    "CUDA_ERROR_OUT_OF_MEMORY",
    "ERROR: LoadError: Out of GPU memory trying to allocate 4.000 GiB",
    "ERROR: OutOfGPUMemoryError: trying to allocate",
    "ERROR: LoadError: CUDA error: out of memory (code 2, ERROR_OUT_OF_MEMORY)",
    "Warp CUDA error 2: out of memory (in function alloc_device, warp.cu:588)",
    "RuntimeError: Failed to allocate 4000000000 bytes on device 'cuda:0'",
    "MemoryError: std::bad_alloc: out_of_memory: RMM failure at:pool_memory_resource.hpp:183: "
    "Maximum pool size exceeded",
    "MemoryError: std::bad_alloc: out_of_memory: CUDA error at: cuda_memory_resource.hpp:62: "
    "cudaErrorMemoryAllocation out of memory",
    "  what():  parallel_for failed: out of memory",
    "  what():  parallel_for failed: cudaErrorMemoryAllocation: out of memory",
    "xgboost.core.XGBoostError: Memory allocation error on worker 0: std::bad_alloc: "
    "cudaErrorMemoryAllocation",
    "[LightGBM] [Fatal] [CUDA] out of memory /tmp/cuda_utils.hpp 203",
    "  what():  Memory Object Allocation Failure",
    "pyopencl._cl.MemoryError: create_buffer failed: MEM_OBJECT_ALLOCATION_FAILURE: "
    "CL_MEM_OBJECT_ALLOCATION_FAILURE",
    "faiss::gpu::StandardGpuResourcesImpl::allocMemory: cudaMalloc error out of memory [2]",
    "Check failed: [error == cudaSuccess] out of memory",
    // other frameworks
    "mxnet.base.MXNetError: cudaMalloc retry failed: out of memory",
    "ResourceExhaustedError: \n\nOut of memory error on GPU 0. Cannot allocate 98.0MB memory on "
    "GPU 0",
    "onnxruntime RuntimeException: bfc_arena.cc:376 void* "
    "onnxruntime::BFCArena::AllocateRawInternal("
    "size_t) Failed to allocate memory for requested buffer of size 8388608000",
    "CUDA failure 2: out of memory ; GPU=0 ; hostname=n ; expr=cudaMalloc((void**)&p, size);",
    "[TRT] [E] 1: [defaultAllocator.cpp::allocate::20] Error Code 1: Cuda Runtime (out of memory)",
    "[TRT] [E] 2: Requested amount of GPU memory (42949672960 bytes) could not be allocated.",
    "n1:75:492 [1] include/alloc.h:38 NCCL WARN Cuda failure 'out of memory'",
    "n1:75:492 [1] include/alloc.h:48 NCCL WARN Failed to CUDA calloc 6291456 bytes",
    "Last error:\nCuda failure 2 'out of memory'",
    "failed to allocate CUDA memory with byte size 67108864 on GPU 0: CNMEM_STATUS_OUT_OF_MEMORY",
    "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)",
    "Error: vk::Device::allocateMemory: ErrorOutOfDeviceMemory",
    "MESA: error: anv_device.c:4237: VK_ERROR_OUT_OF_DEVICE_MEMORY",
    "(-217:Gpu API call) out of memory in function 'allocate'",
    "DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")",
    // servers of language models
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 256.00 MiB on device 0: cudaMalloc "
    "failed: out of memory",
    "alloc_tensor_range: failed to allocate CUDA0 buffer of size 151851",
    "llama_model_load: error loading model: unable to allocate CUDA0 buffer",
    "ggml_gallocr_reserve_n: failed to allocate ROCm0 buffer of size 14822711",
    "graph_reserve: failed to allocate compute buffers",
    "ggml_vulkan: Device memory allocation of size 118497280 failed.",
    "Error: llama runner process has terminated: cudaMalloc failed: out of memory",
    "ValueError: Free memory on device (31.4/47.3 GiB) on startup is less than desired GPU memory "
    "utilization (0.95, 45.0 GiB). Decrease GPU memory utilization",
    "ValueError: Free memory on device cuda:0 (0.22/30.3 GiB) on startup is less than desired GPU "
    "memory utilization",
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`",
    "ValueError: To serve at least one request with the model's max seq len (131072), 4.11 GiB KV "
    "cache is needed, which is larger than the available KV cache memory (4.0 GiB).",
    "ValueError: The model's max seq len (32768) is larger than the maximum number of tokens that "
    "can be stored in KV cache (9000).",
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    "RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number",
    "Prefill out of memory. Try to lower your batch size.",
    "Error: Warmup(Generation(\"Not enough memory to handle 4096 prefill tokens\"))",
    "Error: panic: insufficient memory - required allocations: {InputWeights:700 KV:12}",
    "ValueError: Some modules are on the CPU. Make sure you have enough GPU RAM to fit the "
    "quantized model.",
    "onnxruntime: Available memory of 0 is smaller than requested bytes of 25165824",
    "[TRT] [E] 2: [virtualMemoryBuffer.cpp::resize::127] Error Code 2: OutOfMemory (no further "
    "information)",
    "jax: INTERNAL: Failed to create cuBLAS handle: cublas error",
    "FATAL ERROR: CUDA error cudaMalloc(pp, n) in file src/CudaUtils.C\n on Pe 0 (n1 device 0): "
    "out of memory",
    "System is out of GPU and shared host memory\nError: Session error",
    "CUDA error: unable to allocate enough memory to perform the requested operation (out-of-mem)",
    "ERROR: Insufficient memory on accelerator (src/GPU/gpu_extra.h:44)",
    "* Device #1: Not enough allocatable device memory for this attack.",
    "dali::CUDABadAlloc: CUDA allocation failed: Can't allocate 16777216 bytes on device 0.",
    "RuntimeError: Critical error in pipeline:\nCUDA allocation failed\nRequested: 2 GB",
    "java.lang.RuntimeException: [DEVICE] allocation failed; Error code: [2]",
    "executor.cc:665] Execute failed: GPU memory is overflow, please reduce your batch_size!",
    "RuntimeError: Device(id:0) memory isn't enough and alloc failed, alloc size: 1073741824B.",
    "nvjpeg error '5' (ALLOCATOR_FAILURE)",
    "mem.cpp:273: non-zero status: 2 cuMemCreate failed",
    "[h264_nvenc @ 0x55] OpenEncodeSessionEx failed: out of memory (10): (no details)",
    "0: ALLOCATE: 4194304000 bytes requested; not enough memory: 2(out of memory)",
    "mgb::MemAllocError\nout of memory while requesting 123 bytes",
    "[METAL] Command buffer execution failed: Insufficient Memory "
    "(00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)",
    "XlaRuntimeError: INTERNAL: Failed to allocate 2097152 bytes for new constant",
    "Profiling failure: RESOURCE_EXHAUSTED: Allocating 123 bytes exceeds the memory limit of 0",
    "!!! Exception !!! Allocation on device 0 would exceed allowed memory. (out of memory)",
    "java.lang.OutOfMemoryError: Could not allocate native memory: std::bad_alloc: RMM failure "
    "at:arena.hpp:382: Maximum pool size exceeded",
    // beside words of other memory
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB in shared memory kernel",
    "error loading model: unable to allocate CUDA0 buffer after CPU buffer of 3 MiB",
    // in May
    "[Wed May 13 10:22:01 2026] ERROR trainer: CUDA out of memory. Tried to allocate 2.00 GiB",
    "May 13 10:22:01 gpu01 python[123]: RuntimeError: CUDA error: out of memory",
    "13 May 2026 trainer: CUDA out of memory",
    // on a terminal
    "\x1b[1;31mRuntimeError\x1b[0m: \x1b[35mCUDA out of memory\x1b[0m\r\nbye\r\n",
    "Epoch 3: 45%|## | 123/400 [00:12]\rEpoch 3: 46%|## | 124/400 [00:12]\rCUDA out of memory",
    // told by whatever was there to tell it
    "Exception: CUDA out of memory. Tried to allocate 2.00 GiB",
    "Exception in thread Thread-3:\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate",
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{function_node "
    "__wrapped__AddV2_device_/job:localhost/replica:0/task:0/device:GPU:0}} failed to allocate "
    "memory [Op:AddV2]",
    "W bfc_allocator.cc:497] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2GiB\n"
    "ResourceExhaustedError: Graph execution error:\n\nfailed to allocate memory",
    "ERROR: LoadError: Out of GPU memory trying to allocate 8.000 GiB\nStacktrace:\n"
    " [1] throw_api_error\n   @ ~/.julia/packages/CUDA/libcuda.jl:30",
    // beside names that are words
    "ERROR recommender.trainer: RuntimeError: CUDA out of memory",
    "/data/bob/recommender/train.py: CUDA out of memory",
    "ERROR fire_prevention.train RuntimeError: CUDA out of memory",
    "faqbot.train: RuntimeError: CUDA out of memory",
});

TEST(OomWords, AreKnownOfEachFramework) {
  for (const std::string_view text : kGpuMemory) {
    EXPECT_TRUE(is_oom(std::string("epoch 3\n") + std::string(text) + "\n")) << text;
  }
}

constexpr auto kSomethingElse = std::to_array<std::string_view>({
    "",
    "Traceback (most recent call last):\nKeyError: 'labels'",
    // the host's memory
    "MemoryError: Unable to allocate 32.0 GiB for an array with shape (65536, 65536)",
    "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 3 TiB for an array with shape "
    "(9,)",
    "RuntimeError: [enforce fail at alloc_cpu.cpp:114] data. DefaultCPUAllocator: not enough "
    "memory: "
    "you tried to allocate 549755813888 bytes.",
    "ResourceExhaustedError: OOM when allocating tensor with shape[9] and type float on "
    "/job:localhost/device:CPU:0 by allocator cpu",
    "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc",
    "srun: error: node1: task 0: Out Of Memory",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been "
    "OOM "
    "Killed.",
    "kernel: Out of memory: Killed process 4711 (python) total-vm:12kB",
    "Killed",
    "fork: Cannot allocate memory",
    "java.lang.OutOfMemoryError: Java heap space",
    "java.lang.OutOfMemoryError: GC overhead limit exceeded",
    "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.",
    "RuntimeError: Failed to allocate 4000 bytes on device 'cpu'",
    "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
    "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
    "ERROR: OutOfMemoryError()",
    "RuntimeError: unable to open shared memory object </torch_1> in read-write mode",
    "Error: model requires more system memory (51.2 GiB) than is available (30.1 GiB)",
    "ggml_cuda_host_malloc: failed to allocate 1900.00 MiB of pinned memory: invalid argument",
    "E tensorflow: failed to alloc 8589934592 bytes on host: CUDA_ERROR_OUT_OF_MEMORY",
    "lightgbm.basic.LightGBMError: Out of Host Memory",
    // other resources, other faults
    "grpc: StatusCode.RESOURCE_EXHAUSTED: Received message larger than max (5000000 vs. 4194304)",
    "google.api_core.exceptions.ResourceExhausted: 429 RESOURCE_EXHAUSTED: Quota exceeded",
    "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072",
    "OSError: [Errno 28] No space left on device",
    "RuntimeError: CUDA error: device-side assert triggered",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "RuntimeError: CUDA error: invalid device ordinal",
    "RuntimeError: No CUDA GPUs are available",
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.",
    // talk
    "INFO docs: to avoid out of memory errors lower the batch size",
    "INFO docs: to avoid CUDA out of memory errors lower the batch size",
    "usage: train.py [--batch-size N]  # lower it on CUDA out of memory",
    "If you see CUDA out of memory, use a smaller batch.",
    "hint: CUDA out of memory means that the batch is too large",
    "    if \"CUDA out of memory\" in str(error):\n        raise\nKeyError: 'labels'",
    "W external/xla/bfc_allocator.cc:310] Allocator (GPU_0_bfc) ran out of memory trying to "
    "allocate "
    "3.4GiB. The caller indicates that this is not a failure",
    "INFO trainer: out of memory handler installed",
    // caught, and then something else
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\nKeyError: 'labels'",
    "WARNING: CUDA out of memory, retrying with batch 8\nepoch 1\nepoch 2\nTraceback (most recent "
    "call "
    "last):\n  File \"a.py\", line 7, in <module>\nValueError: loss is nan",
    "step 4: RuntimeError: CUDA out of memory. skipped\nstep 5\nFileNotFoundError: [Errno 2] No "
    "such "
    "file or directory: 'b'",
    "CUDA out of memory\nbash: line 3: evaluate: command not found",
    "WARNING CUDA out of memory with batch=64. Reducing to batch=32 and retrying (1/3).\n"
    "Epoch 1/3\nEpoch 3/3\nmAP is too low",
    "WARNING CUDA out of memory; batch size 16 from now on\nepoch 1 done\nepoch 2 done\nloss "
    "diverged",
    "Trial 3 failed: CUDA out of memory. Pruned.\nTrial 4 finished with 0.3\nno best trial",
    "W xla/gemm_picker.cc] RESOURCE_EXHAUSTED: Failed to allocate request for 1.2GiB on device "
    "ordinal 0; skipping\nepoch 1\nbad accuracy",
    "CUDA out of memory caught, batch skipped\nepoch 2\npython: loss.cc:33: Assertion `x > 0' "
    "failed.",
    "CUDA error: out of memory\nepoch 2 done\nSegmentation fault (core dumped)",
    "warning: CUDA out of memory, retried\nthread 'main' panicked at src/main.rs:3:5:",
    "CUDA out of memory\nException in thread \"main\" java.lang.NullPointerException",
    "Auto batch: CUDA out of memory at 64, using 32\nepoch 1 loss nan\nLoss is nan, stopping",
    "OOM at batch 512 (CUDA out of memory)\nepoch 1 loss 0.3\nepoch 2 loss 0.2\nno such set: val",
    "batch 512: CUDA out of memory, using 256\nKeyError: 'labels'",
    "CUDA out of memory\n\x1b[1;35mKeyError\x1b[0m: \x1b[35m'labels'\x1b[0m\r\n",
    "CUDA out of memory\r\nAssertionError\r\n",
    "CUDA out of memory\nException: no labels",
    "CUDA out of memory\ncv2.error: OpenCV(4.8.0): bad argument",
    // counted, named, shown
    "HEAD is now at 3f2a1bc Handle CUDA out of memory in eval\nLoss is nan, stopping training",
    "commit: fix CUDA out of memory at eval\nLoss is nan, stopping training",
    "E       AssertionError: assert 'CUDA out of memory' in 'foo'",
    "wandb: Run notes: lowered batch size after CUDA out of memory\nLoss is nan",
    "You may run into CUDA out of memory with large batches",
    "|       CUDA OOMs: 0            |        cudaMalloc retries: 0         |",
    "tests/test_mem.py::test_cuda_out_of_memory PASSED\ntests/test_loss.py::test_loss FAILED",
    "FileNotFoundError: [Errno 2] No such file or directory: 'docs/cuda_out_of_memory.md'",
    "ImportError: cannot import name 'is_cuda_out_of_memory' from 'utils'",
    "NameError: name 'CUDA_OUT_OF_MEMORY' is not defined",
    "AttributeError: module 'torch.cuda' has no attribute 'OutOfMemoryError'. Did you mean: "
    "'torch.cuda.OutOfMemoryError'?",
    "+ grep -q 'CUDA out of memory' train.log\n+ exit 1",
    "  --auto-bs   halve the batch after a CUDA out of memory error\ntrain.py: error: unrecognized "
    "arguments: --foo",
    "cc1plus: out of memory allocating 65536 bytes after a total of 1048576 bytes",
});

TEST(OomWords, AreNotHeardInOtherTexts) {
  for (const std::string_view text : kSomethingElse) {
    EXPECT_FALSE(is_oom(std::string("epoch 3\n") + std::string(text) + "\n")) << text;
  }
}

/// What a program says of its end after the cause does not hide the cause.
constexpr auto kWithConsequences = std::to_array<std::string_view>({
    "torch.OutOfMemoryError: CUDA out of memory.\n\nDuring handling of the above exception, "
    "another "
    "exception occurred:\n\nTraceback (most recent call last):\nRuntimeError: step failed",
    "[rank0]: torch.OutOfMemoryError: CUDA out of memory.\n"
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \ntrain.py FAILED\n"
    "  exitcode  : 1 (pid: 7)",
    "(EngineCore pid=7) ERROR ValueError: No available memory for the cache blocks.\n"
    "RuntimeError: Engine core initialization failed. See root cause above.",
    "CUDA error: out of memory\nsubprocess.CalledProcessError: Command 'x' returned non-zero exit "
    "status 1.",
    "RuntimeError: CUDA out of memory.\nException ignored in: <function f>\nBrokenPipeError: "
    "[Errno 32]",
    "torch.OutOfMemoryError: CUDA out of memory.\nwandb: Run history:\nwandb: error: none\nwandb: "
    "done",
    "torch.OutOfMemoryError: CUDA out of memory.\nslept\nbye",
    "ggml: cudaMalloc failed: out of memory\nAborted (core dumped)",
    "ggml: cudaMalloc failed: out of memory\nSegmentation fault (core dumped)",
    "torch.OutOfMemoryError: CUDA out of memory.\nException ignored in: <function __del__>\n"
    "Traceback (most recent call last):\nAssertionError: can only test a child process",
    "torch.OutOfMemoryError: CUDA out of memory.\nError in atexit._run_exitfuncs:\nValueError: "
    "closed",
    "torch.OutOfMemoryError: CUDA out of memory.\n[rank1]: RuntimeError: NCCL communicator was "
    "aborted on rank 1.",
    "torch.OutOfMemoryError: CUDA out of memory.\nRuleException:\nCalledProcessError in file "
    "Snakefile",
    "torch.OutOfMemoryError: CUDA out of memory.\nERROR: failed to reproduce 'train'",
    "torch.OutOfMemoryError: CUDA out of memory.\ncp: cannot stat 'out': No such file or "
    "directory",
});

TEST(OomWords, CountBeforeWhatFollowsFromThem) {
  for (const std::string_view text : kWithConsequences) EXPECT_TRUE(is_oom(text)) << text;
}

/// What scripts, parents, other ranks and reporters say after it.
constexpr auto kAfterIt = std::to_array<std::string_view>({
    // levels
    "ERROR:    Application startup failed. Exiting.",
    "Error: ShardCannotStart",
    "error: creating server: Internal - failed to load all models",
    "ERROR: training failed, see log above",
    "ERROR:root:Training stopped",
    "Error: command 'python train.py' failed at line 12",
    "error: abort on container exit",
    "rsync error: some files were not transferred (code 23) at main.c(1338) [sender=3.2.7]",
    // the next lines of a script
    "cat: out/metrics.json: No such file or directory",
    "rm: cannot remove 'tmp/x': No such file or directory",
    "./job.sh: line 12: cd: out/run1: No such file or directory",
    "rsync: [sender] link_stat \"/out\" failed: No such file or directory (2)",
    "FileNotFoundError: [Errno 2] No such file or directory: 'out/best.pt'",
    // other ranks and workers
    "[rank1]: torch.distributed.DistStoreError: Socket Timeout",
    "[rank3]: torch.distributed.DistNetworkError: The client socket has timed out after 600000ms",
    "[rank1]: torch.distributed.DistNetworkError: Broken pipe",
    "[rank3]: RuntimeError: Broken pipe",
    "RuntimeError: [gloo/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation",
    "RuntimeError: DataLoader worker (pid(s) 1234) exited unexpectedly",
    "ray.exceptions.WorkerCrashedError: The worker died unexpectedly while executing this task.",
    "loky.process_executor.TerminatedWorkerError: A worker process was unexpectedly terminated.",
    "errors_impl.UnavailableError: Collective ops is aborted by: failed to connect",
    "XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out.",
    // parents and reporters
    "TrainingFailedError: The Ray Train run failed. Please inspect the previous error messages",
    "RuntimeError: Horovod detected that one or more processes exited with non-zero status",
    "RuntimeError: Initialization failed. Please see the error messages above.",
    "mlflow.exceptions.RestException: RESOURCE_DOES_NOT_EXIST: Run not found",
    "ERROR:telegram: failed\nrequests.exceptions.ConnectionError: HTTPSConnectionPool",
    // an assertion by which a library ends itself
    "darknet: ./src/cuda.c:36: check_error: Assertion `0' failed.\nAborted (core dumped)",
    // lines that only look like progress, and progress that does not advance
    "[rank1]:   File \"train.py\", line 5, in step\n[rank1]:   File \"train.py\", line 9, in step",
    "Epoch 0:   0%|          | 0/1000 [00:01<?, ?it/s]",
});

TEST(OomWords, CountWhateverIsSaidAfterThem) {
  for (const std::string_view text : kAfterIt) {
    EXPECT_TRUE(is_oom("torch.OutOfMemoryError: CUDA out of memory.\n" + std::string(text) + "\n"))
        << text;
  }
}

/// The other ranks of a job say much.
TEST(OomWords, AreHeardFarBeforeTheEnd) {
  std::string log = "torch.OutOfMemoryError: CUDA out of memory.\n";
  while (log.size() < kTail - 200) {
    log += "[rank7]: frame #3: c10d::WorkNCCL::check() + 0x30 (0x7f3c in libtorch_cuda.so)\n";
  }
  EXPECT_TRUE(is_oom(log));
  EXPECT_GE(kTail, std::size_t{128} << 10);
}

TEST(OomWords, OfAProgramOfOnesOwnCanBeAdded) {
  const std::vector<std::string> more = {"MyLib: no *device* memory"};
  const OomWords words(more);
  EXPECT_EQ(words.found_in("mylib: NO more Device Memory left"), Certainty::Sure);
  EXPECT_EQ(words.found_in("mylib: no more\ndevice memory"), std::nullopt);
  EXPECT_EQ(OomWords().found_in("mylib: no more device memory left"), std::nullopt);
}

double millis_of_words(const std::string& log) {
  const OomWords words;
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    timespec before{};
    timespec after{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    static_cast<void>(words.found_in(log));
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    least = std::min(least, static_cast<double>(after.tv_sec - before.tv_sec) * 1e3 +
                                static_cast<double>(after.tv_nsec - before.tv_nsec) / 1e6);
  }
  return least;
}

/// The engine's thread reads them, and a job's user writes them.
TEST(OomWords, CostNoMoreInALogThatIsMadeForIt) {
  const auto many = [](const std::string& head, const std::string& words) {
    std::string log = head;
    while (log.size() < kTail) log += words;
    return log;
  };
  const double usual = millis_of_words(many("", "epoch 1 step 100 loss 0.1234\n"));
  for (const std::string& log :
       {many("", "out of memory "), many("info: ", "out of memory "),
        many("debug ", "failed to allocate "), many("", "info out of memory\n"),
        many("info out of memory\nraise ", "error:"), many("", "o"),
        many("", "warn cuda out of memory epoch 1\n"),
        many("cuda out of memory\n", "assertion error epoch 1\n"), many("", "info cuda "),
        many(std::string(kTail / 2, ' '), "error:"), many("info out of memory", " may"),
        many("step" + std::string(kTail / 2, ' '), "step ")}) {
    EXPECT_LT(millis_of_words(log), 30 * usual) << log.substr(0, 60);
  }
}

// ---- The second witness ----------------------------------------------------------------------

TEST(OomWitness, MakesDoubtfulWordsLikelyOrNot) {
  constexpr std::string_view kUnclear = "engine: error: failed to allocate a buffer";
  EXPECT_FALSE(is_oom(kUnclear));
  EXPECT_FALSE(is_oom(kUnclear, kFar));
  EXPECT_TRUE(is_oom(kUnclear, kNear));
  EXPECT_TRUE(is_oom(kUnclear, kFull));
  constexpr std::string_view kLibrary = "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED";
  EXPECT_TRUE(is_oom(kLibrary));
  EXPECT_FALSE(is_oom(kLibrary, kFar));
  EXPECT_TRUE(is_oom(kLibrary, kNear));
  EXPECT_TRUE(is_oom(kLibrary, kFull));
  EXPECT_TRUE(is_oom("CUDA out of memory. Tried to allocate 40 GiB", kFar)) << "it says so itself";
  EXPECT_FALSE(is_oom("KeyError: 'labels'", kNear)) << "nothing was said";
  EXPECT_FALSE(is_oom("KeyError: 'labels'", kFull));
}

/// More memory helps a program that ended where it failed, and not one that went on.
TEST(OomWitness, DecidesWhatAnotherFaultOrProgressAfterThemMeans) {
  constexpr std::string_view kThenFault = "CUDA out of memory\nKeyError: 'labels'";
  EXPECT_FALSE(is_oom(kThenFault));
  EXPECT_FALSE(is_oom(kThenFault, kFar));
  EXPECT_TRUE(is_oom(kThenFault, kNear));
  constexpr std::string_view kThenProgress = "CUDA out of memory\ntrial 1 done\ntrial 2 done";
  EXPECT_FALSE(is_oom(kThenProgress));
  EXPECT_TRUE(is_oom(kThenProgress, kNear));
  for (const std::string_view text :
       {"CUDA out of memory\nepoch 1\nKeyError: 'labels'",
        "CUDA out of memory, using 256\nKeyError: 'labels'",
        "CUDA out of memory at 64, using 32\nepoch 1 loss nan\nLoss is nan, stopping",
        "WARNING CUDA out of memory\n{'loss': 0.5}\n{'loss': 0.4}\nLoss is nan",
        "WARNING CUDA out of memory\nUsing batch-size 16\nEpoch 1/100\nLoss is nan"}) {
    EXPECT_FALSE(is_oom(text, kNear)) << text;
  }
}

// ---- Exits -----------------------------------------------------------------------------------

TEST(OomExit, OfAKillIsNot) {
  constexpr std::string_view kSaid = "CUDA out of memory";
  const auto ends = [&](shim::Exit::Kind kind, int number) {
    return is_oom(kSaid, {}, {.kind = kind, .number = number, .at = {}});
  };
  EXPECT_TRUE(ends(shim::Exit::Kind::Code, 1));
  EXPECT_TRUE(ends(shim::Exit::Kind::Signal, SIGABRT)) << "an exception that nobody caught";
  EXPECT_TRUE(ends(shim::Exit::Kind::Code, 134));
  EXPECT_FALSE(ends(shim::Exit::Kind::Signal, SIGKILL));
  EXPECT_FALSE(ends(shim::Exit::Kind::Signal, SIGTERM));
  EXPECT_FALSE(ends(shim::Exit::Kind::Code, 137)) << "a shell whose program was killed";
  EXPECT_FALSE(ends(shim::Exit::Kind::Exec, 2));
  EXPECT_FALSE(ends(shim::Exit::Kind::Code, 0));
  EXPECT_TRUE(is_oom("", {}, {.kind = shim::Exit::Kind::Code, .number = kOomCode, .at = {}}));
}

TEST(OomExit, OfAJobWithoutGpusIsNot) {
  Job job;
  EXPECT_FALSE(is_oom("", unwatched(job), {.number = kOomCode, .at = {}}));
  EXPECT_FALSE(is_oom("CUDA out of memory", unwatched(job)));
  job.spec.request.gpu.count = GpuCount(1);
  EXPECT_TRUE(is_oom("", unwatched(job), {.number = kOomCode, .at = {}}));
  EXPECT_TRUE(is_oom("CUDA out of memory", unwatched(job)));
}

// ---- Attempts --------------------------------------------------------------------------------

class OomOfAttempts : public testing::Test {
 protected:
  OomOfAttempts() : rig_({.config = "grace = \"500ms\"\noom_words = [\"mylib: full\"]\n"}) {
    rig_.start();
  }
  /// The attempts' outcomes, in their order.
  std::vector<std::string> outcomes(const std::string& script, int retries) {
    const int id = rig_.submit(script, {{"vram_bytes", 2 * kGib}, {"retries", retries}});
    const Json job = rig_.wait_end(id);
    std::vector<std::string> all;
    for (const Json& attempt : job["attempts"]) all.push_back(attempt["outcome"]);
    all.push_back(job["state"]);
    return all;
  }

  Rig rig_;
};

using Outcomes = std::vector<std::string>;

TEST_F(OomOfAttempts, WordsOfOneDoNotCondemnTheNext) {
  EXPECT_EQ(outcomes("[ $BERTH_ATTEMPT = 1 ] && { echo CUDA out of memory; exit 1; };"
                     "echo KeyError: labels; exit 1",
                     5),
            (Outcomes{"oom", "failed", "failed"}));
  EXPECT_EQ(outcomes("[ $BERTH_ATTEMPT = 1 ] && { echo CUDA out of memory; exit 1; }; exit 3", 5),
            (Outcomes{"oom", "failed", "failed"}));
  EXPECT_EQ(
      outcomes("[ $BERTH_ATTEMPT = 1 ] && { echo CUDA out of memory; exit 1; }; kill -9 $$", 5),
      (Outcomes{"oom", "failed", "failed"}));
  EXPECT_EQ(outcomes("[ $BERTH_ATTEMPT -lt 3 ] && { echo mylib: FULL; exit 1; }; exit 0", 5),
            (Outcomes{"oom", "oom", "done", "done"}));
}

TEST_F(OomOfAttempts, AreToldApartByABerthdThatStartsBetweenThem) {
  const int id = rig_.submit(
      "[ $BERTH_ATTEMPT = 1 ] && { echo CUDA out of memory; exit 1; };"
      "echo second; while [ ! -e go ]; do sleep 0.02; done; exit 1",
      {{"vram_bytes", 2 * kGib}, {"retries", 5}});
  test::eventually("the second runs", [&] { return rig_.log(id).ends_with("second\n"); });
  rig_.kill();
  rig_.start();
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(id)["state"], "failed");
}

TEST_F(OomOfAttempts, WithoutGpusIsNot) {
  const int id =
      rig_.submit("echo CUDA out of memory; exit 77", {{"gpus", 0}, {"vram_bytes", nullptr}});
  const Json job = rig_.wait_end(id);
  EXPECT_EQ(job["state"], "failed");
  EXPECT_EQ(job["exit_code"], 77);
}

/// The log has the beginning of what it says, and its end.
TEST(OomOfAChattyJob, IsHeardBeyondTheCapOfItsLog) {
  Rig rig({.config = "grace = \"500ms\"\nlog_cap = \"1KiB\"\n"});
  rig.start();
  const Json asked = {{"vram_bytes", 2 * kGib}};
  const int chatty = rig.submit("seq 100000; echo CUDA out of memory; exit 1", asked);
  const int other =
      rig.submit("echo CUDA out of memory; seq 100000; echo KeyError: labels; exit 1", asked);
  EXPECT_EQ(rig.wait_end(chatty)["state"], "oom");
  EXPECT_TRUE(rig.log(chatty).ends_with("100000\nCUDA out of memory\n"));
  EXPECT_EQ(rig.wait_end(other)["state"], "failed");
}

}  // namespace
}  // namespace berth::daemon

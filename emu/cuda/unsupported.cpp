// CUDA driver functions the emulated card does not support. They exist, so that a program that
// looks them up gets an answer in the driver's words, and are one function: it needs no argument.
#include "emu/cuda/abi.hpp"

namespace berth::emu {

extern "C" {

CudaResult cuBerthNotSupported() { return CudaResult::NotSupported; }

// Interfaces before CUDA 3.2, with 32-bit addresses.
CudaResult cuDeviceGetProperties() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuDeviceTotalMem() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuFuncSetBlockShape() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuFuncSetSharedSize() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemAlloc() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemAllocHost() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemAllocPitch() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemFree() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemGetAddressRange() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemGetInfo() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemHostGetDevicePointer() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemcpy2D() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemcpy2DAsync() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemcpy2DUnaligned() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemcpyDtoD() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemcpyDtoDAsync() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemcpyDtoH() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemcpyDtoHAsync() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemcpyHtoD() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemcpyHtoDAsync() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemsetD16() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemsetD2D16() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemsetD2D32() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemsetD2D8() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemsetD32() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemsetD8() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuModuleGetGlobal() __attribute__((alias("cuBerthNotSupported")));

// Managed and virtual memory, sharing between processes.
CudaResult cuIpcCloseMemHandle() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuIpcGetEventHandle() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuIpcGetMemHandle() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuIpcOpenEventHandle() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuIpcOpenMemHandle() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuIpcOpenMemHandle_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemAddressFree() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemAddressReserve() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemAdvise() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemAdvise_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemAllocManaged() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemCreate() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemExportToShareableHandle() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemGetAccess() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemGetAllocationGranularity() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemGetAllocationPropertiesFromHandle() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemGetDefaultMemPool() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemGetHandleForAddressRange() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemGetMemPool() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemHostGetDevicePointer_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemHostGetFlags() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemHostRegister() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemHostRegister_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemHostUnregister() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemImportFromShareableHandle() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemMap() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemPoolCreate() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemPoolDestroy() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemPoolExportPointer() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemPoolExportToShareableHandle() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemPoolGetAccess() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemPoolImportFromShareableHandle() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemPoolImportPointer() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemPoolSetAccess() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemPrefetchAsync() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemPrefetchAsync_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemRangeGetAttribute() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemRangeGetAttributes() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemRelease() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemRetainAllocationHandle() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemSetAccess() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemSetMemPool() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemUnmap() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuPointerGetAttribute() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuPointerGetAttributes() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuPointerSetAttribute() __attribute__((alias("cuBerthNotSupported")));

// Other copies and fills.
CudaResult cuMemcpy() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemcpy2DAsync_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemcpy2DUnaligned_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemcpy2D_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemcpyAsync() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemcpyPeer() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemcpyPeerAsync() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemsetD2D16Async() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemsetD2D16_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemsetD2D32Async() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemsetD2D32_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemsetD2D8Async() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuMemsetD2D8_v2() __attribute__((alias("cuBerthNotSupported")));

// Graphs and capture.
CudaResult cuDeviceGetGraphMemAttribute() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuDeviceGraphMemTrim() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuDeviceSetGraphMemAttribute() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuGraphClone() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuGraphCreate() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuGraphDestroy() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuGraphInstantiate() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuGraphInstantiateWithFlags() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuGraphInstantiateWithParams() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuGraphInstantiate_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuGraphLaunch() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuGraphUpload() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamBeginCapture() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamBeginCaptureToGraph() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamBeginCapture_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamEndCapture() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamGetCaptureInfo() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamGetCaptureInfo_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamGetCaptureInfo_v3() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamIsCapturing() __attribute__((alias("cuBerthNotSupported")));

// Libraries, linking, occupancy.
CudaResult cuFuncGetModule() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuFuncGetName() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuFuncGetParamInfo() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuFuncIsLoaded() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuFuncLoad() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuFuncSetAttribute() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuFuncSetCacheConfig() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuFuncSetSharedMemConfig() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuKernelGetAttribute() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuKernelGetFunction() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuKernelGetLibrary() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuKernelGetName() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuKernelGetParamInfo() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuKernelSetAttribute() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuKernelSetCacheConfig() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLibraryEnumerateKernels() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLibraryGetGlobal() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLibraryGetKernel() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLibraryGetKernelCount() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLibraryGetManaged() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLibraryGetModule() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLibraryGetUnifiedFunction() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLibraryLoadData() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLibraryLoadFromFile() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLibraryUnload() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLinkAddData() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLinkAddData_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLinkAddFile() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLinkAddFile_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLinkComplete() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLinkCreate() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLinkCreate_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLinkDestroy() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuModuleEnumerateFunctions() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuModuleGetFunctionCount() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuModuleGetLoadingMode() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuOccupancyAvailableDynamicSMemPerBlock() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuOccupancyMaxActiveBlocksPerMultiprocessor()
    __attribute__((alias("cuBerthNotSupported")));
CudaResult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags()
    __attribute__((alias("cuBerthNotSupported")));
CudaResult cuOccupancyMaxActiveClusters() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuOccupancyMaxPotentialBlockSize() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuOccupancyMaxPotentialBlockSizeWithFlags()
    __attribute__((alias("cuBerthNotSupported")));
CudaResult cuOccupancyMaxPotentialClusterSize() __attribute__((alias("cuBerthNotSupported")));

// Contexts, devices, streams.
CudaResult cuCtxAttach() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxDetach() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxDisablePeerAccess() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxEnablePeerAccess() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxGetCacheConfig() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxGetDevice_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxGetExecAffinity() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxGetId() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxGetLimit() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxGetSharedMemConfig() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxRecordEvent() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxResetPersistingL2Cache() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxSetCacheConfig() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxSetFlags() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxSetLimit() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxSetSharedMemConfig() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxSynchronize_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuCtxWaitEvent() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuDeviceGetExecAffinitySupport() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuDeviceGetHostAtomicCapabilities() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuDeviceGetP2PAtomicCapabilities() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuDeviceGetP2PAttribute() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLaunchCooperativeKernel() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLaunchCooperativeKernelMultiDevice() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuLaunchHostFunc() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamAttachMemAsync() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamCopyAttributes() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamGetAttribute() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamGetCtx_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamGetDevice() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamGetId() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamSetAttribute() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamWaitValue32() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamWaitValue32_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamWaitValue64() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamWaitValue64_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamWriteValue32() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamWriteValue32_v2() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamWriteValue64() __attribute__((alias("cuBerthNotSupported")));
CudaResult cuStreamWriteValue64_v2() __attribute__((alias("cuBerthNotSupported")));

}  // extern "C"

}  // namespace berth::emu

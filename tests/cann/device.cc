// SPDX-License-Identifier: Apache-2.0
// What a device says of itself, and what a program may ask that has no effect here: profiling,
// dumps, limits.
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include <profiling/aprof_pub.h>
#include <profiling/prof_common.h>
#include <unistd.h>

#include "stand_in.h"

namespace {

constexpr int64_t kCubeCores = 24, kVectorCores = 48, kL2Bytes = int64_t{192} << 20;
std::array<std::atomic<int64_t>, 3> settings{};

}  // namespace

using cann::fail;

extern "C" {

STAND_IN_API const char* aclrtGetSocName() {
  static const auto& name = *new std::string(cann::setting("MSPROBE_CANN_CHIP", "Ascend910B2"));
  return name.c_str();
}
STAND_IN_API aclError aclGetDeviceCapability(uint32_t, aclDeviceInfo what, int64_t* value) {
  *value = what == ACL_DEVICE_INFO_AI_CORE_NUM       ? kCubeCores
           : what == ACL_DEVICE_INFO_VECTOR_CORE_NUM ? kVectorCores
                                                     : kL2Bytes;
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtGetDeviceInfo(uint32_t, aclrtDevAttr what, int64_t* value) {
  switch (what) {
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
      *value = kCubeCores;
      break;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
      *value = kVectorCores;
      break;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
      *value = int64_t{64} << 30;
      break;
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      *value = kL2Bytes;
      break;
    default:
      *value = 0;
  }
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtGetDeviceResLimit(int32_t, aclrtDevResLimitType type, uint32_t* value) {
  *value = static_cast<uint32_t>(type == ACL_RT_DEV_RES_CUBE_CORE ? kCubeCores : kVectorCores);
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  return aclrtGetDeviceResLimit(0, type, value);
}
STAND_IN_API aclError aclrtGetStreamResLimit(aclrtStream, aclrtDevResLimitType type,
                                             uint32_t* value) {
  return aclrtGetDeviceResLimit(0, type, value);
}
STAND_IN_API aclError aclrtUseStreamResInCurrentThread(aclrtStream) { return ACL_SUCCESS; }
STAND_IN_API aclError aclrtUnuseStreamResInCurrentThread(aclrtStream) { return ACL_SUCCESS; }
STAND_IN_API aclError aclrtGetDeviceUtilizationRate(int32_t, aclrtUtilizationInfo* rates) {
  rates->cubeUtilization = rates->vectorUtilization = rates->aicpuUtilization =
      rates->memoryUtilization = 0;
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtDeviceGetUuid(int32_t device, aclrtUuid* uuid) {
  std::memset(uuid, 0, sizeof *uuid);
  uuid->bytes[0] = static_cast<char>(device + 1);
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtDeviceCanAccessPeer(int32_t* can, int32_t, int32_t) {
  *can = 1;
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtDeviceEnablePeerAccess(int32_t, uint32_t) { return ACL_SUCCESS; }
STAND_IN_API aclError aclrtDeviceGetBareTgid(int32_t* process) {
  *process = ::getpid();
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclsysGetVersionStr(char*, char* version) {
  std::strcpy(version, "8.5.0");
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclsysGetCANNVersion(aclCANNPackageName, aclCANNPackageVersion* version) {
  std::memset(version, 0, sizeof *version);
  std::strcpy(version->version, "8.5.0");
  std::strcpy(version->majorVersion, "8");
  std::strcpy(version->minorVersion, "5");
  std::strcpy(version->releaseVersion, "0");
  return ACL_SUCCESS;
}

// Settings are kept and have no effect: every kernel here is deterministic.
STAND_IN_API aclError aclrtSetSysParamOpt(aclSysParamOpt what, int64_t value) {
  settings.at(static_cast<std::size_t>(what)) = value;
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtGetSysParamOpt(aclSysParamOpt what, int64_t* value) {
  *value = settings.at(static_cast<std::size_t>(what));
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtCtxSetSysParamOpt(aclSysParamOpt what, int64_t value) {
  return aclrtSetSysParamOpt(what, value);
}
STAND_IN_API aclError aclrtSetOpWaitTimeout(uint32_t) { return ACL_SUCCESS; }
STAND_IN_API aclError aclrtSetOpExecuteTimeOut(uint32_t) { return ACL_SUCCESS; }
STAND_IN_API aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actual) {
  *actual = timeout;
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtSetStreamFailureMode(aclrtStream, uint64_t) { return ACL_SUCCESS; }
STAND_IN_API aclError aclrtSetStreamAttribute(aclrtStream, aclrtStreamAttr, aclrtStreamAttrValue*) {
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode) { return ACL_SUCCESS; }
STAND_IN_API aclError aclrtSetStreamOverflowSwitch(aclrtStream, uint32_t) { return ACL_SUCCESS; }
STAND_IN_API aclError aclrtGetStreamOverflowSwitch(aclrtStream, uint32_t* on) {
  *on = 0;
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtSubscribeReport(uint64_t, aclrtStream) { return ACL_SUCCESS; }
STAND_IN_API aclError aclrtUnSubscribeReport(uint64_t, aclrtStream) { return ACL_SUCCESS; }
STAND_IN_API aclError aclrtPeekAtLastError(aclrtLastErrLevel) {
  return cann::state_of(cann::current_device());
}
STAND_IN_API aclError aclrtGetLastError(aclrtLastErrLevel) {
  return cann::state_of(cann::current_device());
}

STAND_IN_API aclError aclSetCompileopt(aclCompileOpt, const char*) { return ACL_SUCCESS; }
STAND_IN_API aclError aclGetCompileopt(aclCompileOpt, char* value, size_t length) {
  if (length > 0) *value = '\0';
  return ACL_SUCCESS;
}
STAND_IN_API size_t aclGetCompileoptSize(aclCompileOpt) { return 1; }
STAND_IN_API aclError aclmdlInitDump() { return ACL_SUCCESS; }
STAND_IN_API aclError aclmdlSetDump(const char*) { return ACL_SUCCESS; }
STAND_IN_API aclError aclmdlFinalizeDump() { return ACL_SUCCESS; }
STAND_IN_API aclError aclmdlRICaptureGetInfo(aclrtStream, aclmdlRICaptureStatus* status,
                                             aclmdlRI*) {
  *status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
  return ACL_SUCCESS;
}

// The log of CANN: shown on request.
STAND_IN_API void aclAppLog(aclLogLevel level, const char* function, const char*, uint32_t,
                            const char* format, ...) {
  static const int shown = std::stoi(cann::setting("MSPROBE_CANN_LOG_LEVEL", "9"));
  if (static_cast<int>(level) < shown) return;
  std::va_list values;
  va_start(values, format);
  std::fprintf(stderr, "cann %s: ", function);
  std::vfprintf(stderr, format, values);
  std::fputc('\n', stderr);
  va_end(values);
}

STAND_IN_API int32_t MsprofRegisterCallback(uint32_t, ProfCommandHandle) { return 0; }
STAND_IN_API int32_t MsprofReportApi(uint32_t, const MsprofApi*) { return 0; }
STAND_IN_API int32_t MsprofReportAdditionalInfo(uint32_t, const VOID_PTR, uint32_t) { return 0; }
STAND_IN_API int32_t MsprofReportCompactInfo(uint32_t, const VOID_PTR, uint32_t) { return 0; }
STAND_IN_API uint64_t MsprofGetHashId(const char*, size_t) { return 0; }
STAND_IN_API uint64_t MsprofSysCycleTime() { return 0; }

// Kernels that a program brings with it: there is nothing that could run them.
STAND_IN_API aclError aclrtBinaryLoadFromData(const void*, size_t, const aclrtBinaryLoadOptions*,
                                              aclrtBinHandle*) {
  return fail(ACL_ERROR_API_NOT_SUPPORT, "the stand-in runs no binary kernels");
}
STAND_IN_API aclError aclrtBinaryGetFunction(aclrtBinHandle, const char*, aclrtFuncHandle*) {
  return fail(ACL_ERROR_API_NOT_SUPPORT, "the stand-in runs no binary kernels");
}
STAND_IN_API aclError aclrtGetFunctionAddr(aclrtFuncHandle, void**, void**) {
  return fail(ACL_ERROR_API_NOT_SUPPORT, "the stand-in runs no binary kernels");
}
STAND_IN_API aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle, aclrtMemHandleType,
                                                      uint64_t, uint64_t*) {
  return fail(ACL_ERROR_API_NOT_SUPPORT, "the stand-in shares no memory between processes");
}
STAND_IN_API aclError aclrtMemImportFromShareableHandle(uint64_t, int32_t, aclrtDrvMemHandle*) {
  return fail(ACL_ERROR_API_NOT_SUPPORT, "the stand-in shares no memory between processes");
}
STAND_IN_API aclError aclrtMemSetPidToShareableHandle(uint64_t, int32_t*, size_t) {
  return fail(ACL_ERROR_API_NOT_SUPPORT, "the stand-in shares no memory between processes");
}
STAND_IN_API int rtDevBinaryRegister(const void*, void**) { return ACL_ERROR_API_NOT_SUPPORT; }
STAND_IN_API int rtFunctionRegister(void*, const void*, const char*, const void*, uint32_t) {
  return ACL_ERROR_API_NOT_SUPPORT;
}
STAND_IN_API int rtKernelLaunch(const void*, uint32_t, void*, uint32_t, void*, void*) {
  return ACL_ERROR_API_NOT_SUPPORT;
}
STAND_IN_API int rtGetC2cCtrlAddr(uint64_t*, uint32_t*) { return ACL_ERROR_API_NOT_SUPPORT; }

}  // extern "C"

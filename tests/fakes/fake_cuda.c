/*
 * A stand-in for libcuda.so.1, for the checks before a run.
 *   cc -shared -fPIC -Wl,-soname,libcuda.so.1 -DRC=803 -DDRV=13000 -o compat/libcuda.so.575.57.08 fake_cuda.c
 *   ln -s libcuda.so.575.57.08 compat/libcuda.so.1
 * -DRC            what cuInit(0) returns; FAKE_CUINIT_RC in the environment goes over it
 * -DNOTE='"{…}"'  adds the ELF note that NVIDIA's compatibility libraries carry (.note.cuda.fwd_compatibility)
 * FAKE_CUINIT     hang: it does not return; crash: it dies of SIGSEGV
 * FAKE_CUINIT_READY  a file: while it is missing, cuInit makes it and returns 802
 * FAKE_CUINIT_BAD    a word: with it in CUDA_VISIBLE_DEVICES cuInit returns 101
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifndef RC
#define RC 0
#endif
#ifndef DRV
#define DRV 13000
#endif
typedef int CUresult;

static const struct { int code; const char *name; } NAMES[] = {
    {0, "CUDA_SUCCESS"}, {3, "CUDA_ERROR_NOT_INITIALIZED"}, {34, "CUDA_ERROR_STUB_LIBRARY"},
    {100, "CUDA_ERROR_NO_DEVICE"}, {101, "CUDA_ERROR_INVALID_DEVICE"}, {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}, {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"},
    {999, "CUDA_ERROR_UNKNOWN"}};

CUresult cuInit(unsigned flags) {
    (void)flags;
    const char *how = getenv("FAKE_CUINIT"), *rc = getenv("FAKE_CUINIT_RC"), *ready = getenv("FAKE_CUINIT_READY");
    const char *bad = getenv("FAKE_CUINIT_BAD"), *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (how && !strcmp(how, "hang")) for (;;) sleep(1);
    if (how && !strcmp(how, "crash")) kill(getpid(), SIGSEGV);
    if (ready && access(ready, F_OK)) { close(open(ready, O_CREAT, 0600)); return 802; }
    if (bad && visible && strstr(visible, bad)) return 101;
    return rc ? atoi(rc) : RC;
}

CUresult cuDriverGetVersion(int *version) { *version = DRV; return 0; }

CUresult cuDeviceGetCount(int *count) { const char *n = getenv("FAKE_CUDA_COUNT"); *count = n ? atoi(n) : 1; return 0; }

CUresult cuGetErrorName(CUresult code, const char **name) {
    for (unsigned i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (NAMES[i].code == code) { *name = NAMES[i].name; return 0; }
    *name = 0;
    return 1;
}

#ifdef NOTE
/* An ELF note: size of the name, size of the text, type, the name padded to 4, the text. */
__attribute__((section(".note.cuda.fwd_compatibility"), used, aligned(4)))
static const struct { unsigned name_size, size, type; char name[20]; char text[sizeof NOTE]; } note =
    {19, sizeof NOTE, 1, "NVIDIA Corporation", NOTE};
#endif

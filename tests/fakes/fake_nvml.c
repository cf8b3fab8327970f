/*
 * fake_nvml.c - a stand-in for libnvidia-ml.so.1, for tests on machines with no GPU.
 *
 *   cc -O1 -shared -fPIC -pthread -Wl,-soname,libnvidia-ml.so.1 -o libnvidia-ml.so.1 fake_nvml.c
 *
 * The *real* nvidia-ml-py loads it (CDLL("libnvidia-ml.so.1") obeys LD_LIBRARY_PATH), so the
 * real ctypes signatures, struct layouts, two-call protocols and error mapping are exercised.
 *
 * State:   $FAKE_NVML_STATE   text file, "key = value" a line, '#' comments; the last line of a key wins. Re-read
 *                             whenever its (inode, mtime, size) changes: write a temp file and rename() it.
 * Claims:  $FAKE_NVML_CLAIMS  folder; each file "<gpu>.<pid>.<C|G|M>" holding a byte count is one
 *                             process on a GPU. When the pid dies the process leaves the list at
 *                             once and its bytes leave `used` gpu.N.linger_ms later (driver teardown).
 *
 * Keys for all devices:
 *   count                       devices, those that do not answer included
 *   ret.init, ret.<function>    a return code; gpu.N.ret (all calls of a device) and gpu.N.ret.<function> go before it
 *   delay_us, delay_us.<function>   each call takes so long
 *   hang.<function>             such calls do not come back while the key is there
 *   shut = SEQ                  each new SEQ closes the library once, as if another part of the process had
 *   pid_mode = hidden           lists are empty, as in another pid namespace;  pid_offset: added to each pid
 *   linger_ms, driver_version, cuda_driver_version
 * Keys of a device, gpu.N.<key>; a field that is absent is NOT_SUPPORTED:
 *   uuid name bus_id mem.total mem.reserved mem.base mem.used util temp power_mw persistence clock_reasons
 *   numa_node mig mig_max ecc ecc.unc.agg remapped events
 *   nvlinks = N                 active NVLink links; more answer INVAL
 *   topo.M, p2p.M, nvlink.M     with device M (M larger): common ancestor, status of reading a peer's memory, the same
 *                               over NVLink; 50, 0 and 5 where they are absent
 *   proc.K = PID KIND BYTES|NA  a process that is listed though nothing runs
 *   proc_mem_na = 1             bytes are not told (MIG, WDDM, old containers)
 *   proc_race = N               N more entries than the call for the size says
 *   proc_flood = 1              a list never fits, whatever room there is
 *   proc_garbage = PID          the last entry of each list is garbage with this pid
 *   xid = SEQ CODE              delivered once per new SEQ to a registered set
 * MIG: instance K of device N is device 100 + 10 N + K (N < 10, K < 10): gpu.103.uuid is that of the fourth of device 0.
 *
 * Compile-time variants (they remove symbols, so FUNCTION_NOT_FOUND is met for real):
 *   -DNO_MEM_V2    R470-like: no nvmlDeviceGetMemoryInfo_v2
 *   -DNO_PROC_V3   R470-like: only the _v2 process lists
 *   -DNO_PROC_V2   R440-like: only the unversioned (v1) process lists
 *   -DPROC_V3_32   R535.43..535.86: _v3 lists written with the 32-byte struct (known driver bug), and the symbols of
 *                  these drivers; with -DNO_CONF also without those that tell it from others
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long ull;
typedef unsigned int u32;
typedef int nvmlReturn_t;
enum { OK = 0, UNINIT = 1, INVAL = 2, NOSUP = 3, NOPERM = 4, NOTFOUND = 6, INSUFF = 7,
       TIMEOUT = 10, GPU_LOST = 15, VERMISMATCH = 25, UNKNOWN = 999 };

#define MAXGPU 32
#define SLOTS 200                                     /* devices, and MIG instances from 100 on */
#define MIG_SLOT(n, k) (100 + 10 * (n) + (k))
#define MAXPROC 256
#define MAXKV 2048

typedef struct { int magic, idx; } dev_t_;            /* what an nvmlDevice_t points at */
static dev_t_ devs[SLOTS];
#define MAGIC 0x4e564d4c

/* ---------------------------------------------------------------- state */
static struct { char k[96], v[256]; } kv[MAXKV];
static int nkv;
static struct stat last_st;
static int have_st;
static int refs;
static ull shut;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static struct { u32 pid; int gpu; ull t0; } dead[MAXPROC];
static int ndead;

static ull now_ms(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
    return (ull)t.tv_sec * 1000 + t.tv_nsec / 1000000; }
static ull epoch_us(void) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t);
    return (ull)t.tv_sec * 1000000 + t.tv_nsec / 1000; }

static char *trim(char *s) {
    while (*s == ' ' || *s == '\t') s++;
    char *e = s + strlen(s);
    while (e > s && strchr(" \t\r\n", e[-1])) *--e = 0;
    return s;
}

static void reload(void) {                              /* mu held */
    const char *p = getenv("FAKE_NVML_STATE");
    struct stat st;
    if (!p || stat(p, &st)) { nkv = 0; have_st = 0; return; }
    if (have_st && st.st_ino == last_st.st_ino && st.st_size == last_st.st_size &&
        st.st_mtim.tv_sec == last_st.st_mtim.tv_sec && st.st_mtim.tv_nsec == last_st.st_mtim.tv_nsec)
        return;
    FILE *f = fopen(p, "r");
    if (!f) return;
    nkv = 0;
    char line[512];
    while (fgets(line, sizeof line, f) && nkv < MAXKV) {
        char *h = strchr(line, '#'); if (h) *h = 0;
        char *eq = strchr(line, '='); if (!eq) continue;
        *eq = 0;
        snprintf(kv[nkv].k, sizeof kv[0].k, "%s", trim(line));
        snprintf(kv[nkv].v, sizeof kv[0].v, "%s", trim(eq + 1));
        nkv++;
    }
    fclose(f);
    last_st = st; have_st = 1;
}

static const char *get(const char *dflt, const char *fmt, ...) {
    char k[96]; va_list ap; va_start(ap, fmt); vsnprintf(k, sizeof k, fmt, ap); va_end(ap);
    for (int i = nkv - 1; i >= 0; i--) if (!strcmp(kv[i].k, k)) return kv[i].v;   /* last one wins */
    return dflt;
}
static ull num(const char *v, ull d) {
    if (!v) return d;
    if (!strcmp(v, "NA")) return ~0ULL;                  /* NVML_VALUE_NOT_AVAILABLE */
    char *e; double x = strtod(v, &e);
    if (e == v) return d;
    while (*e == ' ') e++;
    if (!strncmp(e, "KiB", 3)) x *= 1024; else if (!strncmp(e, "MiB", 3)) x *= 1048576;
    else if (!strncmp(e, "GiB", 3)) x *= 1073741824.0;
    else if (v[0] == '0' && (v[1] == 'x' || v[1] == 'X')) return strtoull(v, 0, 16);
    return (ull)x;
}

/* every entry point: lock, reload, latency, forced return code.  idx<0: a system call */
static int enter(const char *fn, int idx) {
    pthread_mutex_lock(&mu);
    reload();
    const char *d = get(0, "delay_us.%s", fn); if (!d) d = get(0, "delay_us");
    if (d) { int us = atoi(d); pthread_mutex_unlock(&mu); usleep(us); pthread_mutex_lock(&mu); }
    while (get(0, "hang.%s", fn)) { pthread_mutex_unlock(&mu); usleep(5000); pthread_mutex_lock(&mu); reload(); }
    ull s = num(get(0, "shut"), 0); if (s != shut) { shut = s; refs = 0; }
    if (!refs && strncmp(fn, "nvmlInit", 8)) return UNINIT;
    const char *r = 0;
    if (idx >= 0) {
        r = get(0, "gpu.%d.ret.%s", idx, fn);
        if (!r) r = get(0, "gpu.%d.ret", idx);           /* whole GPU lost: gpu.N.ret = 15 */
    }
    if (!r) r = get(0, "ret.%s", fn);
    return r ? atoi(r) : OK;
}
static int leave(int rc) { pthread_mutex_unlock(&mu); return rc; }
static int ix(void *h) { dev_t_ *d = h; return (d && d >= devs && d < devs + SLOTS && d->magic == MAGIC) ? d->idx : -1; }

#define DEV(fn) int i_ = ix(h); if (i_ < 0) return INVAL; int rc_ = enter(fn, i_); if (rc_) return leave(rc_)
#define SYS(fn) int rc_ = enter(fn, -1); if (rc_) return leave(rc_)
#define G(k, d) num(get(0, "gpu.%d." k, i_), d)
/* a scalar field: absent in the state => NOT_SUPPORTED, unless a default is given */
#define FIELD(fn, T, key) nvmlReturn_t fn(void *h, T *o) { DEV(#fn); if (!o) return leave(INVAL); \
    const char *v = get(0, "gpu.%d." key, i_); if (!v) return leave(NOSUP); *o = (T)num(v, 0); return leave(OK); }

/* ---------------------------------------------------------------- processes */
typedef struct { u32 pid; ull mem; char kind; } proc_t;

static int is_dead(u32 pid) {
    if (kill((pid_t)pid, 0) == 0 || errno == EPERM) {   /* a zombie answers kill(0): the driver has already let go */
        char p[64], b[512]; snprintf(p, sizeof p, "/proc/%u/stat", pid);
        FILE *f = fopen(p, "r"); if (!f) return 1;
        size_t n = fread(b, 1, sizeof b - 1, f); fclose(f); b[n] = 0;
        char *r = strrchr(b, ')');
        return r && (r[2] == 'Z' || r[2] == 'X');
    }
    return 1;
}

/* fills out[], returns the count; *held: bytes of living claims plus those still lingering */
static int claims(int gpu, proc_t *out, int max, ull *held) {
    const char *dir = getenv("FAKE_NVML_CLAIMS");
    int n = 0; *held = 0;
    if (!dir) return 0;
    DIR *d = opendir(dir); if (!d) return 0;
    ull linger = num(get(0, "gpu.%d.linger_ms", gpu), num(get(0, "linger_ms"), 0));
    struct dirent *e;
    while ((e = readdir(d))) {
        int g; u32 pid; char kind;
        if (sscanf(e->d_name, "%d.%u.%c", &g, &pid, &kind) != 3 || g != gpu) continue;
        char path[512], b[64] = ""; snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        FILE *f = fopen(path, "r"); if (!f) continue;
        if (!fgets(b, sizeof b, f)) b[0] = 0;
        fclose(f);
        ull mem = num(trim(b), 0);
        if (is_dead(pid)) {
            int k; for (k = 0; k < ndead; k++) if (dead[k].pid == pid && dead[k].gpu == gpu) break;
            if (k == ndead && ndead < MAXPROC) { dead[k].pid = pid; dead[k].gpu = gpu; dead[k].t0 = now_ms(); ndead++; }
            if (k < MAXPROC && now_ms() - dead[k].t0 < linger) *held += mem;
            continue;
        }
        *held += mem == ~0ULL ? 0 : mem;
        if (n < max) { out[n].pid = pid; out[n].mem = mem; out[n].kind = kind; n++; }
    }
    closedir(d);
    return n;
}

/* static ones: gpu.N.proc.K = PID KIND BYTES|NA */
static int all_procs(int gpu, proc_t *out, int max, ull *held) {
    int n = claims(gpu, out, max, held);
    for (int k = 0; n < max; k++) {
        const char *v = get(0, "gpu.%d.proc.%d", gpu, k);
        if (!v) break;
        u32 pid; char kind, m[64] = "NA";
        if (sscanf(v, "%u %c %63[^\n]", &pid, &kind, m) < 2) continue;
        out[n].pid = pid; out[n].kind = kind; out[n].mem = num(m, ~0ULL);
        if (out[n].mem != ~0ULL) *held += out[n].mem;
        n++;
    }
    return n;
}

#pragma pack(push, 8)
typedef struct { u32 pid; ull mem; } p1;
typedef struct { u32 pid; ull mem; u32 gi, ci; } p2;
typedef struct { u32 pid; ull mem; u32 gi, ci; ull cc; } p3x;
#pragma pack(pop)

static nvmlReturn_t list(const char *fn, void *h, u32 *cnt, void *buf, char kind, int ver) {
    DEV(fn);
    if (!cnt) return leave(INVAL);
    proc_t p[MAXPROC]; ull held; int n = all_procs(i_, p, MAXPROC, &held), m = 0;
    const char *mode = get("host", "pid_mode");          /* host | hidden (another pid namespace) */
    u32 off = (u32)num(get(0, "pid_offset"), 0);         /* host pids seen from inside a container */
    int nomem = !strcmp(get("0", "gpu.%d.proc_mem_na", i_), "1");   /* MIG / WDDM / old container */
    if (!strcmp(mode, "hidden")) n = 0;
    for (int k = 0; k < n; k++) if (p[k].kind == kind) p[m++] = p[k];
    int grow = atoi(get("0", "gpu.%d.proc_race", i_));   /* entries that appear between the two calls */
    if (buf && grow) for (int k = 0; k < grow && m < MAXPROC; k++) { p[m].pid = 900000 + k; p[m].mem = 1 << 20; p[m++].kind = kind; }
    if (get(0, "gpu.%d.proc_flood", i_)) { *cnt = *cnt + 1; return leave(INSUFF); }
    const char *bad = get(0, "gpu.%d.proc_garbage", i_);
    if (bad && m < MAXPROC) { p[m].pid = (u32)num(bad, 0) - off; p[m].mem = 1 << 20; p[m++].kind = kind; }
    if (m == 0) { *cnt = 0; return leave(OK); }
    if (!buf || *cnt < (u32)m) { *cnt = m; return leave(INSUFF); }
    *cnt = m;
    for (int k = 0; k < m; k++) {
        u32 pid = p[k].pid + off; ull mem = nomem ? ~0ULL : p[k].mem;
        if (ver == 1) { p1 *o = buf; o[k].pid = pid; o[k].mem = mem; }
        else if (ver == 2) { p2 *o = buf; o[k] = (p2){pid, mem, 0xffffffffu, 0xffffffffu}; }
        else { p3x *o = buf; o[k] = (p3x){pid, mem, 0xffffffffu, 0xffffffffu, 0}; }
    }
    return leave(OK);
}
#define LISTS(name, kind) \
    nvmlReturn_t name(void *h, u32 *c, void *b) { return list(#name, h, c, b, kind, 1); }
LISTS(nvmlDeviceGetComputeRunningProcesses, 'C')
LISTS(nvmlDeviceGetGraphicsRunningProcesses, 'G')
LISTS(nvmlDeviceGetMPSComputeRunningProcesses, 'M')
#ifndef NO_PROC_V2
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(void *h, u32 *c, void *b) { return list("nvmlDeviceGetComputeRunningProcesses_v2", h, c, b, 'C', 2); }
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(void *h, u32 *c, void *b) { return list("nvmlDeviceGetGraphicsRunningProcesses_v2", h, c, b, 'G', 2); }
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(void *h, u32 *c, void *b) { return list("nvmlDeviceGetMPSComputeRunningProcesses_v2", h, c, b, 'M', 2); }
#ifndef NO_PROC_V3
#ifdef PROC_V3_32
#define V3 3
#else
#define V3 2
nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(void *h, void *o) { DEV("nvmlDeviceGetRunningProcessDetailList"); return leave(NOSUP); }
#endif
#ifndef NO_CONF
nvmlReturn_t nvmlDeviceGetConfComputeMemSizeInfo(void *h, void *o) { DEV("nvmlDeviceGetConfComputeMemSizeInfo"); return leave(NOSUP); }
#endif
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(void *h, u32 *c, void *b) { return list("nvmlDeviceGetComputeRunningProcesses_v3", h, c, b, 'C', V3); }
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(void *h, u32 *c, void *b) { return list("nvmlDeviceGetGraphicsRunningProcesses_v3", h, c, b, 'G', V3); }
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(void *h, u32 *c, void *b) { return list("nvmlDeviceGetMPSComputeRunningProcesses_v3", h, c, b, 'M', V3); }
#endif
#endif

typedef struct { u32 pid; ull ts; u32 sm, mem, enc, dec; } putil;
nvmlReturn_t nvmlDeviceGetProcessUtilization(void *h, putil *o, u32 *cnt, ull last) {
    DEV("nvmlDeviceGetProcessUtilization");
    (void)last;
    proc_t p[MAXPROC]; ull held; int n = all_procs(i_, p, MAXPROC, &held);
    if (!n) return leave(NOTFOUND);
    if (!o || *cnt < (u32)n) { *cnt = n; return leave(INSUFF); }
    *cnt = n;
    for (int k = 0; k < n; k++) o[k] = (putil){p[k].pid + (u32)num(get(0, "pid_offset"), 0), epoch_us(), (u32)G("util", 0) / n, 0, 0, 0};
    return leave(OK);
}

/* ---------------------------------------------------------------- memory */
typedef struct { ull total, free, used; } mem1;
typedef struct { u32 version; ull total, reserved, free, used; } mem2;
static int mem(int i_, ull *tot, ull *res, ull *used) {
    if (!get(0, "gpu.%d.mem.total", i_)) return NOSUP;   /* GB10 / Jetson: no framebuffer of its own */
    proc_t p[MAXPROC]; ull held = 0; all_procs(i_, p, MAXPROC, &held);
    *tot = G("mem.total", 0); *res = G("mem.reserved", 0);
    *used = get(0, "gpu.%d.mem.used", i_) ? G("mem.used", 0) : G("mem.base", 0) + held;
    return OK;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(void *h, mem1 *o) {
    DEV("nvmlDeviceGetMemoryInfo"); ull t, r, u; int e = mem(i_, &t, &r, &u); if (e) return leave(e);
    o->total = t; o->used = u + r; o->free = t - u - r; return leave(OK);   /* v1: used includes reserved */
}
#ifndef NO_MEM_V2
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(void *h, mem2 *o) {
    DEV("nvmlDeviceGetMemoryInfo_v2");
    if (o->version != (sizeof(mem2) | (2u << 24))) return leave(VERMISMATCH);
    ull t, r, u; int e = mem(i_, &t, &r, &u); if (e) return leave(e);
    o->total = t; o->reserved = r; o->used = u; o->free = t - u - r; return leave(OK);
}
#endif
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(void *h, ull *o) { DEV("nvmlDeviceGetBAR1MemoryInfo");
    o[0] = 131072ULL << 20; o[1] = o[0] - (1 << 20); o[2] = 1 << 20; return leave(OK); }

/* ---------------------------------------------------------------- init / system */
static nvmlReturn_t init(const char *fn) {
    for (int i = 0; i < SLOTS; i++) devs[i] = (dev_t_){MAGIC, i};
    int rc = enter(fn, -1);
    if (!rc) { const char *r = get(0, "ret.init"); if (r) rc = atoi(r); }
    if (!rc) refs++;
    return leave(rc);
}
nvmlReturn_t nvmlInit(void) { return init("nvmlInit"); }
nvmlReturn_t nvmlInit_v2(void) { return init("nvmlInit_v2"); }
nvmlReturn_t nvmlInitWithFlags(u32 f) { (void)f; return init("nvmlInitWithFlags"); }
nvmlReturn_t nvmlShutdown(void) { SYS("nvmlShutdown"); refs--; return leave(OK); }
const char *nvmlErrorString(nvmlReturn_t r) {
    switch (r) {
    case 0: return "Success"; case 1: return "Uninitialized"; case 2: return "Invalid Argument";
    case 3: return "Not Supported"; case 4: return "Insufficient Permissions"; case 6: return "Not Found";
    case 7: return "Insufficient Size"; case 9: return "Driver Not Loaded"; case 10: return "Timeout";
    case 12: return "NVML Shared Library Not Found"; case 13: return "Function Not Found";
    case 15: return "GPU is lost"; case 16: return "GPU requires reset";
    case 18: return "Driver/library version mismatch"; case 25: return "Argument version mismatch";
    default: return "Unknown Error"; }
}
static int puts_(char *o, u32 n, const char *v) { if (strlen(v) + 1 > n) return INSUFF; strcpy(o, v); return OK; }
nvmlReturn_t nvmlSystemGetDriverVersion(char *o, u32 n) { SYS("nvmlSystemGetDriverVersion"); return leave(puts_(o, n, get("580.95.05", "driver_version"))); }
nvmlReturn_t nvmlSystemGetNVMLVersion(char *o, u32 n) { SYS("nvmlSystemGetNVMLVersion"); return leave(puts_(o, n, get("13.580.95.05", "nvml_version"))); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *o) { SYS("nvmlSystemGetCudaDriverVersion"); *o = (int)num(get(0, "cuda_driver_version"), 13000); return leave(OK); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *o) { return nvmlSystemGetCudaDriverVersion(o); }
nvmlReturn_t nvmlSystemGetProcessName(u32 pid, char *o, u32 n) {
    SYS("nvmlSystemGetProcessName"); char p[64]; snprintf(p, sizeof p, "/proc/%u/comm", pid);
    FILE *f = fopen(p, "r"); if (!f) return leave(NOTFOUND); char b[64] = ""; if (!fgets(b, sizeof b, f)) b[0] = 0; fclose(f);
    return leave(puts_(o, n, trim(b))); }
nvmlReturn_t nvmlDeviceGetCount_v2(u32 *o) { SYS("nvmlDeviceGetCount_v2"); *o = (u32)num(get(0, "count"), 0); return leave(OK); }
nvmlReturn_t nvmlDeviceGetCount(u32 *o) { return nvmlDeviceGetCount_v2(o); }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(u32 i, void **o) {
    int rc = enter("nvmlDeviceGetHandleByIndex_v2", (int)i); if (rc) return leave(rc);
    if (i >= num(get(0, "count"), 0) || i >= MAXGPU) return leave(INVAL);
    *o = &devs[i]; return leave(OK); }
nvmlReturn_t nvmlDeviceGetHandleByIndex(u32 i, void **o) { return nvmlDeviceGetHandleByIndex_v2(i, o); }
static nvmlReturn_t by(const char *fn, const char *key, const char *want, void **o) {
    int rc = enter(fn, -1); if (rc) return leave(rc);
    int n = (int)num(get(0, "count"), 0);
    for (int i = 0; i < SLOTS; i++) { char k[32]; if (i >= n && i < MIG_SLOT(0, 0)) continue; snprintf(k, sizeof k, "gpu.%d.%s", i, key);
        const char *v = get("", "%s", k);
        if (!strcasecmp(v, want)) { rc = atoi(get("0", "gpu.%d.ret", i)); if (rc) return leave(rc); *o = &devs[i]; return leave(OK); } }
    return leave(NOTFOUND); }
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *u, void **o) { return by("nvmlDeviceGetHandleByUUID", "uuid", u, o); }
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *u, void **o) { return by("nvmlDeviceGetHandleByPciBusId_v2", "bus_id", u, o); }

/* ---------------------------------------------------------------- identity */
static nvmlReturn_t str(const char *fn, void *h, char *o, u32 n, const char *key) {
    DEV(fn); const char *v = get(0, "gpu.%d.%s", i_, key); if (!v) return leave(NOSUP); return leave(puts_(o, n, v)); }
nvmlReturn_t nvmlDeviceGetName(void *h, char *o, u32 n) { return str("nvmlDeviceGetName", h, o, n, "name"); }
nvmlReturn_t nvmlDeviceGetUUID(void *h, char *o, u32 n) { return str("nvmlDeviceGetUUID", h, o, n, "uuid"); }
nvmlReturn_t nvmlDeviceGetSerial(void *h, char *o, u32 n) { return str("nvmlDeviceGetSerial", h, o, n, "serial"); }
nvmlReturn_t nvmlDeviceGetVbiosVersion(void *h, char *o, u32 n) { return str("nvmlDeviceGetVbiosVersion", h, o, n, "vbios"); }
nvmlReturn_t nvmlDeviceGetIndex(void *h, u32 *o) { DEV("nvmlDeviceGetIndex"); *o = i_; return leave(OK); }
nvmlReturn_t nvmlDeviceGetMinorNumber(void *h, u32 *o) { DEV("nvmlDeviceGetMinorNumber"); *o = (u32)G("minor", (ull)i_); return leave(OK); }
typedef struct { char legacy[16]; u32 dom, bus, dev, id, sub; char busId[32]; } pci;
nvmlReturn_t nvmlDeviceGetPciInfo_v3(void *h, pci *o) { DEV("nvmlDeviceGetPciInfo_v3");
    memset(o, 0, sizeof *o); snprintf(o->busId, 32, "%s", get("00000000:01:00.0", "gpu.%d.bus_id", i_));
    sscanf(o->busId, "%x:%x:%x", &o->dom, &o->bus, &o->dev); snprintf(o->legacy, 16, "%04X:%02X:%02X.0", o->dom & 0xffff, o->bus, o->dev);
    return leave(OK); }
nvmlReturn_t nvmlDeviceGetPciInfo_v2(void *h, pci *o) { return nvmlDeviceGetPciInfo_v3(h, o); }
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(void *h, int *a, int *b) { DEV("nvmlDeviceGetCudaComputeCapability");
    if (sscanf(get("9.0", "gpu.%d.cc", i_), "%d.%d", a, b) != 2) return leave(UNKNOWN); return leave(OK); }

/* ---------------------------------------------------------------- readings */
typedef struct { u32 gpu, mem; } util_t;
nvmlReturn_t nvmlDeviceGetUtilizationRates(void *h, util_t *o) { DEV("nvmlDeviceGetUtilizationRates");
    if (!get(0, "gpu.%d.util", i_)) return leave(NOSUP); o->gpu = (u32)G("util", 0); o->mem = (u32)G("mem_util", 0); return leave(OK); }
static nvmlReturn_t codec(const char *fn, void *h, u32 *a, u32 *b) { DEV(fn); *a = 0; *b = 167000; return leave(OK); }
nvmlReturn_t nvmlDeviceGetEncoderUtilization(void *h, u32 *a, u32 *b) { return codec("nvmlDeviceGetEncoderUtilization", h, a, b); }
nvmlReturn_t nvmlDeviceGetDecoderUtilization(void *h, u32 *a, u32 *b) { return codec("nvmlDeviceGetDecoderUtilization", h, a, b); }
nvmlReturn_t nvmlDeviceGetTemperature(void *h, int s, u32 *o) { (void)s; DEV("nvmlDeviceGetTemperature");
    if (!get(0, "gpu.%d.temp", i_)) return leave(NOSUP); *o = (u32)G("temp", 0); return leave(OK); }
typedef struct { u32 ver, sensor; int t; } temp1;
nvmlReturn_t nvmlDeviceGetTemperatureV(void *h, temp1 *o) { DEV("nvmlDeviceGetTemperatureV");
    if (o->ver != (sizeof(temp1) | (1u << 24))) return leave(VERMISMATCH);
    if (!get(0, "gpu.%d.temp", i_)) return leave(NOSUP); o->t = (int)G("temp", 0); return leave(OK); }
FIELD(nvmlDeviceGetPowerUsage, u32, "power_mw")
FIELD(nvmlDeviceGetEnforcedPowerLimit, u32, "power_limit_mw")
FIELD(nvmlDeviceGetPowerManagementLimit, u32, "power_limit_mw")
FIELD(nvmlDeviceGetTotalEnergyConsumption, ull, "energy_mj")
FIELD(nvmlDeviceGetFanSpeed, u32, "fan")
FIELD(nvmlDeviceGetPersistenceMode, u32, "persistence")
FIELD(nvmlDeviceGetComputeMode, u32, "compute_mode")
FIELD(nvmlDeviceGetPerformanceState, u32, "pstate")
FIELD(nvmlDeviceGetCurrentClocksEventReasons, ull, "clock_reasons")
FIELD(nvmlDeviceGetCurrentClocksThrottleReasons, ull, "clock_reasons")
FIELD(nvmlDeviceGetDisplayMode, u32, "display")
FIELD(nvmlDeviceGetDisplayActive, u32, "display")
FIELD(nvmlDeviceGetRetiredPagesPendingStatus, u32, "retired_pending")
FIELD(nvmlDeviceGetMaxMigDeviceCount, u32, "mig_max")
FIELD(nvmlDeviceGetNumaNodeId, u32, "numa_node")
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(void *h, u32 k, void **o) { DEV("nvmlDeviceGetMigDeviceHandleByIndex");
    int slot = MIG_SLOT(i_, (int)k);
    if (i_ > 9 || k > 9 || !get(0, "gpu.%d.uuid", slot)) return leave(NOTFOUND);
    *o = &devs[slot]; return leave(OK); }
static nvmlReturn_t clk(const char *fn, void *h, int t, u32 *o, const char *pre) { DEV(fn);
    const char *v = get(0, "gpu.%d.%s.%d", i_, pre, t); if (!v) return leave(NOSUP); *o = (u32)num(v, 0); return leave(OK); }
nvmlReturn_t nvmlDeviceGetClockInfo(void *h, int t, u32 *o) { return clk("nvmlDeviceGetClockInfo", h, t, o, "clock"); }
nvmlReturn_t nvmlDeviceGetMaxClockInfo(void *h, int t, u32 *o) { return clk("nvmlDeviceGetMaxClockInfo", h, t, o, "max_clock"); }
nvmlReturn_t nvmlDeviceGetNvLinkState(void *h, u32 link, u32 *o) { DEV("nvmlDeviceGetNvLinkState");
    if (!get(0, "gpu.%d.nvlinks", i_)) return leave(NOSUP);
    if (link >= G("nvlinks", 0)) return leave(INVAL); *o = 1; return leave(OK); }
static ull pair(int a, int b, const char *what, ull d) {
    return num(get(0, "gpu.%d.%s.%d", a < b ? a : b, what, a < b ? b : a), d); }
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(void *h, void *other, u32 *o) { DEV("nvmlDeviceGetTopologyCommonAncestor");
    *o = (u32)pair(i_, ((dev_t_ *)other)->idx, "topo", 50); return leave(OK); }
nvmlReturn_t nvmlDeviceGetP2PStatus(void *h, void *other, u32 what, u32 *o) { DEV("nvmlDeviceGetP2PStatus");
    *o = (u32)pair(i_, ((dev_t_ *)other)->idx, what == 2 ? "nvlink" : "p2p", what == 2 ? 5 : 0); return leave(OK); }
nvmlReturn_t nvmlDeviceGetMigMode(void *h, u32 *a, u32 *b) { DEV("nvmlDeviceGetMigMode");
    if (!get(0, "gpu.%d.mig", i_)) return leave(NOSUP); *a = *b = (u32)G("mig", 0); return leave(OK); }
nvmlReturn_t nvmlDeviceGetEccMode(void *h, u32 *a, u32 *b) { DEV("nvmlDeviceGetEccMode");
    if (!get(0, "gpu.%d.ecc", i_)) return leave(NOSUP); *a = *b = (u32)G("ecc", 0); return leave(OK); }
nvmlReturn_t nvmlDeviceGetTotalEccErrors(void *h, int t, int c, ull *o) { DEV("nvmlDeviceGetTotalEccErrors");
    const char *v = get(0, "gpu.%d.ecc.%s.%s", i_, t ? "unc" : "corr", c ? "agg" : "vol"); if (!v) return leave(NOSUP); *o = num(v, 0); return leave(OK); }
nvmlReturn_t nvmlDeviceGetRemappedRows(void *h, u32 *a, u32 *b, u32 *p, u32 *f) { DEV("nvmlDeviceGetRemappedRows");
    if (sscanf(get("", "gpu.%d.remapped", i_), "%u %u %u %u", a, b, p, f) != 4) return leave(NOSUP); return leave(OK); }
nvmlReturn_t nvmlDeviceGetPcieThroughput(void *h, int c, u32 *o) { DEV("nvmlDeviceGetPcieThroughput"); (void)c; *o = 0; return leave(OK); }
typedef struct { u32 id, scope; int64_t ts, lat; int vt, rc; union { double d; u32 u; ull l; int64_t s; } v; } fv;
nvmlReturn_t nvmlDeviceGetFieldValues(void *h, int n, fv *o) { DEV("nvmlDeviceGetFieldValues");
    for (int k = 0; k < n; k++) { const char *v = get(0, "gpu.%d.field.%u", i_, o[k].id); o[k].ts = (int64_t)epoch_us(); o[k].lat = 10;
        if (!v) { o[k].rc = NOSUP; continue; } o[k].rc = OK; o[k].vt = 3; o[k].v.l = num(v, 0); } return leave(OK); }

/* ---------------------------------------------------------------- events (Xid) */
typedef struct { int magic; ull mask[SLOTS]; long seen[SLOTS]; } eset;
typedef struct { void *dev; ull type, data; u32 gi, ci; } edata;
nvmlReturn_t nvmlEventSetCreate(eset **o) { SYS("nvmlEventSetCreate"); *o = calloc(1, sizeof **o); (*o)->magic = MAGIC; return leave(OK); }
nvmlReturn_t nvmlEventSetFree(eset *s) { SYS("nvmlEventSetFree"); free(s); return leave(OK); }
nvmlReturn_t nvmlDeviceGetSupportedEventTypes(void *h, ull *o) { DEV("nvmlDeviceGetSupportedEventTypes"); *o = G("events", 0); return leave(OK); }
nvmlReturn_t nvmlDeviceRegisterEvents(void *h, ull types, eset *s) { DEV("nvmlDeviceRegisterEvents");
    if (!s) return leave(INVAL); ull sup = G("events", 0); if (types & ~sup) return leave(NOSUP);
    s->mask[i_] |= types; long q = 0; sscanf(get("0 0", "gpu.%d.xid", i_), "%ld", &q); s->seen[i_] = q; return leave(OK); }
nvmlReturn_t nvmlEventSetWait_v2(eset *s, edata *o, u32 ms) {
    if (!s) return INVAL;
    ull end = now_ms() + ms;
    for (;;) {
        int rc = enter("nvmlEventSetWait_v2", -1); if (rc) return leave(rc);
        for (int i = 0; i < SLOTS; i++) { if (!(s->mask[i] & 8)) continue; long q; ull code;
            if (sscanf(get("", "gpu.%d.xid", i), "%ld %llu", &q, &code) == 2 && q > s->seen[i]) {
                s->seen[i] = q; *o = (edata){&devs[i], 8, code, 0xffffffffu, 0xffffffffu}; return leave(OK); } }
        leave(0);
        if (now_ms() >= end) return TIMEOUT;
        usleep(100000);                                 /* a driver blocks; looking costs the waiting program CPU */
    }
}
nvmlReturn_t nvmlEventSetWait(eset *s, edata *o, u32 ms) { return nvmlEventSetWait_v2(s, o, ms); }

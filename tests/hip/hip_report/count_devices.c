/* count_devices amd|nvidia LIBRARY...: asks the first of these libraries that can be loaded how
   many devices it sees. Prints one line, "N devices, version V, LIBRARY", or what went wrong, and
   ends with 0 where there is a device. Needs no header and no library of a vendor, so that a
   machine without a device is found out before anything is built for it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int (*count_function)(int*);
typedef int (*init_function)(unsigned);

struct names {
  const char* init; /* NULL: not needed */
  const char* count;
  const char* version;
};
static const struct names kAmd = {NULL, "hipGetDeviceCount", "hipRuntimeGetVersion"};
static const struct names kNvidia = {"cuInit", "cuDeviceGetCount", "cuDriverGetVersion"};

static void* find(void* library, const char* name) {
  void* function = name != NULL ? dlsym(library, name) : NULL;
  if (name != NULL && function == NULL) printf("%s is missing in the runtime library\n", name);
  return function;
}

/* ISO C has no cast from an object's pointer to a function's. */
static count_function as_count(void* address) {
  count_function function;
  memcpy(&function, &address, sizeof function);
  return function;
}
static init_function as_init(void* address) {
  init_function function;
  memcpy(&function, &address, sizeof function);
  return function;
}

static int ask(void* library, const char* path, const struct names* names) {
  int devices = 0, version = 0, error = 0;
  void* init = find(library, names->init);
  void* count = find(library, names->count);
  void* what = find(library, names->version);
  if ((names->init != NULL && init == NULL) || count == NULL || what == NULL) return 1;
  if (init != NULL) error = as_init(init)(0);
  if (error == 0) error = as_count(count)(&devices);
  if (error != 0 || devices < 1) {
    printf("%s sees no device (error %d)\n", path, error);
    return 1;
  }
  if (as_count(what)(&version) != 0) version = 0;
  printf("%d device%s, version %d, %s\n", devices, devices == 1 ? "" : "s", version, path);
  return 0;
}

int main(int argc, char** argv) {
  const char* problem = "usage: count_devices amd|nvidia LIBRARY...";
  const struct names* names = argc > 1 && strcmp(argv[1], "nvidia") == 0 ? &kNvidia : &kAmd;
  int i;
  for (i = 2; i < argc; ++i) {
    void* library = dlopen(argv[i], RTLD_NOW);
    if (library != NULL) return ask(library, argv[i], names);
    if (i == 2) problem = "no runtime library can be loaded, of";
  }
  fputs(problem, stdout);
  for (i = 2; i < argc; ++i) printf(" %s", argv[i]);
  puts("");
  return 1;
}

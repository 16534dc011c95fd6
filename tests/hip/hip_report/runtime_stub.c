/* A HIP runtime without devices. */
int hipGetDeviceCount(int* count);
int hipRuntimeGetVersion(int* version);

int hipGetDeviceCount(int* count) {
  *count = 0;
  return 100;
}
int hipRuntimeGetVersion(int* version) {
  *version = 60000000;
  return 0;
}

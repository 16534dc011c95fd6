/* Checks for the C tests of the ABI, in C99: a test in another language than C++ is the point. */
#ifndef ATTNPLAN_TESTS_CAPI_CHECK_H_
#define ATTNPLAN_TESTS_CAPI_CHECK_H_

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                               \
    }                                                                           \
  } while (0)

#define CHECK_INT(got, want)                                                                    \
  do {                                                                                          \
    const int64_t check_got = (int64_t)(got), check_want = (int64_t)(want);                     \
    if (check_got != check_want) {                                                              \
      fprintf(stderr, "%s:%d: %s is %" PRId64 ", want %" PRId64 "\n", __FILE__, __LINE__, #got, \
              check_got, check_want);                                                           \
      ++failures;                                                                               \
    }                                                                                           \
  } while (0)

#define CHECK_TEXT(got, want)                                                         \
  do {                                                                                \
    const char *check_got = (got), *check_want = (want);                              \
    if (check_got == NULL || strcmp(check_got, check_want) != 0) {                    \
      fprintf(stderr, "%s:%d: %s is \"%s\", want \"%s\"\n", __FILE__, __LINE__, #got, \
              check_got == NULL ? "NULL" : check_got, check_want);                    \
      ++failures;                                                                     \
    }                                                                                 \
  } while (0)

#define CHECK_CONTAINS(got, part)                                                           \
  do {                                                                                      \
    if (strstr((got), (part)) == NULL) {                                                    \
      fprintf(stderr, "%s:%d: \"%s\" does not contain \"%s\"\n", __FILE__, __LINE__, (got), \
              (part));                                                                      \
      ++failures;                                                                           \
    }                                                                                       \
  } while (0)

static inline int check_report(void) {
  if (failures != 0) fprintf(stderr, "%d checks failed\n", failures);
  return failures != 0;
}

#endif /* ATTNPLAN_TESTS_CAPI_CHECK_H_ */

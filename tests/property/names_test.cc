// The names of codes, reasons, routes and dtypes are those of the planning page.
#include "names.h"

#include <gtest/gtest.h>

#include "attnplan.h"

namespace attnplan::property {
namespace {

TEST(Names, AreThoseOfTheDocuments) {
  for (const auto& [name, code] : oracle::kCodes) {
    EXPECT_STREQ(attnplan_code_name(static_cast<attnplan_code>(code)), name);
  }
  for (const auto& [name, route] : oracle::kRoutes) {
    EXPECT_STREQ(attnplan_route_name(static_cast<attnplan_route>(route)), name);
  }
  for (const auto& [name, dtype] : oracle::kDtypes) {
    EXPECT_STREQ(attnplan_dtype_name(static_cast<attnplan_dtype>(dtype)), name);
  }
  ASSERT_EQ(oracle::kReasons.size(), static_cast<size_t>(ATTNPLAN_NUM_REASONS));
  for (size_t reason = 0; reason < oracle::kReasons.size(); ++reason) {
    EXPECT_STREQ(attnplan_reason_name(static_cast<attnplan_reason>(reason)),
                 oracle::kReasons[reason]);
  }
}

}  // namespace
}  // namespace attnplan::property

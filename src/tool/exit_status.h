// Exit status of the tool; the worst one of all documents counts.
#pragma once

namespace attnplan::tool {

enum ExitStatus {
  kExitPlanned = 0,
  kExitRefused = 1,   // some batch gave an error
  kExitUnusable = 2,  // some document was bad, a file could not be read or holds none, or the
                      // arguments are wrong
};

}  // namespace attnplan::tool
